"""What a hasher may learn from besides the training rows: which of them belong together, and how much."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.checks import ProtocolError, labels

_ROWS = 1024
"""Rows whose pairs are looked at at once: 5 % of those of 50,000 rows take 40 MB."""


class Affinities:
    """How relevant training rows are to each other: levels from 0, not relevant, upwards.

    Parameters
    ----------
    y : array_like of int, shape (n,), or of bool or 0/1, shape (n, n_classes), or sparse matrix of int, shape (n, n)
        Class labels: the level of a pair is the number of labels shared. Or the levels themselves, as any matrix of
        `scipy.sparse`; a row is a query, and what is not stored is level 0.
    n_rows : int
        How many training rows there are.

    Attributes
    ----------
    levels : ndarray of int64
        The levels above 0 that may occur among different rows, ascending.

    Raises
    ------
    ProtocolError
        If `y` is neither, of another length, has a negative level, or relates no row to another one.

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
            self._labels = labels(y, n_rows)
            self.levels = _levels_of_labels(self._labels)
        else:
            lowest = self._sparse.data.min(initial=0)
            if self._sparse.shape != (n_rows, n_rows) or y.dtype.kind not in "iub" or lowest < 0:
                raise ProtocolError(
                    f"affinities: expected levels from 0, integers, of {n_rows} x {n_rows} pairs of training rows, got "
                    f"shape {self._sparse.shape} of {y.dtype}, the lowest {lowest}"
                )
            self.levels = _levels_of_pairs(self._sparse)
        if not self.levels.size:
            raise ProtocolError(f"affinities: expected a pair of related rows among {n_rows} training rows, got none.")

    def of(self, rows: NDArray[np.int64]) -> "Affinities":
        """Return the affinities of some of the training rows alone."""
        return Affinities(self._labels[rows] if self._sparse is None else self._sparse[rows][:, rows], len(rows))

    def sums(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the sums of values over the other training rows that each row is related to, at any level above 0.

        No matrix of all pairs is made of labels: rows with the same labels are summed first.

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
        """Return the different labels, the number of each row's, the rows in its order, and where each label starts."""
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
    """Return the levels above 0 of different rows, without a copy of all pairs."""
    found: set[int] = set()
    for start in range(0, pairs.shape[0], _ROWS):
        own = pairs[start : start + _ROWS].tocoo()
        found.update(np.unique(own.data[own.row + start != own.col]).tolist())
    return np.array(sorted(found - {0}), dtype=np.int64)


def _levels_of_labels(y: NDArray) -> NDArray[np.int64]:
    """Return the numbers of labels, from 1, that two different rows may share."""
    if y.ndim == 1:
        most = int(np.unique(y, return_counts=True)[1].max() > 1)
    else:
        most = int(np.sort(y[:, y.sum(axis=0) > 1].sum(axis=1))[-2:].min())
    return np.arange(1, most + 1)


def supervision_from_file(path: str | Path | None, *, otherwise: Any = None) -> Any:
    """Return what a ground truth among the training rows says of them, as `Hasher.fit` takes it.

    Parameters
    ----------
    path : path or None
        Of a ground truth whose queries and database are both the training rows: ``query_labels``, or ``indptr``,
        ``indices`` and perhaps ``levels``, without which every level is 1.
    otherwise : ndarray or None
        What is returned of no file: the other modality of the training rows, where there is one.

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
    # Of one type, as scipy wants them: otherwise it copies the indices, half of what is held.
    index = np.int32 if len(indices) <= np.iinfo(np.int32).max else np.int64
    both = indices.astype(index, copy=False), indptr.astype(index)
    return csr_array((levels, *both), shape=(len(indptr) - 1,) * 2)
