"""SpH: spherical hashing, with bits for the inside and outside of balanced, nearly independent hyperspheres."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.hashers import Hasher, TrainingSet
from protocol.hashers.linear_algebra import squared_distances
from protocol.registry import Count, HasherRecord, Positive

_N_START = 5  # an initial centre is the mean of this many training rows
_SLACK = 16 * np.finfo(np.float32).eps  # more than the rounding of a squared distance, far less than any difference
_FAR = 1000.0  # times the farthest row: at that distance a sphere is a plane, and float32 distances are too imprecise


@HasherRecord.declared
class SpH(Hasher):
    """Spherical hashing: a bit is 1 if the point lies inside the bit's hypersphere.

    ``bit_j(x) = [||x - c_j|| <= r_j]``. Every sphere contains half of the n training rows, and the centres are moved
    until any two spheres share about a quarter of the rows. With ``o_ij`` the number of rows in both spheres, all
    centres are updated by ``c_i += (1 / n_bits) sum_j (o_ij - n/4) / (n/2) (c_i - c_j)``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the initial centres.
    epsilon_mean : float, default 0.10
        The paper's eps_m. Updates stop when the mean of ``|o_ij - n/4|`` is at most eps_m n/4 and the condition of
        `epsilon_std` holds.
    epsilon_std : float, default 0.15
        The paper's eps_s. The standard deviation of o_ij must be at most eps_s n/4.
    max_iter : int, default 200
        Largest number of updates of the centres, at least 1; 14 to 55 are usual for 8 to 64 bits.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows, which is subtracted first; it only affects the rounding of distances.
    centres_ : ndarray of float32, shape (n_bits, n_features_in_)
        The c_j, relative to `mean_`.
    squared_radius_ : ndarray of float32, shape (n_bits,)
        The squared r_j: the floor(n/2)-th smallest squared distance, plus 16 float32 rounding errors of it and of the
        squared norm of the centre.
    fit_record_ : dict
        ``n_iter``, the number of updates, and ``converged``, whether both conditions were met.

    Raises
    ------
    ProtocolError
        In fit, if there are fewer than 5 training rows.

    Notes
    -----
    An initial centre is the mean of 5 distinct random training rows. All rows at the distance of the radius are inside,
    so a sphere may contain more than half of the rows if there are duplicates. It is not an error if the conditions are
    not met: the last spheres are used, and the fit record shows it. With few distinct rows, the centres may diverge;
    updates stop before a centre is 1000 times as far from the mean as the farthest training row. A single bit has no
    pairs, so it converges immediately. Constant features have no effect. If all training rows are equal, the spheres
    can't be separated, and all bits are 1.

    References
    ----------
    Heo, Lee, He, Chang, Yoon, *Spherical Hashing*, CVPR 2012, section 3, Algorithm 1.

    Examples
    --------
    Each sphere contains half of the training rows:

    >>> X = np.random.default_rng(1).normal(size=(40, 3))
    >>> SpH(n_bits=4).fit(X).transform(X).sum(axis=0)
    array([20, 20, 20, 20])
    """

    learned = {
        "mean_": ("float32", "d"),
        "centres_": ("float32", "n_bits", "d"),
        "squared_radius_": ("float32", "n_bits"),
    }

    epsilon_mean: Positive = 0.10
    epsilon_std: Positive = 0.15
    max_iter: Count = 200

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        if len(training.X) < _N_START:
            raise ProtocolError(f"X: SpH needs at least {_N_START} training vectors, got {len(training.X):,}.")
        self.mean_ = training.mean
        X = training.X - self.mean_
        start = np.stack([rng.choice(len(X), _N_START, replace=False) for _ in range(self.n_bits)])
        centres = X[start].mean(axis=1, dtype=np.float64)
        farthest = np.linalg.norm(X, axis=1).max()
        converged = False
        n_iter = 0
        squared_radius, overlaps = _halve(X, centres)
        while n_iter < self.max_iter and not converged:
            # Centres are pushed apart if their spheres share too many rows, and pulled together if too few.
            force = (overlaps - len(X) / 4) / (len(X) / 2)
            pushed = centres + (force.sum(axis=1)[:, None] * centres - force @ centres) / self.n_bits
            if np.linalg.norm(pushed, axis=1).max() > _FAR * farthest:
                break
            centres = pushed
            squared_radius, overlaps = _halve(X, centres)
            converged = self._balanced(overlaps, len(X) / 4)
            n_iter += 1
        self.centres_ = centres.astype(np.float32)
        self.squared_radius_ = squared_radius
        return {"n_iter": n_iter, "converged": converged}

    def _balanced(self, overlaps: NDArray[np.float64], target: float) -> bool:
        """Return whether the overlaps of pairs of spheres are `target` rows within the two tolerances."""
        pairs = overlaps[np.triu_indices(self.n_bits, k=1)]
        if pairs.size == 0:
            return True
        near = np.abs(pairs - target).mean() <= self.epsilon_mean * target
        return bool(near and pairs.std() <= self.epsilon_std * target)

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return (squared_distances(self.centres_, X - self.mean_) <= self.squared_radius_[:, None]).T


def _halve(X: NDArray[np.float32], centres: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return squared radii (n_bits,) that contain half of the rows, and the overlaps o_ij (n_bits, n_bits)."""
    distances = squared_distances(centres, X)
    half = len(X) // 2
    farthest = np.partition(distances, half - 1, axis=1)[:, half - 1]  # of the nearest half
    squared_radius = (farthest + _SLACK * (farthest + (centres**2).sum(axis=1))).astype(np.float32)
    inside = (distances <= squared_radius[:, None]).astype(np.float32)
    return squared_radius, (inside @ inside.T).astype(np.float64)  # counts below 2^24 are exact in float32
