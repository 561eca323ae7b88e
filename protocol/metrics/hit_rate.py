"""Whether a relevant item is among the top K of the Hamming ranking."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._ties import EXPECTED, TIES, in_every_order, places, ratio, relevant_among
from protocol.registry import MetricRecord

_metric = MetricRecord(
    "hit@K",
    printed="Hit@{cutoff}",
    source="Oh Song et al. 2016, Deep Metric Learning via Lifted Structured Feature Embedding, Recall@K of metric "
    "learning; success@K of trec_eval",
    range=(0.0, 1.0),
    better="higher",
    undefined="A query without relevant items counts as 0, or is left out.",
    ties=EXPECTED,
    denominator="1",
    beyond="If K exceeds the size of the database, the size of the database replaces it.",
    synonyms=("success@K", "recall@K", "HR@K", "hits@K", "hit_rate@K", "hitrate@K"),
)


@in_every_order(_metric, "index_top")
def hit_rate(
    counts: HammingCounts, *, cutoff: int, ties: str = "expected", undefined: str = "zero"
) -> NDArray[np.float64]:
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
