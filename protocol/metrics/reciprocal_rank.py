"""Reciprocal rank of the first relevant item of the Hamming ranking."""

import numpy as np

from protocol.checks import one_of
from protocol.counting.counts import Floats, HammingCounts, Integers
from protocol.metrics._records import declared
from protocol.metrics._ties import TIES, Ties, divided, places, ratio, ties_at

_TERMS = 1 << 20  # computed at once: 8 MB
_REACH = 60  # the first relevant item of n with m relevant ones is beyond 60 n / m with a probability below 1e-26


@declared
def reciprocal_rank(
    counts: HammingCounts, *, cutoff: int | None = None, ties: str = "expected", undefined: str = "zero"
) -> Floats:
    r"""1 divided by the rank of the first relevant item, as the expected value over ties.

    .. math:: RR = \sum_{j=1}^{n-m+1} \frac{1}{S + j} \frac{\binom{n-j}{m-1}}{\binom{n}{m}}

    The nearest tie with relevant items has n items, m of them relevant, and follows S irrelevant items. Its first
    relevant item is at place j of the tie with the probability in the sum.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int, optional
        K, at least 1; exact even if it divides a tie. The complete database if None or larger.
    ties : {"expected", "best", "worst", "index"}, default="expected"
        The mean over all orders of tied items; relevant items first, or last; or the order of the database, which
        requires ``count(..., index_order=True)``.
    undefined : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, an option is unknown, or ``index`` is requested, but was not counted.

    References
    ----------
    Voorhees 1999, *The TREC-8 Question Answering Track Report*.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    An irrelevant item is followed by two tied ones, one of them relevant, which is second or third: (1/2 + 1/3) / 2.

    >>> reciprocal_rank(HammingCounts.from_histograms([[1, 2]], [[0, 1]])).round(4)
    array([0.4167])
    """
    top = places(counts, cutoff)
    if one_of(ties, TIES, "ties") == "index":
        first = counts.requested("index_top")[:, 0]
        return ratio(first <= top, first, undefined=undefined)
    has_relevant, counts = counts.n_relevant > 0, divided(counts, ties)
    nearest = (counts.relevant > 0).argmax(axis=1)
    tied = ties_at(counts, (np.arange(counts.n_queries), nearest))
    last = np.minimum(tied.n - tied.m + 1, _REACH * tied.n // np.maximum(tied.m, 1) + 1)
    values = np.empty(counts.n_queries)
    by_width = np.argsort(last, kind="stable")  # so that widths in a block are similar
    size = max(1, _TERMS // int(last.max()))
    for start in range(0, counts.n_queries, size):
        rows = by_width[start : start + size]
        values[rows] = _expected(Ties(*(part[rows, None] for part in tied)), np.arange(last[rows[-1]]), top)
    return ratio(values, has_relevant, undefined=undefined)


def _expected(tied: Ties, earlier: Integers, top: int) -> Floats:
    """Return the expected reciprocal rank, given the numbers of items of the tie before its first relevant one."""
    rank = tied.before + earlier + 1
    is_first = np.minimum(tied.m / np.maximum(tied.n - earlier, 1), 1.0)
    none_before = np.cumprod(1 - is_first, axis=1)
    none_before = np.hstack([np.ones_like(none_before[:, :1]), none_before[:, :-1]])
    return (none_before * is_first / rank * (rank <= top)).sum(axis=1)
