"""Compiled loops. Import this module inside functions: loading numba takes longer than many small tasks.

`count_planes` is bit-sliced: a word holds bit j of 64 items, so one logical operation processes 64 items, and the
compiler combines several words into a vector. An adder network adds the differing bits up to the binary digits of the
distances, and the items at a distance are found by comparing the digits. `count_words` counts the ones of whole codes
and increments one counter for each pair. The inner loops have one-dimensional arrays of the same length as arguments,
because the compiler vectorises only such loops.
"""

from typing import Any

import numpy as np
from numba import njit

from protocol.compiled import compiled

STEP = 16
"""The number of bits that `_add_bits` adds up at once."""

_PLANE_WORDS = 128
"""The most words of a bit plane in a tile of `count_planes`, whose planes should fit in the L2 cache."""

_TILE = 1024
"""The number of items that `count_words` compares with all queries before it proceeds to the next ones."""

_LARGER = tuple((subset, subset | digit) for digit in (1, 2, 4) for subset in range(8) if not subset & digit)
"""Each subset of the three lowest digits, as a number, and the same subset with one more digit."""

_uint = np.uint64
_INNER: dict[str, Any] = dict.fromkeys(("nogil", "no_cpython_wrapper", "no_cfunc_wrapper"), True)
_inner: Any = njit(error_model="numpy", **_INNER)
"""Decorator for functions that only compiled code calls; their code is cached as part of their callers."""


@_inner
def _ones(word: Any) -> Any:
    """Return the number of ones in a word; the compiler recognises this as one instruction."""
    pairs = word - ((word >> _uint(1)) & _uint(0x5555555555555555))
    fours = (pairs & _uint(0x3333333333333333)) + ((pairs >> _uint(2)) & _uint(0x3333333333333333))
    return (((fours + (fours >> _uint(4))) & _uint(0x0F0F0F0F0F0F0F0F)) * _uint(0x0101010101010101)) >> _uint(56)


@_inner
def _added(a: Any, b: Any, c: Any) -> Any:
    """Add three bits: return the ones and the twos digit of the sum."""
    differs = a ^ b
    return differs ^ c, (a & b) | (differs & c)


@_inner
def _write_planes(words: Any, order: Any, n_bits: int, planes: Any) -> None:
    """Write each bit of the items `order` to a plane, followed by its complement."""
    columns = np.empty(64 * words.shape[1], dtype=np.uint64)
    for first in range(0, len(order), 64):
        columns[:] = 0
        for item in range(first, min(first + 64, len(order))):
            for number in range(words.shape[1]):
                word, column = words[order[item], number], columns[64 * number : 64 * (number + 1)]
                for bit in range(64):
                    column[bit] |= ((word >> _uint(bit)) & _uint(1)) << _uint(item - first)
        for bit in range(n_bits):
            planes[2 * bit, first >> 6] = columns[bit]
            planes[2 * bit + 1, first >> 6] = ~columns[bit]


@_inner
def _add_bits(planes: Any, rows: Any, digits: Any, carry: Any) -> None:
    """Add 16 planes to the four lowest digits of the distances, and write what is carried to the next digit."""
    p0, p1, p2, p3 = planes[rows[0]], planes[rows[1]], planes[rows[2]], planes[rows[3]]
    p4, p5, p6, p7 = planes[rows[4]], planes[rows[5]], planes[rows[6]], planes[rows[7]]
    p8, p9, p10, p11 = planes[rows[8]], planes[rows[9]], planes[rows[10]], planes[rows[11]]
    p12, p13, p14, p15 = planes[rows[12]], planes[rows[13]], planes[rows[14]], planes[rows[15]]
    ones, twos, fours, eights = digits[0], digits[1], digits[2], digits[3]
    for w in range(len(ones)):
        one, two_a = _added(ones[w], p0[w], p1[w])
        one, two_b = _added(one, p2[w], p3[w])
        two, four_a = _added(twos[w], two_a, two_b)
        one, two_a = _added(one, p4[w], p5[w])
        one, two_b = _added(one, p6[w], p7[w])
        two, four_b = _added(two, two_a, two_b)
        four, eight = _added(fours[w], four_a, four_b)
        one, two_a = _added(one, p8[w], p9[w])
        one, two_b = _added(one, p10[w], p11[w])
        two, four_a = _added(two, two_a, two_b)
        one, two_a = _added(one, p12[w], p13[w])
        one, two_b = _added(one, p14[w], p15[w])
        two, four_b = _added(two, two_a, two_b)
        four, eight_b = _added(four, four_a, four_b)
        eights[w], carry[w] = _added(eights[w], eight, eight_b)
        ones[w], twos[w], fours[w] = one, two, four


@_inner
def _carry_on(digit: Any, carry: Any) -> None:
    """Add a carried bit to a digit, and replace it by what is carried to the next digit."""
    for w in range(len(digit)):
        bit = carry[w]
        carry[w] = bit & digit[w]
        digit[w] ^= bit


