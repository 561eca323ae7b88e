"""Counting of long codes, and of places in the order of the database: codes as 64-bit words, in compiled loops."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.ranking._bit_planes import aligned
from protocol.ranking._buckets import Buckets, largest_buckets
from protocol.ranking._counted import Counted
from protocol.ranking._listed import Listed, Lists
from protocol.ranking.relevance import Relevance

_PAIRS = 1 << 30
"""Pairs of a query and an item in a block: about a second, so that progress shows."""

_HISTOGRAM_BYTES = 64 << 20
"""Memory for the histograms of a block of queries."""

_NOTED_PAIRS = 4 << 20
"""Relevant items whose places are noted in a block of queries, at six bytes each."""


class Words:
    """Counts blocks of queries against the database; see `protocol.ranking.counting` for the names."""

    def __init__(
        self,
        query_words: NDArray[np.uint64],
        database_words: NDArray[np.uint64],
        n_bits: int,
        relevances: Mapping[str, Relevance],
        *,
        index_order: bool = False,
    ) -> None:
        from protocol.ranking import _kernels  # loads numba

        self._kernels = _kernels
        self._n_bits, self._queries, self._n_database = n_bits, query_words, len(database_words)
        self._relevances, self._index_order = relevances, index_order
        n_tiles = -(-len(database_words) // _kernels.TILE)
        self._tiles = aligned((n_tiles, database_words.shape[1], _kernels.TILE))
        _kernels.write_tiles(database_words, self._tiles)
        self._lists = {name: Lists(relevance) for name, relevance in relevances.items()}
        rows = 2 + sum(relevance.levels.size for relevance in relevances.values())
        self.block_size = max(16, min(_PAIRS // self._n_database, _HISTOGRAM_BYTES // (8 * rows * (n_bits + 1))))
        if index_order:
            longest = sum(lists.longest for lists in self._lists.values())
            self.block_size = max(1, min(self.block_size, _NOTED_PAIRS // max(1, longest)))

    def count(self, block: slice) -> Counted:
        """Return the items at each distance, and those at each level of each ground truth."""
        queries = self._queries[block]
        listed = {name: lists.of(block) for name, lists in self._lists.items()}
        levels = [self._relevances[name].levels.size for name in listed]
        starts, stops, positions, rows = _joined(list(listed.values()), levels, len(queries))
        retrieved = np.zeros((len(queries), self._n_bits + 1), dtype=np.int64)
        at_level = np.zeros((len(queries), sum(levels), self._n_bits + 1), dtype=np.int64)
        # Noted truth by truth, so that those of one truth are side by side.
        ends = np.cumsum((stops - starts).T.ravel()).reshape(starts.T.shape).T
        noted = ends[-1, -1] if self._index_order and ends.size else 0
        distances, places = np.empty(noted, dtype=np.uint16), np.empty(noted, dtype=np.uint32)
        self._kernels.count_words(
            queries,
            self._tiles,
            self._n_database,
            starts,
            stops,
            positions,
            rows,
            retrieved,
            at_level,
            distances,
            places,
            np.ascontiguousarray(ends),
        )
        split = dict(zip(listed, np.split(at_level, np.cumsum(levels)[:-1], axis=1), strict=True)) if listed else {}
        average_precision = {}
        if self._index_order:
            for k, (name, here) in enumerate(split.items()):
                sums, relevant = np.empty(len(queries)), here.sum(axis=1)
                self._kernels.sum_precisions(retrieved, relevant, distances, places, ends[:, k].copy(), sums)
                n_relevant = relevant.sum(axis=1)
                average_precision[name] = np.divide(
                    sums, n_relevant, out=np.full(len(queries), np.nan), where=n_relevant > 0
                )
        return Counted(retrieved, split, average_precision)

    def largest(self, block: slice, retrieved: NDArray[np.int64], buckets: Buckets) -> NDArray[np.int64]:
        """Return the largest bucket within each radius."""
        return largest_buckets(self._queries[block], buckets, retrieved)


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
    rows = [each.levels + row for each, row in zip(listed, np.cumsum([0, *n_levels[:-1]], dtype=np.uint16), strict=True)]
    return Listed(starts, stops, np.concatenate([each.positions for each in listed]), np.concatenate(rows))
