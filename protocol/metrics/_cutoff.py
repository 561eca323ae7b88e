"""The cutoff of a ranking, and the ties it may divide."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import integer
from protocol.ranking import HammingCounts

_RANKS = 1 << 20  # that are looked at together


def places(counts: HammingCounts, cutoff: int | None) -> int:
    """Return how many items are looked at: `cutoff`, the whole database where that is None or larger.

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1.
    """
    if cutoff is None:
        return counts.n_database
    return min(integer(cutoff, "cutoff"), counts.n_database)


def running_sums(n: int, term: Callable[[NDArray[np.int64]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return 0 and the sums of the terms of the ranks 1, 1 to 2, ..., 1 to n, (n + 1,), in no more memory than these.

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


class Ties(NamedTuple):
    """Ties of a ranking: `n` items, `m` of them relevant, after `before` items, `relevant_before` of them relevant."""

    n: NDArray[np.int64]
    m: NDArray[np.int64]
    before: NDArray[np.int64]
    relevant_before: NDArray[np.int64]


def ties_at(counts: HammingCounts, cells: Any) -> Ties:
    """Return the ties in some cells of the table of queries and distances."""
    n, m = counts.retrieved[cells], counts.relevant[cells]
    return Ties(n, m, counts.retrieved_within[cells] - n, counts.relevant_within[cells] - m)


def last_distance(counts: HammingCounts, top: int) -> NDArray[np.intp]:
    """Return the distance of each query's tie that holds the last of the top `top` places, (n_queries,)."""
    return (counts.retrieved_within >= top).argmax(axis=1)


def hypergeometric(
    found: NDArray[np.int64], n: NDArray[np.int64] | int, m: NDArray[np.int64] | int, drawn: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the chance that `found` of m marked items are among `drawn` of n.

    A row of `found` runs upwards from the smallest possible number; the chance of impossible numbers at its end is 0.
    """
    j = found[:, :-1]
    steps = (m - j) * (drawn - j) / ((j + 1) * (n - m - drawn + j + 1))  # chance of j + 1 over chance of j
    with np.errstate(divide="ignore"):
        logarithm = np.cumsum(np.log(np.maximum(steps, 0)), axis=1)  # -inf from the first impossible number on
    logarithm = np.hstack([np.zeros((len(found), 1)), logarithm])
    chance = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True)
