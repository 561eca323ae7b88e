"""Average precision of the Hamming ranking up to the number of relevant items of each query."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._ties import EXPECTED, INDEX, TIES, ratio
from protocol.metrics.average_precision import sum_of_precisions
from protocol.registry import MetricRecord

_metric = partial(
    MetricRecord,
    module=__name__,
    source="Musgrave, Belongie and Lim 2020, A Metric Learning Reality Check, MAP@R",
    range=(0.0, 1.0),
    better="higher",
    undefined="A query without relevant items counts as 0, or is left out.",
    denominator="relevant items in the database",
    beyond="R, the number of relevant items, never exceeds the size of the database.",
)


@_metric("mAP@R", ties=EXPECTED)
def average_precision_at_r(
    counts: HammingCounts, *, ties: str = "expected", undefined: str = "zero"
) -> NDArray[np.float64]:
    r"""Mean precision at the ranks of the relevant items up to rank R, for the R relevant items of a query.

    .. math:: AP@R = \frac{1}{R} \sum_{t=1}^{R} \mathrm{rel}(t) \frac{\sum_{u \le t} \mathrm{rel}(u)}{t}

    The letter R is part of the name: R is the number of relevant items of each query, not a number in the request. The
    value is that of `average_precision` with the cutoff R, as the expected value over ties.

    Parameters
    ----------
    counts : HammingCounts
    ties : {"expected", "index"}, default="expected"
        The mean over all orders of tied items, or the order of the database, which requires
        ``count(..., index_order=True)``.
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
    return ratio(sum_of_precisions(counts, False, counts.n_relevant), counts.n_relevant, undefined=undefined)


_metric(
    "mAP@R[database-order]",
    ties=INDEX,
    summary="mAP up to rank R, the number of relevant items, with ties in the order of the database.",
    needs="index_top",
)(partial(average_precision_at_r, ties="index"))
