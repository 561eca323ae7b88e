"""Counting with compiled loops: `BitPlanes` for short codes and `Words` for any code length."""

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting._plain import Buckets, InOrder, Plain
from protocol.counting.counts import Integers
from protocol.truth.relevance import LabelRelevance, Relevance

LONGEST = 64
"""The longest code length for which `BitPlanes` is used."""

_PAIRS, _LEAST_QUERIES = 1 << 30, 256
"""The number of pairs of a query and an item in a block, about a second's work, so that progress is visible; and the
smallest number of queries in a block of `BitPlanes`, because the bit planes are computed once per block."""

_ROW_BYTES = 64 << 20
"""Memory for the levels of all items, for the queries of a block."""

_HISTOGRAM_BYTES = 64 << 20
"""Memory for the histograms of a block of queries."""


class _Compiled(Plain):
    """Counts by compiled loops; their module, which loads numba, is imported when the first block is counted."""

    def largest_buckets(self, block: slice, buckets: Buckets, retrieved: Integers) -> Integers:
        """Return the size of the largest bucket within each radius, (n_block, n_bits + 1)."""
        from protocol.counting import _kernels

        largest = (retrieved.cumsum(axis=1) > 0).astype(np.int64)  # 1 if the ball has an item; repeated codes follow
        _kernels.fill_largest(self._queries[block], buckets.repeated_words, buckets.repeated_sizes, largest)
        return largest

    def in_database_order(self, relevance: Relevance, block: slice, retrieved: Integers, relevant: Integers) -> InOrder:
        """Return the arrays with ties in the order of the database, as `Plain.in_database_order`.

        Queries are processed in smaller blocks than for counting, so that the relevant items of all of them fit in
        memory, but the bit planes are not recomputed for each.
        """
        from protocol.counting import _kernels

        numbers = np.arange(len(self._queries))[block]
        in_order = InOrder.zeros(relevance, relevant)
        discount = 1 / np.log2(np.arange(2, len(self._items) + 2))
        step = max(16, _ROW_BYTES // len(self._items))
        for start in range(0, len(numbers), step):
            part = slice(start, start + step)
            queries = np.ascontiguousarray(self._queries[numbers[part]])
            first, rows = numbers[part], np.arange(numbers[part].size)
            if isinstance(relevance, LabelRelevance):  # queries with the same labels have the same relevant items
                _, first, rows = np.unique(relevance.group[first], return_index=True, return_inverse=True)
                first = numbers[part][first]
            levels = np.zeros((first.size, len(self._items)), dtype=np.min_scalar_type(relevance.levels.size))
            is_number = relevance.levels[-1] == relevance.levels.size
            for row, query in zip(levels, first.tolist(), strict=True):
                positions, of_items = relevance.row(query)
                row[positions] = of_items if is_number else np.searchsorted(relevance.levels, of_items) + 1
            before = np.stack([at[part].cumsum(axis=1) - at[part] for at in (retrieved, relevant)])
            n_relevant, sums = relevant[part].sum(axis=1), tuple(array[part] for array in in_order)
            _kernels.sum_in_order(queries, self._columns, levels, rows, n_relevant, before, discount, sums)
        return in_order


class BitPlanes(_Compiled):
    """Counts blocks of queries against bit planes of the database; see `protocol.counting.counting` for the names.

    At most one ground truth has labels, and these are class labels, so that items can be sorted by class.
    """

    def _prepare(self) -> None:
        self._order, self._spans = np.arange(len(self._items)), np.zeros((len(self._queries), 2), dtype=np.int64)
        for relevance in self._by_label.values():
            classes, numbers = relevance.class_numbers()
            self._order = np.argsort(numbers, kind="stable")
            ordered = classes[numbers[self._order]]
            sides = [np.searchsorted(ordered, relevance.groups, side) for side in ("left", "right")]
            self._spans = np.stack(sides, axis=1)[relevance.group]
        self.block_size = max(_LEAST_QUERIES, _PAIRS // len(self._items))

    def count(self, block: slice) -> tuple[Integers, dict[str, Integers]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        from protocol.counting import _kernels  # loads numba

        queries, n_steps = self._queries[block], -(-self._n_bits // _kernels.STEP)
        rows = np.full((len(queries), n_steps * _kernels.STEP), 2 * self._n_bits)
        bits = codes.unpack(codes.from_words(queries, self._n_bits), self._n_bits)
        rows[:, : self._n_bits] = 2 * np.arange(self._n_bits) + bits
        counts = np.zeros((len(queries), 2, self._n_bits // 8 + 1, 8), dtype=np.int64)
        by_step = rows.reshape(len(queries), n_steps, _kernels.STEP)
        _kernels.count_planes(self._items, self._order, self._n_bits, by_step, self._spans[block], counts)
        by_distance = counts.reshape(len(queries), 2, -1)[..., : self._n_bits + 1]
        return by_distance[:, 0], dict.fromkeys(self._by_label, by_distance[:, 1:])


class Words(_Compiled):
    """Counts blocks of queries against the words of all codes; see `protocol.counting.counting` for the names."""

    def _prepare(self) -> None:
        self._queries = np.ascontiguousarray(self._queries)
        relevances, n_database = self._by_label.values(), len(self._items)
        n_counts = (self._n_bits + 1) * (1 + sum(1 + relevance.levels.size for relevance in relevances))
        self.block_size = max(16, min(_PAIRS // n_database, _HISTOGRAM_BYTES // (8 * n_counts)))
        most_rows = _ROW_BYTES // (4 * n_database * max(1, len(relevances)))
        if any(relevance.n_groups > most_rows for relevance in relevances):
            self.block_size = min(self.block_size, max(16, most_rows))

    def count(self, block: slice) -> tuple[Integers, dict[str, Integers]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        from protocol.counting import _kernels  # loads numba

        n_distances, ends = self._n_bits + 1, [0]  # of the counters of each ground truth
        offsets, rows = list[NDArray[np.uint32]](), list[Integers]()
        for relevance in self._by_label.values():
            groups, row = np.unique(relevance.group[block], return_inverse=True)
            rows.append(row + sum(len(each) for each in offsets))
            levels = np.stack([relevance.level_numbers(group) for group in groups.tolist()])
            offsets.append(levels.astype(np.uint32) * np.uint32(n_distances) + np.uint32(ends[-1]))
            ends.append(ends[-1] + n_distances * (1 + relevance.levels.size))
        queries = self._queries[block]
        if not rows:
            rows, offsets = [np.zeros(len(queries), dtype=np.int64)], [np.zeros((1, len(self._items)), np.uint32)]
            ends = [0, n_distances]
        counts = np.zeros((len(queries), ends[-1]), dtype=np.int64)
        _kernels.count_words(queries, self._columns, np.concatenate(offsets), np.stack(rows, axis=1), counts)
        by_level = [part.reshape(len(queries), -1, n_distances) for part in np.split(counts, ends[1:-1], axis=1)]
        at_levels = {name: each[:, 1:] for name, each in zip(self._by_label, by_level, strict=False)}
        return by_level[0].sum(axis=1), at_levels
