"""Counting for large work: bit planes of the database, 64 items to a word, in compiled loops."""

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

_MOST_QUERIES = 1024
"""Queries in a block: enough for what is done once a block not to count, few enough for progress and threads."""


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
        self._planes = self._bit_planes(database_codes)
        self._everything = self._masks(np.ones((1, self._n_database), dtype=bool))
        self._by_label, self._buckets = by_label, buckets
        self.block_size = min((self._block_size(relevance) for relevance in by_label.values()), default=_MOST_QUERIES)

    def count(self, block: slice) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        flips = self._flips(self._query_codes[block])
        everything = np.zeros((len(flips), 1), dtype=np.int64)
        by_name = {}
        retrieved = None
        for name, relevance in self._by_label.items():
            masks, chosen = self._label_masks(relevance, block)
            if retrieved is None:  # along with the first truth: the distances are worked out once
                masks, chosen = np.concatenate([self._everything, masks]), np.where(chosen < 0, -1, chosen + 1)
                both = self._histograms(flips, masks, np.hstack([everything, chosen]))
                retrieved, by_name[name] = both[:, 0], both[:, 1:]
            else:
                by_name[name] = self._histograms(flips, masks, chosen)
        if retrieved is None:
            retrieved = self._histograms(flips, self._everything, everything)[:, 0]
        return retrieved, by_name

    def largest(self, block: slice, retrieved: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest bucket within each radius."""
        largest = (retrieved.cumsum(axis=1) > 0).astype(np.int64)
        if self._buckets.repeated_sizes.size:
            repeated = self._buckets.repeated_words
            self._kernels.fill_largest(self._query_words[block], repeated, self._buckets.repeated_sizes, largest)
        return largest

    def _block_size(self, relevance: LabelRelevance) -> int:
        """Return how many queries may come at once, for masks that fit into the memory meant for them."""
        fit = _MASK_BYTES // (relevance.levels.size * self._everything.nbytes)
        return _MOST_QUERIES if relevance.n_groups <= fit else min(_MOST_QUERIES, max(1, fit))

    def _bit_planes(self, database_codes: NDArray[np.uint8]) -> NDArray[np.uint64]:
        step = self._kernels.STEP
        planes = _aligned((self._n_tiles, self._n_steps * step, self._kernels.TILE))
        planes[:, self._n_bits :] = 0
        for bit in range(self._n_bits):
            column = (database_codes[:, bit // 8] >> (bit % 8)) & 1
            planes[:, bit] = self._packed(column[None])[0]
        return planes.reshape(self._n_tiles, self._n_steps, -1)

    def _masks(self, members: NDArray[np.bool_]) -> NDArray[np.uint64]:
        masks = _aligned((len(members), self._n_tiles, self._kernels.TILE))
        masks[:] = self._packed(members)
        return masks

    def _packed(self, members: NDArray) -> NDArray[np.uint64]:
        """Return 0/1 values of the items, (n, n_database), as words in tiles, zero after the last item."""
        packed = np.packbits(members, axis=1, bitorder="little")
        words = np.zeros((len(members), self._n_tiles * self._kernels.TILE * 8), dtype=np.uint8)
        words[:, : packed.shape[1]] = packed
        return words.view("<u8").reshape(len(members), self._n_tiles, -1)

    def _flips(self, query_codes: NDArray[np.uint8]) -> NDArray[np.uint64]:
        bits = np.zeros((len(query_codes), self._n_steps * self._kernels.STEP), dtype=bool)
        bits[:, : self._n_bits] = codes.unpack(query_codes, self._n_bits)
        return np.where(bits, ~np.uint64(0), np.uint64(0))

    def _label_masks(self, relevance: LabelRelevance, block: slice) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the items at each level for each set of labels in the block, and which of them are each query's."""
        groups, of_query = np.unique(relevance.group[block], return_inverse=True)
        masks = np.concatenate([self._masks(relevance.members(group)) for group in groups.tolist()])
        number = np.arange(len(masks)).reshape(groups.size, -1)
        number[~masks.any(axis=(1, 2)).reshape(number.shape)] = -1
        return masks, number[of_query]

    def _histograms(
        self, flips: NDArray[np.uint64], masks: NDArray[np.uint64], chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the items of each query's masks at each distance, (n_queries, n_chosen, n_bits + 1)."""
        counts = np.zeros((*chosen.shape, -(-self._n_bits // 8), 8), dtype=np.int64)
        n_digits = 4 + self._n_steps.bit_length()
        scratch = _aligned((2 * n_digits, self._kernels.TILE))
        self._kernels.count_planes(self._planes, flips, masks, chosen, scratch, counts)
        # The kernel leaves out the last distance where it would be an octave of its own: it has what remains.
        histograms = np.empty((*chosen.shape, self._n_bits + 1), dtype=np.int64)
        histograms[..., :-1] = counts.reshape(*chosen.shape, -1)[..., : self._n_bits]
        sizes = np.append(np.bitwise_count(masks).sum(axis=(1, 2), dtype=np.int64), 0)
        histograms[..., -1] = sizes[chosen] - histograms[..., :-1].sum(axis=-1)
        return histograms


def _aligned(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return an uninitialised array that starts on a cache line: loads across two lines take twice as long."""
    size = int(np.prod(shape)) * 8
    room = np.empty(size + _LINE, dtype=np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start : start + size].view(np.uint64).reshape(shape)
