"""Compiled loops. Import this module inside functions: loading numba takes longer than many small tasks.

`count_planes` is bit-sliced: a vector holds bit j of 512 items, so one logical operation processes 512 items. The
query's bits select prepared vectors, an adder network adds these up to the binary digits of the distances, and the
items at a distance are found by comparing the digits. `count_words` processes the codes as 64-bit words, eight items
per vector: it writes the distances of a tile of items to a buffer and increments one counter for each.

Vectors of 512 bits are defined here as a separate type, because the compiler does not use the full register width of
every CPU by itself. A CPU with shorter registers processes a vector in parts. The inner loops have pointers as
arguments, because passing arrays takes longer than some of these loops.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, register_model

from protocol.compiled import compiled

LANES = 8
"""The number of 64-bit words in a vector."""

GROUP = 64 * LANES
"""The number of items of which a vector holds one bit each."""

STEP = 8
"""The number of chunks, of three bits of the code each, that one step of `count_planes` adds up."""

CHUNK_VECTORS = 10
"""The number of prepared vectors of a chunk: the ones digit of the distance for queries of even and of odd parity, then
the twos digit for each of the eight values of the query's three bits."""

TILE = 512
"""The number of items that `count_words` compares with all queries before it proceeds to the next ones."""


class _Vector(types.Type):
    """Eight 64-bit words."""

    def __init__(self) -> None:
        super().__init__(name="uint64x8")


_VECTOR = _Vector()
_WORD = ir.IntType(64)
_REGISTER = ir.VectorType(_WORD, LANES)


@register_model(_Vector)
class _VectorModel(PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _REGISTER)


_operation: Any = intrinsic
"""Decorator: make a function for compiled code from one that returns a code generator, given the argument types."""


