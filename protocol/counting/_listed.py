"""The relevant items of a block of queries as lists of database positions, for compiled loops."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.truth.relevance import LabelRelevance, Relevance


class Listed(NamedTuple):
    """The listed items with their relevance levels, and the part of the list that belongs to each query."""

    starts: NDArray[np.int64]
    """Shape (n_queries,)."""
    stops: NDArray[np.int64]
    """Shape (n_queries,)."""
    positions: NDArray[np.uint32]
    """Database positions, ascending in each part, (n_listed,)."""
    levels: NDArray[np.uint16]
    """Index of the level in `Relevance.levels`, (n_listed,)."""


def by_class(relevance: LabelRelevance) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the database positions sorted by class, and the range that belongs to each group of queries.

    Parameters
    ----------
    relevance : LabelRelevance
        Relevance by class labels.

    Returns
    -------
    positions : ndarray of uint32, shape (n_database,)
        Ascending in each class.
    spans : ndarray of int64, shape (n_groups, 2)
        Half-open ranges in `positions`.
    """
    from protocol.counting._kernels import sort_numbers  # loads numba

    classes, numbers = relevance.class_numbers()
    starts, positions = np.zeros(classes.size + 1, dtype=np.int64), np.empty(numbers.size, dtype=np.uint32)
    sort_numbers(numbers.astype(np.uint32), starts, positions)
    number = np.minimum(np.searchsorted(classes, relevance.groups), classes.size - 1)
    spans = np.stack([starts[number], starts[number + 1]], axis=1)
    spans[classes[number] != relevance.groups] = 0
    return positions, spans


class Lists:
    """Lists the relevant items of blocks of queries.

    Parameters
    ----------
    relevance : Relevance
    """

    def __init__(self, relevance: Relevance) -> None:
        self._relevance = relevance
        self._of_group = relevance.group if isinstance(relevance, LabelRelevance) else None
        self._all: Listed | None = None
        if isinstance(relevance, LabelRelevance) and relevance.kind == "class labels":
            positions, spans = by_class(relevance)
            starts, stops = spans[relevance.group].T
            self._all = Listed(starts, stops, positions, np.zeros(positions.size, dtype=np.uint16))

    def of(self, block: slice) -> Listed:
        """Return the lists of a block of queries."""
        if self._all is None:
            return self._listed(block)
        return Listed(self._all.starts[block], self._all.stops[block], self._all.positions, self._all.levels)

    def _listed(self, block: slice) -> Listed:
        queries = np.arange(self._relevance.n_queries)[block]
        first, of_query = queries, np.arange(queries.size)
        if self._of_group is not None:  # queries with the same labels share a list
            _, first, of_query = np.unique(self._of_group[block], return_index=True, return_inverse=True)
            first = queries[first]
        rows = [self._row(query) for query in first.tolist()]
        stops = np.cumsum([positions.size for positions, _ in rows])
        starts = np.append(0, stops[:-1])
        positions, levels = (np.concatenate(column) for column in zip(*rows, strict=True))
        return Listed(starts[of_query], stops[of_query], positions, levels)

    def _row(self, query: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        positions, levels = self._relevance.row(query)
        if (positions[1:] < positions[:-1]).any():
            order = np.argsort(positions)
            positions, levels = positions[order], levels[order]
        if self._relevance.levels.size == 1:
            return positions.astype(np.uint32), np.zeros(positions.size, dtype=np.uint16)
        return positions.astype(np.uint32), np.searchsorted(self._relevance.levels, levels).astype(np.uint16)
