"""Undefined values, and ranks: the cutoff of a ranking, and the ties that it may divide."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import integer, one_of
from protocol.counting.counts import Floats, HammingCounts, Integers

UNDEFINED = ("zero", "drop")


def mean(values: ArrayLike) -> float:
    """Return the mean over the queries without NaN; NaN if no value remains.

    Every mean of values per query in this package is computed by this function.

    Examples
    --------
    >>> mean([1.0, 0.5, float("nan")])
    0.75
    """
    array = np.asarray(values, dtype=np.float64)
    defined = array[~np.isnan(array)]
    return float(defined.mean()) if defined.size else float("nan")


def means(values: Floats) -> list[float]:
    """Return the `mean` of each row, (n_rows,); those of complete rows are computed together."""
    return [mean(row) for row in values] if np.isnan(values).any() else values.mean(axis=1).tolist()


def undefined_value(undefined: str) -> float:
    """Return the value of undefined results: 0 (``zero``), or NaN, which `mean` leaves out (``drop``).

    Raises
    ------
    ProtocolError
        If `undefined` is neither ``zero`` nor ``drop``.
    """
    return 0.0 if one_of(undefined, UNDEFINED, "undefined") == "zero" else np.nan


def ratio(numerator: ArrayLike, denominator: ArrayLike, *, undefined: str) -> Floats:
    """Return numerator / denominator, `undefined` where the denominator is 0."""
    above, below = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    shape = np.broadcast_shapes(above.shape, below.shape)
    return np.divide(above, below, out=np.full(shape, undefined_value(undefined)), where=below != 0)


ORDERS = ("expected", "best", "worst")
TIES = (*ORDERS, "index")
_PROBABILITIES = 1 << 20  # computed at once: 8 MB
_RANKS = 1 << 20  # processed at once


def places(counts: HammingCounts, cutoff: int | None) -> int:
    """Return the number of items above the cutoff: `cutoff`, or the size of the database if that is smaller or None.

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1.
    """
    return counts.n_database if cutoff is None else min(integer(cutoff, "cutoff"), counts.n_database)


def running_sums(n: int, term: Callable[[Integers], Floats]) -> Floats:
    """Return the partial sums of the terms of ranks 1 to n, starting with 0, (n + 1,); needs no further large arrays.

    Examples
    --------
    >>> running_sums(4, lambda ranks: 1.0 / ranks).round(4)
    array([0.    , 1.    , 1.5   , 1.8333, 2.0833])
    """
    sums = np.zeros(n + 1)
    for start in range(1, n + 1, _RANKS):
        stop = min(start + _RANKS, n + 1)
        sums[start:stop] = term(np.arange(start, stop))
    return np.cumsum(sums, out=sums)


def divided(counts: HammingCounts, ties: str) -> HammingCounts:
    """Return counts whose distances 2 d and 2 d + 1 are the relevant items at distance d and the others, or vice versa.

    With them, the expected value is the value of the order ``best`` or ``worst``; for ``expected``, nothing is divided.
    """
    return counts if ties == "expected" else counts.once(_divided, ties == "best")


def _divided(counts: HammingCounts, relevant_first: bool) -> HammingCounts:
    parts = [(counts.relevant, counts.relevant), (counts.retrieved - counts.relevant, np.zeros_like(counts.relevant))]
    parts = parts if relevant_first else parts[::-1]
    retrieved, relevant = (np.stack(side, axis=2).reshape(counts.n_queries, -1) for side in zip(*parts, strict=True))
    return HammingCounts(retrieved, relevant[:, None], np.ones(1, dtype=np.int64))


class Ties(NamedTuple):
    """Ties of a ranking: `n` items, `m` of them relevant, after `before` items, `relevant_before` of them relevant."""

    n: Integers
    m: Integers
    before: Integers
    relevant_before: Integers


def ties_at(counts: HammingCounts, cells: Any) -> Ties:
    """Return the ties at some places in the table of queries and distances."""
    n, m = counts.retrieved[cells], counts.relevant[cells]
    return Ties(n, m, counts.retrieved_within[cells] - n, counts.relevant_within[cells] - m)


def cut_at(counts: HammingCounts, top: int | Integers) -> tuple[Integers, NDArray[np.intp]]:
    """Return the index, for `ties_at`, of the tie of each query that contains rank `top`."""
    return np.arange(counts.n_queries), (counts.retrieved_within >= np.reshape(top, (-1, 1))).argmax(axis=1)


def relevant_among(
    counts: HammingCounts, top: int | Integers, *, ties: str = "expected", at_most: int | None = None
) -> Floats:
    """Return the number of relevant items among the top `top`, (n_queries,).

    Parameters
    ----------
    counts : HammingCounts
    top : int or ndarray of int64, shape (n_queries,)
        From 1 to the size of the database; one rank for all queries, or one for each.
    ties : {"expected", "best", "worst"}, default="expected"
        The mean over all orders of tied items, or the order with relevant items first, or last.
    at_most : int, optional
        An upper bound on the number, applied in each order.

    Raises
    ------
    ProtocolError
        If `ties` is unknown.
    """
    one_of(ties, ORDERS, "ties")
    n, m, before, relevant_before = ties_at(counts, cut_at(counts, top))
    drawn = top - before
    fewest, most = (relevant_before + bound for bound in (np.maximum(0, drawn - (n - m)), np.minimum(m, drawn)))
    limit = counts.n_database if at_most is None else at_most
    if ties != "expected":
        return np.minimum(most if ties == "best" else fewest, limit).astype(np.float64)
    values = np.minimum(relevant_before + m * drawn / n, limit)
    cut = np.flatnonzero((fewest < limit) & (most > limit))
    by_width = cut[np.argsort((most - fewest)[cut], kind="stable")]  # equal widths in a block
    size = max(1, _PROBABILITIES // ((most - fewest)[by_width].max(initial=0) + 1))
    for start in range(0, by_width.size, size):
        rows = by_width[start : start + size]
        numbers = fewest[rows, None] + np.arange((most - fewest)[rows[-1]] + 1)
        drawn_relevant = numbers - relevant_before[rows, None]
        chance = hypergeometric(drawn_relevant, n[rows, None], m[rows, None], drawn[rows, None])
        values[rows] = (chance * np.minimum(numbers, limit)).sum(axis=1)
    return values


def hypergeometric(numbers: Integers, n: Integers | int, m: Integers | int, drawn: Integers) -> Floats:
    """Return the probability that `numbers` of m marked items are among `drawn` of n items.

    A row of `numbers` ascends from the smallest possible number; impossible numbers at its end have probability 0.
    """
    j = numbers[:, :-1]
    steps = (m - j) * (drawn - j) / ((j + 1) * (n - m - drawn + j + 1))  # probability of j + 1 divided by that of j
    with np.errstate(divide="ignore"):
        logarithm = np.cumsum(np.log(np.maximum(steps, 0)), axis=1)  # -inf from the first impossible number on
    logarithm = np.hstack([np.zeros((len(numbers), 1)), logarithm])
    chance = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True)
