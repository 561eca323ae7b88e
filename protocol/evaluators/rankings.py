"""Ranked lists as evaluators make them: distances, orders of ties, and the sums of precisions at the relevant ranks.

Everything that an evaluator computes from a list without ties is a function of the ranks of its relevant items.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting import HammingCounts, Relevance
from protocol.counting.counts import CodeWords, Floats, Integers
from protocol.parallel import Advance, in_order, workers

RANDOM = ("random", "")
PARTS = ("", "without-first", "with-query", "positive")
LISTS = (*(("index", part) for part in PARTS), ("reversed", ""), RANDOM, ("random", "positive"))
"""The lists that are made of each ranking: the order of ties, and what differs from the complete list."""
_OVERFLOW = 64
"""Twice the distance of opposite codes of this length exceeds an 8-bit integer."""
_SAMPLE, _ORDERS, _SHUFFLED = (50, 500), (8, 32), 2_500_000
"""The smallest and the largest number of queries, about, and of random orders in which they have lists. Both are this
number divided by the size of the database if it is between them."""
_QUERIES = 64
"""Queries that are ranked at a time."""
RADII = (0, 1, 2, 3)
WHOLE = ("mAP@R", "R-precision", "MRR")
"""Measures that have no cutoff of their own."""


Sums = dict[tuple[str, str], NDArray]
"""Of one list of each query, or of the lists in random orders of each query of a sample, one after the other, by kind:

- ``("precision", VARIANT)``: sums of the precisions at the relevant ranks up to each cutoff, (n_queries, n_cutoffs),
  of the plain one ``""``, and in the first of `LISTS` of its variants; NaN for interpolated precisions with a cutoff;
- ``("gain", GAIN)``: nDCG, of the same shape, for each of `gains_of`; NaN without relevant items;
- ``("number", "hits")``: the numbers of relevant items, of the same shape;
- ``("number", "relevant")``: the number of relevant items in the complete list, (n_queries,);
- ``("number", "whole")``: the measures of `WHOLE`, (n_queries, 3); NaN without relevant items.

