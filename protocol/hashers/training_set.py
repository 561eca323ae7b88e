"""Training rows, their supervision, and values that several hashers need, which are computed once."""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError
from protocol.hashers.supervision import Affinities
from protocol.inputs.validation import class_labels, matrix

_TILE = 2048  # rows: a tile of 512 features has 4 MB, so it is still in the cache after centring


class PrincipalComponents(NamedTuple):
    """Leading eigenvectors of the training covariance, ``cov(X) W = W diag(variance)``.

    Attributes
    ----------
    mean : ndarray of float32, shape (d,)
    directions : ndarray of float32, shape (d, n_components)
        W: orthonormal columns, the largest variance first. The entry of each column with the largest absolute value is
        positive, so that the sign does not depend on the linear-algebra library.
    n_without_variance : int
        The number of directions that are only rounding noise, because of constant or dependent features, or fewer rows
        than components. Bits computed from them are noise.
    """

    mean: NDArray[np.float32]
    directions: NDArray[np.float32]
    n_without_variance: int


class TrainingSet:
    """Training rows with their mean and principal components, for any number of fits.

    Every attribute is computed when it is first needed, and then stored. A training set that is shared by several
    hashers, or by several code lengths, is therefore decomposed only once. The result of a fit does not depend on this.

    Parameters
    ----------
    X : array_like of float, shape (n, d)
        The rows. A contiguous float32 matrix is used without a copy, and must not be modified.
    y : array_like or sparse matrix, optional
        The supervision. It is checked when a hasher requires it, as one of:

        - ``labels``: class labels, integers (n,), or 0/1 (n, n_classes) where a row may have several;
        - ``affinities``: relevance levels between rows, a sparse matrix of integers (n, n), or labels;
        - ``pairs``: the other modality of each row, a matrix (n, d').

    Attributes
    ----------
    X : ndarray of float32, shape (n, d)
        The rows, finite and contiguous.
    mean : ndarray of float32, shape (d,)
        Their mean, summed in float64.
    scale : float
        Root mean square of the centred rows, or 1 if all rows are equal.
    labels : ndarray of int, shape (n,), or of bool, shape (n, n_classes)
        `y` as class labels, at least two distinct ones.
    affinities : Affinities
        `y` as relevance levels.
    pairs : ndarray of float32, shape (n, d')
        `y` as the other modality, finite and contiguous.

    Raises
    ------
    ProtocolError
        If `X` is not a finite matrix. On access to ``labels``, ``affinities`` and ``pairs``, if `y` is missing, of
        another kind, or does not have n rows.

    Examples
    --------
    >>> training = TrainingSet([[1.0, 5.0], [3.0, 5.0]])
    >>> training.mean, training.components(1).directions.ravel()
    (array([2., 5.], dtype=float32), array([1., 0.], dtype=float32))
    """

    def __init__(self, X: ArrayLike, y: Any = None) -> None:
        self.X = np.ascontiguousarray(matrix(X))
        self._y = y

    @functools.cached_property
    def labels(self) -> NDArray:
        """`y` as class labels."""
        y = class_labels(self._given("integers (n,), or 0/1 (n, n_classes)"), len(self.X))
        if (y == y[0]).all():
            raise ProtocolError(f"labels: expected two classes or more, got one for all {len(y)} training rows.")
        return y

    @functools.cached_property
    def affinities(self) -> Affinities:
        """`y` as relevance levels."""
        return Affinities(self._given("levels (n, n) as a sparse matrix, or class labels"), len(self.X))

    @functools.cached_property
    def pairs(self) -> NDArray[np.float32]:
        """`y` as the other modality."""
        other = matrix(self._given("the other modality of each row (n, d')"), "pairs")
        if len(other) != len(self.X):
            raise ProtocolError(f"pairs: expected {len(self.X)}, one per training row, got {len(other)}.")
        return np.ascontiguousarray(other)

    def _given(self, expected: str) -> Any:
        if self._y is None:
            raise ProtocolError(f"expected fit(X, y) with y = {expected}, got no y.")
        if len(self.X) < 2:
            raise ProtocolError("expected at least 2 training rows, got 1.")
        return self._y

    @functools.cached_property
    def mean(self) -> NDArray[np.float32]:
        """The mean of the rows."""
        return self.X.mean(axis=0, dtype=np.float64).astype(np.float32)

    @functools.cached_property
    def scale(self) -> float:
        """The root mean square of the centred rows."""
        total = 0.0
        for start in range(0, len(self.X), _TILE):
            centred = self.X[start : start + _TILE] - self.mean
            total += float(np.einsum("ij,ij->", centred, centred, dtype=np.float64))
        return float(np.sqrt(total / self.X.size)) or 1.0

    def check_n_bits(self, n_bits: int) -> None:
        """Raise ProtocolError if there are fewer features than bits, for hashers with one direction per bit."""
        n_features = self.X.shape[1]
        if n_bits > n_features:
            raise ProtocolError(f"n_bits: expected at most {n_features}, the number of features, got {n_bits}.")

    def components(self, n_components: int) -> PrincipalComponents:
        """Return the `n_components` leading principal components.

        Parameters
        ----------
        n_components : int
            At most d.

        Returns
        -------
        PrincipalComponents

        Raises
        ------
        ProtocolError
            If there are fewer features than components.

        Notes
        -----
        All d eigenvectors are computed at once, by divide and conquer. For up to some hundreds of features, this takes
        no longer than computing only 64 of them, and the components for one code length can't depend on the other code
        lengths.
        """
        self.check_n_bits(n_components)
        directions, n_with_variance = self._decomposition
        leading = np.ascontiguousarray(directions[:, :n_components])
        return PrincipalComponents(self.mean, leading, max(0, n_components - n_with_variance))

    @functools.cached_property
    def _decomposition(self) -> tuple[NDArray[np.float32], int]:
        """All eigenvectors (d, d) as columns, largest variance first, and the number with a variance beyond rounding.

        Products are float32 within a tile of rows and float64 across tiles, so the rounding does not grow with n. The
        covariance is not divided by n - 1: its eigenvectors are the same.
        """
        n_features = self.X.shape[1]
        scatter = np.zeros((n_features, n_features))
        for start in range(0, len(self.X), _TILE):
            centred = self.X[start : start + _TILE] - self.mean
            scatter += centred.T @ centred
        variance, vectors = np.linalg.eigh(scatter)
        directions = vectors[:, ::-1]
        largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
        rounding = np.finfo(np.float32).eps * np.trace(scatter)
        return (directions * np.sign(largest)).astype(np.float32), int((variance > rounding).sum())
