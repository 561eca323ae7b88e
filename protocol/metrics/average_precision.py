"""Average precision of the Hamming ranking, with variants for ties, the cutoff and the denominator."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.counting.counts import Floats, HammingCounts, Integers
from protocol.metrics._records import declared
from protocol.metrics._ties import TIES, cut_at, divided, hypergeometric, places, ratio, running_sums, ties_at
from protocol.metrics.hamming_balls import nearest_radius

DENOMINATORS = ("all", "retrieved", "min")
_BLOCK = 128  # queries per block, so that the arrays of a block fit in the cache
_DEVIATIONS, _LEAST_REACH = 12, 40  # by Bernstein's inequality, numbers farther from the mean have less than 1e-25


@declared
def average_precision(
    counts: HammingCounts,
    *,
    ties: str = "expected",
    cutoff: int | None = None,
    denominator: str = "all",
    undefined: str = "zero",
) -> Floats:
    r"""Mean precision at the ranks of the relevant items.

    .. math:: AP@K = \frac{1}{N} \sum_{t=1}^{K} \mathrm{rel}(t) \frac{\sum_{u \le t} \mathrm{rel}(u)}{t}

    Items at equal distance are tied, and their order in a ranked list is arbitrary. The expected value is the mean over
    all orders. A tie of n items, m of them relevant, that follows S items, P of them relevant, contributes to the sum

    .. math:: \frac{m}{n} \sum_{t=S+1}^{S+n} \frac{P + 1 + \frac{m-1}{n-1} (t - S - 1)}{t}

    where t stops at the cutoff; (m - 1) / (n - 1) is 0 for n = 1.

    Parameters
    ----------
    counts : HammingCounts
    ties : {"expected", "best", "worst", "index"}, default="expected"
        ``expected`` is the mean over all orders of tied items; ``best`` puts relevant items first, ``worst`` last;
        ``index`` is the order of the database, which requires ``count(..., index_order=True)``.
    cutoff : int, optional
        K, at least 1. The complete database if None or larger.
    denominator : {"all", "retrieved", "min"}, default="all"
        N: the number of relevant items in the database, the number among the top K, or the smaller of the former and K.
    undefined : {"zero", "drop"}, default="zero"
        The value of a query with N = 0: 0, or NaN. For ``retrieved`` this applies to each order of ties: ``drop``
        leaves orders without relevant items in the top K out of the query's mean.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If an option is unknown, or `cutoff` is below 1. If ``retrieved`` is requested with a cutoff and best or worst
        ties, because the order with relevant items first does not have the largest value (+ - - - - has 1, + - - - +
        has 0.7). If ``index`` is requested with a cutoff, or was not counted.

    Notes
    -----
    The value is also exact if the cutoff divides a tie. With the denominator ``retrieved``, numerator and denominator
    are then both random, and the ratio of their expectations is not the expected ratio. The number of relevant items
    above the cutoff is hypergeometric; given this number, the items above the cutoff form a smaller tie.

    The text of TALR leaves 0/0 undefined for n = 1 and n = 0; here, single items and empty distances need no special
    case. Its released code gives 0 to queries without relevant items, like ``zero``, except for the last ones of a test
    set, which it leaves out of the mean. RAMAP prints 1/N+ without a cutoff, but its MAP row falls with the number of
    returned samples, which is only possible with ``retrieved``.

    Published code with a stable sort of the distances (GRH, MIH) computes ``index``. NumPy's default sort is not stable
    and depends on the version of NumPy, so the values of code that uses it can't be reproduced.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, eq. 6 and 17-19 (expected), figure 3 (range).
    *Mean Local Group Average Precision*, section 3.2.1, figure 2 (best and worst).
    *Evaluation metrics* (mAP@p, nDCG@p), eq. 2-5; Moran 2016, thesis, eq. 3.12 and 3.13 (``retrieved``).
    Weyand, Araujo, Cao, Sim 2020, *Google Landmarks Dataset v2*, mAP@100, over min(m_q, 100) for the m_q relevant
    items of query q (``min``).

    Examples
    --------
    One of two tied items is relevant, and is first or second: (1 + 1/2) / 2.

    >>> average_precision(HammingCounts.from_histograms([[2, 0]], [[1, 0]]))
    array([0.75])
    >>> average_precision(HammingCounts.from_histograms([[2, 0]], [[1, 0]]), ties="worst")
    array([0.5])
    """
    one_of(ties, TIES, "ties")
    one_of(denominator, DENOMINATORS, "denominator")
    top = places(counts, cutoff)
    if ties == "index":
        if top < counts.n_database:
            raise ProtocolError(f"ties='index' needs cutoff=None, got {top:,}. Use ties='expected'.")
        return ratio(counts.requested("index_precisions").sum(axis=1), counts.n_relevant, undefined=undefined)
    if denominator == "retrieved" and top < counts.n_database:
        if ties != "expected":
            raise ProtocolError(f"denominator='retrieved' with a cutoff needs ties='expected', got {ties!r}.")
        return expected_over_retrieved(counts, False, top, undefined)
    if ties == "expected":
        precisions = counts.once(sum_of_precisions, False, top)
    else:
        precisions = _sum_with_ordered_ties(counts, top, ties)
    n_relevant = np.minimum(counts.n_relevant, top) if denominator == "min" else counts.n_relevant
    return ratio(precisions, n_relevant, undefined=undefined)


def sum_of_precisions(counts: HammingCounts, graded: bool, top: int | Integers, whole: bool = False) -> Floats:
    """Return the expected sum of cumulative gain per rank at the ranks of the relevant items, (n_queries,).

    Parameters
    ----------
    counts : HammingCounts
    graded : bool
        Whether the gain of an item is its level; if each relevant item has gain 1, this is the sum of the precisions.
    top : int or ndarray of int64, shape (n_queries,)
        The last rank that counts, for all queries or for each.
    whole : bool, default=False
        Whether only whole ties count: none of the ranks of the tie that contains rank `top`.
    """
    gains, harmonic = gains_of(counts, graded), _harmonic_numbers(counts.n_database)
    tops = np.broadcast_to(ties_at(counts, cut_at(counts, top)).before if whole else top, counts.n_queries)
    values = np.empty(counts.n_queries)
    for start in range(0, counts.n_queries, _BLOCK):
        block = slice(start, start + _BLOCK)
        tied, gain, last = ties_at(counts, block), gains[block], tops[block, None]
        counted = np.clip(last - tied.before, 0, tied.n)
        until = np.diff(harmonic[np.minimum(tied.before + tied.n, last)], axis=1, prepend=0.0)
        gain_before = gain.cumsum(axis=1) - gain
        # A relevant item of the tie has the mean gain, and each other item is equally likely to precede it.
        level = gain / np.maximum(tied.m, 1)
        slope = (gain - level) / np.maximum(tied.n - 1, 1)
        sums = (gain_before + level) * until + slope * (counted - (tied.before + 1) * until)
        values[block] = (tied.m / np.maximum(tied.n, 1) * sums).sum(axis=1)
    return values


def gains_of(counts: HammingCounts, graded: bool) -> NDArray[np.integer]:
    """Return the sum of the relevance levels at each distance, or the number of relevant items, (n_queries, n + 1)."""
    return np.einsum("l,qlr->qr", counts.levels, counts.at_level) if graded else counts.relevant


def expected_over_retrieved(counts: HammingCounts, graded: bool, top: int, undefined: str) -> Floats:
    r"""Return the expected ratio of the sum up to rank `top` to the number of relevant items up to it, (n_queries,).

    If j items of the tie that contains rank `top` are drawn and relevant, the sum is a + b j + c j^2, and the number is
    P + j, so the ratio is the sum of these coefficients times the moments of 1 / (P + j).
    """
    gains, cut = gains_of(counts, graded), cut_at(counts, top)
    tied = ties_at(counts, cut)
    gain, drawn = gains[cut], top - tied.before
    gain_before, level = gains.cumsum(axis=1)[cut] - gain, gain / np.maximum(tied.m, 1)
    harmonic = _harmonic_numbers(counts.n_database)
    harmonic = harmonic[top] - harmonic[tied.before]
    slope = level / np.maximum(drawn - 1, 1) * (drawn - (tied.before + 1) * harmonic)
    zeroth, first, second, defined = counts.once(_moments, top)
    expected = counts.once(sum_of_precisions, graded, top, True) * zeroth
    expected += ((gain_before + level) * harmonic - slope) / drawn * first + slope / drawn * second
    return ratio(expected, defined if undefined == "drop" else 1.0, undefined=undefined)


def _moments(counts: HammingCounts, top: int) -> Floats:
    """Return the expected values of 1, j and j^2, each divided by P + j, and the probability of P + j > 0.

    j is the number of relevant items in the last tie up to rank `top`, after P relevant items. Shape (4, n_queries).
    Numbers whose probability is below the precision of a float are left out.
    """
    n, m, before, relevant_before = ties_at(counts, cut_at(counts, top))
    drawn = top - before
    mean = m * drawn / n
    reach = _LEAST_REACH + _DEVIATIONS * np.sqrt(mean * (1 - m / n) * (n - drawn) / np.maximum(n - 1, 1))
    fewest = np.maximum.reduce([np.zeros_like(m), drawn - (n - m), (mean - reach).astype(np.int64)])
    most = np.minimum.reduce([m, drawn, (mean + reach).astype(np.int64)])
    moments = np.empty((4, counts.n_queries))
    by_width = np.argsort(most - fewest, kind="stable")  # so that widths in a block are similar
    for start in range(0, counts.n_queries, _BLOCK):
        rows = by_width[start : start + _BLOCK]
        j = fewest[rows, None] + np.arange((most - fewest)[rows[-1]] + 1)
        chance = hypergeometric(j, n[rows, None], m[rows, None], drawn[rows, None])
        n_relevant = relevant_before[rows, None] + j
        chance[n_relevant == 0] = 0
        share = chance / np.maximum(n_relevant, 1)
        moments[:, rows] = [(share * j**power).sum(axis=1) for power in range(3)] + [chance.sum(axis=1)]
    return moments


@lru_cache(maxsize=1)  # several metrics of one database need it
def _harmonic_numbers(n: int) -> Floats:
    return running_sums(n, lambda ranks: 1.0 / ranks)


def _sum_with_ordered_ties(counts: HammingCounts, top: int, ties: str) -> Floats:
    """Return the sum of the precisions at the ranks of the relevant items up to `top`, tied ones first or last."""
    harmonic = _harmonic_numbers(counts.n_database)
    n, m, before, relevant_before = ties_at(counts, slice(None))
    first = np.minimum(before if ties == "best" else before + n - m, top)
    counted = np.clip(top - first, 0, m)
    return (counted + (relevant_before - first) * (harmonic[first + counted] - harmonic[first])).sum(axis=1)


@declared
def average_precision_at_r(counts: HammingCounts, *, ties: str = "expected", undefined: str = "zero") -> Floats:
    r"""Mean precision at the relevant ranks up to R, the number of relevant items, as the expected value over ties.

    .. math:: AP@R = \frac{1}{R} \sum_{t=1}^{R} \mathrm{rel}(t) \frac{\sum_{u \le t} \mathrm{rel}(u)}{t}

    The letter R is part of the name: R is the number of relevant items of each query, not a number in the request. The
    value equals `average_precision` with the cutoff R.

    Parameters
    ----------
    counts : HammingCounts
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
        If an option is unknown, or ``index`` is requested, but was not counted.

    References
    ----------
    Musgrave, Belongie and Lim 2020, *A Metric Learning Reality Check*, ECCV.

    Examples
    --------
    Two items are relevant. One is first, the other is second or third, and counts only if it is second: (1 + 1/2) / 2.

    >>> average_precision_at_r(HammingCounts.from_histograms([[1, 2]], [[1, 1]]))
    array([0.75])
    """
    if one_of(ties, TIES, "ties") == "index":
        return ratio(counts.requested("index_top")[:, 2], counts.n_relevant, undefined=undefined)
    precisions = sum_of_precisions(divided(counts, ties), False, counts.n_relevant)
    return ratio(precisions, counts.n_relevant, undefined=undefined)


@declared
def average_precision_in_ball(
    counts: HammingCounts, *, radius: int, ties: str = "expected", undefined: str = "zero"
) -> Floats:
    r"""Mean precision at the ranks of the relevant items within Hamming radius R, as the expected value over ties.

    .. math:: AP(R) = \frac{1}{N} \sum_{t=1}^{T} \mathrm{rel}(t) \frac{\sum_{u \le t} \mathrm{rel}(u)}{t}

    T is the number of items within the radius, and N the number of relevant ones among them.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    ties : {"expected", "best", "worst", "index"}, default="expected"
        The mean over all orders of tied items; relevant items first, or last; or the order of the database, which
        requires ``count(..., index_order=True)``.
    undefined : {"zero", "drop"}, default="zero"
        A query with N = 0, also if its ball is empty: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative, an option is unknown, or ``index`` is requested, but was not counted.

    Notes
    -----
    The released code of HashNet and its successors counts an empty ball as 0, but leaves out a ball with items of which
    none is relevant, and ranks the items in the ball by the real-valued outputs of the network; later copies count both
    as 0, or leave empty balls out.

    References
    ----------
    Cao, Long, Liu and Wang 2018, *Deep Cauchy Hashing for Hamming Space Retrieval*, CVPR.

    Examples
    --------
    Within radius 1, a relevant item is first, and another is second or third: (1 + (2/2 + 2/3) / 2) / 2.

    >>> average_precision_in_ball(HammingCounts.from_histograms([[1, 2, 5]], [[1, 1, 3]]), radius=1).round(4)
    array([0.9167])
    """
    at = nearest_radius(counts, radius)
    if one_of(ties, TIES, "ties") == "index":
        precisions = counts.requested("index_precisions")[:, : at + 1].sum(axis=1)
    else:
        precisions = sum_of_precisions(divided(counts, ties), False, counts.retrieved_within[:, at])
    return ratio(precisions, counts.relevant_within[:, at], undefined=undefined)
