"""Cumulative gain of the Hamming ranking, for graded relevance: ACG of the top K, and its mean over relevant ranks."""

import numpy as np

from protocol.checks import one_of
from protocol.counting.counts import Floats, HammingCounts
from protocol.metrics._records import declared
from protocol.metrics._ties import cut_at, places, ratio, ties_at
from protocol.metrics.average_precision import DENOMINATORS, expected_over_retrieved, gains_of, sum_of_precisions


@declared
def average_cumulative_gain(counts: HammingCounts, *, cutoff: int, undefined: str = "zero") -> Floats:
    r"""Mean relevance level of the top K items, such as the number of labels shared with the query.

    .. math:: ACG@K = \frac{1}{K} \sum_{t=1}^{K} \mathrm{level}(t) = \frac{1}{K} \left(G + \frac{s}{n} (K - S)\right)

    The tie that contains rank K has n items whose levels sum to s, and follows S items whose levels sum to G. Each of
    the K - S items of the tie above the cutoff has the expected level s / n.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact even if it divides a tie. The complete database if larger.
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined, and 0 without relevant items.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        From 0 to the highest level; with one level only, 1, the same as P@K.

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or `undefined` is unknown.

    References
    ----------
    Järvelin and Kekäläinen 2000, *IR Evaluation Methods for Retrieving Highly Relevant Documents*.
    Zhang, Zou, Lin, Chen, Wang, *Improved Deep Hashing with Soft Pairwise Similarity for Multi-label Image Retrieval*.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    An item at level 2, then one at level 1 tied with an irrelevant one: (2 + 1/2) / 2.

    >>> counts = HammingCounts.from_histograms([[1, 2]], {1: [[0, 1]], 2: [[1, 0]]})
    >>> average_cumulative_gain(counts, cutoff=2)
    array([1.25])
    """
    top = places(counts, cutoff)
    gains, cut = gains_of(counts, True), cut_at(counts, top)
    tied, gain = ties_at(counts, cut), gains[cut]
    gain_before = gains.cumsum(axis=1)[cut] - gain
    return ratio(gain_before + gain * (top - tied.before) / tied.n, top, undefined=undefined)


@declared
def weighted_average_precision(
    counts: HammingCounts, *, cutoff: int | None = None, denominator: str = "all", undefined: str = "zero"
) -> Floats:
    r"""Mean cumulative gain per rank at the ranks of the relevant items, as the expected value over ties.

    .. math:: WAP@K = \frac{1}{N} \sum_{t=1}^{K} \mathrm{rel}(t) \, ACG@t, \quad
        ACG@t = \frac{1}{t} \sum_{u \le t} \mathrm{level}(u)

    where rel(t) is 1 for an item of any level above 0. A tie of n items, m of them relevant with levels that sum to s,
    that follows S items with levels that sum to G, contributes to the expected value of the sum

    .. math:: \frac{m}{n} \sum_{t=S+1}^{S+n}
        \frac{G + \frac{s}{m} + \frac{s - s/m}{n - 1} (t - S - 1)}{t}

    where t ends at the cutoff: the item at rank t is relevant with probability m / n, its mean level is then s / m, and
    each of the n - 1 other items of the tie, with the remaining levels, is equally likely to precede it.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int, optional
        K, at least 1; exact even if it divides a tie. The complete database if None or larger.
    denominator : {"all", "retrieved", "min"}, default="all"
        N: the number of relevant items in the database, the number among the top K, or the smaller of the former and K.
    undefined : {"zero", "drop"}, default="zero"
        The value of a query with N = 0: 0, or NaN. For ``retrieved`` this applies to each order of ties: ``drop``
        leaves orders without relevant items in the top K out of the query's mean.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        From 0 to the highest level; with one level only, 1, the same as mAP.

    Raises
    ------
    ProtocolError
        If the denominator is unknown, or `cutoff` is below 1.

    Notes
    -----
    For ``retrieved``, the number of relevant items above the cutoff is random if the cutoff divides a tie. It is
    hypergeometric; given its value j, the items above the cutoff form a smaller tie, and the mean of the sum of their
    levels is j s / m, in which the sum above is linear.

    Published code orders ties by an unstable sort, and divides by the number of relevant items among the top K (usually
    5,000).

    References
    ----------
    Zhang, Zou, Lin, Chen, Wang, *Improved Deep Hashing with Soft Pairwise Similarity for Multi-label Image Retrieval*
    (WAP). Zhao, Huang, Wang, Tan 2015, *Deep Semantic Ranking Based Hashing for Multi-Label Image Retrieval* (weighted
    mAP).

    Examples
    --------
    An irrelevant item is tied with one at level 2, which is first or second: (2 + 2/2) / 2.

    >>> weighted_average_precision(HammingCounts.from_histograms([[2, 0]], {2: [[1, 0]]}))
    array([1.5])
    """
    one_of(denominator, DENOMINATORS, "denominator")
    top = places(counts, cutoff)
    graded = counts.levels.tolist() != [1]  # otherwise, the sums are those of mAP
    if denominator == "retrieved" and top < counts.n_database:
        return expected_over_retrieved(counts, graded, top, undefined)
    n_relevant = np.minimum(counts.n_relevant, top) if denominator == "min" else counts.n_relevant
    return ratio(counts.once(sum_of_precisions, graded, top), n_relevant, undefined=undefined)
