"""SH: spectral hashing, the signs of the smoothest eigenfunctions of a box along the principal components."""

import numpy as np
from numpy.typing import NDArray

from protocol.hashers import Hasher, TrainingSet
from protocol.hashers.linear_algebra import project
from protocol.registry import HasherRecord


@HasherRecord.declared
class SH(Hasher):
    """Spectral hashing: a box is fitted along the principal components, and its lowest frequencies give the bits.

    ``bit(x) = [sin(pi/2 + k pi (v_i - a_i) / (b_i - a_i)) > 0]``, with v_i the i-th principal component of x, which
    lies in [a_i, b_i] on the training rows. The n_bits pairs (i, k), k >= 1, with the smallest
    ``(k pi / (b_i - a_i))^2`` are used.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1. It may exceed the number of features; a component is then used for several bits.
    seed : int, default 0
        No effect, because nothing is random.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows.
    directions_ : ndarray of float32, shape (n_features_in_, min(n_bits, n_features_in_))
        Eigenvectors of the covariance as columns, the largest variance first.
    lowest_ : ndarray of float64, shape (min(n_bits, n_features_in_),)
        The a_i.
    component_ : ndarray of int64, shape (n_bits,)
        The i of each bit, counted from 0.
    frequency_ : ndarray of float64, shape (n_bits,)
        ``k pi / (b_i - a_i)`` of each bit, ascending.

    Notes
    -----
    Only waves along a single component are candidates, not products of waves. (The reference code bounds k by
    ``ceil((n_bits + 1) (b_i - a_i) / max_j (b_j - a_j))``, which excludes no wave that could be used.) Equal
    frequencies are ordered by component. The box is the complete range of the training rows, not a percentile range.
    Queries outside the box are not clipped: the wave continues. Components without variance (constant features) have an
    empty range and get no bit, unless all training rows are equal; then all codes are equal.

    References
    ----------
    Weiss, Torralba, Fergus, *Spectral Hashing*, NIPS 2008.

    Examples
    --------
    For a feature from 0 to 7, the first bit halves the range, and the second separates the outer quarters from the
    inner half:

    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]
    >>> SH(n_bits=2).fit(X).transform(X).astype(int).T
    array([[1, 1, 1, 1, 0, 0, 0, 0],
           [1, 1, 0, 0, 0, 0, 1, 1]])
    """

    learned = {
        "mean_": ("float32", "d"),
        "directions_": ("float32", "d", "n_components"),
        "lowest_": ("float64", "n_components"),
        "component_": ("int64", "n_bits"),
        "frequency_": ("float64", "n_bits"),
    }

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        components = training.components(min(self.n_bits, training.X.shape[1]))
        self.mean_ = training.mean
        self.directions_ = components.directions
        V = project(training.X, self.mean_, self.directions_)
        # An epsilon on both sides, as in the reference code, keeps the range of a constant component above zero.
        epsilon = np.finfo(np.float64).eps
        self.lowest_ = V.min(axis=0).astype(np.float64) - epsilon
        extent = V.max(axis=0) + epsilon - self.lowest_
        frequency = np.arange(1, self.n_bits + 1) * np.pi / extent[:, None]
        slowest = np.argsort(frequency, axis=None, kind="stable")[: self.n_bits]
        self.component_ = slowest // self.n_bits
        self.frequency_ = frequency.ravel()[slowest]
        return {}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        V = project(X, self.mean_, self.directions_) - self.lowest_
        # sin(pi/2 + z) = cos(z) is positive within a quarter turn of a full turn, so no cosine needs to be computed.
        turns = V[:, self.component_] * (self.frequency_ / (2 * np.pi))
        return np.abs(turns - np.rint(turns)) < 0.25
