"""PQ: product quantisation."""

from functools import partial
from typing import Annotated, Any, ClassVar

from protocol.checks import ProtocolError, integer
from protocol.quantisers._quantiser import FaissQuantiser
from protocol.registry import Count, QuantiserRecord


@QuantiserRecord.declared
class PQ(FaissQuantiser):
    """PQ: the vector is divided into m parts, and each is replaced by the nearest of 2^n_bits centroids.

    Parameters
    ----------
    m : int, at least 1, default 8
        The number of parts, a divisor of the dimension.
    n_bits : int, from 1 to 12, default 8
        Number of bits per part.

    Raises
    ------
    ProtocolError
        In fit, if faiss is not installed, `m` does not divide the dimension, or there are too few training vectors.
    """

    name: ClassVar[str] = "pq"

    m: Count = 8
    n_bits: Annotated[int, partial(integer, maximum=12)] = 8

    def check_training(self, n: int, dimension: int) -> None:
        """Raise ProtocolError unless `m` divides the dimension, and there is a training vector for each centroid."""
        if dimension % self.m:
            raise ProtocolError(f"{self.name}: m must divide the dimension {dimension}, got {self.m}.")
        if n < 2**self.n_bits:
            needed = f"at least {2**self.n_bits:,} training vectors are needed, one per centroid"
            raise ProtocolError(f"{self.name}: {needed}, got {n:,}.")

    def _index(self, faiss: Any, dimension: int, metric: int, seed: int) -> Any:
        index = faiss.IndexPQ(dimension, self.m, self.n_bits, metric)
        index.pq.cp.seed, index.pq.cp.min_points_per_centroid = seed, 1
        return index
