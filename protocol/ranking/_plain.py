"""Counting for small work: numpy, a query at a time."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.ranking._buckets import Buckets
from protocol.ranking.relevance import LabelRelevance, Relevance


class Plain:
    """Counts blocks of queries with numpy; see `protocol.ranking.counting` for the names."""

    block_size = 64

    def __init__(
        self,
        query_codes: NDArray[np.uint8],
        database_codes: NDArray[np.uint8],
        n_bits: int,
        by_label: Mapping[str, LabelRelevance],
        buckets: Buckets,
    ) -> None:
        self._queries, self._database = codes.words(query_codes), codes.words(database_codes).T.copy()
        self._n_bits, self._by_label, self._buckets = n_bits, by_label, buckets

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

    def largest(self, block: slice, retrieved: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest bucket within each radius."""
        largest = (retrieved > 0).astype(np.int64)  # a bucket of one item, unless a repeated code says more
        if self._buckets.repeated_sizes.size:
            for row, query in enumerate(self._queries[block]):
                distances = distances_from(query, self._buckets.repeated_words)
                np.maximum.at(largest[row], distances, self._buckets.repeated_sizes)
        return np.maximum.accumulate(largest, axis=1)


def distances_from(query: NDArray[np.uint64], database: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the Hamming distance of every database item; `query` is (n_words,), `database` (n_words, n_database)."""
    return np.bitwise_count(database ^ query[:, None]).sum(axis=0, dtype=np.uint16)


def gathered(
    queries: NDArray[np.uint64], database: NDArray[np.uint64], n_bits: int, relevance: Relevance, block: slice
) -> NDArray[np.int64]:
    """Return the relevant items of a block of queries at each level and distance, from their codes alone.

    Parameters
    ----------
    queries, database : ndarray of uint64, shape (n_queries, n_words), (n_database, n_words)
    n_bits : int
    relevance : Relevance
        Best one that lists few items.
    block : slice
        Of the queries.

    Returns
    -------
    ndarray of int64, shape (n_block, n_levels, n_bits + 1)
    """
    numbers = range(len(queries))[block]
    at_level = np.empty((len(numbers), relevance.levels.size, n_bits + 1), dtype=np.int64)
    for row, query in enumerate(numbers):
        positions, levels = relevance.row(query)
        distances = np.bitwise_count(database[positions] ^ queries[query]).sum(axis=1, dtype=np.uint16)
        at_level[row] = _histogram(distances, levels, relevance, n_bits)
    return at_level


def _histogram(
    distances: NDArray[np.uint16], levels: NDArray[np.int64], relevance: Relevance, n_bits: int
) -> NDArray[np.int64]:
    """Return the relevant items of a query at each level and distance, (n_levels, n_bits + 1)."""
    cells = distances.astype(np.int64)
    if relevance.levels.size > 1:
        cells += np.searchsorted(relevance.levels, levels) * (n_bits + 1)
    shape = (relevance.levels.size, n_bits + 1)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
