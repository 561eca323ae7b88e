"""SKLSH: random waves whose expected agreement is a function of a Gaussian kernel."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.hashers import Hasher, TrainingSet
from protocol.registry import HasherRecord, Positive

_MOST_TURNS = 1e4  # of a wave: float32 then still resolves a thousandth of a turn


@HasherRecord.declared
class SKLSH(Hasher):
    """Shift-invariant kernel hashing: each bit is a random cosine wave above a random threshold.

    ``bit_j(x) = [cos(x . w_j + p_j) + t_j > 0]``, with ``w_j ~ N(0, gamma I)``, ``p_j ~ U[0, 2 pi)`` and
    ``t_j ~ U[-1, 1)``. The expected Hamming distance of two codes is a function of
    ``exp(-gamma ||x - y||^2 / 2)``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of waves, phases and thresholds, drawn in this order.
    gamma : float, default 1.0
        The kernel's inverse squared width, above 0.

    Attributes
    ----------
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        The w_j as columns.
    phase_ : ndarray of float64, shape (n_bits,)
        The p_j.
    threshold_ : ndarray of float64, shape (n_bits,)
        The t_j, equal for training rows, queries and database.

    Notes
    -----
    There is no learning: fit only reads the number of features. With ``gamma=1``, features must be scaled so that the
    distances of true neighbours are below about 1; codes of points much farther apart are unrelated. The reference code
    multiplies cosine and threshold by sqrt(2), which does not change any bit. Centring changes the codes, but not their
    distribution.

    References
    ----------
    Raginsky, Lazebnik, *Locality-Sensitive Binary Codes from Shift-Invariant Kernels*, NIPS 2009, section 2.

    Examples
    --------
    At the origin, only phase and threshold remain:

    >>> hasher = SKLSH(n_bits=8).fit([[0.0, 0.0]])
    >>> expected = np.cos(hasher.phase_) + hasher.threshold_ > 0
    >>> bool((hasher.transform([[0.0, 0.0]]) == expected).all())
    True
    """

    learned = {
        "projection_": ("float32", "d", "n_bits"),
        "phase_": ("float64", "n_bits"),
        "threshold_": ("float64", "n_bits"),
    }

    gamma: Positive = 1.0

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        width = np.sqrt(self.gamma)
        self.projection_ = (width * rng.standard_normal((training.X.shape[1], self.n_bits))).astype(np.float32)
        self.phase_ = rng.uniform(0, 2 * np.pi, self.n_bits)
        self.threshold_ = rng.uniform(-1, 1, self.n_bits)
        return {}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        # cos(z) + t > 0 holds within arccos(-t) of a full turn, so the cosines of the entries need not be computed.
        turns = (X @ self.projection_ + self.phase_) / (2 * np.pi)
        if np.abs(turns).max() > _MOST_TURNS:
            features = f"features of magnitude {np.abs(X).max():.2g} in float32"
            raise ProtocolError(f"X: SKLSH with gamma={self.gamma:g} can't resolve {features}. Scale them to about 1.")
        return np.abs(turns - np.rint(turns)) < np.arccos(-self.threshold_) / (2 * np.pi)
