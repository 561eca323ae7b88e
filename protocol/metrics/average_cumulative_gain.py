"""Average cumulative gain of the top K of the Hamming ranking, for graded relevance, expected over ties."""

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts
from protocol.metrics._ties import last_distance, places, ratio
from protocol.registry import MetricRecord


@MetricRecord(
    "ACG@K",
    source="Järvelin and Kekäläinen 2000, IR evaluation methods for retrieving highly relevant documents; "
    "Zhang et al., IDHN (Improved Deep Hashing with Soft Pairwise Similarity for Multi-label Image Retrieval)",
    range=(0.0, float("inf")),
    better="higher",
    undefined="Always defined.",
    ties="Expected value over all orders of tied items, in closed form.",
    denominator="K",
    beyond="If K exceeds the size of the database, the size of the database replaces it, also in the denominator.",
)
def average_cumulative_gain(counts: HammingCounts, *, cutoff: int, undefined: str = "zero") -> NDArray[np.float64]:
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
    gains = np.einsum("l,qlr->qr", counts.levels, counts.at_level)
    cut = (np.arange(counts.n_queries), last_distance(counts, top))
    n, s = counts.retrieved[cut], gains[cut]
    before, gain_before = counts.retrieved_within[cut] - n, gains.cumsum(axis=1)[cut] - s
    return ratio(gain_before + s * (top - before) / n, top, undefined=undefined)
