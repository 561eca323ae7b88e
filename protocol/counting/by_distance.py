"""Counts of the exact ranking by a distance of real-valued vectors, such as those that quantised items stand for."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.counting.asymmetric import counts_by_keys
from protocol.counting.counts import Floats, HammingCounts, Integers, joined
from protocol.parallel import Step, in_order, unreported, workers
from protocol.truth import TILE, Distance, Keys, check_rows, pair_distances
from protocol.truth.relevance import Relevance, check_relevance

_QUERIES = 4096
"""Queries counted in one pass over the database."""
_PAIRS = 1 << 20
"""Pairs of a query and an item that are counted at once, each of which takes about 50 bytes."""


def count_by_distance(
    query: NDArray,
    database: NDArray,
    relevances: Mapping[int, Relevance],
    *,
    distance: Distance = "euclidean",
    threads: int = 1,
    progress: Step = unreported,
) -> dict[int, HammingCounts]:
    """Count relevant and other items of the ranking by a distance, as defined by the formulas of `nearest`.

    Parameters
    ----------
    query : (n_queries, d) numbers
        The vectors of the queries.
    database : (n_database, d) numbers
        The vectors of the database, which are read sequentially, in small blocks.
    relevances : mapping of hashable to Relevance
        Of a single level. The time grows with the number of items that are nearer than the farthest relevant item.
    distance : {"euclidean", "cosine", "dot"}, default="euclidean"
    threads : int, default=1
        The result does not depend on it.
    progress : callable, optional
        Called with the number of pairs compared since the last call.

    Returns
    -------
    dict of hashable to HammingCounts
        The counts for each relevance. The last axis is not a distance. It alternates between the items at the distance
        of a relevant one, which are tied with it, and the irrelevant items before, between and after these distances.

    Raises
    ------
    ProtocolError
        If a vector is not finite or, for the cosine, zero.

    Notes
    -----
    Memory grows neither with the database nor with queries x database.

    Examples
    --------
    >>> from protocol.truth.relevance import NeighbourRelevance
    >>> line, relevance = np.array([[0.0], [1], [-1], [3]]), NeighbourRelevance([0, 1], [1], 4)
    >>> counts = count_by_distance(line[:1], line, {1: relevance})[1]
    >>> counts.retrieved, counts.relevant
    (array([[1, 2, 1]]), array([[0, 1, 0]]))
    """
    check_rows(query, "query", unit=distance == "cosine")
    keys = Keys(database, distance)
    with workers(threads) as n_threads:
        parts = []
        for start in range(0, len(query), _QUERIES):
            queries = query[start : start + _QUERIES]
            rows = range(start, start + len(queries))
            lists = [{name: relevance.row(row)[0] for name, relevance in relevances.items()} for row in rows]
            parts.append(_Block(queries, database, lists, keys).counts(n_threads, progress))
    level = np.ones(1, dtype=np.int64)
    blocks = {name: [HammingCounts(every, of[name][:, None], level) for every, of in parts] for name in relevances}
    return {name: joined(of_name) for name, of_name in blocks.items()}


def distance_counts(
    query: NDArray,
    database: NDArray,
    distance: Distance,
    relevance: Relevance,
    *,
    index_order: bool = False,
    leave_one_out: bool = False,
    threads: int = 1,
    progress: Step = unreported,
) -> Iterator[HammingCounts]:
    """Yield the counts of the ranking of vectors by a distance: for relevance of any levels, from all distances.

    Parameters
    ----------
    query : (n_queries, d) numbers
    database : (n_database, d) numbers
    distance : {"euclidean", "cosine", "dot"}
        Items are tied where the distances by the formulas of `nearest` are equal in float64.
    relevance, index_order, leave_one_out, threads, progress
        As for `asymmetric_counts`, which yields counts of the same kind.

    Raises
    ------
    ProtocolError
        If a vector is not finite or, for the cosine, zero; or as `asymmetric_counts` does.

    Examples
    --------
    >>> from protocol.truth.relevance import LabelRelevance
    >>> line = np.array([[0.0], [1], [-1], [3]])
    >>> counts, = distance_counts(line[:1], line, "euclidean", LabelRelevance([5], [6, 5, 6, 6]))
    >>> counts.retrieved, counts.relevant
    (array([[1, 2, 1]]), array([[0, 1, 0]]))
    """
    for side, vectors in (("query", query), ("database", database)):
        check_rows(vectors, side, unit=distance == "cosine")
    check_relevance(relevance, len(query), len(database), distance)
    items = np.arange(len(database))

    def keys_of(rows: slice) -> Iterator[Floats]:
        for row in range(len(query))[rows]:
            yield pair_distances(query, database, np.full_like(items, row), items, distance=distance, threads=threads)

    yield from counts_by_keys(keys_of, items, relevance, index_order, leave_one_out, threads, progress)


class _Block:
    """The counts of up to 4,096 queries in one pass over the database."""

    def __init__(self, query: NDArray, database: NDArray, lists: list[dict[int, Integers]], keys: Keys) -> None:
        self.query, self.database, self.keys = query, database, keys
        items = [np.unique(np.concatenate(list(of_row.values()))) for of_row in lists]
        pairs = np.repeat(np.arange(len(lists)), list(map(len, items))), np.concatenate(items)
        of_items = np.split(keys.distances(query, *pairs), np.cumsum(list(map(len, items)))[:-1])
        # For each query, the distances of relevant items, ascending; items at values[j] are counted at 2 j + 1.
        self.values = [np.unique(of_row) for of_row in of_items]
        shape = len(lists), 2 * max(map(len, self.values)) + 1
        self.retrieved = np.zeros(shape, dtype=np.int64)
        self.relevant = {name: np.zeros(shape, dtype=np.int64) for name in lists[0]}
        for row, of_row in enumerate(lists):
            for name, positions in of_row.items():
                at = np.searchsorted(self.values[row], of_items[row][np.searchsorted(items[row], positions)])
                np.add.at(self.relevant[name][row], 2 * at + 1, 1)

    def counts(self, threads: int, progress: Step) -> tuple[Integers, dict[int, Integers]]:
        """Return the numbers of all items, and of the relevant items by name."""
        queries, n_items = self.keys.queries(self.query), len(self.database)
        bound = np.array([self.keys.of(values[-1]) if len(values) else -np.inf for values in self.values])
        pending, n_pending, starts = [], 0, range(0, n_items, TILE)

        def search(start: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
            nearby = self.keys.within(queries, self.keys.items(self.database[start : start + TILE]), bound)
            return nearby.rows, start + nearby.columns.astype(np.int64), nearby.low, nearby.high

        for start, nearby in zip(starts, in_order(search, starts, threads), strict=True):
            pending.append(nearby)
            n_pending += len(nearby[0])
            if n_pending > _PAIRS or start + TILE >= n_items:
                self._add(*map(np.concatenate, zip(*pending, strict=True)))
                pending, n_pending = [], 0
            progress(len(self.query) * min(TILE, n_items - start))
        beyond = n_items - self.retrieved.sum(axis=1)
        self.retrieved[np.arange(len(self.query)), [2 * len(values) for values in self.values]] += beyond
        return self.retrieved, self.relevant

    def _add(self, rows: NDArray, items: NDArray, low: NDArray, high: NDArray) -> None:
        """Count pairs, whose keys are in the intervals from `low` to `high`."""
        order = np.argsort(rows.astype(np.int16), kind="stable")  # NumPy sorts 16-bit integers by counting
        rows, items, low, high = (array[order] for array in (rows, items, low, high))
        ends = np.searchsorted(rows, np.arange(len(self.query) + 1))
        before, after = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        for row in np.unique(rows):
            part, values = slice(ends[row], ends[row + 1]), self.keys.of(self.values[row])
            before[part] = np.searchsorted(values, low[part])
            after[part] = np.searchsorted(values, high[part], side="right")
        places = 2 * before
        undecided = np.flatnonzero(before < after)
        exact = self.keys.distances(self.query, rows[undecided], items[undecided])
        for row in np.unique(rows[undecided]):
            of_row = undecided[part := slice(*np.searchsorted(rows[undecided], [row, row + 1]))]
            sides = [np.searchsorted(self.values[row], exact[part], side) for side in ("left", "right")]
            places[of_row] = sides[0] + sides[1]  # 2 j before values[j], and 2 j + 1 at it
        cells = rows * np.int64(self.retrieved.shape[1]) + places
        self.retrieved += np.bincount(cells, minlength=self.retrieved.size).reshape(self.retrieved.shape)
