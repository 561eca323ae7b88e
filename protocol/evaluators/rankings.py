"""Ranked lists as evaluators make them: distances, orders of ties, and the sums of precisions at the relevant ranks.

Everything that an evaluator computes from a list without ties is a function of the ranks of its relevant items.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.counting import HammingCounts, Relevance

LISTS = (("index", ""), ("reversed", ""), ("random", ""), ("index", "without-first"))
"""The lists that are made of each ranking: the order of ties, and the part of the list."""
PRECISIONS = ("", "next-rank", "without-rank-1", "trapezoid", "interpolated", "eleven-points")
"""Variants of the precision at a relevant rank; only the first is computed for lists other than the first."""
_RECALLS = np.arange(11) / 10


@dataclass(frozen=True, eq=False)
class Lists:
    """Sums over the relevant ranks of each query up to each cutoff; the last axis is the cutoff.

    Parameters
    ----------
    precisions : dict of str to ndarray of float64, shape (n_queries, n_cutoffs)
        The sum of the precisions at the relevant ranks, for each of `PRECISIONS` that is computed; NaN where it is not
        defined: interpolated precisions with a cutoff.
    found : ndarray of int64, shape (n_queries, n_cutoffs)
        The number of relevant items.
    gains : ndarray of float64, shape (n_queries, n_cutoffs)
        The discounted gain, 1 / log2(rank + 1) for each relevant item.
    n_relevant : ndarray of int64, shape (n_queries,)
        The number of relevant items in the complete list.
    """

    precisions: dict[str, NDArray[np.float64]]
    found: NDArray[np.int64]
    gains: NDArray[np.float64]
    n_relevant: NDArray[np.int64]


Words = NDArray[np.uint64]
Distance = Callable[[Words], NDArray[np.integer]]
"""A function of the bits in which a code differs from others, as words (n_words, n)."""


def hamming(differing: Words) -> NDArray[np.int64]:
    """Return the number of bits that differ."""
    return np.bitwise_count(differing).sum(axis=0, dtype=np.int64)


def saturating(differing: Words) -> NDArray[np.int64]:
    """Return the Hamming distance in which a byte counts at most 7.

    The MATLAB function that many toolkits share looks up ``bit_in_char(y + 1)`` with y of type uint8, and 255 + 1 is
    255 in saturating arithmetic.
    """
    return hamming(differing) - hamming(_of_bytes(np.bitwise_and, differing))


def differing_bytes(differing: Words) -> NDArray[np.int64]:
    """Return the number of bytes that differ."""
    return hamming(_of_bytes(np.bitwise_or, differing))


def _of_bytes(combine: np.ufunc, words: Words) -> Words:
    """Return words whose bytes are 0 or 1: the eight bits of each byte, combined."""
    for shift in (4, 2, 1):
        words = combine(words, words >> np.uint64(shift))
    return words & np.uint64(0x0101010101010101)


def overflowing(differing: Words, n_bits: int) -> NDArray[np.int64]:
    """Return a distance with the order by inner products of -1 and +1 that overflow in 8-bit integers."""
    return 127 - (n_bits - 2 * hamming(differing)).astype(np.int8).astype(np.int64)


def distances(n_bits: int) -> dict[str, Distance]:
    """Return the distances that evaluators use, by the name of their variant; "" is the Hamming distance."""
    functions: dict[str, Distance] = {"": hamming, "saturating": saturating, "bytes": differing_bytes}
    if n_bits > 127:
        functions["int8"] = partial(overflowing, n_bits=n_bits)
    return functions


def ranked(
    query: NDArray[np.uint8],
    database: NDArray[np.uint8],
    distance: Distance,
    relevance: Relevance,
    cutoffs: NDArray[np.int64],
    *,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> tuple[HammingCounts, dict[tuple[str, str], Lists]]:
    """Return the counts of a ranking, and the sums over its lists for each order of ties and each of `LISTS`.

    Parameters
    ----------
    query, database : ndarray of uint8, shape (n, n_bytes)
        Packed codes.
    distance : callable
    relevance : Relevance
    cutoffs : ndarray of int64, shape (n_cutoffs,)
        Ascending; the last is the size of the database.
    threads : int, default=1
    progress : callable, optional
        Called with the number of queries that were just processed.
    """
    shape, n_groups = (len(query), len(cutoffs)), max(256, 8 * query.shape[1] + 1)
    queries, items = codes.words(query), np.ascontiguousarray(codes.words(database).T)
    small = np.min_scalar_type(n_groups - 1)  # NumPy sorts short integers by radix sort
    retrieved, relevant = (np.zeros((len(query), n_groups), dtype=np.int64) for _ in range(2))
    lists = {
        key: Lists(
            {name: np.full(shape, np.nan) for name in (PRECISIONS if key == LISTS[0] else PRECISIONS[:1])},
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros(len(query), dtype=np.int64),
        )
        for key in LISTS
    }

    def fill(rows: range) -> int:
        for row in rows:
            positions, _ = relevance.row(row)
            apart = distance(queries[row, :, None] ^ items).astype(small)
            retrieved[row] = np.bincount(apart, minlength=n_groups)
            relevant[row] = np.bincount(apart[positions], minlength=n_groups)
            rng = np.random.default_rng(row)
            for key, ranks in zip(LISTS, _ranks(apart, positions, retrieved[row], rng), strict=True):
                _fill(lists[key], row, ranks, cutoffs)
        return len(rows)

    blocks = [range(*ends) for ends in pairwise([*range(0, len(query), 64), len(query)])]
    with ThreadPoolExecutor(threads) as pool:
        for done in pool.map(fill, blocks):
            if progress is not None:
                progress(done)
    counts = HammingCounts(retrieved, relevant[:, None], np.ones(1, dtype=np.int64))
    return counts, lists


def _ranks(
    apart: NDArray[np.integer], positions: NDArray[np.int64], retrieved: NDArray[np.int64], rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield the ranks of the relevant items in each of `LISTS`, ascending and from 1."""
    is_relevant = np.zeros(apart.size, dtype=bool)
    is_relevant[positions] = True
    order = np.argsort(apart, kind="stable")
    ranks = np.flatnonzero(is_relevant[order]) + 1
    yield ranks
    last, group = np.cumsum(retrieved), apart[order[ranks - 1]]
    yield np.sort(2 * last[group] - retrieved[group] + 1 - ranks)
    shuffle = rng.permutation(apart.size)
    yield np.flatnonzero(is_relevant[shuffle][np.argsort(apart[shuffle], kind="stable")]) + 1
    yield ranks[ranks > 1] - 1


