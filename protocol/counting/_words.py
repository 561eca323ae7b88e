"""Counting for long codes, and average precision with ties in database order: compiled loops over 64-bit words."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.counting._bit_planes import aligned
from protocol.counting._buckets import Buckets, largest_buckets
from protocol.counting._listed import Listed, Lists
from protocol.truth.relevance import Relevance

_PAIRS = 1 << 30
"""The number of pairs of a query and an item in a block: about a second's work, so that progress is visible."""

_HISTOGRAM_BYTES = 64 << 20
"""Memory for the histograms of a block of queries."""

_LIST_BYTES = 64 << 20
"""Memory for the lists of relevant items of a block of queries."""


class Words:
    """Counts blocks of queries against the database; see `protocol.counting.counting` for the names."""

    def __init__(
        self,
        query_words: NDArray[np.uint64],
        database_words: NDArray[np.uint64],
        n_bits: int,
        relevances: Mapping[str, Relevance],
    ) -> None:
        from protocol.counting import _kernels  # loads numba

        self._kernels = _kernels
        self._n_bits, self._queries, self._words = n_bits, query_words, np.ascontiguousarray(database_words)
        self._lists = {name: Lists(relevance) for name, relevance in relevances.items()}
        self._n_levels = [relevance.levels.size for relevance in relevances.values()]
        histograms = (1 + sum(self._n_levels)) * 8 * (n_bits + 1)
        self.block_size = max(16, min(_PAIRS // len(database_words), _HISTOGRAM_BYTES // histograms))
        if any(relevance.kind == "shared labels" for relevance in relevances.values()):  # a list for each query
            self.block_size = min(self.block_size, max(2, _LIST_BYTES // (6 * len(database_words))))

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth."""
        queries, listed = self._even(block)
        retrieved = np.zeros((len(queries), self._n_bits + 1), dtype=np.int64)
        at_level = np.zeros((len(queries), sum(self._n_levels), self._n_bits + 1), dtype=np.int64)
        self._kernels.count_words(queries, self._words, *listed, *self._workspace(), retrieved, at_level)
        n_queries = len(self._queries[block])
        by_name = np.split(at_level[:n_queries], np.cumsum(self._n_levels)[:-1], axis=1) if self._lists else []
        return retrieved[:n_queries], dict(zip(self._lists, by_name, strict=True))

    def largest(self, block: slice, retrieved: NDArray[np.int64], buckets: Buckets) -> NDArray[np.int64]:
        """Return the size of the largest bucket within each radius."""
        return largest_buckets(self._queries[block], buckets, retrieved)

    def average_precision(
        self, block: slice, retrieved: NDArray[np.int64], relevant: list[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the average precision with ties in the order of the database, for each ground truth.

        Parameters
        ----------
        block : slice
        retrieved : ndarray of int64, shape (n_block, n_bits + 1)
        relevant : list of ndarray of int64, shape (n_block, n_bits + 1)
            For each ground truth, the numbers of items of any level.

        Returns
        -------
        list of ndarray of float64, shape (n_block,)
            NaN for a query without relevant items.
        """
        queries, listed = self._even(block)
        n_block, n_queries = len(retrieved), len(queries)
        before = np.zeros((n_queries, self._n_bits + 1), dtype=np.int64)
        before[:n_block, 1:] = retrieved.cumsum(axis=1)[:, :-1]
        relevant_before = np.zeros((n_queries, len(relevant), self._n_bits + 1), dtype=np.int64)
        sums = np.zeros((n_queries, len(relevant)))
        n_relevant = np.empty((n_block, len(relevant)), dtype=np.int64)
        for k, here in enumerate(relevant):
            within = here.cumsum(axis=1)
            relevant_before[:n_block, k, 1:], n_relevant[:, k] = within[:, :-1], within[:, -1]
        distances, tile = self._workspace()
        ranks = np.empty(distances.shape, dtype=np.int64)
        self._kernels.sum_precisions(
            queries, self._words, *listed[:-1], distances, ranks, tile, before, relevant_before, sums
        )
        means = np.full(n_relevant.shape, np.nan)
        np.divide(sums[:n_block], n_relevant, out=means, where=n_relevant > 0)
        return list(means.T)

    def _even(self, block: slice) -> tuple[NDArray[np.uint64], Listed]:
        """Return the queries of a block and their lists, with an additional query if their number is odd."""
        queries = self._queries[block]
        listed = _joined([lists.of(block) for lists in self._lists.values()], self._n_levels, len(queries))
        if len(queries) % 2:
            queries = np.append(queries, queries[-1:], axis=0)
            starts = np.append(listed.starts, listed.stops[-1:], axis=0)
            listed = listed._replace(starts=starts, stops=np.append(listed.stops, listed.stops[-1:], axis=0))
        return np.ascontiguousarray(queries), listed

    def _workspace(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        tile = self._kernels.TILE
        return aligned((2, tile)), aligned((self._words.shape[1], tile))


def _joined(listed: list[Listed], n_levels: list[int], n_queries: int) -> Listed:
    """Return the lists of several ground truths as one, with (n_queries, n_truths) starts and stops."""
    if not listed:
        nothing = np.empty((n_queries, 0), dtype=np.int64)
        return Listed(nothing, nothing, np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint16))
    before = np.cumsum([0, *(each.positions.size for each in listed[:-1])])
    starts = np.stack([each.starts + at for each, at in zip(listed, before, strict=True)], axis=1)
    stops = np.stack([each.stops + at for each, at in zip(listed, before, strict=True)], axis=1)
    if len(listed) == 1:
        return Listed(starts, stops, listed[0].positions, listed[0].levels)
    rows = [
        each.levels + row for each, row in zip(listed, np.cumsum([0, *n_levels[:-1]], dtype=np.uint16), strict=True)
    ]
    return Listed(starts, stops, np.concatenate([each.positions for each in listed]), np.concatenate(rows))
