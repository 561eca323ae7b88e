"""The nearest items that representations of vectors find, at equal bytes and with re-ranking.

Re-ranking retrieves c x K items by code, ranks them again by the vectors or by a quantiser, and returns the first K.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting import HammingCounts
from protocol.counting.counts import Floats, Integers
from protocol.evaluation.code_pairs import CodePair
from protocol.metrics import ORDERS, mean, neighbours_found
from protocol.parallel import Step
from protocol.quantisers.representations import Representation
from protocol.truth import pair_distances
from protocol.truth.relevance import Relevance

_DEVIATIONS = NormalDist().inv_cdf(0.975)
_LARGEST = 64
"""The largest number c of a curve."""


def factors(neighbours: int, n_database: int) -> list[int]:
    """Return the factors c of a curve: powers of two up to 64, then the first c that retrieves the whole database.

    Examples
    --------
    >>> factors(10, 95), factors(1, 1000)
    ([1, 2, 4, 8, 10], [1, 2, 4, 8, 16, 32, 64])
    """
    complete = -(-n_database // neighbours)
    return [c for c in (1, 2, 4, 8, 16, 32, _LARGEST) if c < complete] + [complete] * (complete <= _LARGEST)


def hardly_nearer(name: str, share: float, k: int, n_database: int, *, exact: bool = False) -> tuple[str, ...]:
    """Return a warning if a share of the K nearest items is hardly larger than that of random ones.

    That is, at most five times as large if the search should be exact, and twice as large by codes, which may be short.
    """
    chance = k / n_database
    if share >= (min(5 * chance, 0.5) if exact else chance + min(chance, 0.03) * (1 - chance)):
        return ()
    hint = "Are queries or items in another order, or the farthest first?"
    return (f"{name}: {share:.2%} of the items are among the K nearest, of random ones {chance:.2%}. {hint}",)


class RescoringRow(NamedTuple):
    """The mean share of the K nearest items among the first K of c x K re-ranked items."""

    neighbours: int
    """K"""
    factor: int
    """c"""
    retrieved: int
    """c x K, or the size of the database if that is smaller."""
    worst: float
    expected: float
    best: float


@dataclass(frozen=True)
class RescoringCurve:
    """The curve of re-ranking by the vectors or by a quantiser.

    Parameters
    ----------
    by : str
        ``vectors``, or the name of the quantiser.
    target : float
    rows : tuple of RescoringRow
        Sorted by K, then by c. Worst, expected and best values over the orders of ties.
    smallest_factor : dict of int to int or None
        For each K, the smallest factor whose expected share reaches the target. With vectors, the smallest of all
        integers; with a quantiser, the smallest of the factors in `rows`, because the share may then fall as c grows,
        or None.
    """

    by: str
    target: float
    rows: tuple[RescoringRow, ...]
    smallest_factor: dict[int, int | None]


def by_vectors(by_number: Mapping[int, HammingCounts], numbers: Sequence[int], target: float) -> RescoringCurve:
    """Return the curve of re-ranking by the vectors themselves, in closed form.

    Parameters
    ----------
    by_number : mapping of int to HammingCounts
        For each K, the counts with the K nearest items as the relevant ones.
    numbers : sequence of int
        The numbers K of the curve.
    target : float
        The share that the smallest factor reaches.
    """
    rows, smallest = [], dict[int, int | None]()
    for number in numbers:
        counts = by_number[number]
        for factor in factors(number, counts.n_database):
            values = (_share(counts, number, factor, ties) for ties in ("worst", "expected", "best"))
            rows.append(RescoringRow(number, factor, min(factor * number, counts.n_database), *values))
        smallest[number] = _smallest(counts, number, target)
    return RescoringCurve("vectors", target, tuple(rows), smallest)


def _share(counts: HammingCounts, number: int, factor: int, ties: str = "expected") -> float:
    return mean(neighbours_found(counts, nearest=number, retrieved=factor * number, ties=ties))


def _smallest(counts: HammingCounts, number: int, target: float) -> int:
    """Return the smallest factor that reaches the target, by bisection: the share never falls as c grows."""
    complete = -(-counts.n_database // number)  # which reaches any target
    return 1 + bisect_left(range(1, complete), target, key=partial(_share, counts, number))


def by_quantiser(
    pair: CodePair,
    quantised: Representation,
    relevances: Mapping[int, Relevance],
    target: float,
    seed: int,
    progress: Step,
) -> RescoringCurve:
    """Return the curve of re-ranking by a quantiser.

    Parameters
    ----------
    pair : CodePair
        The codes by which items are retrieved.
    quantised : Representation
        The same items, by whose distance they are re-ranked.
    relevances : mapping of int to Relevance
        The nearest items for each K.
    target : float
    seed : int
        Of the random order of items at equal quantised distance, with which the expected value is computed; it is exact
        over the ties of the codes.
    progress : callable
        Called with the number of queries that were just processed.
    """
    n_queries, n_items = pair.sizes
    tops = [(k, c, min(c * k, n_items)) for k in relevances for c in factors(k, n_items)]
    shares, words = np.empty((len(tops), 3, n_queries)), codes.words(pair.database)
    for query, code in enumerate(codes.words(pair.query)):
        apart = np.bitwise_count(words ^ code).sum(axis=1, dtype=np.int64)
        near = np.flatnonzero(apart <= np.searchsorted(np.cumsum(np.bincount(apart)), max(top for *_, top in tops)))
        vector, first = quantised.query[query : query + 1], np.zeros(near.size, dtype=np.int64)
        again = pair_distances(vector, quantised.items, first, near, distance=quantised.distance)
        order = np.lexsort((np.random.default_rng([seed, query]).random(near.size), again))  # equal ones are shuffled
        candidates, again = near[order], again[order]
        relevant = {k: np.isin(candidates, relevance.row(query)[0]) for k, relevance in relevances.items()}
        for at, (k, _, top) in enumerate(tops):
            shares[at, :, query] = np.array(_returned(apart[candidates], again, relevant[k], top, k)) / k
        progress(1)
    rows = tuple(RescoringRow(*top, *map(mean, of_top)) for top, of_top in zip(tops, shares, strict=True))
    smallest: dict[int, int | None] = dict.fromkeys(relevances)
    smallest |= {row.neighbours: row.factor for row in reversed(rows) if row.expected >= target}
    return RescoringCurve(quantised.name, target, rows, smallest)


def _returned(apart: Integers, again: Floats, relevant: NDArray[np.bool_], top: int, k: int) -> tuple[int, float, int]:
    """Return the worst, expected and best number of relevant items among the first K of the `top` that are retrieved.

    Items are in their order by the quantiser; `apart` are the distances of their codes. In the best order of ties, the
    relevant items of a tie are retrieved first, those that are nearer by the quantiser before the others, and then the
    irrelevant ones that are farthest. The worst order is the opposite.
    """
    cut = np.partition(apart, top - 1)[top - 1]
    near = apart <= cut
    apart, again, relevant = apart[near], again[near], relevant[near]
    ends = []
    for favoured in (~relevant, relevant):
        retrieved = np.lexsort((np.where(favoured, again, -again), ~favoured, apart))[:top]
        first = retrieved[np.lexsort((~favoured[retrieved], again[retrieved]))][:k]
        ends.append(int(relevant[first].sum()))
    tied = apart == cut
    n_tied, drawn, here = int(tied.sum()), top - int((~tied).sum()), np.flatnonzero(relevant)
    sure_before, tied_before = ((np.cumsum(part) - part)[here, None] for part in (~tied, tied))
    is_tied = tied[here, None]
    chances = _hypergeometric(np.arange(k)[None], n_tied - is_tied, tied_before, drawn - is_tied)
    is_first = (chances * (np.arange(k) < k - sure_before)).sum(axis=1)
    return ends[0], float((is_first * np.where(is_tied[:, 0], drawn / n_tied, 1)).sum()), ends[1]


def _hypergeometric(numbers: NDArray, n: NDArray, marked: NDArray, drawn: NDArray) -> Floats:
    """Return the probability that `numbers` of the `marked` items are among `drawn` of n items; 0 if impossible."""
    logarithms = np.append(0, np.cumsum(np.log(np.arange(1, int(n.max(initial=0)) + 1))))  # of factorials
    possible = (numbers <= marked) & (numbers <= drawn) & (drawn - numbers <= n - marked)
    numbers = np.where(possible, numbers, np.maximum(0, drawn - (n - marked)))

    def ways(n: NDArray, k: NDArray) -> Floats:
        return logarithms[n] - logarithms[k] - logarithms[n - k]

    every = ways(marked, numbers) + ways(n - marked, drawn - numbers) - ways(n, drawn)
    return np.where(possible, np.exp(every), 0)


class Share(NamedTuple):
    """The mean share of the K nearest items among the first K by a representation.

    ``low`` and ``high`` are the ends of the 95% confidence interval of the expected value over queries (normal
    approximation; NaN for a single query), ``worst`` and ``best`` the values for the orders of ties. ``first`` is
    1-recall@K, and ``factor`` the smallest c with which re-ranking c x K items by the vectors reaches the target.
    """

    neighbours: int
    expected: float
    low: float
    high: float
    worst: float
    best: float
    first: float
    factor: int


@dataclass(frozen=True)
class Represented:
    """The nearest items that one representation finds.

    Parameters
    ----------
    name : str
        The quantiser or hasher, with options.
    n_bytes : int
        Bytes of a vector.
    shares : dict of int to Share
        By K.
    """

    name: str
    n_bytes: int
    shares: dict[int, Share]


def compared(
    counted: Mapping[str, tuple[int, Mapping[int, HammingCounts]]], numbers: Sequence[int], target: float
) -> tuple[Represented, ...]:
    """Return representations, ascending by size: for each name, bytes of a vector, and counts for each K and 1."""
    shares = {name: {k: _share_of(counts, k, target) for k in numbers} for name, (_, counts) in counted.items()}
    represented = (Represented(name, n_bytes, shares[name]) for name, (n_bytes, _) in counted.items())
    return tuple(sorted(represented, key=lambda one: one.n_bytes))


def _share_of(counts: Mapping[int, HammingCounts], k: int, target: float) -> Share:
    """Return the share of the K nearest items that a ranking finds."""
    expected, best, worst = (neighbours_found(counts[k], nearest=k, retrieved=k, ties=ties) for ties in ORDERS)
    half = _DEVIATIONS * np.std(expected, ddof=1) / expected.size**0.5 if expected.size > 1 else math.nan
    first, average = mean(neighbours_found(counts[1], nearest=1, retrieved=k)), mean(expected)
    factor = _smallest(counts[k], k, target)
    return Share(k, average, average - half, average + half, mean(worst), mean(best), first, factor)