@_inner
def _select(digits: Any, octave: int, selected: Any) -> bool:
    """Select the items at distances 8 * octave, ..., 8 * octave + 7, and return whether there are any."""
    selected[:] = ~_uint(0)
    for number in range(3, len(digits)):
        digit, complement = digits[number], _uint((octave >> (number - 3)) & 1) - _uint(1)
        for w in range(len(selected)):
            selected[w] &= digit[w] ^ complement
    shared = _uint(0)
    for w in range(len(selected)):
        shared |= selected[w]
    return shared != 0


@_inner
def _count_octave(selected: Any, first: int, stop: int, digits: Any, counts: Any) -> None:
    """Add up, for each subset of the three lowest digits, the selected items in which at least these digits are 1.

    Only items from `first` up to but not including `stop` are counted; the others in the same words are deselected.
    Subsets take fewer operations than each of the eight values, which `count_planes` derives at the end.
    """
    low, high = first >> 6, (stop + 63) >> 6
    selected[low] &= ~_uint(0) << _uint(first & 63)
    selected[high - 1] &= ~_uint(0) >> _uint(-stop & 63)
    here, ones, twos, fours = selected[low:high], digits[0, low:high], digits[1, low:high], digits[2, low:high]
    n = n1 = n2 = n12 = n4 = n14 = n24 = n124 = _uint(0)
    for w in range(len(here)):
        with_one, with_two, four = here[w] & ones[w], here[w] & twos[w], fours[w]
        with_both = with_one & with_two
        n += _ones(here[w])
        n1 += _ones(with_one)
        n2 += _ones(with_two)
        n12 += _ones(with_both)
        n4 += _ones(here[w] & four)
        n14 += _ones(with_one & four)
        n24 += _ones(with_two & four)
        n124 += _ones(with_both & four)
    for subset, number in enumerate((n, n1, n2, n12, n4, n14, n24, n124)):
        counts[subset] += np.int64(number)