def _fill(lists: Lists, row: int, ranks: NDArray[np.int64], cutoffs: NDArray[np.int64]) -> None:
    """Fill a query's row of `lists`, given the ranks of its relevant items."""
    until = np.searchsorted(ranks, cutoffs, side="right")
    n = ranks.size
    lists.found[row], lists.n_relevant[row] = until, n
    numbers = np.arange(1, n + 1)
    precisions = numbers / ranks
    lists.precisions[""][row] = _sums(precisions, until)
    lists.gains[row] = _sums(1 / np.log2(ranks + 1), until)
    if len(lists.precisions) == 1:
        return
    lists.precisions["next-rank"][row] = _sums(numbers / (ranks + 1), until)
    lists.precisions["without-rank-1"][row] = _sums(np.where(ranks > 1, precisions, 0.0), until)
    before = np.divide(numbers - 1, ranks - 1, out=np.ones(n), where=ranks > 1)
    lists.precisions["trapezoid"][row] = _sums((precisions + before) / 2, until)
    largest = np.maximum.accumulate(precisions[::-1])[::-1]
    lists.precisions["interpolated"][row, -1] = largest.sum()
    at_recall = np.maximum(np.ceil(_RECALLS * n - 1e-9).astype(int), 1) - 1
    lists.precisions["eleven-points"][row, -1] = n * largest[at_recall].mean() if n else 0.0


def _sums(values: NDArray[np.float64], until: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums of the first values."""
    return np.concatenate([[0.0], np.cumsum(values)])[until]
