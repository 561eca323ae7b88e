"""Average precision of the items within a Hamming radius."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._ties import EXPECTED, TIES, divided, in_every_order, ratio
from protocol.metrics.average_precision import sum_of_precisions
from protocol.metrics.hamming_balls import nearest_radius
from protocol.registry import MetricRecord

_metric = MetricRecord(
    "mAP@rR",
    printed="mAP within radius {radius}",
    source="Cao, Long, Liu and Wang 2018, Deep Cauchy Hashing for Hamming Space Retrieval, MAP@H<=2",
    range=(0.0, 1.0),
    better="higher",
    undefined="A query without relevant items within the radius, or without any items, counts as 0, or is left out.",
    defined_on="radius",
    ties=EXPECTED,
    denominator="relevant items in the ball",
    beyond="If R exceeds n_bits, the ball is the complete database.",
    synonyms=("mAP@H<=R", "mAP@H≤R"),
)


@in_every_order(_metric, "index_precisions")
def average_precision_in_ball(
    counts: HammingCounts, *, radius: int, ties: str = "expected", undefined: str = "zero"
) -> NDArray[np.float64]:
    r"""Mean precision at the ranks of the relevant items within Hamming radius R, as the expected value over ties.

    .. math:: AP(R) = \frac{1}{N} \sum_{t=1}^{T} \mathrm{rel}(t) \frac{\sum_{u \le t} \mathrm{rel}(u)}{t}

    T is the number of items within the radius, and N the number of relevant ones among them.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    ties : {"expected", "best", "worst", "index"}, default="expected"
        The mean over all orders of tied items; relevant items first, or last; or the order of the database, which
        requires ``count(..., index_order=True)``.
    undefined : {"zero", "drop"}, default="zero"
        A query with N = 0, also if its ball is empty: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative, an option is unknown, or ``index`` is requested, but was not counted.

    Notes
    -----
    The released code of HashNet and its successors counts an empty ball as 0, but leaves out a ball with items of which
    none is relevant, and ranks the items in the ball by the real-valued outputs of the network; later copies count both
    as 0, or leave empty balls out.

    References
    ----------
    Cao, Long, Liu and Wang 2018, *Deep Cauchy Hashing for Hamming Space Retrieval*, CVPR.

    Examples
    --------
    Within radius 1, a relevant item is first, and another is second or third: (1 + (2/2 + 2/3) / 2) / 2.

    >>> average_precision_in_ball(HammingCounts.from_histograms([[1, 2, 5]], [[1, 1, 3]]), radius=1).round(4)
    array([0.9167])
    """
    at = nearest_radius(counts, radius)
    if one_of(ties, TIES, "ties") == "index":
        precisions = counts.requested("index_precisions")[:, : at + 1].sum(axis=1)
    else:
        precisions = sum_of_precisions(divided(counts, ties), False, counts.retrieved_within[:, at])
    return ratio(precisions, counts.relevant_within[:, at], undefined=undefined)
