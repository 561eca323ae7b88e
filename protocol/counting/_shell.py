"""Counting for short codes: the shell transform of a table of all codes, without comparing pairs."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protocol.counting._plain import Buckets, Plain
from protocol.counting.counts import Integers
from protocol.truth.relevance import LabelRelevance

MOST_BITS = 16
"""The longest code length for which all codes can be tabulated."""

_TABLE_BYTES = 16 << 20
"""Memory for the transforms that are computed at once."""


class Shell(Plain):
    """Counts blocks of queries by the shell transform; see `protocol.counting.counting` for the names."""

    block_size = 1024

    def _prepare(self) -> None:
        n_bits = self._n_bits
        self._codes, database = (side[:, 0].view(np.int64) for side in (self._queries, self._items))
        self._at_code = np.bincount(database, minlength=2**n_bits)
        self._retrieved = transform(self._at_code, np.add)[:, self._codes].T
        on = (self._codes, database, n_bits)
        self._at_levels = {name: _by_level(*on, relevance) for name, relevance in self._by_label.items()}

    def count(self, block: slice) -> tuple[Integers, dict[str, Integers]]:
        """Return the items at each distance, and those at each level of each ground truth given by labels."""
        return self._retrieved[block], {name: at_level[block] for name, at_level in self._at_levels.items()}

    def largest_buckets(self, block: slice, buckets: Buckets, retrieved: Integers) -> Integers:
        """Return the size of the largest bucket within each radius, (n_block, n_bits + 1)."""
        return self._largest[:, self._codes[block]].T

    @cached_property
    def _largest(self) -> Integers:
        return np.maximum.accumulate(transform(self._at_code, np.maximum), axis=0)


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
    n_codes = at_code.shape[-1]
    n_bits = n_codes.bit_length() - 1
    at_distance = np.zeros((n_bits + 1, *at_code.shape), dtype=np.int64)
    at_distance[0] = at_code
    for bit in range(n_bits):
        by_bit = at_distance.reshape(n_bits + 1, -1, 2, 2**bit)
        for distance in range(bit + 1, 0, -1):
            combine(by_bit[distance], by_bit[distance - 1, :, ::-1], out=by_bit[distance])
    return at_distance


def _by_level(query: Integers, database: Integers, n_bits: int, relevance: LabelRelevance) -> Integers:
    """Return the items at each level and distance, (n_queries, n_levels, n_bits + 1)."""
    n_levels, n_codes = relevance.levels.size, 2**n_bits
    at_level = np.empty((query.size, n_levels, n_bits + 1), dtype=np.int64)
    at_once = max(1, _TABLE_BYTES // (8 * n_levels * n_codes * (n_bits + 1)))
    for first in range(0, relevance.n_groups, at_once):
        groups = range(first, min(first + at_once, relevance.n_groups))
        cells = (relevance.level_numbers(group).astype(np.int64) * n_codes + database for group in groups)
        at_code = np.stack([np.bincount(each, minlength=(n_levels + 1) * n_codes)[n_codes:] for each in cells])
        around = transform(at_code.reshape(len(groups), n_levels, n_codes), np.add)
        here = np.flatnonzero((relevance.group >= first) & (relevance.group < groups.stop))
        at_level[here] = around[:, relevance.group[here] - first, :, query[here]].swapaxes(1, 2)
    return at_level
