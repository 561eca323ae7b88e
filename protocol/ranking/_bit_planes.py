"""Counting for large work: bit planes of the database, 64 items to a word, in compiled loops."""

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.ranking._buckets import Buckets
from protocol.ranking.relevance import LabelRelevance

_LINE = 64
"""Bytes of a cache line, and of the widest vector register."""

_MASK_BYTES = 32 << 20
"""Memory for the masks of one block of queries."""

_PAIRS = 1 << 30
"""Pairs of a query and an item in a block: a quarter of a second, so that progress shows; no less, because masks are
made once a block."""


class BitPlanes:
    """Counts blocks of queries against bit planes of the database; see `protocol.ranking.counting` for the names."""

    def __init__(
        self,
        query_codes: NDArray[np.uint8],
        database_codes: NDArray[np.uint8],
        n_bits: int,
        by_label: Mapping[str, LabelRelevance],
        buckets: Buckets,
    ) -> None:
        from protocol.ranking import _kernels  # loads numba

        self._kernels = _kernels
        self._n_bits, self._n_database = n_bits, len(database_codes)
        self._n_tiles = -(-self._n_database // (64 * _kernels.TILE))
        self._n_steps = -(-n_bits // _kernels.STEP)
        self._query_codes, self._query_words = query_codes, codes.words(query_codes)
        self._by_label, self._buckets = by_label, buckets
        # Items of equal labels stand side by side, so that a mask has its items in few words.
        self._order = next((truth.side_by_side for truth in by_label.values()), np.arange(self._n_database))
        self._planes = self._bit_planes(database_codes[self._order])
        self._everything = self._packed(np.ones(self._n_database, dtype=bool))[None]
        self._labelled = functools.lru_cache(_MASK_BYTES // self._everything.nbytes + 1)(self._pack_labelled)
        self.block_size = min(map(self._block_size, by_label.values()), default=self._most_queries)

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        flips = self._flips(self._query_codes[block])
        masks, chosen = [self._everything], [np.empty((len(flips), 0), dtype=np.int64)]
        for name, relevance in self._by_label.items():
            groups, of_query = np.unique(relevance.group[block], return_inverse=True)
            number = np.arange(groups.size * relevance.levels.size).reshape(groups.size, -1)
            chosen.append(sum(map(len, masks)) + number[of_query])
            masks += [self._at_level(name, relevance.labels_of(group)) for group in groups.tolist()]
        counts = self._histograms(flips, np.concatenate(masks), np.hstack(chosen))
        ends = np.cumsum([1, *(relevance.levels.size for relevance in self._by_label.values())])
        retrieved, *at_level = np.split(counts, ends[:-1], axis=1)
        return retrieved[:, 0], dict(zip(self._by_label, at_level, strict=True))

    def largest(self, block: slice, retrieved: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest bucket within each radius."""
        largest = (retrieved.cumsum(axis=1) > 0).astype(np.int64)
        if self._buckets.repeated_sizes.size:
            repeated = self._buckets.repeated_words
            self._kernels.fill_largest(self._query_words[block], repeated, self._buckets.repeated_sizes, largest)
        return largest

    @property
    def _most_queries(self) -> int:
        return max(1, _PAIRS // self._n_database)

    def _block_size(self, relevance: LabelRelevance) -> int:
        """Return how many queries may come at once, for masks that fit into the memory meant for them."""
        fit = _MASK_BYTES // (relevance.levels.size * self._everything.nbytes)
        return self._most_queries if relevance.n_groups <= fit else min(self._most_queries, max(1, fit))

    def _bit_planes(self, database_codes: NDArray[np.uint8]) -> NDArray[np.uint64]:
        step = self._kernels.STEP
        planes = _aligned((self._n_tiles, self._n_steps * step, self._kernels.TILE))
        planes[:, self._n_bits :] = 0
        for bit in range(self._n_bits):
            planes[:, bit] = self._packed((database_codes[:, bit // 8] >> (bit % 8)) & 1)
        return planes.reshape(self._n_tiles, self._n_steps, -1)

    def _pack_labelled(self, name: str, label: int) -> NDArray[np.uint64]:
        return self._packed(self._by_label[name].labelled(label)[self._order])

    def _at_level(self, name: str, labels: list[int]) -> NDArray[np.uint64]:
        """Return the items that share 1, 2, ... of some labels: as for the distances, bit planes are added up."""
        digits: list[NDArray[np.uint64]] = []
        for label in labels:
            carry = self._labelled(name, label)
            for place, digit in enumerate(digits):
                digits[place], carry = digit ^ carry, digit & carry
            digits += [carry] if carry.any() else []
        levels = self._by_label[name].levels
        masks = np.zeros((levels.size, *self._everything.shape[1:]), dtype=np.uint64)
        for mask, level in zip(masks, levels.tolist(), strict=True):
            if level < 2 ** len(digits):
                each = [digit if level >> place & 1 else ~digit for place, digit in enumerate(digits)]
                np.bitwise_and.reduce(each, out=mask)
        return masks

    def _packed(self, members: NDArray) -> NDArray[np.uint64]:
        """Return 0/1 values of the items, (n_database,), as words in tiles, zero after the last item."""
        packed = np.packbits(members, bitorder="little")
        words = np.zeros(self._n_tiles * self._kernels.TILE * 8, dtype=np.uint8)
        words[: packed.size] = packed
        return words.view("<u8").reshape(self._n_tiles, -1)

    def _flips(self, query_codes: NDArray[np.uint8]) -> NDArray[np.uint64]:
        bits = np.zeros((len(query_codes), self._n_steps * self._kernels.STEP), dtype=bool)
        bits[:, : self._n_bits] = codes.unpack(query_codes, self._n_bits)
        return np.where(bits, ~np.uint64(0), np.uint64(0))

    def _histograms(
        self, flips: NDArray[np.uint64], masks: NDArray[np.uint64], chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return all items and those of each query's masks by distance, (n_queries, 1 + n_chosen, n_bits + 1)."""
        shape = (len(chosen), 1 + chosen.shape[1])
        counts = np.zeros((*shape, -(-self._n_bits // 8) + 1, 8), dtype=np.int64)
        n_digits = 4 + self._n_steps.bit_length()
        scratch = _aligned((2 * n_digits, self._kernels.TILE))
        self._kernels.count_planes(self._planes, flips, masks, _extents(masks), chosen, scratch, counts)
        histograms = counts.reshape(*shape, -1)[..., : self._n_bits + 1]
        # The kernel leaves out the last distance where it would be an octave of its own: it has what remains.
        sizes = np.bitwise_count(masks).sum(axis=(1, 2), dtype=np.int64)
        histograms[:, 0, -1] = sizes[0]
        histograms[:, 1:, -1] = sizes[chosen]
        histograms[..., -1] -= histograms[..., :-1].sum(axis=-1)
        return histograms


def _extents(masks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return where each mask (n_masks, n_tiles, n_words) has items: the first word and the one after the last."""
    some = masks != 0
    extents = np.stack([some.argmax(axis=2), some.shape[2] - some[..., ::-1].argmax(axis=2)], axis=2)
    extents[~some.any(axis=2)] = 0
    return extents


def _aligned(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return an uninitialised array that starts on a cache line: loads across two lines take twice as long."""
    size = int(np.prod(shape)) * 8
    room = np.empty(size + _LINE, dtype=np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start : start + size].view(np.uint64).reshape(shape)
