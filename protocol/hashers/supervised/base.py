"""The base class of the supervised hashers with an anchor kernel map, KSH and SDH."""

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.hashers import Affinities, Hasher, TrainingSet
from protocol.hashers.linear_algebra import Kernel, arrays_of_kernel, fit_kernel
from protocol.registry import Count, Positive

Floats = NDArray[np.floating]
Learned = tuple[Floats, Floats, dict[str, Any]]
"""A and t of an `AnchorHasher`, and the fit record."""
_TILE = 1024  # rows of a Gram matrix that are converted at once


class AnchorHasher(Hasher):
    """Signs of linear functions of an anchor kernel map, ``bit_j(x) = [(phi(x) A)_j > t_j]``; subclasses learn A and t.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the choice of anchors, and of random draws in the subclass.
    n_anchors : int
        Number of training rows with which rows are compared, at least 1; if there are fewer training rows, some are
        used more than once.
    width : float
        Width of the Gaussian kernel, above 0, in units of the root mean square distance between training rows and
        anchors.

    Attributes
    ----------
    anchors_, width_, offset_ : ndarray of float32
        The kernel map, see `Kernel`.
    projection_ : ndarray of float32, shape (n_anchors, n_bits)
        A.
    threshold_ : ndarray of float32, shape (n_bits,)
        t.
    """

    learned = {**arrays_of_kernel(), "threshold_": ("float32", "n_bits")}

    n_anchors: Count = 300
    width: Positive = 1.0

    @abc.abstractmethod
    def _functions(self, K: NDArray[np.float32], training: TrainingSet, rng: np.random.Generator) -> Learned:
        """Return A, t and the fit record, from the mapped training rows K (n, n_anchors)."""

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        anchors = np.resize(rng.permutation(len(training.X)), self.n_anchors)
        kernel = fit_kernel(training.X, anchors, width=self.width)
        A, t, record = self._functions(kernel.map(training.X), training, rng)
        self.anchors_, self.width_, self.offset_ = kernel
        self.projection_, self.threshold_ = A.astype(np.float32), t.astype(np.float32)
        return record

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return Kernel(self.anchors_, self.width_, self.offset_).map(X) @ self.projection_ > self.threshold_


def labelled(
    K: NDArray[np.float32], affinities: Affinities, n_labelled: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Affinities]:
    """Return at most `n_labelled` random rows of K, (n, m), in their order, and the affinities among them."""
    if len(K) <= n_labelled:
        return K, affinities
    rows = np.sort(rng.choice(len(K), n_labelled, replace=False))
    return K[rows], affinities.of(rows)


def gram_matrix(K: NDArray[np.float32], ridge: float) -> NDArray[np.float64]:
    """Return ``K' K + ridge I`` in float64, so that it is positive definite even with repeated columns."""
    gram = ridge * np.eye(K.shape[1])
    for start in range(0, len(K), _TILE):
        tile = K[start : start + _TILE].astype(np.float64)
        gram += tile.T @ tile
    return gram