def _generator(emit: Any) -> Any:
    """Return a code generator with numba's signature, from one whose arguments are the builder and the values."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    return generate


def _binary(emit: Any) -> Any:
    """Make an operation on two vectors for compiled code."""

    def typed(context: Any, a: Any, b: Any) -> Any:
        return _VECTOR(_VECTOR, _VECTOR), _generator(emit)

    return _operation(typed)


def _ternary(emit: Any) -> Any:
    """Make an operation on three vectors for compiled code."""

    def typed(context: Any, a: Any, b: Any, c: Any) -> Any:
        return _VECTOR(_VECTOR, _VECTOR, _VECTOR), _generator(emit)

    return _operation(typed)


_and: Any = _binary(lambda build, a, b: build.and_(a, b))
_or: Any = _binary(lambda build, a, b: build.or_(a, b))
_xor: Any = _binary(lambda build, a, b: build.xor(a, b))
_plus: Any = _binary(lambda build, a, b: build.add(a, b))
_and_not: Any = _binary(lambda build, a, b: build.and_(a, build.not_(b)))
_left: Any = _binary(lambda build, a, b: build.shl(a, b))
_right: Any = _binary(lambda build, a, b: build.lshr(a, b))
_parity: Any = _ternary(lambda build, a, b, c: build.xor(build.xor(a, b), c))
_majority: Any = _ternary(lambda build, a, b, c: build.or_(build.and_(a, b), build.and_(c, build.or_(a, b))))


def _vector_at(build: ir.IRBuilder, pointer: Any, index: Any) -> Any:
    return build.bitcast(build.gep(pointer, [index]), _REGISTER.as_pointer())


def _pick(build: ir.IRBuilder, a: Any, b: Any, lanes: list[int]) -> Any:
    """Return selected lanes of two vectors; the lanes of the second are numbered from 8."""
    return build.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes))


@_operation
def _pointer(context: Any, array: Any) -> Any:
    """Return a pointer to the data of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(array)(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@_operation
def _load(context: Any, pointer: Any, index: Any) -> Any:
    """Return the vector that starts at word `index`."""
    emit = _generator(lambda build, pointer, index: build.load(_vector_at(build, pointer, index), align=8))
    return _VECTOR(pointer, types.int64), emit


@_operation
def _store(context: Any, pointer: Any, index: Any, vector: Any) -> Any:
    """Write a vector to the words that start at `index`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _vector_at(builder, *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, _VECTOR), generate


@_operation
def _added(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Add three bits: return the ones and the twos digit of the sum."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, c = arguments
        ones = builder.xor(builder.xor(a, b), c)
        twos = builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))
        return context.make_tuple(builder, signature.return_type, (ones, twos))

    return types.UniTuple(_VECTOR, 2)(_VECTOR, _VECTOR, _VECTOR), generate


@_operation
def _zeros(context: Any) -> Any:
    return _VECTOR(), _generator(lambda build: ir.Constant(_REGISTER, None))


@_operation
def _repeat(context: Any, word: Any) -> Any:
    """Return a vector that repeats one word eight times."""

    def emit(build: Any, word: Any) -> Any:
        nothing = ir.Constant(_REGISTER, ir.Undefined)
        return _pick(build, build.insert_element(nothing, word, ir.Constant(ir.IntType(32), 0)), nothing, [0] * LANES)

    return _VECTOR(types.uint64), _generator(emit)


@_operation
def _popcounts(context: Any, vector: Any) -> Any:
    """Return the number of ones in each word."""

    def emit(build: Any, vector: Any) -> Any:
        kind = ir.FunctionType(_REGISTER, [_REGISTER])
        return build.call(cgutils.get_or_insert_function(build.module, kind, "llvm.ctpop.v8i64"), [vector])

    return _VECTOR(_VECTOR), _generator(emit)


@_operation
def _popcount(context: Any, word: Any) -> Any:
    """Return the number of ones in a word; numba has no function for this."""
    return types.int64(types.uint64), _generator(lambda build, word: build.ctpop(word))


@_operation
def _is_any(context: Any, vector: Any) -> Any:
    """Return whether any bit of a vector is one."""

    def emit(build: Any, vector: Any) -> Any:
        lanes = build.icmp_unsigned("!=", vector, ir.Constant(_REGISTER, None))
        return build.icmp_unsigned("!=", build.bitcast(lanes, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(_VECTOR), _generator(emit)


@_operation
def _totals(context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """Return the sums of the words of eight vectors, as one vector."""

    def added(build: Any, vectors: Any, first: list[int], second: list[int]) -> list[Any]:
        """Add lanes of pairs of vectors, so that half as many vectors remain."""
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        return [build.add(_pick(build, a, b, first), _pick(build, a, b, second)) for a, b in pairs]

    def emit(build: Any, *vectors: Any) -> Any:
        of_two = added(build, vectors, [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15])
        of_four = added(build, of_two, [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15])
        return added(build, of_four, [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])[0]

    return _VECTOR(*[_VECTOR] * LANES), _generator(emit)


@_operation
def _from(context: Any, pointer: Any, index: Any) -> Any:
    """Return the pointer advanced by `index` elements."""
    return pointer(pointer, types.int64), _generator(lambda build, pointer, index: build.gep(pointer, [index]))


_INNER: dict[str, Any] = dict.fromkeys(("nogil", "no_cpython_wrapper", "no_cfunc_wrapper"), True)
_inner = njit(error_model="numpy", **_INNER)
"""Decorator for functions that only compiled code calls; their code is cached as part of their callers."""
_inlined = njit(error_model="numpy", forceinline=True, **_INNER)
"""Decorator for functions whose call overhead matters; inlining all functions would double the compilation time."""


@_inner
def _transpose(words: Any) -> None:
    """Transpose 64 vectors: from the 64 bits of one item in each word to one bit of 64 items in each word."""
    reach, mask = 32, np.uint64(0xFFFFFFFF)
    while reach:
        lower, shift = _repeat(mask), _repeat(np.uint64(reach))
        for start in range(0, 64, 2 * reach):
            for row in range(start, start + reach):
                a, b = _load(words, row * LANES), _load(words, (row + reach) * LANES)
                differs = _and(_xor(_right(a, shift), b), lower)
                _store(words, row * LANES, _xor(a, _left(differs, shift)))
                _store(words, (row + reach) * LANES, _xor(b, differs))
        reach >>= 1
        mask ^= mask << np.uint64(reach)


@_inner
def _write_planes(words: Any, n_words: int, order: Any, start: int, stop: int, planes: Any) -> None:
    """Write the bit planes of the items from `start` up to but not including `stop`, at most one group."""
    for word in range(n_words):
        rows = _from(planes, word * GROUP)
        for item in range(GROUP):
            row = (item & 63) * LANES + (item >> 6)
            rows[row] = words[order[start + item] * n_words + word] if start + item < stop else np.uint64(0)
        _transpose(rows)


@_inner
def _prepare(planes: Any, n_chunks: int, prepared: Any) -> None:
    """Compute the prepared vectors of each chunk from the bit planes."""
    ones = _repeat(~np.uint64(0))
    for chunk in range(n_chunks):
        plane, to = chunk * 3 * LANES, chunk * CHUNK_VECTORS * LANES
        a, b, c = _load(planes, plane), _load(planes, plane + LANES), _load(planes, plane + 2 * LANES)
        parity = _parity(a, b, c)
        _store(prepared, to, parity)
        _store(prepared, to + LANES, _xor(parity, ones))
        for bits in range(8):
            x = _xor(a, ones) if bits & 1 else a
            y = _xor(b, ones) if bits & 2 else b
            z = _xor(c, ones) if bits & 4 else c
            _store(prepared, to + (2 + bits) * LANES, _majority(x, y, z))


@_inlined
def _measure_group(prepared: Any, offsets: Any, n_steps: int, digits: Any, stride: int, n_digits: int) -> None:
    """Write the binary digits of the distances between a query and the items of a group.

    Each step adds the ones and the twos of eight chunks. The names `t`, `f`, `e` and so on are carries of twos, fours,
    eights.
    """
    ones = twos = fours = eights = d4 = d5 = d6 = d7 = d8 = _zeros()
    for step in range(n_steps):
        at = step * 2 * STEP
        ones, t1 = _added(ones, _load(prepared, offsets[at]), _load(prepared, offsets[at + 1]))
        ones, t2 = _added(ones, _load(prepared, offsets[at + 2]), _load(prepared, offsets[at + 3]))
        twos, f1 = _added(twos, _load(prepared, offsets[at + 8]), _load(prepared, offsets[at + 9]))
        twos, f2 = _added(twos, _load(prepared, offsets[at + 10]), _load(prepared, offsets[at + 11]))
        twos, f3 = _added(twos, t1, t2)
        fours, e1 = _added(fours, f1, f2)
        ones, t1 = _added(ones, _load(prepared, offsets[at + 4]), _load(prepared, offsets[at + 5]))
        ones, t2 = _added(ones, _load(prepared, offsets[at + 6]), _load(prepared, offsets[at + 7]))
        twos, f1 = _added(twos, _load(prepared, offsets[at + 12]), _load(prepared, offsets[at + 13]))
        twos, f2 = _added(twos, _load(prepared, offsets[at + 14]), _load(prepared, offsets[at + 15]))
        fours, e2 = _added(fours, f3, f1)
        twos, f3 = _added(twos, t1, t2)
        fours, e3 = _added(fours, f2, f3)
        eights, s1 = _added(eights, e1, e2)
        eights, s2 = _xor(eights, e3), _and(eights, e3)
        d4, carry = _added(d4, s1, s2)
        d5, carry = _xor(d5, carry), _and(d5, carry)
        d6, carry = _xor(d6, carry), _and(d6, carry)
        d7, carry = _xor(d7, carry), _and(d7, carry)
        d8 = _xor(d8, carry)
    _store(digits, 0, ones)
    _store(digits, stride, twos)
    _store(digits, 2 * stride, fours)
    _store(digits, 3 * stride, eights)
    _store(digits, 4 * stride, d4)
    if n_digits > 5:
        _store(digits, 5 * stride, d5)
    if n_digits > 6:
        _store(digits, 6 * stride, d6)
    if n_digits > 7:
        _store(digits, 7 * stride, d7)
    if n_digits > 8:
        _store(digits, 8 * stride, d8)


@_inner
def _select(items: Any, digit: Any, is_one: bool, size: int, selected: Any) -> bool:
    """Select the items whose digit is 1, or those whose digit is 0, and return whether there are any."""
    found = _zeros()
    if is_one:
        for w in range(0, size, LANES):
            here = _and(_load(items, w), _load(digit, w))
            _store(selected, w, here)
            found = _or(found, here)
    else:
        for w in range(0, size, LANES):
            here = _and_not(_load(items, w), _load(digit, w))
            _store(selected, w, here)
            found = _or(found, here)
    return _is_any(found)


@_inner
def _count_octave(items: Any, mask: Any, digits: Any, stride: int, first: int, stop: int, counts: Any) -> None:
    """Add up, for each subset of the three lowest digits, the items of a mask in which at least these digits are 1.

    This takes fewer operations than counting each of the eight values, which `_count_values` derives at the end.
    """
    n = n1 = n2 = n12 = n4 = n14 = n24 = n124 = _zeros()
    for w in range(first, stop, LANES):
        here, one, two, four = (
            _and(_load(items, w), _load(mask, w)),
            _load(digits, w),
            _load(digits, stride + w),
            _load(digits, 2 * stride + w),
        )
        with_one, with_two = _and(here, one), _and(here, two)
        with_both = _and(with_one, two)
        n = _plus(n, _popcounts(here))
        n1 = _plus(n1, _popcounts(with_one))
        n2 = _plus(n2, _popcounts(with_two))
        n12 = _plus(n12, _popcounts(with_both))
        n4 = _plus(n4, _popcounts(_and(here, four)))
        n14 = _plus(n14, _popcounts(_and(with_one, four)))
        n24 = _plus(n24, _popcounts(_and(with_two, four)))
        n124 = _plus(n124, _popcounts(_and(with_both, four)))
    _store(counts, 0, _plus(_load(counts, 0), _totals(n, n1, n2, n12, n4, n14, n24, n124)))


@_inner
def _count_values(counts: Any, n_octaves: int) -> None:
    """Turn the sums of `_count_octave` into the numbers of items that have each value of the three lowest digits."""
    for octave in range(n_octaves):
        for digit in (1, 2, 4):
            for value in range(8):
                if not value & digit:
                    counts[octave * 8 + value] -= counts[octave * 8 + (value | digit)]


@_inner
def _copy(source: Any, size: int, to: Any, n_words: int) -> None:
    """Copy `size` words and write zeros to the rest of `n_words`."""
    for w in range(0, size, LANES):
        _store(to, w, _load(source, w))
    for w in range(size, n_words, LANES):
        _store(to, w, _zeros())


@_inner
def _write_set(first: int, stop: int, mask: Any, is_masked: bool, size: int, members: Any, extent: Any) -> None:
    """Write a mask of the items of a tile that are in a set, and the range of words outside which it has none.

    Words outside this range are not written. A set has the items from `first` up to but not including `stop`; if it has
    a mask, only those that are also in the mask.
    """
    first, stop = max(first, 0), min(stop, 64 * size)
    extent[0] = extent[1] = 0
    if first < stop:
        extent[0], extent[1] = first // GROUP * LANES, (stop + GROUP - 1) // GROUP * LANES
    for w in range(extent[0], extent[1]):
        word = ~np.uint64(0) if not is_masked else mask[w]
        before, until = first - 64 * w, stop - 64 * w
        if before > 0:
            word &= ~np.uint64(0) << np.uint64(before) if before < 64 else np.uint64(0)
        if until < 64:
            word &= (np.uint64(1) << np.uint64(until)) - np.uint64(1) if until > 0 else np.uint64(0)
        members[w] = word


@compiled(error_model="numpy")
def count_planes(
    words: Any,
    order: Any,
    offsets: Any,
    spans: Any,
    mask_numbers: Any,
    masks: Any,
    chosen: Any,
    prepared: Any,
    planes: Any,
    digits: Any,
    members: Any,
    extents: Any,
    is_found: Any,
    counts: Any,
) -> None:
    """Count the items of each query's sets by distance.

    Parameters
    ----------
    words : uint64 (n_database, n_words)
    order : uint32 (n_database,)
        An order in which items with similar sets are adjacent, so that the items of a set are in few words.
    offsets : int64 (n_queries, n_steps * 2 * STEP)
        For each query and step, the offsets of the prepared ones of its chunks, then those of the twos.
    spans : int64 (n_sets, 2)
        The half-open range in `order` that contains all items of a set. The first set contains all items.
    mask_numbers : int64 (n_sets,)
        The mask of a set within its span, or -1 if the set contains the complete span.
    masks : uint64 (n_masks, n_tiles * n_tile)
    chosen : int64 (n_queries, n_chosen)
        The sets of each query, besides that of all items.
    prepared : uint64 (n_groups, n_steps * STEP * CHUNK_VECTORS * LANES)
        Workspace, like all following parameters except `counts`: the prepared vectors of the n_groups groups of a tile.
    planes : uint64 (n_planes, LANES)
        Must be zero in planes beyond the last bit of the words.
    digits : uint64 (2 * n_digits, n_tile)
        For n_digits >= 5 binary digits of the distances.
    members : uint64 (n_sets, n_tile)
    extents : int64 (n_sets, 2)
    is_found : int64 (n_digits - 2,)
    counts : int64 (n_queries, 1 + n_chosen, n_octaves, 8)
        Must be zero on entry. On return, the numbers of items at distances 8 * octave, ..., 8 * octave + 7.
    """
    n_database, n_words = words.shape
    n_queries, n_chosen = chosen.shape
    n_steps, n_tiles_words, n_ready = offsets.shape[1] // (2 * STEP), masks.shape[1], prepared.shape[1]
    n_digits, n_octaves, n_groups, n_sets = len(digits) // 2, counts.shape[2], len(prepared), len(spans)
    n_tile, n_upper = n_groups * LANES, n_digits - 3
    code, place, chosen_vector = _pointer(words), _pointer(order), _pointer(offsets)
    span, mask_number, mask_words, chosen_set = (
        _pointer(spans),
        _pointer(mask_numbers),
        _pointer(masks),
        _pointer(chosen),
    )
    ready, plane, digit, member = _pointer(prepared), _pointer(planes), _pointer(digits), _pointer(members)
    total, extent, found = _pointer(counts), _pointer(extents), _pointer(is_found)
    selected = _from(digit, n_digits * n_tile)
    found[n_upper] = 1
    for start in range(0, n_database, n_groups * GROUP):
        for group in range(n_groups):
            first = start + group * GROUP
            stop = max(first, min(first + GROUP, n_database))
            _write_planes(code, n_words, place, first, stop, plane)
            _prepare(plane, n_steps * STEP, _from(ready, group * n_ready))
        for s in range(n_sets):
            mask = _from(mask_words, max(mask_number[s], 0) * n_tiles_words + start // 64)
            first, stop = span[2 * s] - start, span[2 * s + 1] - start
            is_masked = mask_number[s] >= 0
            _write_set(first, stop, mask, is_masked, n_tile, _from(member, s * n_tile), _from(extent, 2 * s))
        _copy(member, extent[1], _from(selected, n_upper * n_tile), n_tile)
        for query in range(n_queries):
            for group in range(n_groups):
                vectors, to = _from(ready, group * n_ready), _from(digit, group * LANES)
                _measure_group(vectors, _from(chosen_vector, query * n_steps * 2 * STEP), n_steps, to, n_tile, n_digits)
            of_query = query * (1 + n_chosen) * n_octaves * 8
            for octave in range(n_octaves):
                # Depth-first traversal of a tree of ands: the result for the high digits that this octave shares with
                # the one before is reused, and branches without items are skipped.
                for level in range(n_upper - 1, -1, -1):
                    if octave == 0 or (octave ^ (octave - 1)) >> level:
                        above, of_level = _from(selected, (level + 1) * n_tile), _from(digit, (level + 3) * n_tile)
                        found[level] = 0
                        if found[level + 1]:
                            is_one = (octave >> level) & 1 == 1
                            found[level] = _select(above, of_level, is_one, n_tile, _from(selected, level * n_tile))
                if found[0]:
                    here = _from(total, of_query + octave * 8)
                    _count_octave(selected, member, digit, n_tile, 0, extent[1], here)
                    for k in range(n_chosen):
                        s = chosen_set[query * n_chosen + k]
                        first, stop = extent[2 * s], extent[2 * s + 1]
                        if first < stop:
                            here = _from(total, of_query + ((1 + k) * n_octaves + octave) * 8)
                            _count_octave(selected, _from(member, s * n_tile), digit, n_tile, first, stop, here)
    _count_values(total, counts.size // 8)


@_inner
def _write_tile(words: Any, n_words: int, n_items: int, tile: Any) -> None:
    """Transpose the codes of a tile's items from (n_items, n_words) to (n_words, TILE)."""
    for word in range(n_words):
        for item in range(n_items):
            tile[word * TILE + item] = words[item * n_words + word]


@_inner
def _measure_tile(a: Any, b: Any, n_words: int, tile: Any, from_a: Any, from_b: Any) -> None:
    """Compute the distances between the items of a tile and two queries."""
    for item in range(0, TILE, 4 * LANES):
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = _zeros()
        for word in range(n_words):
            at = word * TILE + item
            of_a, of_b = _repeat(a[word]), _repeat(b[word])
            here = _load(tile, at)
            a0, b0 = _plus(a0, _popcounts(_xor(here, of_a))), _plus(b0, _popcounts(_xor(here, of_b)))
            here = _load(tile, at + LANES)
            a1, b1 = _plus(a1, _popcounts(_xor(here, of_a))), _plus(b1, _popcounts(_xor(here, of_b)))
            here = _load(tile, at + 2 * LANES)
            a2, b2 = _plus(a2, _popcounts(_xor(here, of_a))), _plus(b2, _popcounts(_xor(here, of_b)))
            here = _load(tile, at + 3 * LANES)
            a3, b3 = _plus(a3, _popcounts(_xor(here, of_a))), _plus(b3, _popcounts(_xor(here, of_b)))
        _store(from_a, item, a0)
        _store(from_a, item + LANES, a1)
        _store(from_a, item + 2 * LANES, a2)
        _store(from_a, item + 3 * LANES, a3)
        _store(from_b, item, b0)
        _store(from_b, item + LANES, b1)
        _store(from_b, item + 2 * LANES, b2)
        _store(from_b, item + 3 * LANES, b3)


@compiled(error_model="numpy")
def count_words(
    queries: Any,
    words: Any,
    starts: Any,
    stops: Any,
    positions: Any,
    levels: Any,
    distances: Any,
    tile: Any,
    retrieved: Any,
    at_level: Any,
) -> None:
    """Count all items, and the listed items of each query, by distance.

    Parameters
    ----------
    queries : uint64 (n_queries, n_words)
        An even number of queries, because two are compared with an item while it is in a register.
    words : uint64 (n_database, n_words)
    starts, stops : int64 (n_queries, n_lists)
        The part of `positions` that lists the items of each query.
    positions : uint32 (n_listed,)
        Positions of items in the database, ascending in each list.
    levels : uint16 (n_listed,)
        The row of `at_level` in which each listed item is counted.
    distances : uint64 (2, TILE)
        Workspace, like `tile` (n_words, TILE).
    retrieved : int64 (n_queries, n_bits + 1)
        Must be zero on entry, like `at_level` (n_queries, n_levels, n_bits + 1).
    """
    n_queries, n_words = queries.shape
    n_lists, n_levels, n_distances = starts.shape[1], at_level.shape[1], retrieved.shape[1]
    reached = starts.copy()
    next_one, end, position, level = _pointer(reached), _pointer(stops), _pointer(positions), _pointer(levels)
    bits, code, here = _pointer(queries), _pointer(words), _pointer(tile)
    from_a, from_b = _pointer(distances), _from(_pointer(distances), TILE)
    for first in range(0, len(words), TILE):
        n_items = min(TILE, len(words) - first)
        _write_tile(_from(code, first * n_words), n_words, n_items, here)
        for query in range(0, n_queries, 2):
            a = _from(bits, query * n_words)
            _measure_tile(a, _from(a, n_words), n_words, here, from_a, from_b)
            of_a = _from(_pointer(retrieved), query * n_distances)
            of_b = _from(of_a, n_distances)
            for item in range(n_items):  # queries alternate, because consecutive increments of one counter would stall
                of_a[from_a[item]] += 1
                of_b[from_b[item]] += 1
            for k in range(query * n_lists, (query + 2) * n_lists):
                distance = from_a if k < (query + 1) * n_lists else from_b
                counted = _from(_pointer(at_level), k // n_lists * n_levels * n_distances)
                at, stop = next_one[k], end[k]
                while at < stop and position[at] < first + n_items:
                    counted[level[at] * n_distances + distance[position[at] - first]] += 1
                    at += 1
                next_one[k] = at


@compiled(error_model="numpy")
def sum_precisions(
    queries: Any,
    words: Any,
    starts: Any,
    stops: Any,
    positions: Any,
    distances: Any,
    ranks: Any,
    tile: Any,
    before: Any,
    listed_before: Any,
    sums: Any,
) -> None:
    """Sum the precision at the ranks of the listed items of each query in the stable ranking.

    Parameters
    ----------
    queries, words, starts, stops, positions, distances, tile
        As for `count_words`.
    ranks : int64 (2, TILE)
        Workspace.
    before : int64 (n_queries, n_bits + 1)
        The number of items nearer than each distance. It is modified: items of the database are added in order, so
        that it gives the rank of each item when that item is reached.
    listed_before : int64 (n_queries, n_lists, n_bits + 1)
        The same for the items of each list.
    sums : float64 (n_queries, n_lists)
        Must be zero on entry.
    """
    n_queries, n_words = queries.shape
    n_lists, n_distances = starts.shape[1], before.shape[1]
    reached = starts.copy()
    next_one, end, position, total = _pointer(reached), _pointer(stops), _pointer(positions), _pointer(sums)
    bits, code, here = _pointer(queries), _pointer(words), _pointer(tile)
    from_a, rank_of_a = _pointer(distances), _pointer(ranks)
    from_b, rank_of_b = _from(from_a, TILE), _from(rank_of_a, TILE)
    for first in range(0, len(words), TILE):
        n_items = min(TILE, len(words) - first)
        _write_tile(_from(code, first * n_words), n_words, n_items, here)
        for query in range(0, n_queries, 2):
            is_left = False
            for k in range(query * n_lists, (query + 2) * n_lists):
                is_left = is_left or next_one[k] < end[k]
            if not is_left:  # no further item is listed
                continue
            a = _from(bits, query * n_words)
            _measure_tile(a, _from(a, n_words), n_words, here, from_a, from_b)
            of_a = _from(_pointer(before), query * n_distances)
            of_b = _from(of_a, n_distances)
            for item in range(n_items):
                place = of_a[from_a[item]] + 1
                of_a[from_a[item]] = place
                rank_of_a[item] = place
                place = of_b[from_b[item]] + 1
                of_b[from_b[item]] = place
                rank_of_b[item] = place
            for k in range(query * n_lists, (query + 2) * n_lists):
                is_a = k < (query + 1) * n_lists
                distance, rank = from_a if is_a else from_b, rank_of_a if is_a else rank_of_b
                of_list = _from(_pointer(listed_before), k * n_distances)
                at, stop, added = next_one[k], end[k], total[k]
                while at < stop and position[at] < first + n_items:
                    item = position[at] - first
                    place = of_list[distance[item]] + 1
                    of_list[distance[item]] = place
                    added += place / rank[item]
                    at += 1
                next_one[k], total[k] = at, added


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
            distance = 0
            for word in range(queries.shape[1]):
                distance += _popcount(queries[query, word] ^ repeated[bucket, word])
            if distance < reached:
                largest[query, distance:reached] = sizes[bucket]
                reached = distance
                if reached == nearest:
                    break


@compiled(error_model="numpy")
def write_keys(words: Any, keys: Any) -> None:
    """Write a hash of each code (n_database, n_words): equal codes have equal hashes, others hardly ever."""
    code, key, n_words = _pointer(words), _pointer(keys), words.shape[1]
    for item in range(len(words)):
        mixed = np.uint64(0)
        for word in range(n_words):
            mixed = (mixed ^ code[item * n_words + word]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        key[item] = mixed


@compiled(error_model="numpy")
def sort_numbers(numbers: Any, starts: Any, positions: Any) -> None:
    """Sort items by their numbers; items with equal numbers keep their order.

    Parameters
    ----------
    numbers : uint32 (n_items,)
        Numbers below n_numbers.
    starts : int64 (n_numbers + 1,)
        Must be zero on entry. On return, where the items of each number start in `positions`, and the end.
    positions : uint32 (n_items,)
        On return, the sorted items.
    """
    number, place, to = _pointer(numbers), _pointer(starts), _pointer(positions)
    for item in range(len(numbers)):
        place[number[item]] += 1
    before = 0
    for each in range(len(starts)):
        here = place[each]
        place[each] = before
        before += here
    for item in range(len(numbers)):
        to[place[number[item]]] = item
        place[number[item]] += 1
    for each in range(len(starts) - 1, 0, -1):
        place[each] = place[each - 1]
    place[0] = 0
