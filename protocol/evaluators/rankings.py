"""Ranked lists as evaluators make them: distances, orders of ties, and the sums of precisions at the relevant ranks.

Everything that an evaluator computes from a list without ties is a function of the ranks of its relevant items.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting import HammingCounts, Relevance
from protocol.parallel import in_order, workers

RANDOM = ("random", "")
PARTS = ("", "without-first", "with-query", "positive")
LISTS = (*(("index", part) for part in PARTS), ("reversed", ""), RANDOM, ("random", "positive"))
"""The lists that are made of each ranking: the order of ties, and what differs from the complete list."""
_OVERFLOW = 64
"""Twice the distance of opposite codes of this length exceeds an 8-bit integer."""
SAMPLE = 500
"""About so many queries have a list with ties in a random order."""
PRECISIONS = ("", "next-rank", "without-rank-1", "by-hits", "trapezoid", "interpolated", "eleven-points")
"""Variants of the precision at a relevant rank; only the first is computed for lists other than the first."""
_RECALLS = np.arange(11) / 10
RADII = (0, 1, 2, 3)
WHOLE = ("mAP@R", "R-precision", "MRR")
"""Measures that have no cutoff of their own."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Sums over the relevant ranks of each query up to each cutoff; the last axis is the cutoff.

    The first cutoffs are the sizes of the balls of `RADII`, if a radius has a meaning; then come those that are given.

    Parameters
    ----------
    precisions : dict of str to ndarray of float64, shape (n_queries, n_cutoffs)
        The sum of the precisions at the relevant ranks, for each of `PRECISIONS` that is computed; NaN where it is not
        defined: interpolated precisions with a cutoff.
    hits : ndarray of int64, shape (n_queries, n_cutoffs)
        The number of relevant items.
    ndcg : dict of str to ndarray of float64, shape (n_queries, n_cutoffs)
        The discounted gain, divided by that of the best order, for each of `gains_of`; NaN without relevant items.
    n_relevant : ndarray of int64, shape (n_queries,)
        The number of relevant items in the complete list.
    whole : ndarray of float64, shape (n_queries, 3)
        The measures of `WHOLE`; NaN without relevant items.
    is_known : ndarray of bool, shape (n_queries,)
        The queries with a list; the rows of the others have no meaning.
    """

    precisions: dict[str, NDArray[np.float64]]
    hits: NDArray[np.int64]
    ndcg: dict[str, NDArray[np.float64]]
    n_relevant: NDArray[np.int64]
    whole: NDArray[np.float64]
    is_known: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Distances:
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
    group: NDArray[np.int64]
    n_database: int
    n_groups: int
    middle: float
    has_radius: bool = True

    @property
    def radii(self) -> list[int]:
        """The groups of the distances `RADII`; none if a radius has no meaning."""
        return [min(radius, self.n_groups - 1) for radius in RADII] if self.has_radius else []


Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
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
    functions: dict[str, Callable[[Words], NDArray]] = {
        "": hamming,
        "saturating": saturating,
        "bytes": differing_bytes,
        "farthest": lambda differing: n_bits - hamming(differing),
        "mixed-bit-order": hamming,
    }
    if n_bits >= 8:
        functions["packed-signs"] = middle_bits
    if spare:
        functions["bit-order"] = lambda differing: hamming(differing & mask)
    if n_bits >= _OVERFLOW:
        functions["int8"] = overflowing

    def distances(name: str, function: Callable[[Words], NDArray]) -> Distances:
        sides, n_groups = turned if name == "mixed-bit-order" else queries, 256 if name == "int8" else 8 * n_bytes + 1

        def of_rows(rows: slice) -> Iterator[NDArray]:
            return (function(side[:, None] ^ items) for side in sides[rows])

        return Distances(of_rows, group.ravel(), len(database), n_groups, n_bits / 2, has_radius=name != "int8")

    return {name: distances(name, function) for name, function in functions.items()}


def of_values(query: NDArray, database: NDArray) -> dict[str, Distances]:
    """Return the distances that evaluators compute from real-valued outputs, by variant."""
    sizes, n_bits = (np.arange(len(query)), len(database)), query.shape[1]
    q, d = query.astype(np.float64), database.astype(np.float64)
    signs_q, signs_d = np.sign(q), np.sign(d)
    distances = {
        "inner-product": Distances(lambda rows: -(q[rows] @ d.T), *sizes, 0, 0, has_radius=False),
        "asymmetric": Distances(lambda rows: -(q[rows] @ signs_d.T), *sizes, 0, 0, has_radius=False),
    }
    if not (signs_q.all() and signs_d.all()):

        def halves(rows: slice) -> NDArray:
            return (n_bits - signs_q[rows] @ signs_d.T).astype(np.int64)

        distances["half"] = Distances(halves, *sizes, 2 * n_bits + 1, n_bits, has_radius=False)
        positive = codes.pack(q >= 0), codes.pack(d >= 0)
        distances["zero-is-1"] = of_codes(*positive, n_bits)[""]
    return distances


def hamming(differing: Words) -> NDArray[np.uint16]:
    """Return the number of bits that differ."""
    return np.bitwise_count(differing).sum(axis=0, dtype=np.uint16)


def saturating(differing: Words) -> NDArray[np.uint16]:
    """Return the Hamming distance in which a byte counts at most 7.

    The MATLAB function that many toolkits share looks up ``bit_in_char(y + 1)`` with y of type uint8, and 255 + 1 is
    255 in saturating arithmetic.
    """
    return hamming(differing) - hamming(_of_bytes(np.bitwise_and, differing))


def differing_bytes(differing: Words) -> NDArray[np.uint16]:
    """Return the number of bytes that differ."""
    return hamming(_of_bytes(np.bitwise_or, differing))


def _of_bytes(combine: np.ufunc, words: Words) -> Words:
    """Return words whose bytes are 0 or 1: the eight bits of each byte, combined."""
    for shift in (4, 2, 1):
        words = combine(words, words >> np.uint64(shift))
    return words & np.uint64(0x0101010101010101)


def middle_bits(differing: Words) -> NDArray[np.uint16]:
    """Return the number of bits that differ, without the first and the last of each byte.

    A packer for 0 and 1 that is given -1 and +1 sets the first bit of every byte and loses the last.
    """
    return hamming(differing & np.uint64(0x7E7E7E7E7E7E7E7E))


def overflowing(differing: Words) -> NDArray[np.uint16]:
    """Return a number with the order of twice the Hamming distance in an 8-bit integer, which overflows from 64."""
    return (2 * hamming(differing) + 128) % 256


def gains_of(levels: Integers) -> list[str]:
    """Return the gains of nDCG that give different values: "exponential", "linear"; or "" for a single level.

    Examples
    --------
    >>> gains_of(np.array([1])), gains_of(np.array([1, 2]))
    ([''], ['exponential', 'linear'])
    """
    return ["exponential", "linear"] if levels.size > 1 else [""]


def ranked(
    distances: Distances,
    relevance: Relevance,
    cutoffs: Integers,
    *,
    plain: bool = False,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> tuple[HammingCounts | None, dict[tuple[str, str], Lists]]:
    """Return the counts of a ranking, and the sums over its lists for each order of ties and each of `LISTS`.

    Parameters
    ----------
    distances : Distances
        If they are without ties, there are no counts, and only the lists in database order.
    relevance : Relevance
    cutoffs : ndarray of int64, shape (n_cutoffs,)
        The last is the size of the database.
    plain : bool, default=False
        Whether only whole lists in database order and in a random order are made, with the plain precision.
    threads : int, default=1
    progress : callable, optional
        Called with the number of queries that were just processed.
    """
    n_queries, n_groups = distances.group.size, distances.n_groups
    levels = relevance.levels
    retrieved = np.zeros((n_queries, n_groups), dtype=np.int64)
    at_level = np.zeros((n_queries, levels.size, n_groups), dtype=np.int64)
    sampled = (distances.group % -(-n_queries // SAMPLE) == 0) & (n_groups > 0)
    radii = distances.radii
    lists = _empty(sampled, len(radii) + len(cutoffs), gains_of(levels), plain=plain, has_ties=n_groups > 0)

    def fill(start: int) -> int:
        stop = min(start + 64, n_queries)
        for row, apart in enumerate(distances.of_rows(slice(start, stop)), start):
            positions, of_items = relevance.row(row)
            numbers = np.searchsorted(levels, of_items)
            if n_groups:
                apart = apart.astype(np.min_scalar_type(n_groups - 1))  # NumPy sorts short integers by radix sort
                retrieved[row] = np.bincount(apart, minlength=n_groups)
                cells = np.bincount(numbers * n_groups + apart[positions], minlength=at_level[row].size)
                at_level[row] = cells.reshape(levels.size, n_groups)
            rng = np.random.default_rng(distances.group[row]) if sampled[row] else None
            until = np.concatenate([np.cumsum(retrieved[row])[radii], cutoffs[:-1], [np.iinfo(np.int64).max]])
            level = np.zeros(apart.size, dtype=np.min_scalar_type(levels[-1]))
            level[positions] = of_items
            for key, ranks, of_ranks in _ranks(apart, level, retrieved[row], rng, None if plain else distances.middle):
                _fill(lists[key], row, ranks, of_ranks, until)
        return stop - start

    with workers(threads) as allowed:
        for done in in_order(fill, range(0, n_queries, 64), allowed):
            if progress is not None:
                progress(done)
    counts = HammingCounts(retrieved, at_level, levels) if n_groups else None
    return counts, lists


def _empty(
    sampled: NDArray[np.bool_], n_cutoffs: int, gains: list[str], *, plain: bool, has_ties: bool
) -> dict[tuple[str, str], Lists]:
    """Return the lists to be filled, by order of ties and part."""
    lists, n, shape = {}, sampled.size, (sampled.size, n_cutoffs)
    for key in (LISTS[0], RANDOM) if plain else LISTS:
        if has_ties or key[0] == "index":
            names = PRECISIONS if key == LISTS[0] and not plain else PRECISIONS[:1]
            sums = {name: np.full(shape, np.nan) for name in names}
            is_known = sampled if key[0] == "random" else np.ones_like(sampled)
            whole = np.full((n, len(WHOLE)), np.nan)
            ndcg = {gain: np.full(shape, np.nan) for gain in gains}
            lists[key] = Lists(sums, np.zeros(shape, np.int64), ndcg, np.zeros(n, np.int64), whole, is_known)
    return lists


def _ranks(
    apart: NDArray,
    level: Levels,
    retrieved: Integers,
    rng: np.random.Generator | None,
    middle: float | None,
) -> Iterator[tuple[tuple[str, str], Integers, Levels]]:
    """Yield the ranks of the relevant items, ascending, from 1, and their levels, in each of `LISTS`.

    `level` has the level of each item, 0 if it is not relevant. A query in its own list has the highest of its levels.
    In a random order only with a generator, and other lists than the complete ones only with the distance `middle`.
    """
    order = np.argsort(apart, kind="stable")
    ranks = np.flatnonzero(level[order]) + 1
    levels = level[order[ranks - 1]]
    n_positive = 0 if middle is None else np.count_nonzero(apart[level > 0] < middle)
    yield LISTS[0], ranks, levels
    if middle is not None:
        yield ("index", "without-first"), ranks[ranks > 1] - 1, levels[ranks > 1]
        own = levels.max(initial=1)
        yield ("index", "with-query"), np.concatenate([[1], ranks + 1]), np.concatenate([[own], levels])
        yield ("index", "positive"), ranks[:n_positive], levels[:n_positive]
    if middle is not None and retrieved.size:
        last, group = np.cumsum(retrieved), apart[order[ranks - 1]]
        turned = 2 * last[group] - retrieved[group] + 1 - ranks
        ascending = np.argsort(turned)
        yield ("reversed", ""), turned[ascending], levels[ascending]
    if rng is not None:
        shuffle = rng.permutation(apart.size)
        order = shuffle[np.argsort(apart[shuffle], kind="stable")]
        ranks = np.flatnonzero(level[order]) + 1
        levels = level[order[ranks - 1]]
        yield RANDOM, ranks, levels
        if middle is not None:
            yield ("random", "positive"), ranks[:n_positive], levels[:n_positive]


def _fill(lists: Lists, row: int, ranks: Integers, levels: Levels, cutoffs: Integers) -> None:
    """Fill a query's row of `lists`, given the ranks of its relevant items and their levels."""
    until = np.searchsorted(ranks, cutoffs, side="right")
    n = ranks.size
    lists.hits[row], lists.n_relevant[row] = until, n
    numbers = np.arange(1, n + 1)
    precisions = numbers / ranks
    lists.precisions[""][row] = _sums(precisions, until)
    discounts, best_order = np.stack([1 / np.log2(ranks + 1), 1 / np.log2(numbers + 1)]), np.sort(levels)[::-1]
    for gain, ndcg in lists.ndcg.items():
        gains = np.stack([levels, best_order]).astype(np.float64)
        gained, best = discounts * (np.exp2(gains) - 1 if gain == "exponential" else gains)
        best = _sums(best, np.minimum(cutoffs, n))
        np.divide(_sums(gained, until), best, out=ndcg[row], where=best > 0)
    if n:
        n_at_r = np.searchsorted(ranks, n, side="right")
        lists.whole[row] = precisions[:n_at_r].sum() / n, n_at_r / n, precisions[0]
    if len(lists.precisions) == 1:
        return
    lists.precisions["next-rank"][row] = _sums(numbers / (ranks + 1), until)
    lists.precisions["without-rank-1"][row] = _sums(np.where(ranks > 1, precisions, 0.0), until)
    before = np.divide(numbers - 1, ranks - 1, out=np.ones(n), where=ranks > 1)
    lists.precisions["trapezoid"][row] = _sums((precisions + before) / 2, until)
    lists.precisions["by-hits"][row] = _sums(precisions, np.minimum(cutoffs, n))
    largest = np.maximum.accumulate(precisions[::-1])[::-1]
    lists.precisions["interpolated"][row, -1] = largest.sum()
    at_recall = np.maximum(np.ceil(_RECALLS * n - 1e-9).astype(int), 1) - 1
    lists.precisions["eleven-points"][row, -1] = n * largest[at_recall].mean() if n else 0.0


def _sums(values: NDArray[np.float64], until: Integers) -> NDArray[np.float64]:
    """Return the sums of the first values."""
    return np.concatenate([[0.0], np.cumsum(values)])[until]
