"""Precision and recall of the top K of the Hamming ranking, expected over ties."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.metrics._cutoff import found, places
from protocol.metrics._undefined import ratio
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord

_TIES = "McSherry and Najork 2008, Computing IR Performance Measures Efficiently in the Presence of Tied Scores"
_metric = partial(
    MetricRecord,
    range=(0.0, 1.0),
    better="higher",
    ties="Expected value over all orders of tied items, in closed form.",
    beyond="K above the database is the whole database, in the denominator too.",
)


@_metric(
    "P@K",
    printed="Precision@{cutoff}",
    source=f"Mean Local Group Average Precision, section 3.1, eq. 1 and P@K; ties: {_TIES}",
    empty="Always defined.",
    denominator="K",
    synonyms=("precision@K", "prec@K"),
)
def precision_at_cutoff(counts: HammingCounts, *, cutoff: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Share of the top K items that are relevant, expected over ties.

    .. math:: P@K = \frac{1}{K} \left(P + \frac{m}{n} (K - S)\right)

    The tie that holds the K-th place has n items, m of them relevant, after S items, P of them relevant. Each of its
    K - S items above the cut is relevant with chance m / n.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact also where it divides a tie. The whole database if larger.
    empty : {"zero", "drop"}, default="zero"
        Changes nothing: the value is always defined, and 0 without a relevant item.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or `empty` is unknown.

    Notes
    -----
    For K above the database trec_eval, ranx and torchmetrics (unless told to adapt K) divide by K, as if the places
    behind the last item held irrelevant ones. Here K is the size of the database then, as in every other metric.

    References
    ----------
    *Mean Local Group Average Precision*, section 3.1.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    A relevant item, then one relevant of two tied ones, one of which is in the top 2: (1 + 1/2) / 2.

    >>> precision_at_cutoff(HammingCounts.from_histograms([[1, 2]], [[1, 1]]), cutoff=2)
    array([0.75])
    """
    top = places(counts, cutoff)
    return ratio(found(counts, top), top, empty=empty)


@_metric(
    "R@K",
    printed="Recall@{cutoff}",
    source=f"Moran 2016, thesis, eq. 3.7, of the top K; ties: {_TIES}",
    empty="A query without relevant items counts 0, or is left out.",
    denominator="relevant items of the whole database",
    beyond="K above the database is the whole database.",
    synonyms=("recall@K",),
)
def recall_at_cutoff(counts: HammingCounts, *, cutoff: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Share of a query's relevant items that are among the top K, expected over ties.

    .. math:: R@K = \frac{1}{N^+} \left(P + \frac{m}{n} (K - S)\right)

    The tie that holds the K-th place has n items, m of them relevant, after S items, P of them relevant.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact also where it divides a tie. The whole database if larger.
    empty : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or `empty` is unknown.

    Notes
    -----
    Nearest-neighbour benchmarks call "recall@K" the share of queries whose one nearest neighbour is among the top K;
    it is the mean of this value where one item is relevant to each query. The HABIR toolkit pools the queries.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.7.
    McSherry and Najork 2008, *Computing Information Retrieval Performance Measures Efficiently in the Presence of
    Tied Scores* (expected over ties).

    Examples
    --------
    A relevant item, then one relevant of two tied ones, one of which is in the top 2: (1 + 1/2) / 2; all in the top 3.

    >>> counts = HammingCounts.from_histograms([[1, 2]], [[1, 1]])
    >>> [recall_at_cutoff(counts, cutoff=k).item() for k in (1, 2, 3)]
    [0.5, 0.75, 1.0]
    """
    return ratio(found(counts, places(counts, cutoff)), counts.n_relevant, empty=empty)
