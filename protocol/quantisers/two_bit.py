"""Two bits for each dimension: the four levels with the smallest squared error."""

import numpy as np
from numpy.typing import NDArray

from protocol.options import Count
from protocol.quantisers._quantiser import Quantiser, Ranking, packed, unpacked
from protocol.registry import QuantiserRecord


@QuantiserRecord(
    "two_bit",
    printed="2 bits",
    source="Lloyd 1982, Least Squares Quantization in PCM, method I; Max 1960, Quantizing for Minimum Distortion",
    size="ceil(d / 4)",
    queries="real-valued",
    deviations="A fixed number of iterations, from the middles of the four quarters of the sorted values.",
)
class TwoBit(Quantiser):
    """Two bits: each value is replaced by the nearest of four levels, which are learned for each dimension.

    Each iteration replaces a level by the mean of the training values that are nearest to it.

    Parameters
    ----------
    n_iter : int, at least 1, default 20
        Number of iterations of Lloyd's algorithm.

    Examples
    --------
    >>> line, quantiser = np.float32([[0], [1], [4], [5], [9], [20]]), TwoBit()
    >>> levels = quantiser.fit(line, "euclidean", 0)
    >>> quantiser.decode(quantiser.encode(line, levels), levels).ravel().tolist()
    [0.5, 0.5, 4.5, 4.5, 9.0, 20.0]
    """

    n_iter: Count = 20

    def fit(self, vectors: NDArray[np.float32], distance: Ranking, seed: int) -> NDArray[np.float32]:
        """Return the levels, (4, d), ascending."""
        levels = np.quantile(vectors, [0.125, 0.375, 0.625, 0.875], axis=0)
        for _ in range(self.n_iter):
            of_value = _nearest(vectors, levels)
            for level in range(4):
                of_level = of_value == level
                n = of_level.sum(axis=0)
                sums = np.where(of_level, vectors, 0).sum(axis=0, dtype=np.float64)
                levels[level] = np.where(n > 0, sums / np.maximum(n, 1), levels[level])
        return levels.astype(np.float32)

    def encode(self, vectors: NDArray[np.float32], model: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return four levels in each byte."""
        return packed(_nearest(vectors, model), 2)

    def decode(self, codes: NDArray, model: NDArray[np.float32]) -> NDArray[np.floating]:
        """Return the values of the levels."""
        return np.take_along_axis(model, unpacked(codes, 2, model.shape[1]).astype(np.intp), axis=0)


def _nearest(vectors: NDArray, levels: NDArray) -> NDArray[np.uint8]:
    """Return the number of the nearest of ascending levels: the thresholds are the middles between them."""
    thresholds = (levels[1:] + levels[:-1]) / 2
    return sum((vectors > threshold).astype(np.uint8) for threshold in thresholds)
