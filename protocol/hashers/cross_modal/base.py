"""The base class of cross-modal hashers, which learn one map for queries and one for the database from pairs."""

import abc
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError
from protocol.hashers import Hasher, TrainingSet
from protocol.hashers.linear_algebra import Kernel, arrays_of_kernel, fit_kernel
from protocol.registry import Count, Positive

Sides = tuple[NDArray[np.floating], NDArray[np.floating]]
"""An array for each modality."""


class CanonicalDirections(NamedTuple):
    """Pairs of directions, the highest correlation first.

    Attributes
    ----------
    x : ndarray of float64, shape (d, n_directions)
        Directions of the first modality. The entry of each column with the largest absolute value is positive, so that
        the sign does not depend on the linear-algebra library.
    y : ndarray of float64, shape (d', n_directions)
        Directions of the second modality; ``x[:, j]`` and ``y[:, j]`` form a pair.
    correlations : ndarray of float64, shape (n_directions,)
        Regularised correlation of each pair over the training rows, from 0 to 1.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    correlations: NDArray[np.float64]


def canonical_directions(
    X: NDArray[np.float32], Y: NDArray[np.float32], n_directions: int, *, regularisation: float
) -> CanonicalDirections:
    """Solve ``[0 C_xy; C_yx 0] w = correlation [C_xx + r_x I, 0; 0, C_yy + r_y I] w`` with ``w = (x, y)``.

    C are covariances of the training rows, and r is `regularisation` times the mean variance of a modality.

    Parameters
    ----------
    X : ndarray of float32, shape (n, d)
        Rows of the first modality, centred.
    Y : ndarray of float32, shape (n, d')
        Rows of the second modality, centred; row i of both is the same item.
    n_directions : int
        At most the smaller of d and d'.
    regularisation : float
        Above 0.

    References
    ----------
    Hardoon, Szedmak, Shawe-Taylor, *Canonical Correlation Analysis: An Overview with Application to Learning Methods*,
    Neural Computation 2004, sections 2 and 3.2.
    """
    from scipy.linalg import eigh

    d = X.shape[1]
    both = np.hstack([X, Y]).astype(np.float64)
    covariance = both.T @ both / len(both)
    between, within = np.zeros_like(covariance), np.zeros_like(covariance)
    between[:d, d:], between[d:, :d] = covariance[:d, d:], covariance[d:, :d]
    for part in (slice(d), slice(d, None)):
        block = covariance[part, part]
        variance = np.trace(block) / len(block)
        within[part, part] = block + regularisation * (variance or 1) * np.eye(len(block))
    n = len(within)
    correlations, pairs = eigh(between, within, subset_by_index=(n - n_directions, n - 1))
    pairs = pairs[:, ::-1]
    largest = np.take_along_axis(pairs, np.abs(pairs[:d]).argmax(axis=0)[None], axis=0)
    pairs = pairs * np.where(largest < 0, -1, 1)
    return CanonicalDirections(pairs[:d], pairs[d:], np.clip(correlations[::-1], 0, 1))


class CrossModalHasher(Hasher):
    """Signs of projections of an anchor kernel map: one map for queries, and one for a database of another modality.

    ``fit(X, pairs)`` is given the same items in the modality of the queries and in that of the database. `transform`
    encodes rows of the first modality, `transform_database` those of the second. A subclass defines how canonical
    directions become projections.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, from 1 to n_anchors.
    seed : int, default 0
        Seed of the choice of anchors, and of random draws in the subclass.
    n_anchors : int, default 256
        Number of training pairs with which rows are compared, at least n_bits; if there are fewer pairs, some are used
        more than once.
    regularisation : float, default 0.01
        Regularisation of the canonical correlation, in units of a modality's mean variance; above 0.

    Attributes
    ----------
    anchors_, width_, offset_ : ndarray of float32
        The kernel map of the queries, see `Kernel`.
    projection_ : ndarray of float32, shape (n_anchors, n_bits)
    database_anchors_, database_width_, database_offset_, database_projection_ : ndarray of float32
        The same for the modality of the database.
    fit_record_ : dict
        ``correlations``: the correlation of each pair of canonical directions, in descending order.
    """

    supervision = "pairs"
    learned = arrays_of_kernel() | arrays_of_kernel("database_", "d_database")

    n_anchors: Count = 256
    regularisation: Positive = 0.01

    def _check(self) -> None:
        if self.n_anchors < self.n_bits:
            raise ProtocolError(f"n_anchors: expected at least n_bits = {self.n_bits:,}, got {self.n_anchors:,}.")

    @abc.abstractmethod
    def _projections(self, directions: CanonicalDirections, mapped: Sides, rng: np.random.Generator) -> Sides:
        """Return the projections (m, n_bits) of both modalities; `mapped` are their training rows after the map."""

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict[str, Any]:
        rows = np.resize(rng.permutation(len(training.X)), self.n_anchors)
        query, database = fit_kernel(training.X, rows), fit_kernel(training.pairs, rows)
        mapped = query.map(training.X), database.map(training.pairs)
        directions = canonical_directions(*mapped, self.n_bits, regularisation=self.regularisation)
        of_query, of_database = self._projections(directions, mapped, rng)
        self.anchors_, self.width_, self.offset_ = query
        self.projection_ = of_query.astype(np.float32)
        self.database_anchors_, self.database_width_, self.database_offset_ = database
        self.database_projection_ = of_database.astype(np.float32)
        return {"correlations": directions.correlations.tolist()}

    def _encode(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        return Kernel(self.anchors_, self.width_, self.offset_).map(X) @ self.projection_ > 0

    def _encode_database(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        kernel = Kernel(self.database_anchors_, self.database_width_, self.database_offset_)
        return kernel.map(X) @ self.database_projection_ > 0

    def transform_database(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return the codes of rows in the modality of the database.

        Parameters
        ----------
        X : array_like of float, with as many columns as the pairs in fit

        Returns
        -------
        ndarray of bool, shape (n, n_bits)

        Raises
        ------
        ProtocolError
            If fit has not been called, or `X` is not a finite matrix with as many columns as the pairs in fit.
        """
        self._check_fitted("transform_database")
        return self._codes(X, self._encode_database, self.database_anchors_.shape[1])