The first cutoffs are the sizes of the balls of `RADII`, if a radius has a meaning; then come those that are given.
"""


class Distances(NamedTuple):
    """Distances as an evaluator computes them, some queries at a time.

    Parameters
    ----------
    of_rows : callable
        Returns, for each query of a slice, the distances of all items, (n_database,): integers from 0 to below
        `n_groups`; or floats if that is 0, which are taken to be without ties.
    group : ndarray of int64, shape (n_queries,)
        The same number for queries with the same distances: an unstable sort orders their ties alike.
    n_database, n_groups : int
    middle : float
        The distance from which the inner product of the codes or outputs is not positive.
    has_radius : bool
        Whether a radius has a meaning: the distances are numbers of bits.
    """

    of_rows: Callable[[slice], Iterable[NDArray]]
    group: Integers
    n_database: int
    n_groups: int
    middle: float
    has_radius: bool = True


class _WithoutOwn(NamedTuple):
    """The relevance for queries that are the database items, each without its own row."""

    relevance: Relevance

    @property
    def levels(self) -> Integers:
        """The levels of relevance."""
        return self.relevance.levels

    def row(self, query: int) -> tuple[Integers, Integers]:
        """Return the positions of the relevant items in the database without row `query`, and their levels."""
        positions, levels = self.relevance.row(query)
        others = positions != query
        return (positions - (positions > query))[others], levels[others]


Case = tuple[Distances, Relevance | _WithoutOwn]
"""What is ranked."""
Levels = NDArray[np.unsignedinteger]


def of_codes(query: NDArray[np.uint8], database: NDArray[np.uint8], n_bits: int) -> dict[str, Distances]:
    """Return the distances that evaluators compute from packed codes, by variant; "" is the Hamming distance."""
    queries, items = codes.words(query), np.ascontiguousarray(codes.words(database).T)
    _, group = np.unique(queries, axis=0, return_inverse=True)
    spare, n_bytes = -n_bits % 8, query.shape[1]
    complete = np.full((1, n_bytes), 255, dtype=np.uint8)
    complete[:, -1] = 255 << spare & 255 >> spare
    mask = codes.words(complete).T
    turned = codes.words(np.packbits(np.unpackbits(query, axis=1), axis=1, bitorder="little"))
    functions: dict[str, Callable[[CodeWords], NDArray]] = {
        "": hamming,
        "saturating": saturating,
        "bytes": lambda differing: hamming(_of_bytes(np.bitwise_or, differing)),
        "farthest": lambda differing: n_bits - hamming(differing),
        "mixed-bit-order": hamming,
    }
    if n_bits >= 8:  # a packer of 0 and 1 that is given -1 and +1 sets the first bit of every byte and loses the last
        functions["packed-signs"] = lambda differing: hamming(differing & np.uint64(0x7E7E7E7E7E7E7E7E))
    if spare:
        functions["bit-order"] = lambda differing: hamming(differing & mask)
    if n_bits >= _OVERFLOW:  # numbers in the order of twice the distance in an 8-bit integer
        functions["int8"] = lambda differing: (2 * hamming(differing) + 128) % 256

    def distances(name: str, function: Callable[[CodeWords], NDArray]) -> Distances:
        sides, n_groups = turned if name == "mixed-bit-order" else queries, 256 if name == "int8" else 8 * n_bytes + 1

        def of_rows(rows: slice) -> Iterator[NDArray]:
            return (function(side[:, None] ^ items) for side in sides[rows])

        return Distances(of_rows, group.ravel(), len(database), n_groups, n_bits / 2, has_radius=name != "int8")

    return {name: distances(name, function) for name, function in functions.items()}


def without_own(distances: Distances, relevance: Relevance) -> Case:
    """Return what is ranked for queries that are the database items, each without its own row."""

    def of_rows(rows: slice) -> Iterator[NDArray]:
        return (np.delete(apart, row) for row, apart in enumerate(distances.of_rows(rows), rows.start))

    group, n = np.arange(distances.group.size), distances.n_database - 1  # queries with the same code have other items
    return distances._replace(of_rows=of_rows, group=group, n_database=n), _WithoutOwn(relevance)


def of_values(query: NDArray, database: NDArray) -> dict[str, Distances]:
    """Return the distances that evaluators compute from real-valued outputs, by variant."""
    sizes, n_bits = (np.arange(len(query)), len(database)), query.shape[1]
    q, d = query.astype(np.float64), database.astype(np.float64)
    signs_q, signs_d = np.sign(q), np.sign(d)
    untied = {"inner-product": lambda rows: -(q[rows] @ d.T), "asymmetric": lambda rows: -(q[rows] @ signs_d.T)}
    distances = {name: Distances(of_rows, *sizes, 0, 0, has_radius=False) for name, of_rows in untied.items()}
    if not (signs_q.all() and signs_d.all()):

        def halves(rows: slice) -> NDArray:
            return (n_bits - signs_q[rows] @ signs_d.T).astype(np.int64)

        distances["half"] = Distances(halves, *sizes, 2 * n_bits + 1, n_bits, has_radius=False)
        distances["zero-is-1"] = of_codes(codes.pack(q >= 0), codes.pack(d >= 0), n_bits)[""]
    return distances


def hamming(differing: CodeWords) -> NDArray[np.uint16]:
    """Return the number of bits that differ."""
    return np.bitwise_count(differing).sum(axis=0, dtype=np.uint16)


def saturating(differing: CodeWords) -> NDArray[np.uint16]:
    """Return the Hamming distance in which a byte counts at most 7.

    The MATLAB function that many toolkits share looks up ``bit_in_char(y + 1)`` with y of type uint8, and 255 + 1 is
    255 in saturating arithmetic.
    """
    return hamming(differing) - hamming(_of_bytes(np.bitwise_and, differing))


def _of_bytes(combine: np.ufunc, words: CodeWords) -> CodeWords:
    """Return words whose bytes are 0 or 1: the eight bits of each byte, combined."""
    for shift in (4, 2, 1):
        words = combine(words, words >> np.uint64(shift))
    return words & np.uint64(0x0101010101010101)


def gains_of(levels: Integers) -> list[str]:
    """Return the gains of nDCG that give different values: "exponential", "linear"; or "" for a single level.

    Examples
    --------
    >>> gains_of(np.array([1])), gains_of(np.array([1, 2]))
    ([''], ['exponential', 'linear'])
    """
    return ["exponential", "linear"] if levels.size > 1 else [""]


def ranked(
    case: Case, cutoffs: Integers, *, plain: bool = False, threads: int = 1, progress: Advance = None
) -> tuple[HammingCounts | None, dict[tuple[str, str], Sums], Integers]:
    """Return the counts of a ranking, the sums over its lists for each of `LISTS`, and the sample with random orders.

    The sample are rows of queries, sorted by their group, and contains groups only as a whole.

    Parameters
    ----------
    case : Case
        If the distances are without ties, there are no counts, and only the lists in database order.
    cutoffs : ndarray of int64, shape (n_cutoffs,)
        The last is the size of the database.
    plain : bool, default=False
        Whether only whole lists in database order and in a random order are made, with the plain precision.
    threads : int, default=1
    progress : callable, optional
        Called with the number of queries that were just processed.
    """
    distances, relevance = case
    n_queries, n_groups, levels = distances.group.size, distances.n_groups, relevance.levels
    retrieved = np.zeros((n_queries, n_groups), dtype=np.int64)
    at_level = np.zeros((n_queries, levels.size, n_groups), dtype=np.int64)
    n_items = distances.n_database
    n_sampled, n_orders = (int(np.clip(_SHUFFLED // n_items, *ends)) for ends in (_SAMPLE, _ORDERS))
    shuffled = np.argsort(distances.group, kind="stable")
    shuffled = shuffled[(distances.group[shuffled] % -(-n_queries // n_sampled) == 0) & (n_groups > 0)]
    place = {row: at for at, row in enumerate(shuffled.tolist())}
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(n_items), (n_orders, 1)), axis=1)
    radii = np.minimum(RADII, n_groups - 1) if distances.has_radius else []
    gains, middle = gains_of(levels), None if plain else distances.middle
    lists: dict[tuple[str, str], Sums] = {key: {} for key in LISTS}

    def rank(start: int) -> None:
        """Fill in the rows of some queries."""
        for row, apart in enumerate(distances.of_rows(slice(start, start + _QUERIES)), start):
            positions, of_items = relevance.row(row)
            numbers = np.searchsorted(levels, of_items)
            if n_groups:
                apart = apart.astype(np.min_scalar_type(n_groups - 1))  # NumPy sorts short integers by radix sort
                retrieved[row] = np.bincount(apart, minlength=n_groups)
                cells = np.bincount(numbers * n_groups + apart[positions], minlength=at_level[row].size)
                at_level[row] = cells.reshape(levels.size, n_groups)
            until = np.concatenate([np.cumsum(retrieved[row])[radii], cutoffs[:-1], [np.iinfo(np.int64).max]])
            level = np.zeros(apart.size, dtype=np.min_scalar_type(levels[-1]))
            level[positions] = of_items
            for key, ranks, of_ranks in _ranks(apart, level, retrieved[row], orders if row in place else None, middle):
                n_lists = len(ranks)
                at, n_rows = (place[row], shuffled.size) if key[0] == "random" else (row, n_queries)
                for kind, values in _sums(ranks, of_ranks, until, gains, every=key == LISTS[0] and not plain).items():
                    if kind not in lists[key]:  # another thread may create the array first
                        lists[key].setdefault(kind, np.full((n_rows * n_lists, *values.shape[1:]), np.nan))
                    lists[key][kind][at * n_lists : (at + 1) * n_lists] = values

    starts = range(0, n_queries, _QUERIES)
    with workers(threads) as allowed:
        for start, _ in zip(starts, in_order(rank, starts, allowed), strict=True):
            if progress is not None:
                progress(min(_QUERIES, n_queries - start))
    counts = HammingCounts(retrieved, at_level, levels) if n_groups else None
    return counts, {key: sums for key, sums in lists.items() if sums}, shuffled


def _ranks(
    apart: NDArray, level: Levels, retrieved: Integers, orders: Integers | None, middle: float | None
) -> Iterator[tuple[tuple[str, str], Integers, Levels]]:
    """Yield the ranks of the relevant items, ascending, from 1, and their levels, (n_lists, n), in each of `LISTS`.

    `level` has the level of each item, 0 if it is not relevant. A query in its own list has the highest of its levels.
    In random orders only if they are given, and other lists than the complete ones only with the distance `middle`.
    """
    order = np.argsort(apart, kind="stable")
    ranks = np.flatnonzero(level[order]) + 1
    levels = level[order[ranks - 1]]
    n_positive = 0 if middle is None else np.count_nonzero(apart[level > 0] < middle)
    yield LISTS[0], ranks[None], levels[None]
    if middle is not None:
        yield ("index", "without-first"), ranks[None, ranks > 1] - 1, levels[None, ranks > 1]
        own = levels.max(initial=1)
        yield ("index", "with-query"), np.concatenate([[1], ranks + 1])[None], np.concatenate([[own], levels])[None]
        yield ("index", "positive"), ranks[None, :n_positive], levels[None, :n_positive]
    if middle is not None and retrieved.size:
        last, group = np.cumsum(retrieved), apart[order[ranks - 1]]
        turned = 2 * last[group] - retrieved[group] + 1 - ranks
        ascending = np.argsort(turned)
        yield ("reversed", ""), turned[None, ascending], levels[None, ascending]
    if orders is not None:
        starts = np.arange(len(orders))[:, None] * apart.size
        of_orders = level.take(orders).take(np.argsort(apart.take(orders), axis=1, kind="stable") + starts)
        of_all = np.flatnonzero(of_orders != 0).reshape(len(orders), -1)  # != 0 because NumPy finds True faster
        levels, of_all = of_orders.take(of_all), of_all - starts
        yield RANDOM, of_all + 1, levels
        if middle is not None:
            yield ("random", "positive"), of_all[:, :n_positive] + 1, levels[:, :n_positive]


def _sums(ranks: Integers, levels: Levels, cutoffs: Integers, gains: list[str], *, every: bool) -> Sums:
    """Return the sums of lists, given the ranks of the relevant items and their levels; `every` precision or one."""
    n_lists, n = ranks.shape
    numbers = np.arange(1, n + 1)
    until, n_at_r, precisions = _numbers_until(ranks, cutoffs), _numbers_until(ranks, np.array([n])), numbers / ranks
    of_cutoffs, at_r = np.split(_until(precisions, np.hstack([until, n_at_r])), [until.shape[1]], axis=1)
    whole = np.hstack([at_r / n, n_at_r / n, precisions[:, :1]]) if n else np.full((n_lists, len(WHOLE)), np.nan)
    sums: Sums = {("number", "hits"): until, ("number", "relevant"): np.full(n_lists, n), ("number", "whole"): whole}
    sums["precision", ""] = of_cutoffs
    if every:
        before = np.divide(numbers - 1, ranks - 1, out=np.ones(ranks.shape), where=ranks > 1)
        sums["precision", "next-rank"] = _until(numbers / (ranks + 1), until)
        sums["precision", "without-rank-1"] = _until(np.where(ranks > 1, precisions, 0.0), until)
        sums["precision", "by-hits"] = _until(precisions, np.minimum(cutoffs, n)[None])
        sums["precision", "trapezoid"] = _until((precisions + before) / 2, until)
        largest = np.maximum.accumulate(precisions[:, ::-1], axis=1)[:, ::-1]
        at_recall = np.maximum(np.ceil(np.arange(11) / 10 * n - 1e-9).astype(int), 1) - 1
        eleven = n * largest[:, at_recall].mean(axis=1) if n else np.zeros(n_lists)
        for variant, complete in (("interpolated", largest.sum(axis=1)), ("eleven-points", eleven)):
            sums["precision", variant] = np.full(until.shape, np.nan)
            sums["precision", variant][:, -1] = complete
    discounts = 1 / np.log2(ranks + 1), 1 / np.log2(numbers + 1)[None]
    of_levels = levels.astype(np.float64), np.sort(levels[:1])[:, ::-1].astype(np.float64)
    for gain in gains:
        gains_of_levels = [np.exp2(level) - 1 if gain == "exponential" else level for level in of_levels]
        gained, best = map(np.multiply, discounts, gains_of_levels)
        best = np.broadcast_to(_until(best, np.minimum(cutoffs, n)[None]), until.shape)
        sums["gain", gain] = np.divide(_until(gained, until), best, out=np.full(until.shape, np.nan), where=best > 0)
    return sums


def _numbers_until(ranks: Integers, cutoffs: Integers) -> Integers:
    """Return how many of the ranks of each list are at most each cutoff, (n_lists, n_cutoffs)."""
    n_lists, n = ranks.shape
    width = int(ranks.max(initial=0)) + 1  # the ranks of all lists, one after the other, ascend
    starts = np.arange(n_lists)[:, None]
    ends = np.minimum(cutoffs, width - 1) + width * starts
    return np.searchsorted((ranks + width * starts).ravel(), ends, side="right") - n * starts


def _until(values: Floats, numbers: Integers) -> Floats:
    """Return the sums of the first values of each list, for each of some numbers of them."""
    totals = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=totals[:, 1:])
    return totals[np.arange(len(values))[:, None], numbers]
