"""Whether a relevant item is among the top K of the Hamming ranking."""

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts
from protocol.metrics._ties import found, places, ratio
from protocol.registry import MetricRecord


@MetricRecord(
    "hit@K",
    printed="Hit@{cutoff}",
    source="Oh Song et al. 2016, Deep Metric Learning via Lifted Structured Feature Embedding, Recall@K of metric "
    "learning; success@K of trec_eval",
    range=(0.0, 1.0),
    better="higher",
    ties="Expected value over all orders of tied items, in closed form.",
    empty="A query without relevant items counts as 0, or is left out.",
    denominator="1",
    beyond="If K exceeds the size of the database, the size of the database replaces it.",
    synonyms=("success@K", "recall@K", "HR@K", "hits@K", "hit_rate@K", "hitrate@K"),
)
def hit_rate(counts: HammingCounts, *, cutoff: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Whether a relevant item is among the top K, as the expected value over ties; recall@K of metric learning.

    .. math:: 1 - \binom{n-m}{K-S} \Big/ \binom{n}{K-S}

    The tie that contains rank K has n items, m of them relevant, and follows S irrelevant items. If one of those before
    the tie is relevant, the value is 1.

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
    return ratio(found(counts, places(counts, cutoff), at_most=1), counts.n_relevant > 0, empty=empty)
