"""Average precision of the Hamming ranking up to the number of relevant items of each query."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._ties import EXPECTED, TIES, divided, in_every_order, ratio
from protocol.metrics.average_precision import sum_of_precisions
from protocol.registry import MetricRecord

_metric = MetricRecord(
    "mAP@R",
    source="Musgrave, Belongie and Lim 2020, A Metric Learning Reality Check, MAP@R",
    range=(0.0, 1.0),
    better="higher",
    undefined="A query without relevant items counts as 0, or is left out.",
    ties=EXPECTED,
    denominator="relevant items in the database",
    beyond="R, the number of relevant items, never exceeds the size of the database.",
)


@in_every_order(_metric, "index_top")
def average_precision_at_r(
    counts: HammingCounts, *, ties: str = "expected", undefined: str = "zero"
) -> NDArray[np.float64]:
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
