"""Counting for codes of medium length: compiled loops over bit planes, vectors with one bit of 512 items each."""

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting._buckets import Buckets, largest_buckets
from protocol.counting._listed import by_class
from protocol.truth.relevance import LabelRelevance

LONGEST = 256
"""The longest code length for which this is faster than `Words`; nine binary digits represent the distances."""

_MASK_BYTES = 32 << 20
"""Memory for the masks of one block of queries."""

_TILE_BYTES = 512 << 10
"""Memory for the prepared vectors of a tile, which should fit in the L2 cache."""

_LINE = 64
"""The size of a cache line, and of a vector, in bytes."""

_PAIRS, _LEAST_QUERIES = 1 << 30, 256
"""The number of pairs of a query and an item in a block, a fraction of a second's work, so that progress is visible;
and the smallest number of queries in a block, because the bit planes are computed once per block."""


class _Sets(NamedTuple):
    """Sets of items, in the order in which the kernel processes them; see `count_planes`."""

    spans: NDArray[np.int64]
    masks: NDArray[np.uint64]
    is_masked: NDArray[np.bool_]


class BitPlanes:
    """Counts blocks of queries against bit planes of the database; see `protocol.counting.counting` for the names."""

    def __init__(
        self,
        query_words: NDArray[np.uint64],
        database_words: NDArray[np.uint64],
        n_bits: int,
        by_label: Mapping[str, LabelRelevance],
    ) -> None:
        from protocol.counting import _kernels  # loads numba

        self._kernels = _kernels
        self._n_bits, self._queries, self._words = n_bits, query_words, database_words
        self._by_label = by_label
        # Items with equal labels are adjacent, so that the items of a set are in few words.
        self._sorted_by = next(iter(by_label), "")
        self._spans: NDArray[np.int64] | None = None
        if not by_label:
            self._order = np.arange(len(database_words), dtype=np.uint32)
        elif by_label[self._sorted_by].kind == "class labels":
            self._order, self._spans = by_class(by_label[self._sorted_by])
        else:
            self._order = by_label[self._sorted_by].grouped_by_label.astype(np.uint32)
        self._n_steps = -(-n_bits // (3 * _kernels.STEP))
        chunks = self._n_steps * _kernels.STEP
        group_bytes = chunks * _kernels.CHUNK_VECTORS * _kernels.LANES * 8
        most = -(-len(database_words) // _kernels.GROUP)
        self._n_groups = min(max(4, min(_TILE_BYTES // group_bytes, 32)), most)
        self._n_tiles = -(-most // self._n_groups)
        self._mask_words = self._n_tiles * self._n_groups * _kernels.LANES
        # This is not a method, because its cache would keep this object, and with it the database, alive.
        pack = functools.partial(_packed_label, by_label, self._order, self._mask_words)
        self._labelled = functools.lru_cache(_MASK_BYTES // (8 * self._mask_words) + 1)(pack)
        most_queries = max(_LEAST_QUERIES, _PAIRS // len(database_words))
        self.block_size = min(
            (self._most_queries(*each, most_queries) for each in by_label.items()), default=most_queries
        )

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        queries = self._queries[block]
        sets = [_Sets(np.array([[0, len(self._words)]]), np.empty((0, self._mask_words), np.uint64), np.array([False]))]
        chosen = [np.empty((len(queries), 0), dtype=np.int64)]
        for name, relevance in self._by_label.items():
            groups, of_query = np.unique(relevance.group[block], return_inverse=True)
            number = np.arange(groups.size * relevance.levels.size).reshape(groups.size, -1)
            chosen.append(sum(len(each.spans) for each in sets) + number[of_query])
            sets.append(self._sets(name, groups.tolist()))
        counts = self._histograms(queries, _Sets(*map(np.concatenate, zip(*sets, strict=True))), np.hstack(chosen))
        ends = np.cumsum([1, *(relevance.levels.size for relevance in self._by_label.values())])
        retrieved, *at_level = np.split(counts, ends[:-1], axis=1)
        return retrieved[:, 0], dict(zip(self._by_label, at_level, strict=True))

    def largest(self, block: slice, retrieved: NDArray[np.int64], buckets: Buckets) -> NDArray[np.int64]:
        """Return the size of the largest bucket within each radius."""
        return largest_buckets(self._queries[block], buckets, retrieved)

    def _is_masked(self, name: str) -> bool:
        """Return whether the sets of a ground truth need masks; not if the items of each class are adjacent."""
        return name != self._sorted_by or self._spans is None

    def _most_queries(self, name: str, relevance: LabelRelevance, most: int) -> int:
        """Return the number of queries in a block for which the masks fit in the memory reserved for them."""
        fit = _MASK_BYTES // (relevance.levels.size * 8 * self._mask_words)
        return most if not self._is_masked(name) or relevance.n_groups <= fit else min(most, max(1, fit))

    def _sets(self, name: str, groups: list[int]) -> _Sets:
        """Return the sets of items at each level of some groups of queries."""
        if name == self._sorted_by and self._spans is not None:
            spans = self._spans[groups]
            return _Sets(spans, np.empty((0, self._mask_words), np.uint64), np.zeros(len(spans), dtype=bool))
        masks = np.concatenate([self._at_level(name, self._by_label[name].labels_of(group)) for group in groups])
        spans = np.tile([0, len(self._words)], (len(masks), 1))
        return _Sets(spans, masks, np.ones(len(masks), dtype=bool))

    def _at_level(self, name: str, labels: list[int]) -> NDArray[np.uint64]:
        """Return the items that share 1, 2, ... of some labels; bits are added up as for the distances."""
        digits: list[NDArray[np.uint64]] = []
        for label in labels:
            carry = self._labelled(name, label)
            for place, digit in enumerate(digits):
                digits[place], carry = digit ^ carry, digit & carry
            digits += [carry] if carry.any() else []
        levels = self._by_label[name].levels
        masks = np.zeros((levels.size, self._mask_words), dtype=np.uint64)
        for mask, level in zip(masks, levels.tolist(), strict=True):
            if level < 2 ** len(digits):
                each = [digit if level >> place & 1 else ~digit for place, digit in enumerate(digits)]
                np.bitwise_and.reduce(each, out=mask)
        return masks

    def _offsets(self, queries: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the offsets of the two prepared vectors that each query selects in each chunk by its three bits."""
        lanes, step = self._kernels.LANES, self._kernels.STEP
        bits = np.zeros((len(queries), self._n_steps * step * 3), dtype=np.int64)
        bits[:, : self._n_bits] = codes.unpack(codes.from_words(queries, self._n_bits), self._n_bits)
        chunks = bits.reshape(len(queries), self._n_steps, step, 3)
        start = np.arange(self._n_steps * step).reshape(self._n_steps, step) * self._kernels.CHUNK_VECTORS
        ones, twos = start + chunks.sum(axis=3) % 2, start + 2 + chunks @ [1, 2, 4]
        return np.concatenate([ones, twos], axis=2).reshape(len(queries), -1) * lanes

    def _histograms(self, queries: NDArray[np.uint64], sets: _Sets, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count all items and those in each query's sets by distance, (n_queries, 1 + n_chosen, n_bits + 1)."""
        kernels, lanes = self._kernels, self._kernels.LANES
        chunks, tile = self._n_steps * kernels.STEP, self._n_groups * lanes
        counts = np.zeros((len(queries), 1 + chosen.shape[1], self._n_bits // 8 + 1, 8), dtype=np.int64)
        planes = aligned((max(64 * self._words.shape[1], 3 * chunks), lanes))
        planes[:] = 0
        kernels.count_planes(
            self._words,
            self._order,
            self._offsets(queries),
            sets.spans,
            np.where(sets.is_masked, np.cumsum(sets.is_masked) - 1, -1),
            sets.masks,
            np.ascontiguousarray(chosen),
            aligned((self._n_groups, chunks * kernels.CHUNK_VECTORS * lanes)),
            planes,
            aligned((2 * max(5, self._n_bits.bit_length()), tile)),
            aligned((len(sets.spans), tile)),
            np.empty_like(sets.spans),
            np.empty(max(5, self._n_bits.bit_length()) - 2, dtype=np.int64),
            counts,
        )
        return np.ascontiguousarray(counts.reshape(*counts.shape[:2], -1)[..., : self._n_bits + 1])


def _packed_label(
    by_label: Mapping[str, LabelRelevance], order: NDArray[np.uint32], n_words: int, name: str, label: int
) -> NDArray[np.uint64]:
    """Return a bit mask, in words, of the items that have a label; the bits after the last item are zero."""
    packed = np.packbits(by_label[name].labelled(label)[order], bitorder="little")
    words = np.zeros(n_words * 8, dtype=np.uint8)
    words[: packed.size] = packed
    return words.view("<u8").astype(np.uint64, copy=False)


def aligned(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return an uninitialised array that starts on a cache line; loads across two lines take twice as long."""
    size = int(np.prod(shape)) * 8
    memory = np.empty(size + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size].view(np.uint64).reshape(shape)
