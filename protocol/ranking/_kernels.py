"""Compiled loops. Imported inside the functions that need it: numba alone takes longer to load than small work takes.

`count_planes` is bit-sliced: bit j of 64 items is one word, so a logical operation works on 64 items at once. The
query's bits are xored in, an adder network turns the differing bits into the binary digits of the distances, and the
items at a distance are those whose digits spell it.

The loops over a tile stand in functions of their own, over few arrays with constant offsets: only then does the
compiler prove that they may run on whole vector registers.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types, uint64
from numba.extending import intrinsic

from protocol.compiled import compiled

TILE = 232
"""Words of a bit plane worked on at a time: a multiple of the vector length; long, for what is done once a tile not to
count; no power of two, which would put the planes into the same lines of the cache. Four hold CIFAR-10's 59,000."""

STEP = 16
"""Bit planes added in one step."""


def _ctpop(typing_context: Any, word: Any) -> Any:
    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), codegen


_popcount: Any = intrinsic(_ctpop)
"""The number of ones of a 64-bit word, which numba has no function for."""


@compiled(inline="always")
def _add(a: Any, b: Any, c: Any) -> Any:
    """Add three bits: return the sum's ones and its twos."""
    differs = a ^ b
    return differs ^ c, (a & b) | (differs & c)


