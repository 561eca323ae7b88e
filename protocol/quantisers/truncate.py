"""Truncation: the first dimensions of an embedding that was trained for it (Matryoshka)."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.quantisers._quantiser import Quantiser, Ranking
from protocol.registry import Count, QuantiserRecord


@QuantiserRecord.declared
class Truncate(Quantiser):
    """Truncation: the first dimensions, in float32.

    For the inner product, the truncated items are scaled to the length that they had before. For the Euclidean distance
    and the cosine, they are not scaled; the cosine is between truncated vectors.

    Parameters
    ----------
    dims : int, at least 1, default 64
        The number of dimensions that remain.

    Raises
    ------
    ProtocolError
        In fit, if the vectors have fewer dimensions.
    """

    dims: Count = 64

    def check_training(self, n: int, dimension: int) -> None:
        """Raise ProtocolError if the vectors have fewer dimensions."""
        if self.dims > dimension:
            raise ProtocolError(f"truncate: dims must be at most {dimension:,}, the dimension, got {self.dims:,}.")

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> bool:
        """Return whether items are scaled."""
        self.check_training(*vectors.shape)
        return distance == "dot"

    def encode(self, vectors: NDArray[np.float32], model: bool) -> NDArray[np.float32]:
        """Return the first dimensions, scaled."""
        first = vectors[:, : self.dims]
        if not model:
            return first
        lengths, before = (np.linalg.norm(part, axis=1, keepdims=True) for part in (first, vectors))
        return first * np.divide(before, lengths, out=np.zeros_like(lengths), where=lengths > 0)

    def decode(self, codes: NDArray, model: bool) -> NDArray[np.floating]:
        """Return the codes, which are vectors."""
        return codes

    def queries(self, vectors: NDArray[np.float32], model: bool) -> NDArray[np.floating]:
        """Return the first dimensions of queries; a scale would not change their ranking."""
        return vectors[:, : self.dims]
