"""Counting, and average precision with ties in database order, for small inputs: NumPy, one query at a time."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.counting._buckets import Buckets
from protocol.truth.relevance import LabelRelevance, Relevance

_GATHERED = 16
"""The number of queries whose relevant items are gathered at once."""


class Plain:
    """Counts blocks of queries with NumPy; see `protocol.counting.counting` for the names of the algorithms."""

    block_size = 64

    def __init__(
        self,
        query_words: NDArray[np.uint64],
        database_words: NDArray[np.uint64],
        n_bits: int,
        by_label: Mapping[str, LabelRelevance],
    ) -> None:
        self._queries, self._database = query_words, np.ascontiguousarray(database_words.T)
        self._n_bits, self._by_label = n_bits, by_label

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        queries = range(len(self._queries))[block]
        retrieved = np.empty((len(queries), self._n_bits + 1), dtype=np.int64)
        by_name = {
            name: np.empty((len(queries), relevance.levels.size, self._n_bits + 1), dtype=np.int64)
            for name, relevance in self._by_label.items()
        }
        for row, query in enumerate(queries):
            distances = distances_from(self._queries[query], self._database)
            retrieved[row] = np.bincount(distances, minlength=self._n_bits + 1)
            for name, relevance in self._by_label.items():
                positions, levels = relevance.row(query)
                by_name[name][row] = _histogram(distances[positions], levels, relevance, self._n_bits)
        return retrieved, by_name

    @staticmethod
    def largest_buckets(
        queries: NDArray[np.uint64], buckets: Buckets, retrieved: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the size of the largest bucket within each radius, (n_queries, n_bits + 1)."""
        largest = (retrieved > 0).astype(np.int64)  # 1 if the ball has an item; repeated codes follow
        if buckets.repeated_sizes.size:
            for row, query in zip(largest, queries, strict=True):
                np.maximum.at(row, distances_from(query, buckets.repeated_words.T), buckets.repeated_sizes)
        return np.maximum.accumulate(largest, axis=1)


def distances_from(query: NDArray[np.uint64], database: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the Hamming distance of every database item; `query` is (n_words,), `database` (n_words, n_database)."""
    return np.bitwise_count(database ^ query[:, None]).sum(axis=0, dtype=np.uint16)


def gathered(
    queries: NDArray[np.uint64], database: NDArray[np.uint64], relevance: Relevance, block: slice, n_bits: int
) -> NDArray[np.int64]:
    """Count the relevant items of a block of queries at each level and distance, from the codes of these items alone.

    Parameters
    ----------
    queries, database : ndarray of uint64, shape (n_queries, n_words), (n_database, n_words)
    relevance : Relevance
        This is efficient if few items are relevant.
    block : slice
        The block of queries.
    n_bits : int

    Returns
    -------
    ndarray of int64, shape (n_block, n_levels, n_bits + 1)
    """
    n_levels, n_distances = relevance.levels.size, n_bits + 1
    numbers = range(len(queries))[block]
    counts = np.empty((len(numbers), n_levels, n_distances), dtype=np.int64)
    for first in range(0, len(numbers), _GATHERED):
        some = numbers[first : first + _GATHERED]
        rows = [relevance.row(query) for query in some]
        positions, levels = (np.concatenate(column) for column in zip(*rows, strict=True))
        query = np.repeat(np.arange(len(some)), [positions.size for positions, _ in rows])
        distances = np.bitwise_count(database[positions] ^ queries[some.start + query]).sum(axis=1, dtype=np.int64)
        cells = (query * n_levels + np.searchsorted(relevance.levels, levels)) * n_distances + distances
        binned = np.bincount(cells, minlength=len(some) * n_levels * n_distances)
        counts[first : first + _GATHERED] = binned.reshape(-1, n_levels, n_distances)
    return counts


def _histogram(
    distances: NDArray[np.uint16], levels: NDArray[np.int64], relevance: Relevance, n_bits: int
) -> NDArray[np.int64]:
    """Count the relevant items of a query at each level and distance, (n_levels, n_bits + 1)."""
    cells = distances.astype(np.int64)
    if relevance.levels.size > 1:
        cells += np.searchsorted(relevance.levels, levels) * (n_bits + 1)
    shape = (relevance.levels.size, n_bits + 1)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def average_precision(
    queries: NDArray[np.uint64], database: NDArray[np.uint64], relevance: Relevance, block: slice
) -> NDArray[np.float64]:
    """Return the average precision of a block of queries in the stable ranking, over all relevant items.

    Parameters
    ----------
    queries, database : ndarray of uint64, shape (n_queries, n_words), (n_database, n_words)
    relevance : Relevance
    block : slice
        The block of queries.

    Returns
    -------
    ndarray of float64, shape (n_block,)
        NaN for a query without relevant items.
    """
    numbers = range(len(queries))[block]
    values = np.full(len(numbers), np.nan)
    place = np.empty(len(database), dtype=np.int64)
    for row, query in enumerate(numbers):
        positions = relevance.row(query)[0]
        if positions.size:
            order = np.argsort(distances_from(queries[query], database.T), kind="stable")
            place[order] = np.arange(1, order.size + 1)
            values[row] = (np.arange(1, positions.size + 1) / np.sort(place[positions])).mean()
    return values