@compiled(inline="always")
def _add_eight(ones: Any, twos: Any, fours: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """Add eight bits to a sum's lower digits: return them, and the carried eights."""
    ones, two_of_b = _add(ones, a, b)
    ones, two_of_d = _add(ones, c, d)
    twos, four_of_d = _add(twos, two_of_b, two_of_d)
    ones, two_of_f = _add(ones, e, f)
    ones, two_of_h = _add(ones, g, h)
    twos, four_of_h = _add(twos, two_of_f, two_of_h)
    fours, eights = _add(fours, four_of_d, four_of_h)
    return ones, twos, fours, eights


@compiled()
def _add_planes(planes: Any, flips: Any, digits: Any, carry: Any) -> None:
    """Add sixteen planes, xored with the query's bits, to the five lowest digits; leave what they carry."""
    f0, f1, f2, f3, f4, f5, f6, f7 = flips[0], flips[1], flips[2], flips[3], flips[4], flips[5], flips[6], flips[7]
    g0, g1, g2, g3, g4, g5, g6, g7 = (
        flips[8],
        flips[9],
        flips[10],
        flips[11],
        flips[12],
        flips[13],
        flips[14],
        flips[15],
    )
    for w in range(TILE):
        ones, twos, fours, some_eights = _add_eight(
            digits[w],
            digits[TILE + w],
            digits[2 * TILE + w],
            planes[w] ^ f0,
            planes[TILE + w] ^ f1,
            planes[2 * TILE + w] ^ f2,
            planes[3 * TILE + w] ^ f3,
            planes[4 * TILE + w] ^ f4,
            planes[5 * TILE + w] ^ f5,
            planes[6 * TILE + w] ^ f6,
            planes[7 * TILE + w] ^ f7,
        )
        ones, twos, fours, more_eights = _add_eight(
            ones,
            twos,
            fours,
            planes[8 * TILE + w] ^ g0,
            planes[9 * TILE + w] ^ g1,
            planes[10 * TILE + w] ^ g2,
            planes[11 * TILE + w] ^ g3,
            planes[12 * TILE + w] ^ g4,
            planes[13 * TILE + w] ^ g5,
            planes[14 * TILE + w] ^ g6,
            planes[15 * TILE + w] ^ g7,
        )
        digits[w], digits[TILE + w], digits[2 * TILE + w] = ones, twos, fours
        digits[3 * TILE + w], sixteens = _add(digits[3 * TILE + w], some_eights, more_eights)
        digits[4 * TILE + w], carry[w] = digits[4 * TILE + w] ^ sixteens, digits[4 * TILE + w] & sixteens


@compiled()
def _add_carry(digit: Any, carry: Any) -> None:
    """Add `carry` to a digit, and leave there what is carried on."""
    for w in range(TILE):
        both = digit[w] & carry[w]
        digit[w] ^= carry[w]
        carry[w] = both


@compiled()
def _keep(items: Any, digit: Any, flip: Any, kept: Any) -> bool:
    """Keep the items whose digit, xored with `flip`, is 1; return whether there are any."""
    some = uint64(0)
    for w in range(TILE):
        kept[w] = items[w] & (digit[w] ^ flip)
        some |= kept[w]
    return some != 0


@compiled(forceinline=True)
def _count_lowest(items: Any, mask: Any, digits: Any, first: int, stop: int, counts: Any) -> None:
    """Add up the items of a mask that have each set of the three lowest digits, whatever their others; in some words.

    That takes fewer operations than telling the eight values apart, which `_tell_apart` does in the end.
    """
    n = n1 = n2 = n12 = n4 = n14 = n24 = n124 = uint64(0)
    for w in range(first, stop):
        item, one, two, four = items[w] & mask[w], digits[w], digits[TILE + w], digits[2 * TILE + w]
        n += _popcount(item)
        n1 += _popcount(item & one)
        n2 += _popcount(item & two)
        n12 += _popcount(item & one & two)
        n4 += _popcount(item & four)
        n14 += _popcount(item & one & four)
        n24 += _popcount(item & two & four)
        n124 += _popcount(item & one & two & four)
    for value, found in enumerate((n, n1, n2, n12, n4, n14, n24, n124)):
        counts[value] += np.int64(found)


@compiled()
def _count_tile(items: Any, mask: Any, digits: Any, counts: Any) -> None:
    """Add up the items of a whole tile: a loop of known length, which the compiler does much better."""
    _count_lowest(items, mask, digits, 0, TILE, counts)


@compiled()
def _count_part(items: Any, mask: Any, digits: Any, first: int, stop: int, counts: Any) -> None:
    """Add up the items of some words of a tile."""
    _count_lowest(items, mask, digits, first, stop, counts)


@compiled()
def _measure_tile(planes: Any, flips: Any, tile: int, query: int, digits: Any, scratch: Any) -> None:
    """Write the binary digits of the distances of a tile's items from a query."""
    lowest, carry = digits[:5].reshape(-1), scratch[0]
    digits[:] = 0
    for step in range(planes.shape[1]):
        _add_planes(planes[tile, step], flips[query, step * STEP : (step + 1) * STEP], lowest, carry)
        digit = 5
        while (step + 1) >> (digit - 4):
            _add_carry(digits[digit], carry)
            digit += 1


@compiled()
def _tell_apart(counts: Any) -> None:
    """Turn what `_count_lowest` added up into the items that have a set of the three digits and no other of them."""
    for octave in range(len(counts)):
        for digit in (1, 2, 4):
            for value in range(8):
                if not value & digit:
                    counts[octave, value] -= counts[octave, value | digit]


@compiled()
def _find_octave(octave: int, digits: Any, kept: Any, found: Any) -> bool:
    """Write the items at distances 8 * octave, ..., 8 * octave + 7 to the first row of `kept`, if there are any.

    Depth first through a tree of ands: what the last octave shares in its highest digits is there already, and what
    is below a branch without items is not looked at.
    """
    for digit in range(len(digits) - 4, -1, -1):
        if octave == 0 or (octave ^ (octave - 1)) >> digit:
            flip = uint64((octave >> digit) & 1) - uint64(1)
            found[digit] = found[digit + 1] and _keep(kept[digit + 1], digits[digit + 3], flip, kept[digit])
    return found[0]


@compiled()
def count_planes(planes: Any, flips: Any, masks: Any, extents: Any, chosen: Any, scratch: Any, counts: Any) -> None:
    """Count the items of each query's masks by distance.

    Parameters
    ----------
    planes : uint64 (n_tiles, n_steps, STEP * TILE)
        Bit planes of the database; unused ones are zero.
    flips : uint64 (n_queries, n_steps * STEP)
        All ones where the query's bit is set.
    masks : uint64 (n_masks, n_tiles, TILE)
        Sets of items to count, the first of them for every query: all items.
    extents : int64 (n_masks, n_tiles, 2)
        The words of each tile, from one to before another, outside which a mask is zero.
    chosen : int64 (n_queries, n_chosen)
        The other masks of each query.
    scratch : uint64 (2 * n_digits, TILE)
        Where n_digits binary digits hold a distance, at least 5 of them.
    counts : int64 (n_queries, 1 + n_chosen, n_octaves + 1, 8)
        Zero on entry; then the items at distances 8 * octave, ..., 8 * octave + 7. The last octave is left out.
    """
    n_digits = len(scratch) // 2
    digits, lowest, kept = scratch[:n_digits], scratch[:4].reshape(-1), scratch[n_digits:]
    found = np.ones(n_digits - 2, np.bool_)
    kept[n_digits - 3] = ~uint64(0)
    for tile in range(len(planes)):
        for query in range(len(flips)):
            _measure_tile(planes, flips, tile, query, digits, kept)
            for octave in range(counts.shape[2] - 1):
                if _find_octave(octave, digits, kept, found):
                    _count_tile(kept[0], masks[0, tile], lowest, counts[query, 0, octave])
                    for k in range(chosen.shape[1]):
                        mask = chosen[query, k]
                        first, stop = extents[mask, tile]
                        if first < stop:
                            _count_part(kept[0], masks[mask, tile], lowest, first, stop, counts[query, 1 + k, octave])
    _tell_apart(counts.reshape(-1, 8))


@compiled()
def _measure(query: Any, database: Any, distances: Any) -> None:
    """Write the Hamming distances of the database (n_words, n_items) from a query (n_words,)."""
    for word in range(len(query)):
        bits, column = query[word], database[word]
        if word == 0:
            for item in range(distances.size):
                distances[item] = _popcount(column[item] ^ bits)
        else:
            for item in range(distances.size):
                distances[item] += _popcount(column[item] ^ bits)


@compiled()
def fill_largest(queries: Any, repeated: Any, sizes: Any, largest: Any) -> None:
    """Write the size of the largest bucket within each radius, where that is a bucket of several items.

    Parameters
    ----------
    queries : uint64 (n_queries, n_words)
    repeated : uint64 (n_words, n_repeated)
        Codes of the buckets that have several items.
    sizes : int64 (n_repeated,)
        Their items, descending: the first bucket inside a ball is its largest.
    largest : int64 (n_queries, n_bits + 1)
        1 or 0 on entry, as the ball has items or not.
    """
    distances = np.empty(sizes.size, np.uint16)
    for query in range(len(queries)):
        _measure(queries[query], repeated, distances)
        nearest = 0
        while largest[query, nearest] == 0:
            nearest += 1
        reached = largest.shape[1]
        for bucket in range(sizes.size):
            if distances[bucket] < reached:
                largest[query, distances[bucket] : reached] = sizes[bucket]
                reached = np.int64(distances[bucket])
                if reached == nearest:
                    break


@compiled()
def sum_of_precisions(
    query: Any, database: Any, positions: Any, before: Any, relevant_before: Any, distances: Any
) -> float:
    """Return the sum, over the relevant items, of the precision down to their place in the stable ranking.

    Parameters
    ----------
    query : uint64 (n_words,)
    database : uint64 (n_words, n_database)
    positions : int64 (n_relevant,)
        Of the relevant items, ascending.
    before, relevant_before : int64 (n_bits + 1,)
        Items nearer than each distance, all and relevant ones; changed.
    distances : uint16 (n_database,)
        Room to work in.
    """
    _measure(query, database, distances)
    total, start = 0.0, 0
    for position in positions:
        for item in range(start, position + 1):
            before[distances[item]] += 1
        start = position + 1
        here = distances[position]
        relevant_before[here] += 1
        total += relevant_before[here] / before[here]
    return total
