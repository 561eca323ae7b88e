"""Area under the micro precision-recall curve over the Hamming radius, by how the area is taken."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.metrics._pr_curve import pr_curve
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord

RULES = ("trapezoid", "sum", "area")


def auprc(counts: HammingCounts, *, rule: str = "trapezoid", empty: str = "zero") -> NDArray[np.float64]:
    r"""Area under the precision-recall curve of all queries pooled, its points at the Hamming radii 0..n_bits.

    .. math:: \sum_{d \ge 1} \frac{P(d - 1) + P(d)}{2} \left(R(d) - R(d - 1)\right) \quad \text{or} \quad
        \sum_{d \ge 1} P(d) \left(R(d) - R(d - 1)\right)

    Parameters
    ----------
    counts : HammingCounts
    rule : {"trapezoid", "sum", "area"}, default="trapezoid"
        The first formula; the second, as the thesis prints it; the first from recall 0 on, with a point (0, P(0)) put
        before the curve where R(0) > 0.
    empty : {"zero", "drop"}, default="zero"
        Precision at a radius where no query has an item: 0, or the radius is no point of the curve. The area where no
        query has a relevant item: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If an option is unknown.

    Notes
    -----
    The thesis prints the sum and says in a footnote that it is computed by the trapezoidal rule; the two differ, and
    both leave out what radius 0 retrieves, so that the ideal curve, all relevant items at distance 0, has 0 by either
    and 1 by ``area`` only. The author's released code is ``trapezoid`` with the radii 0 to one below the largest
    distance. The published code that calls its area mAP is ``area`` with those radii and without repeated recalls.

    The thesis says that this area and mAP differ only if the number of relevant items is skewed over the queries.
    They differ without that too: one relevant item a query, at distance 0 and at distance 2, gives mAP 1 and less than
    1 here if another item of the first query is at distance 1.

    References
    ----------
    Moran 2016, thesis, section 3.6.3, eq. 3.11 and its footnote.

    Examples
    --------
    Points (recall, precision): (1/2, 1) and (1, 1/2).

    >>> counts = HammingCounts.from_histograms([[1, 3]], [[1, 1]])
    >>> [auprc(counts, rule=rule).item() for rule in ("trapezoid", "sum", "area")]
    [0.375, 0.25, 0.875]
    """
    one_of(rule, RULES, "rule")
    precision, recall = pr_curve(counts, average="micro", empty=empty)
    if rule == "sum":
        return np.atleast_1d(np.nan_to_num(precision[1:]) @ np.diff(recall))
    on_curve = ~np.isnan(precision)
    recall, precision = recall[on_curve], precision[on_curve]
    if rule == "area":
        recall, precision = np.append(0.0, recall), np.append(precision[0], precision)
    return np.atleast_1d(np.trapezoid(precision, recall))


_metric = partial(
    MetricRecord,
    source="Moran 2016, thesis, section 3.6.3, eq. 3.11",
    range=(0.0, 1.0),
    better="higher",
    empty="A radius with no item has precision 0, or is no point; without relevant items 0, or left out.",
    ties="None: a ball holds all items at a distance or none.",
    defined_on="radius",
    denominator="items in the balls of all queries (precision), relevant items of all queries (recall)",
)

_metric(
    "AUPRC[trapezoid]",
    deviations="The footnote's rule, with every radius 0..n_bits; the author's code leaves the last ones out.",
    summary="Area under the pooled precision-recall curve by trapezoids, from radius 0 on.",
)(auprc)
_metric(
    "AUPRC[sum]",
    summary="Area under the pooled precision-recall curve by the printed sum, from radius 1 on.",
)(partial(auprc, rule="sum"))
_metric(
    "AUPRC[area]",
    deviations="The curve is continued to recall 0, so that the ideal curve has area 1, as the text says.",
    summary="Area under the pooled precision-recall curve by trapezoids, from recall 0 on.",
)(partial(auprc, rule="area"))
