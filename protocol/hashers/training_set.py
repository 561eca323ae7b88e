"""Training rows, their supervision, and values that several hashers need, which are computed once."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError
from protocol.inputs.validation import class_labels, matrix

SUPERVISION = ("labels", "affinities", "pairs")
"""The kinds of supervision that a hasher may require; each is a property of `TrainingSet`."""
MAGNITUDES = 1e-10, 1e12
"""The limits of the largest magnitude of features, with which hashers neither underflow nor overflow float32.

Squares of distances in many dimensions are the largest numbers that occur. Measured with few rows and dimensions, the
codes are those of scaled features from 1e-14 to 1e17.
"""
FLOAT32 = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
"""The limits for hashers that only compare values."""
_TILE = 2048  # rows: a tile of 512 features has 4 MB, so it is still in the cache after centring
_ROWS = 1024  # rows whose pairs are processed at once: 5 % of the pairs of 50,000 rows take 40 MB


def check_magnitude(X: ArrayLike, name: str, smallest: float, largest: float) -> None:
    """Raise ProtocolError if the largest magnitude of features is not 0, below `smallest`, or above `largest`.

    What is not a matrix of finite numbers passes, because `matrix` refuses it.
    """
    array = np.asarray(X)
    if array.dtype.kind in "fiu" and array.size:
        magnitude = max(float(array.max()), -float(array.min()))
        if largest < magnitude < np.inf or 0 < magnitude < smallest:
            limit = f"at most {largest:.2g}" if magnitude > largest else f"at least {smallest:.2g}"
            advice = f"Scale them, so that it is {limit}, because codes are computed in float32."
            raise ProtocolError(f"{name}: the largest magnitude of the features is {magnitude:.2g}. {advice}")


def read_only(array: NDArray) -> NDArray:
    """Return a view of an array that can't be written to: a hasher gets the user's own rows, without a copy."""
    view = array.view()
    view.flags.writeable = False
    return view


class Affinities:
    """The relevance levels between training rows, from 0 (not relevant).

    Parameters
    ----------
    y : array_like of int, shape (n,), or of bool or 0/1, shape (n, n_classes), or sparse matrix of int, shape (n, n)
        Class labels, in which case the level of a pair is the number of shared labels; or the levels themselves, as any
        matrix of `scipy.sparse` whose rows are queries. Pairs that are not stored have level 0.
    n_rows : int
        The number of training rows.

    Raises
    ------
    ProtocolError
        If `y` is neither, has another length or a negative level, or relates no pair of different rows.

    Examples
    --------
    >>> Affinities([7, 8, 7], 3).among(np.array([2, 1, 0]))
    array([[1, 0, 1],
           [0, 1, 0],
           [1, 0, 1]])
    """

    def __init__(self, y: Any, n_rows: int) -> None:
        self._sparse = y.tocsr() if hasattr(y, "tocsr") else None
        if self._sparse is None:
            self._labels = class_labels(y, n_rows)
            single = self._labels.ndim == 1
            sizes = np.unique(self._labels, return_counts=True)[1] if single else self._labels.sum(axis=0)
            has_related = sizes.max() > 1
        else:
            lowest = self._sparse.data.min(initial=0)
            if self._sparse.shape != (n_rows, n_rows) or y.dtype.kind not in "iub" or lowest < 0:
                expected = f"integers >= 0 of shape ({n_rows}, {n_rows}), one per pair of training rows"
                got = f"shape {self._sparse.shape} of {y.dtype} with minimum {lowest}"
                raise ProtocolError(f"affinities: expected {expected}, got {got}.")
            has_related = self._sparse.count_nonzero() > np.count_nonzero(self._sparse.diagonal())
        if not has_related:
            raise ProtocolError(f"affinities: no two of the {n_rows:,} training rows are related.")

    def of(self, rows: NDArray[np.int64]) -> "Affinities":
        """Return the affinities among some of the training rows."""
        return Affinities(self._labels[rows] if self._sparse is None else self._sparse[rows][:, rows], len(rows))

    def sums(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return, for each row, the sum of values over the other rows that are related to it, at any level above 0.

        For labels, the matrix of all pairs is not computed: rows with equal labels are summed first.

        Parameters
        ----------
        values : ndarray of float, shape (n_rows, k)

        Returns
        -------
        ndarray of float, shape (n_rows, k)

        Examples
        --------
        >>> Affinities([7, 8, 7, 7], 4).sums(np.array([[1.0], [2.0], [3.0], [5.0]])).ravel()
        array([8., 0., 6., 4.])
        """
        if self._sparse is not None:
            related = (self._sparse > 0).astype(np.int8)
            return related @ values - related.diagonal()[:, None] * values
        groups, group, order, starts = self._groups
        totals = np.add.reduceat(values[order], starts, axis=0, dtype=np.float64)
        if groups.ndim == 1:
            return totals[group] - values
        blocks = (groups[start : start + _ROWS] for start in range(0, len(groups), _ROWS))
        totals = np.concatenate([(block.astype(np.float32) @ groups.T > 0) @ totals for block in blocks])
        return totals[group] - np.asarray(groups.any(axis=1))[group, None] * values

    def signed_sums(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return S values (n_rows, k), where S is 1 for a row itself and related rows, and -1 for all others."""
        return 2 * (self.sums(values) + values) - values.sum(axis=0, dtype=np.float64)

    @functools.cached_property
    def _groups(self) -> tuple[NDArray, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct labels, their index for each row, the rows sorted by it, and where each label starts."""
        groups, group = np.unique(self._labels, axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        return groups, group.ravel(), order, np.searchsorted(group.ravel()[order], np.arange(len(groups)))

    def among(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the levels of all pairs of the given training rows, shape (n_given, n_given)."""
        if self._sparse is not None:
            return self._sparse[rows][:, rows].toarray().astype(np.int64)
        labels = self._labels[rows]
        if labels.ndim == 1:
            return (labels[:, None] == labels).astype(np.int64)
        return labels.astype(np.int64) @ labels.T.astype(np.int64)


def supervision(truth: Mapping[str, NDArray]) -> Any:
    """Return the supervision in a ground truth among the training rows, for `Hasher.fit`.

    Parameters
    ----------
    truth : mapping of str to ndarray
        The arrays of a ground truth whose queries and database are both the training rows: ``query_labels``, or
        ``indptr``, ``indices`` and optionally ``levels``; all levels are 1 without the latter.

    Returns
    -------
    ndarray or scipy.sparse.csr_array
        Labels, or levels (n, n).
    """
    if "query_labels" in truth:
        return truth["query_labels"]
    from scipy.sparse import csr_array

    indptr, indices = truth["indptr"], truth["indices"]
    levels = truth.get("levels", np.ones(len(indices), dtype=np.int8))
    # scipy requires both to have the same type; otherwise it would copy the indices, half of the memory.
    index = np.int32 if len(indices) <= np.iinfo(np.int32).max else np.int64
    both = indices.astype(index, copy=False), indptr.astype(index)
    return csr_array((levels, *both), shape=(len(indptr) - 1,) * 2)


class PrincipalComponents(NamedTuple):
    """Leading eigenvectors of the training covariance, ``cov(X) W = W diag(variance)``.

    Attributes
    ----------
    directions : ndarray of float32, shape (d, n_components)
        W: orthonormal columns, the largest variance first. The entry of each column with the largest absolute value is
        positive, so that the sign does not depend on the linear-algebra library.
    n_without_variance : int
        The number of directions that are only rounding noise, because of constant or dependent features, or fewer rows
        than components. Bits computed from them are noise.
    """

    directions: NDArray[np.float32]
    n_without_variance: int


class TrainingSet:
    """Training rows with their mean and principal components, for any number of fits.

    Every attribute is computed when it is first needed, and then stored. A training set that is shared by several
    hashers, or by several code lengths, is therefore decomposed only once. The result of a fit does not depend on this.

    Parameters
    ----------
    X : array_like of float, shape (n, d)
        The rows. A contiguous float32 matrix is used without a copy. All attributes are read-only.
    y : array_like or sparse matrix, optional
        The supervision. It is checked when a hasher requires it, as one of:

        - ``labels``: class labels, integers or strings (n,), or 0/1 (n, n_classes) where a row may have several;
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
    memberships : ndarray of bool, shape (n, n_classes)
        `labels` as columns, one for each label.
    affinities : Affinities
        `y` as relevance levels.
    pairs : ndarray of float32, shape (n, d')
        `y` as the other modality, finite and contiguous.

    Raises
    ------
    ProtocolError
        If `X` is not a finite matrix, or too large or too small for float32. On access to ``labels``,
        ``affinities`` and ``pairs``, if `y` is missing, of another kind, or does not have n rows.

    Examples
    --------
    >>> training = TrainingSet([[1.0, 5.0], [3.0, 5.0]])
    >>> training.mean, training.components(1).directions.ravel()
    (array([2., 5.], dtype=float32), array([1., 0.], dtype=float32))
    """

    def __init__(self, X: ArrayLike, y: Any = None) -> None:
        check_magnitude(X, "X", *FLOAT32)
        self.X = read_only(np.ascontiguousarray(matrix(X)))
        self._y = y

    @property
    def unsupervised(self) -> "TrainingSet":
        """The rows without their supervision; a new training set, which shares no computed values, if they have any."""
        return self if self._y is None else TrainingSet(self.X)

    def some(self, n_rows: int) -> "TrainingSet":
        """Return at most `n_rows` of the rows, a sample with a fixed seed, with their supervision."""
        rows, y = np.sort(np.random.default_rng(0).permutation(len(self.X))[:n_rows]), self._y
        if y is not None:
            y = y.tocsr()[rows][:, rows] if hasattr(y, "tocsr") else np.asarray(y)[rows]
        return TrainingSet(self.X[rows], y)

    def altered(self) -> "TrainingSet":
        """Return other rows with the same supervision and norms: these, with their features in reverse order."""
        return TrainingSet(self.X[:, ::-1], self._y)

    @functools.cached_property
    def labels(self) -> NDArray:
        """`y` as class labels."""
        y = class_labels(self._supervision("integers or strings (n,), or 0/1 (n, n_classes)"), len(self.X))
        if (y == y[0]).all():
            raise ProtocolError(f"labels: all {len(y):,} training rows belong to one class; at least two are needed.")
        return read_only(y)

    @property
    def memberships(self) -> NDArray[np.bool_]:
        """`labels` as 0/1 columns, (n, n_classes): of distinct labels in ascending order, if rows have one each."""
        return self.labels if self.labels.ndim == 2 else self.labels[:, None] == np.unique(self.labels)

    @functools.cached_property
    def affinities(self) -> Affinities:
        """`y` as relevance levels."""
        return Affinities(self._supervision("levels (n, n) as a sparse matrix, or class labels"), len(self.X))

    @functools.cached_property
    def pairs(self) -> NDArray[np.float32]:
        """`y` as the other modality."""
        values = self._supervision("the other modality of each row (n, d')")
        check_magnitude(values, "pairs", *FLOAT32)
        other = matrix(values, "pairs")
        if len(other) != len(self.X):
            raise ProtocolError(f"pairs: {len(other):,} rows for {len(self.X):,} training rows.")
        return read_only(np.ascontiguousarray(other))

    def _supervision(self, expected: str) -> Any:
        if self._y is None:
            raise ProtocolError(f"y is missing. Call fit(X, y) with y = {expected}; `supervision` must declare it.")
        if len(self.X) < 2:
            raise ProtocolError("at least 2 training rows are needed, got 1.")
        y = np.asarray(self._y)
        is_text = y.ndim == 1 and all(isinstance(label, str) for label in y[: None if y.dtype == object else 1])
        return np.unique(y.astype(str), return_inverse=True)[1] if is_text else self._y

    @functools.cached_property
    def mean(self) -> NDArray[np.float32]:
        """The mean of the rows."""
        return read_only(self.X.mean(axis=0, dtype=np.float64).astype(np.float32))

    @functools.cached_property
    def scale(self) -> float:
        """The root mean square of the centred rows."""
        total = 0.0
        for start in range(0, len(self.X), _TILE):
            centred = self.X[start : start + _TILE] - self.mean
            total += float(np.einsum("ij,ij->", centred, centred, dtype=np.float64))
        return float(np.sqrt(total / self.X.size)) or 1.0

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
        if n_components > (n_features := self.X.shape[1]):
            raise ProtocolError(f"n_bits must be at most {n_features:,}, the number of features, got {n_components:,}.")
        directions, n_with_variance = self._decomposition
        leading = read_only(np.ascontiguousarray(directions[:, :n_components]))
        return PrincipalComponents(leading, max(0, n_components - n_with_variance))

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
