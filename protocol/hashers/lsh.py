"""LSH: the signs of random projections."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers import Hasher, TrainingSet
from protocol.registry import HasherRecord


@HasherRecord.declared
class LSH(Hasher):
    """Locality-sensitive hashing: each bit is the side of a random hyperplane through the origin.

    ``bit_j(x) = [x . w_j > 0]``, with ``w_j ~ N(0, I)``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the hyperplanes.

    Attributes
    ----------
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        The normals w_j as columns.

    Notes
    -----
    There is no learning and no centring: fit only reads the number of features. Rows that are not centred lie on the
    same side of most hyperplanes, so they should be centred first.

    References
    ----------
    Charikar, *Similarity Estimation Techniques from Rounding Algorithms*, STOC 2002, section 3.

    Examples
    --------
    Opposite points lie on opposite sides of every hyperplane:

    >>> X = [[1.0, 2.0], [-1.0, -2.0]]
    >>> codes = LSH(n_bits=16).fit(X).transform(X)
    >>> int((codes[0] != codes[1]).sum())
    16
    """

    learned = {"projection_": ("float32", "d", "n_bits")}

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        self.projection_ = rng.standard_normal((training.X.shape[1], self.n_bits)).astype(np.float32)
        return {}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return X @ self.projection_ > 0
