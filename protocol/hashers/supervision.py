"""Affinities, the supervision by relevance levels between training rows."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.validation import class_labels
from protocol.provenance import storage

_ROWS = 1024
"""The number of rows whose pairs are processed at once; 5 % of the pairs of 50,000 rows take 40 MB."""


class Affinities:
    """The relevance levels between training rows, from 0 (not relevant).

    Parameters
    ----------
    y : array_like of int, shape (n,), or of bool or 0/1, shape (n, n_classes), or sparse matrix of int, shape (n, n)
        Class labels, in which case the level of a pair is the number of shared labels; or the levels themselves, as any
        matrix of `scipy.sparse` whose rows are queries. Pairs that are not stored have level 0.
    n_rows : int
        The number of training rows.

    Attributes
    ----------
    levels : ndarray of int64
        The levels above 0 that may occur between different rows, ascending.

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

    levels: NDArray[np.int64]

    def __init__(self, y: Any, n_rows: int) -> None:
        self._sparse = y.tocsr() if hasattr(y, "tocsr") else None
        if self._sparse is None:
            self._labels = class_labels(y, n_rows)
            self.levels = _levels_of_labels(self._labels)
        else:
            lowest = self._sparse.data.min(initial=0)
            if self._sparse.shape != (n_rows, n_rows) or y.dtype.kind not in "iub" or lowest < 0:
                raise ProtocolError(
                    f"affinities: expected integers >= 0 for {n_rows} x {n_rows} pairs of training rows, got shape "
                    f"{self._sparse.shape} of {y.dtype} with minimum {lowest}."
                )
            self.levels = _levels_of_pairs(self._sparse)
        if not self.levels.size:
            raise ProtocolError(f"affinities: expected a pair of related rows among {n_rows} training rows, got none.")

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
            related = type(self._sparse)(
                ((self._sparse.data > 0).astype(np.int8), self._sparse.indices, self._sparse.indptr),
                shape=self._sparse.shape,
            )
            return related @ values - (self._sparse.diagonal() > 0)[:, None] * values
        groups, group, order, starts = self._groups
        totals = np.add.reduceat(values[order], starts, axis=0, dtype=np.float64)
        if groups.ndim == 2:
            blocks = [groups[start : start + _ROWS] for start in range(0, len(groups), _ROWS)]
            totals = np.concatenate([(block.astype(np.float32) @ groups.T > 0) @ totals for block in blocks])
            labelled = np.asarray(groups.any(axis=1))
            return totals[group] - labelled[group][:, None] * values
        return totals[group] - values

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
        given = self._labels[rows]
        if given.ndim == 1:
            return (given[:, None] == given).astype(np.int64)
        return given.astype(np.int64) @ given.T.astype(np.int64)


def _levels_of_pairs(pairs: Any) -> NDArray[np.int64]:
    """Return the levels above 0 between different rows, without a copy of all pairs."""
    found: set[int] = set()
    for start in range(0, pairs.shape[0], _ROWS):
        block = pairs[start : start + _ROWS].tocoo()
        found.update(np.unique(block.data[block.row + start != block.col]).tolist())
    return np.array(sorted(found - {0}), dtype=np.int64)


def _levels_of_labels(y: NDArray) -> NDArray[np.int64]:
    """Return the positive numbers of labels that two different rows share."""
    if y.ndim == 1:
        most = int(np.unique(y, return_counts=True)[1].max() > 1)
    else:
        most = int(np.sort(y[:, y.sum(axis=0) > 1].sum(axis=1))[-2:].min())
    return np.arange(1, most + 1)


def supervision_from_file(path: str | Path | None, *, otherwise: Any = None) -> Any:
    """Return the supervision in a file with a ground truth among the training rows, for `Hasher.fit`.

    Parameters
    ----------
    path : path or None
        A file with a ground truth whose queries and database are both the training rows: ``query_labels``, or
        ``indptr``, ``indices`` and optionally ``levels``; all levels are 1 without the latter.
    otherwise : ndarray or None
        The result if `path` is None: the other modality of the training rows, if there is one.

    Returns
    -------
    ndarray or scipy.sparse.csr_array or None
        Labels, or levels (n, n).
    """
    if path is None:
        return otherwise
    arrays = storage.read(path)
    if "query_labels" in arrays:
        return arrays["query_labels"]
    from scipy.sparse import csr_array

    indptr, indices = arrays["indptr"], arrays["indices"]
    levels = arrays.get("levels", np.ones(len(indices), dtype=np.int8))
    # scipy requires both to have the same type; otherwise it would copy the indices, half of the memory.
    index = np.int32 if len(indices) <= np.iinfo(np.int32).max else np.int64
    both = indices.astype(index, copy=False), indptr.astype(index)
    return csr_array((levels, *both), shape=(len(indptr) - 1,) * 2)
