"""Precision of the Hamming ranking at the number of relevant items of each query."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._ties import EXPECTED, TIES, in_every_order, ratio, relevant_among
from protocol.registry import MetricRecord

_metric = MetricRecord(
    "R-precision",
    source="Manning, Raghavan and Schütze 2008, Introduction to Information Retrieval, section 8.4; trec_eval, Rprec",
    range=(0.0, 1.0),
    better="higher",
    undefined="A query without relevant items counts as 0, or is left out.",
    ties=EXPECTED,
    denominator="relevant items in the database",
    synonyms=("Rprec", "R-prec", "R_precision", "RP", "P@R", "precision@R", "recall@R", "R@R"),
)


@in_every_order(_metric, "index_top")
def r_precision(counts: HammingCounts, *, ties: str = "expected", undefined: str = "zero") -> NDArray[np.float64]:
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
