"""float16: half precision, IEEE 754 binary16."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.quantisers._quantiser import Quantiser, Ranking
from protocol.registry import QuantiserRecord


@QuantiserRecord.declared
class Float16(Quantiser):
    """float16: each value rounded to half precision.

    Raises
    ------
    ProtocolError
        In encode, if a value exceeds 65,504, the largest one of the type.
    """

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> None:
        """Return None, because nothing is learned."""

    def encode(self, vectors: NDArray[np.float32], model: Any) -> NDArray[np.float16]:
        """Return rounded vectors."""
        if (largest := float(np.abs(vectors).max())) > float(np.finfo(np.float16).max):
            raise ProtocolError(f"float16: the largest value it can store is 65,504, got {largest:.6g}.")
        return vectors.astype(np.float16)

    def decode(self, codes: NDArray, model: Any) -> NDArray[np.floating]:
        """Return the rounded values."""
        return codes.astype(np.float32)
