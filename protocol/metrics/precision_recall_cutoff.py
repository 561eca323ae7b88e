"""Precision, recall and hits of the top K of the Hamming ranking, and curves over the number of items."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from protocol.checks import ProtocolError, integer, one_of
from protocol.counting.counts import Floats, HammingCounts, Integers
from protocol.metrics._records import declared
from protocol.metrics._ties import TIES, places, ratio, relevant_among


@declared
def precision_at_cutoff(counts: HammingCounts, *, cutoff: int, undefined: str = "zero") -> Floats:
    r"""Share of the top K items that are relevant, as the expected value over ties.

    .. math:: P@K = \frac{1}{K} \left(P + \frac{m}{n} (K - S)\right)

    The tie that contains rank K has n items, m of them relevant, and follows S items, P of them relevant. Each of the
    K - S items of the tie above the cutoff is relevant with probability m / n.

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

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or `undefined` is unknown.

    Notes
    -----
    If K exceeds the size of the database, trec_eval, ranx and torchmetrics (without its option to adapt K) divide by K,
    as if irrelevant items followed the last one. Here K is then the size of the database, as in all other metrics.

    References
    ----------
    *Mean Local Group Average Precision*, section 3.1.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    A relevant item is followed by two tied ones, one of them relevant and one of them in the top 2: (1 + 1/2) / 2.

    >>> precision_at_cutoff(HammingCounts.from_histograms([[1, 2]], [[1, 1]]), cutoff=2)
    array([0.75])
    """
    top = places(counts, cutoff)
    return ratio(relevant_among(counts, top), top, undefined=undefined)


@declared
def recall_at_cutoff(counts: HammingCounts, *, cutoff: int, undefined: str = "zero") -> Floats:
    r"""Share of a query's relevant items that are among the top K, as the expected value over ties.

    .. math:: R@K = \frac{1}{N^+} \left(P + \frac{m}{n} (K - S)\right)

    The tie that contains rank K has n items, m of them relevant, and follows S items, P of them relevant.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact even if it divides a tie. The complete database if larger.
    undefined : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or `undefined` is unknown.

    Notes
    -----
    In nearest-neighbour benchmarks, "recall@K" is the share of queries whose single nearest neighbour is among the top
    K. This is the mean of this value if each query has one relevant item. The HABIR toolkit pools the queries.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.7.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    With the same counts, (1 + 1/2) / 2 of the relevant items are in the top 2, and all of them in the top 3.

    >>> counts = HammingCounts.from_histograms([[1, 2]], [[1, 1]])
    >>> [recall_at_cutoff(counts, cutoff=k).item() for k in (1, 2, 3)]
    [0.5, 0.75, 1.0]
    """
    return ratio(relevant_among(counts, places(counts, cutoff)), counts.n_relevant, undefined=undefined)


@declared
def hit_rate(counts: HammingCounts, *, cutoff: int, ties: str = "expected", undefined: str = "zero") -> Floats:
    r"""Whether a relevant item is among the top K, as the expected value over ties; recall@K of metric learning.

    .. math:: 1 - \frac{\binom{n-m}{K-S}}{\binom{n}{K-S}}

    The tie that contains rank K has n items, m of them relevant, and follows S irrelevant items. If one of those before
    the tie is relevant, the value is 1.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact even if it divides a tie. The complete database if larger.
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

    Notes
    -----
    Metric learning calls the mean of this value recall@K. The recall of information retrieval is the metric R@K, which
    is the same if each query has one relevant item.

    References
    ----------
    Oh Song, Xiang, Jegelka, Savarese 2016, *Deep Metric Learning via Lifted Structured Feature Embedding* (Recall@K).

    Examples
    --------
    One of three tied items is relevant, and two of them are in the top 2.

    >>> hit_rate(HammingCounts.from_histograms([[3, 1]], [[1, 1]]), cutoff=2).round(4)
    array([0.6667])
    """
    top, has_relevant = places(counts, cutoff), counts.n_relevant > 0
    if one_of(ties, TIES, "ties") == "index":
        return ratio(counts.requested("index_top")[:, 0] <= top, has_relevant, undefined=undefined)
    return ratio(relevant_among(counts, top, ties=ties, at_most=1), has_relevant, undefined=undefined)


@declared
def r_precision(counts: HammingCounts, *, ties: str = "expected", undefined: str = "zero") -> Floats:
    r"""Share of the top R items that are relevant, if a query has R relevant items, as the expected value over ties.

    .. math:: \frac{1}{R} \left(P + \frac{m}{n} (R - S)\right)

    The tie that contains rank R has n items, m of them relevant, and follows S items, P of them relevant. Precision and
    recall of the top R are equal.

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
    Manning, Raghavan and Schütze 2008, *Introduction to Information Retrieval*, section 8.4.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    Two items are relevant. One is first, the other is one of two tied items, of which one is in the top 2.

    >>> r_precision(HammingCounts.from_histograms([[1, 2]], [[1, 1]]))
    array([0.75])
    """
    if one_of(ties, TIES, "ties") == "index":
        return ratio(counts.requested("index_top")[:, 1], counts.n_relevant, undefined=undefined)
    found = relevant_among(counts, np.maximum(counts.n_relevant, 1), ties=ties)
    return ratio(found, counts.n_relevant, undefined=undefined)


_LARGEST, _EVERY, _STEP = 1000, 100, 10


class TopKCurve(NamedTuple):
    """Mean precision and mean recall of the top K items over the queries, each of shape (n_cutoffs,)."""

    k: Integers
    precision: Floats
    recall: Floats


def top_k_curve(counts: HammingCounts, cutoffs: Sequence[int] | None = None, *, undefined: str = "zero") -> TopKCurve:
    r"""Return precision and recall of the top K items for several K, as expected values over ties and query means.

    .. math:: P@K = \frac{1}{K} \left(P + \frac{m}{n} (K - S)\right), \quad R@K = \frac{K}{N^+} P@K

    The tie that contains rank K has n items, m of them relevant, and follows S items, P of them relevant. Within a tie,
    the expected number of relevant items is linear in K.

    Parameters
    ----------
    counts : HammingCounts
    cutoffs : sequence of int, optional
        The values of K, at least 1 each; larger values than the size of the database mean the complete database. If
        None, every K up to 100 and every tenth from there to 1,000, or to the size of the database if that is smaller.
    undefined : {"zero", "drop"}, default="zero"
        The recall of a query without relevant items: 0, or left out of the mean.

    Returns
    -------
    TopKCurve

    Raises
    ------
    ProtocolError
        If there is no cutoff, one is below 1, or `undefined` is unknown.

    References
    ----------
    Papers on hashing show such figures of precision or recall over the number of retrieved items, for example Cao,
    Long, Wang, Yu 2017, *HashNet: Deep Learning to Hash by Continuation*. The values equal P@K and R@K.

    Examples
    --------
    >>> top_k_curve(HammingCounts.from_histograms([[1, 2]], [[1, 1]]), [1, 2, 3]).recall
    array([0.5 , 0.75, 1.  ])
    """
    size = counts.n_database
    last = min(_LARGEST, size)
    default = sorted({*range(1, min(_EVERY, last) + 1), *range(_EVERY, last + 1, _STEP), last})
    points = default if cutoffs is None else [min(integer(k, "cutoff"), size) for k in cutoffs]
    if not points:
        raise ProtocolError("cutoffs: the list is empty.")
    k = np.array(points, dtype=np.int64)
    n_relevant = counts.n_relevant
    share = ratio(np.ones(n_relevant.size), n_relevant, undefined=undefined)
    n_defined = np.count_nonzero(~np.isnan(share))
    precision = _sum_of_found(counts, np.ones(n_relevant.size), int(k.max()))[k - 1] / (counts.n_queries * k)
    recall = ratio(_sum_of_found(counts, np.nan_to_num(share), int(k.max()))[k - 1], n_defined, undefined="drop")
    return TopKCurve(k, precision, recall)


def _sum_of_found(counts: HammingCounts, weights: Floats, top: int) -> Floats:
    """Return the weighted sum over the queries of the expected relevant items among the top 1, 2, ..., `top`, (top,).

    At each of its ranks, a tie adds its share of relevant items. The changes of this share from rank to rank are summed
    over the queries first, and then over the ranks.
    """
    ends = np.minimum(counts.retrieved_within, top)
    starts = np.minimum(counts.retrieved_within - counts.retrieved, top)
    share = counts.relevant / np.maximum(counts.retrieved, 1) * weights[:, None] * (ends > starts)
    rises, falls = (np.bincount(ranks.ravel(), share.ravel(), top + 1) for ranks in (starts, ends))
    return np.cumsum(np.cumsum(rises - falls)[:top])
