"""Counting with NumPy for small inputs, one query at a time; and buckets, the items of a database with equal codes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from protocol.counting.counts import CodeWords, Floats, Integers
from protocol.truth.relevance import LabelRelevance, Relevance

MOST_BITS = 16
"""The longest code length for which all codes can be tabulated."""

_TABLE_BYTES = 16 << 20
"""Memory for the transforms that are computed at once."""
_GATHERED = 16
"""The number of queries whose relevant items are gathered at once."""


@dataclass(frozen=True)
class Buckets:
    """The buckets of a database, as far as counting needs them.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_buckets,)
        The numbers of items, descending.
    repeated_words : ndarray of uint64, shape (n_repeated, n_words)
        Codes of the buckets with several items, largest bucket first.
    """

    sizes: Integers
    repeated_words: CodeWords

    @property
    def repeated_sizes(self) -> Integers:
        """The sizes of the buckets with several items, descending, (n_repeated,)."""
        return self.sizes[: len(self.repeated_words)]

    @classmethod
    def of(cls, database: CodeWords) -> Self:
        """Return the buckets of a database, (n_database, n_words)."""
        if database.shape[1] == 1:
            ordered = np.sort(database[:, 0])
            return cls._of_runs(ordered[1:] != ordered[:-1], lambda first: ordered[first, None])
        keys = hashes(database)  # sorting them is faster than sorting codes
        order = np.argsort(keys)
        differs = keys[order[1:]] != keys[order[:-1]]
        same = np.flatnonzero(~differs)
        if (database[order[same]] != database[order[same + 1]]).any():  # different codes with the same hash
            order = np.lexsort(database.T)
            differs = (database[order[1:]] != database[order[:-1]]).any(axis=1)
        return cls._of_runs(differs, lambda first: database[order[first]])

    @classmethod
    def _of_runs(cls, differs: NDArray[np.bool_], code_at: Callable[[Integers], CodeWords]) -> Self:
        """Return the buckets, given where items that are sorted by code differ from the item before."""
        first = np.append(0, np.flatnonzero(differs) + 1)
        sizes = np.diff(first, append=differs.size + 1)
        repeated = np.flatnonzero(sizes > 1)
        repeated = repeated[np.argsort(-sizes[repeated], kind="stable")]
        ones = np.ones(sizes.size - repeated.size, dtype=np.int64)
        return cls(np.append(sizes[repeated], ones), np.ascontiguousarray(code_at(first[repeated])))


def hashes(words: CodeWords) -> CodeWords:
    """Return a hash of each code (n_database, n_words): equal codes have equal hashes, others hardly ever."""
    mixed = np.zeros(len(words), dtype=np.uint64)
    for word in words.T:
        mixed ^= word
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return mixed


class InOrder(NamedTuple):
    """The arrays of `HammingCounts` with ties in database order, of a block of queries or of a single one."""

    index_precisions: Floats
    index_top: Floats
    index_discounts: Floats

    @classmethod
    def zeros(cls, relevance: Relevance, relevant: Integers) -> Self:
        """Return arrays to be filled, for the queries whose relevant items are counted by distance in `relevant`."""
        shape = relevant.shape[:-1]
        return cls(np.zeros(relevant.shape), np.zeros((*shape, 3)), np.zeros((*shape, relevance.levels.size)))


class Plain:
    """Counts blocks of queries with NumPy; see `protocol.counting.counting` for the names of the algorithms."""

    block_size = 64
    """The number of queries in a block."""

    def __init__(
        self, query_words: CodeWords, database_words: CodeWords, n_bits: int, by_label: Mapping[str, LabelRelevance]
    ) -> None:
        self._queries, self._items, self._n_bits, self._by_label = query_words, database_words, n_bits, by_label
        self._prepare()

    def _prepare(self) -> None:
        """Compute what all blocks share."""

    @cached_property
    def _columns(self) -> CodeWords:
        """The words of the database, (n_words, n_database)."""
        return np.ascontiguousarray(self._items.T)

    def count(self, block: slice) -> tuple[Integers, dict[str, Integers]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        queries = range(len(self._queries))[block]
        retrieved = np.empty((len(queries), self._n_bits + 1), dtype=np.int64)
        n_levels = {name: relevance.levels.size for name, relevance in self._by_label.items()}
        by_name = {name: np.empty((len(queries), n, self._n_bits + 1), dtype=np.int64) for name, n in n_levels.items()}
        for row, query in enumerate(queries):
            distances = distances_from(self._queries[query], self._columns)
            retrieved[row] = np.bincount(distances, minlength=self._n_bits + 1)
            for name, relevance in self._by_label.items():
                positions, levels = relevance.row(query)
                cells = distances[positions].astype(np.int64)
                if relevance.levels.size > 1:
                    cells += np.searchsorted(relevance.levels, levels) * retrieved.shape[1]
                counts = by_name[name][row]
                counts[:] = np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        return retrieved, by_name

    def at_levels(self, relevance: Relevance, block: slice) -> Integers:
        """Return the relevant items at each level and distance, from the codes of these items alone.

        This is efficient if few items are relevant. The result is (n_block, n_levels, n_bits + 1).
        """
        n_levels, n_distances = relevance.levels.size, self._n_bits + 1
        numbers = range(len(self._queries))[block]
        counts = np.empty((len(numbers), n_levels, n_distances), dtype=np.int64)
        for first in range(0, len(numbers), _GATHERED):
            some = numbers[first : first + _GATHERED]
            rows = [relevance.row(query) for query in some]
            positions, levels = (np.concatenate(column) for column in zip(*rows, strict=True))
            query = np.repeat(np.arange(len(some)), [positions.size for positions, _ in rows])
            differing = self._items[positions] ^ self._queries[some.start + query]
            distances = np.bitwise_count(differing).sum(axis=1, dtype=np.int64)
            cells = (query * n_levels + np.searchsorted(relevance.levels, levels)) * n_distances + distances
            binned = np.bincount(cells, minlength=len(some) * n_levels * n_distances)
            counts[first : first + _GATHERED] = binned.reshape(-1, n_levels, n_distances)
        return counts

    def largest_buckets(self, block: slice, buckets: Buckets, retrieved: Integers) -> Integers:
        """Return the size of the largest bucket within each radius, (n_block, n_bits + 1)."""
        largest = (retrieved > 0).astype(np.int64)  # 1 if the ball has an item; repeated codes follow
        if buckets.repeated_sizes.size:
            for row, query in zip(largest, self._queries[block], strict=True):
                np.maximum.at(row, distances_from(query, buckets.repeated_words.T), buckets.repeated_sizes)
        return np.maximum.accumulate(largest, axis=1)

    def in_database_order(self, relevance: Relevance, block: slice, retrieved: Integers, relevant: Integers) -> InOrder:
        """Return `index_precisions`, `index_top` and `index_discounts` of `HammingCounts`.

        Parameters
        ----------
        relevance : Relevance
        block : slice
            The block of queries.
        retrieved, relevant : ndarray of int64, shape (n_block, n_bits + 1)
            The numbers of all items and of the relevant items at each distance; compiled loops need them.
        """
        in_order = InOrder.zeros(relevance, relevant)
        rank = np.empty(len(self._items), dtype=np.int64)
        for row, query in enumerate(range(len(self._queries))[block]):
            positions, levels = relevance.row(query)
            if positions.size:
                order = np.argsort(distances_from(self._queries[query], self._items.T), kind="stable")
                rank[order] = np.arange(1, order.size + 1)
                of_query = in_order_of(rank[positions], levels, relevance, relevant[row])
                for array, values in zip(in_order, of_query, strict=True):
                    array[row] = values
        return in_order


def in_order_of(ranks: Integers, levels: Integers, relevance: Relevance, relevant: Integers) -> InOrder:
    """Return a query's rows, from the ranks of its relevant items with their levels, in any order.

    `relevant` are the numbers of relevant items at each distance, (n_bits + 1,).
    """
    if not ranks.size:
        return InOrder.zeros(relevance, relevant)
    numbers = np.searchsorted(relevance.levels, levels)
    discounts = np.bincount(numbers, 1 / np.log2(ranks + 1), relevance.levels.size).astype(np.float64)
    ranks = np.sort(ranks)
    precision, n_top = np.arange(1, ranks.size + 1) / ranks, np.searchsorted(ranks, ranks.size, "right")
    sums = np.zeros(relevant.size)
    np.add.at(sums, np.repeat(np.arange(relevant.size), relevant), precision)
    return InOrder(sums, np.array([ranks[0], n_top, precision[:n_top].sum()]), discounts)


def distances_from(query: CodeWords, database: CodeWords) -> NDArray[np.uint16]:
    """Return the Hamming distance of every database item; `query` is (n_words,), `database` (n_words, n_database)."""
    return np.bitwise_count(database ^ query[:, None]).sum(axis=0, dtype=np.uint16)


class Shell(Plain):
    """Counts blocks of queries by the shell transform; see `protocol.counting.counting` for the names."""

    block_size = 1024

    def _prepare(self) -> None:
        self._codes, database = (side[:, 0].view(np.int64) for side in (self._queries, self._items))
        self._at_code = np.bincount(database, minlength=2**self._n_bits)
        self._retrieved = transform(self._at_code, np.add)[:, self._codes].T
        self._at_levels = {name: self._by_level(database, relevance) for name, relevance in self._by_label.items()}

    def count(self, block: slice) -> tuple[Integers, dict[str, Integers]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        return self._retrieved[block], {name: at_level[block] for name, at_level in self._at_levels.items()}

    def largest_buckets(self, block: slice, buckets: Buckets, retrieved: Integers) -> Integers:
        """Return the size of the largest bucket within each radius, (n_block, n_bits + 1)."""
        return self._largest[:, self._codes[block]].T

    @cached_property
    def _largest(self) -> Integers:
        return np.maximum.accumulate(transform(self._at_code, np.maximum), axis=0)

    def _by_level(self, database: Integers, relevance: LabelRelevance) -> Integers:
        """Return the items at each level and distance, (n_queries, n_levels, n_bits + 1)."""
        n_levels, n_codes = relevance.levels.size, 2**self._n_bits
        at_level = np.empty((len(self._codes), n_levels, self._n_bits + 1), dtype=np.int64)
        at_once = max(1, _TABLE_BYTES // (8 * n_levels * n_codes * (self._n_bits + 1)))
        for first in range(0, relevance.n_groups, at_once):
            groups = range(first, min(first + at_once, relevance.n_groups))
            cells = (relevance.level_numbers(group).astype(np.int64) * n_codes + database for group in groups)
            at_code = np.stack([np.bincount(each, minlength=(n_levels + 1) * n_codes)[n_codes:] for each in cells])
            around = transform(at_code.reshape(len(groups), n_levels, n_codes), np.add)
            here = np.flatnonzero((relevance.group >= first) & (relevance.group < groups.stop))
            at_level[here] = around[:, relevance.group[here] - first, :, self._codes[here]].swapaxes(1, 2)
        return at_level


def transform(at_code: NDArray[np.integer], combine: np.ufunc) -> Integers:
    """Return, for every code and distance, the sum or the maximum of `at_code` over the codes at that distance.

    Bits are processed one after another: a code at distance d, once bit i may differ, was at distance d with bit i
    equal, or at d - 1 with bit i flipped. This takes b (b + 1) / 2 * 2^b operations for b bits, independent of the
    numbers of queries and items.

    Parameters
    ----------
    at_code : ndarray of int, shape (..., 2 ** n_bits)
        A value for each code, such as the number of items that have it.
    combine : {np.add, np.maximum}

    Returns
    -------
    ndarray of int64, shape (n_bits + 1, ..., 2 ** n_bits)

    Examples
    --------
    Three items at code 00, one at code 11:

    >>> transform(np.array([3, 0, 0, 1]), np.add)
    array([[3, 0, 0, 1],
           [0, 4, 4, 0],
           [1, 0, 0, 3]])
    """
    n_bits = at_code.shape[-1].bit_length() - 1
    at_distance = np.zeros((n_bits + 1, *at_code.shape), dtype=np.int64)
    at_distance[0] = at_code
    for bit in range(n_bits):
        by_bit = at_distance.reshape(n_bits + 1, -1, 2, 2**bit)
        for distance in range(bit + 1, 0, -1):
            combine(by_bit[distance], by_bit[distance - 1, :, ::-1], out=by_bit[distance])
    return at_distance
