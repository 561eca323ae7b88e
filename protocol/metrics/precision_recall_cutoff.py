"""Precision and recall of the top K of the Hamming ranking, expected over ties."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts
from protocol.metrics._cutoff import found, places
from protocol.metrics._undefined import ratio
from protocol.registry import MetricRecord

_TIES = "McSherry and Najork 2008, Computing IR Performance Measures Efficiently in the Presence of Tied Scores"
_metric = partial(
    MetricRecord,
    range=(0.0, 1.0),
    better="higher",
    ties="Expected value over all orders of tied items, in closed form.",
    beyond="If K exceeds the size of the database, it is the size of the database, also in the denominator.",
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

    The tie that contains rank K has n items, m of them relevant, and follows S items, P of them relevant. Each of the
    K - S items of the tie above the cutoff is relevant with probability m / n.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact even if it divides a tie. The complete database if larger.
    empty : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined, and 0 without relevant items.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or `empty` is unknown.

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
    return ratio(found(counts, top), top, empty=empty)


@_metric(
    "R@K",
    printed="Recall@{cutoff}",
    source=f"Moran 2016, thesis, eq. 3.7, of the top K; ties: {_TIES}",
    empty="A query without relevant items counts as 0, or is left out.",
    denominator="relevant items in the database",
    beyond="If K exceeds the size of the database, it is the size of the database.",
    synonyms=("recall@K",),
)
def recall_at_cutoff(counts: HammingCounts, *, cutoff: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Share of a query's relevant items that are among the top K, expected over ties.

    .. math:: R@K = \frac{1}{N^+} \left(P + \frac{m}{n} (K - S)\right)

    The tie that contains rank K has n items, m of them relevant, and follows S items, P of them relevant.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int
        K, at least 1; exact even if it divides a tie. The complete database if larger.
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
    return ratio(found(counts, places(counts, cutoff)), counts.n_relevant, empty=empty)
