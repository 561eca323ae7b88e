"""Counting with compiled loops: `BitPlanes` for short codes and `Words` for any code length."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting import _buckets
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


class BitPlanes:
    """Counts blocks of queries against bit planes of the database; see `protocol.counting.counting` for the names.

    At most one ground truth has labels, and these are class labels, so that items can be sorted by class.
    """

    def __init__(
        self,
        query_words: NDArray[np.uint64],
        database_words: NDArray[np.uint64],
        n_bits: int,
        by_label: Mapping[str, LabelRelevance],
    ) -> None:
        self._queries, self._words, self._n_bits, self._names = query_words, database_words, n_bits, list(by_label)
        self._order, self._spans = np.arange(len(database_words)), np.zeros((len(query_words), 2), dtype=np.int64)
        for relevance in by_label.values():
            classes, numbers = relevance.class_numbers()
            self._order = np.argsort(numbers, kind="stable")
            sides = (
                np.searchsorted(classes[numbers[self._order]], relevance.groups, side) for side in ("left", "right")
            )
            self._spans = np.stack(list(sides), axis=1)[relevance.group]
        self.block_size = max(_LEAST_QUERIES, _PAIRS // len(database_words))

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        from protocol.counting import _kernels  # loads numba

        queries, n_steps = self._queries[block], -(-self._n_bits // _kernels.STEP)
        rows = np.full((len(queries), n_steps * _kernels.STEP), 2 * self._n_bits)
        bits = codes.unpack(codes.from_words(queries, self._n_bits), self._n_bits)
        rows[:, : self._n_bits] = 2 * np.arange(self._n_bits) + bits
        counts = np.zeros((len(queries), 2, self._n_bits // 8 + 1, 8), dtype=np.int64)
        by_step = rows.reshape(len(queries), n_steps, _kernels.STEP)
        _kernels.count_planes(self._words, self._order, self._n_bits, by_step, self._spans[block], counts)
        by_distance = counts.reshape(len(queries), 2, -1)[..., : self._n_bits + 1]
        return by_distance[:, 0], dict.fromkeys(self._names, by_distance[:, 1:])

    largest_buckets = staticmethod(_buckets.largest_buckets)


class Words:
    """Counts blocks of queries against the words of all codes; see `protocol.counting.counting` for the names."""

    def __init__(
        self,
        query_words: NDArray[np.uint64],
        database_words: NDArray[np.uint64],
        n_bits: int,
        by_label: Mapping[str, LabelRelevance],
    ) -> None:
        self._queries, self._words = np.ascontiguousarray(query_words), np.ascontiguousarray(database_words.T)
        self._n_bits, self._by_label = n_bits, by_label
        n_counts = (n_bits + 1) * (1 + sum(1 + relevance.levels.size for relevance in by_label.values()))
        self.block_size = max(16, min(_PAIRS // len(database_words), _HISTOGRAM_BYTES // (8 * n_counts)))
        most_rows = _ROW_BYTES // (4 * len(database_words) * max(1, len(by_label)))
        if any(relevance.n_groups > most_rows for relevance in by_label.values()):
            self.block_size = min(self.block_size, max(16, most_rows))

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        from protocol.counting import _kernels  # loads numba

        n_distances, n_counts = self._n_bits + 1, 0
        offsets: list[NDArray[np.uint32]] = []
        rows, spans = [], []
        for relevance in self._by_label.values():
            groups, row = np.unique(relevance.group[block], return_inverse=True)
            rows.append(row + sum(len(each) for each in offsets))
            levels = np.stack([relevance.level_numbers(group) for group in groups.tolist()])
            offsets.append(levels.astype(np.uint32) * np.uint32(n_distances) + np.uint32(n_counts))
            spans.append(slice(n_counts, n_counts + n_distances * (1 + relevance.levels.size)))
            n_counts = spans[-1].stop
        queries = self._queries[block]
        if not rows:
            rows, offsets = [np.zeros(len(queries), dtype=np.int64)], [np.zeros((1, self._words.shape[1]), np.uint32)]
            spans, n_counts = [slice(0, n_distances)], n_distances
        counts = np.zeros((len(queries), n_counts), dtype=np.int64)
        _kernels.count_words(queries, self._words, np.concatenate(offsets), np.stack(rows, axis=1), counts)
        by_level = [counts[:, span].reshape(len(queries), -1, n_distances) for span in spans]
        return by_level[0].sum(axis=1), {
            name: each[:, 1:] for name, each in zip(self._by_label, by_level, strict=False)
        }

    largest_buckets = staticmethod(_buckets.largest_buckets)


def average_precision(
    queries: NDArray[np.uint64],
    words: NDArray[np.uint64],
    relevance: Relevance,
    block: slice,
    retrieved: NDArray[np.int64],
    relevant: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the average precision with ties in the order of the database, from the counts of a block of queries.

    Parameters
    ----------
    queries : ndarray of uint64, shape (n_queries, n_words)
    words : ndarray of uint64, shape (n_words, n_database)
    relevance : Relevance
    block : slice
        The block of queries.
    retrieved, relevant : ndarray of int64, shape (n_block, n_bits + 1)
        The numbers of all items and of the relevant items at each distance.

    Returns
    -------
    ndarray of float64, shape (n_block,)
        NaN for a query without relevant items.
    """
    from protocol.counting import _kernels  # loads numba

    numbers = np.arange(len(queries))[block]
    first, rows = numbers, np.arange(numbers.size)
    if isinstance(relevance, LabelRelevance):  # queries with the same labels have the same relevant items
        _, first, rows = np.unique(relevance.group[block], return_index=True, return_inverse=True)
        first = numbers[first]
    is_relevant = np.zeros((first.size, words.shape[1]), dtype=bool)
    for row, query in zip(is_relevant, first.tolist(), strict=True):
        row[relevance.row(query)[0]] = True
    sums, n_relevant = np.zeros(numbers.size), relevant.sum(axis=1)
    before, relevant_before = (at.cumsum(axis=1) - at for at in (retrieved, relevant))
    _kernels.sum_precisions(
        np.ascontiguousarray(queries[block]), words, is_relevant, rows, before, relevant_before, sums
    )
    return np.divide(sums, n_relevant, out=np.full(numbers.size, np.nan), where=n_relevant > 0)


def rows_block_size(n_database: int) -> int:
    """Return the number of queries in a block for which the relevant items of all of them fit in memory."""
    return max(16, _ROW_BYTES // n_database)