@compiled(error_model="numpy")
def count_planes(words: Any, order: Any, n_bits: int, rows: Any, spans: Any, counts: Any) -> None:
    """Count all items, and those in a span of each query, by distance.

    Parameters
    ----------
    words : uint64 (n_database, n_words)
    order : int64 (n_database,)
        An order of the items in which the relevant ones of each query are adjacent.
    n_bits : int
    rows : int64 (n_queries, n_steps, STEP)
        The planes that each query adds up: 2 j + 1 if bit j of the query is 1, otherwise 2 j; 2 n_bits for none.
    spans : int64 (n_queries, 2)
        The half-open range of each query's relevant items in `order`.
    counts : int64 (n_queries, 2, n_octaves, 8)
        Must be zero on entry. On return, the numbers of all items and of those in the span at distances
        8 * octave, ..., 8 * octave + 7.
    """
    n_tiles = len(words) // (64 * _PLANE_WORDS) + 1
    n_words = 4 * (len(words) // (4 * 64 * n_tiles) + 1)  # all tiles have the same size, in whole vectors
    n_tile = 64 * n_words
    planes = np.zeros((2 * n_bits + 1, n_words), dtype=np.uint64)
    n_digits = 4
    while n_bits >> n_digits:
        n_digits += 1
    digits = np.empty((n_digits, n_words), dtype=np.uint64)
    carry, selected = np.empty_like(digits[0]), np.empty_like(digits[0])
    for start in range(0, len(words), n_tile):
        items = order[start : start + n_tile]
        _write_planes(words, items, n_bits, planes)
        for query in range(len(rows)):
            digits[:] = 0
            for step in range(rows.shape[1]):
                _add_bits(planes, rows[query, step], digits, carry)
                for number in range(4, len(digits)):
                    _carry_on(digits[number], carry)
            first, stop = max(spans[query, 0] - start, 0), min(spans[query, 1] - start, len(items))
            for octave in range(counts.shape[2]):
                if _select(digits, octave, selected):
                    _count_octave(selected, 0, len(items), digits, counts[query, 0, octave])
                    if first < stop:
                        _count_octave(selected, first, stop, digits, counts[query, 1, octave])
    for subset, larger in _LARGER:  # from the sums of `_count_octave` to the items with each value of the digits
        counts[..., subset] -= counts[..., larger]


@_inner
def _one_word(query: Any, items: Any, distances: Any) -> None:
    for item in range(len(items)):
        distances[item] = _ones(items[item] ^ query)


@_inner
def _add_word(query: Any, items: Any, distances: Any) -> None:
    for item in range(len(items)):
        distances[item] += _ones(items[item] ^ query)


@_inner
def _add_three(a: Any, b: Any, c: Any, first: Any, second: Any, third: Any, distances: Any) -> None:
    for item in range(len(first)):
        distances[item] += _ones(first[item] ^ a) + _ones(second[item] ^ b) + _ones(third[item] ^ c)


@_inner
def _measure(query: Any, words: Any, start: int, distances: Any) -> None:
    """Write the distances of a query from a tile of the items, whose words are (n_words, n_database)."""
    stop = min(start + _TILE, words.shape[1])
    _one_word(query[0], words[0][start:stop], distances)
    last = len(query) - (len(query) - 1) % 3  # three words are added at a time before it
    for word in range(1, last, 3):
        first, second, third = words[word][start:stop], words[word + 1][start:stop], words[word + 2][start:stop]
        _add_three(query[word], query[word + 1], query[word + 2], first, second, third, distances)
    for word in range(last, len(query)):
        _add_word(query[word], words[word][start:stop], distances)


@compiled(error_model="numpy")
def count_words(queries: Any, words: Any, offsets: Any, rows: Any, counts: Any) -> None:
    """Count the items at each level of several ground truths by distance.

    Parameters
    ----------
    queries : uint64 (n_queries, n_words)
    words : uint64 (n_words, n_database)
    offsets : uint32 (n_rows, n_database)
        The position in `counts` at which each item is counted if its distance is 0.
    rows : int64 (n_queries, n_truths)
        The row of `offsets` for each query and ground truth.
    counts : int64 (n_queries, n_counts)
        Must be zero on entry.
    """
    distances = np.empty(_TILE, dtype=np.uint64)
    for start in range(0, words.shape[1], _TILE):
        for query in range(len(queries)):
            _measure(queries[query], words, start, distances)
            here = counts[query]
            for truth in range(rows.shape[1]):
                offset = offsets[rows[query, truth]][start : start + _TILE]
                for item in range(len(offset)):
                    here[distances[item] + offset[item]] += 1


@compiled(error_model="numpy")
def sum_in_order(
    queries: Any, words: Any, levels: Any, rows: Any, n_relevant: Any, before: Any, discount: Any, sums: Any
) -> None:
    """Sum the precision and the discount at the ranks of the relevant items of each query in the stable ranking.

    Parameters
    ----------
    queries, words
        As for `count_words`.
    levels : uint8 or larger (n_rows, n_database)
        The number of the level of each item, from 1; 0 if it is not relevant.
    rows : int64 (n_queries,)
        The row of `levels` for each query.
    n_relevant : int64 (n_queries,)
    before : int64 (2, n_queries, n_bits + 1)
        The numbers of all items and of the relevant items nearer than each distance. They are modified: items of the
        database are added in order, so that they give the rank of each item when that item is reached.
    discount : float64 (n_database,)
        1 / log2(1 + rank).
    sums : tuple of float64 (n_queries, n_bits + 1), float64 (n_queries, 3) and float64 (n_queries, n_levels)
        `index_precisions`, `index_top` and `index_discounts` of `HammingCounts`; must be zero on entry.
    """
    precisions, top, discounts = sums
    distances = np.empty(_TILE, dtype=np.uint64)
    for start in range(0, words.shape[1], _TILE):
        for query in range(len(queries)):
            _measure(queries[query], words, start, distances)
            level, rank, hits = levels[rows[query]][start : start + _TILE], before[0][query], before[1][query]
            by_distance, by_level, last = precisions[query], discounts[query], n_relevant[query]
            first, n_top, sum_of_top = top[query]
            for item in range(len(level)):
                distance = distances[item]
                rank[distance] += 1
                if level[item]:
                    hits[distance] += 1
                    precision = hits[distance] / rank[distance]
                    by_distance[distance] += precision
                    by_level[level[item] - 1] += discount[rank[distance] - 1]
                    if rank[distance] <= last:
                        n_top += 1
                        sum_of_top += precision
                    if hits[distance] == 1:
                        first = rank[distance]
            top[query] = first, n_top, sum_of_top


@compiled(error_model="numpy")
def fill_largest(queries: Any, repeated: Any, sizes: Any, largest: Any) -> None:
    """Write the size of the largest bucket within each radius, if that is a bucket of several items.

    Parameters
    ----------
    queries : uint64 (n_queries, n_words)
    repeated : uint64 (n_repeated, n_words)
        Codes of the buckets with several items.
    sizes : int64 (n_repeated,)
        The sizes of these buckets, descending: the first bucket inside a ball is its largest.
    largest : int64 (n_queries, n_bits + 1)
        On entry, 1 if the ball has items and 0 otherwise.
    """
    for query in range(len(queries)):
        nearest = 0
        while largest[query, nearest] == 0:
            nearest += 1
        reached = largest.shape[1]
        for bucket in range(sizes.size):
            distance = np.int64(0)
            for word in range(queries.shape[1]):
                distance += np.int64(_ones(queries[query, word] ^ repeated[bucket, word]))
            if distance < reached:
                largest[query, distance:reached] = sizes[bucket]
                reached = distance
                if reached == nearest:
                    break
