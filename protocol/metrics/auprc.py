"""The precision-recall curve over the Hamming radius, and the area under it: pooled by three rules, and per query."""

from typing import NamedTuple

import numpy as np

from protocol.checks import one_of
from protocol.counting.counts import Floats, HammingCounts
from protocol.metrics._records import declared
from protocol.metrics._ties import mean, ratio, undefined_value

AVERAGES = ("micro", "macro")


class PRCurve(NamedTuple):
    """Precision and recall at radius 0, 1, ..., n_bits, each of shape (n_bits + 1,)."""

    precision: Floats
    recall: Floats


def pr_curve(counts: HammingCounts, *, average: str = "micro", undefined: str = "zero") -> PRCurve:
    r"""Return precision and recall of the Hamming ball at every radius.

    .. math:: P_{micro}(r) = \frac{\sum_q |S_{q,r}^+|}{\sum_q |S_{q,r}|}, \quad
        R_{micro}(r) = \frac{\sum_q |S_{q,r}^+|}{\sum_q N^+_q}, \quad
        P_{macro}(r) = \frac{1}{n} \sum_q \frac{|S_{q,r}^+|}{|S_{q,r}|}, \quad
        R_{macro}(r) = \frac{1}{n} \sum_q \frac{|S_{q,r}^+|}{N^+_q}

    The ball of query q with radius r contains ``|S|`` items, ``|S^+|`` of which are relevant. N^+ is the number of all
    items that are relevant to q.

    Parameters
    ----------
    counts : HammingCounts
    average : {"micro", "macro"}, default="micro"
        Precision and recall of the pooled queries, or their means over the queries.
    undefined : {"zero", "drop"}, default="zero"
        The precision of an empty ball, and the recall without relevant items: 0; or left out of the mean, which is NaN
        at a radius at which no query remains.

    Returns
    -------
    PRCurve
        ``precision`` and ``recall``, both (n_bits + 1,) and in [0, 1]. Recall never falls with the radius, and ends at
        1 unless queries without relevant items count as 0.

    Raises
    ------
    ProtocolError
        If an option is unknown.

    Notes
    -----
    The thesis draws the micro curve "from unity to the maximum Hamming radius"; here, radius 0 is also a point. Curves
    over the rank instead of the radius, as in published code of deep methods, depend on the order of ties.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.6-3.9 and section 3.6.2.

    Examples
    --------
    >>> pr_curve(HammingCounts.from_histograms([[1, 3], [2, 2]], [[1, 1], [1, 0]]), average="macro")
    PRCurve(precision=array([0.75 , 0.375]), recall=array([0.75, 1.  ]))
    """
    if one_of(average, AVERAGES, "average") == "micro":
        return PRCurve(*(rows[0] for rows in _curves(counts.pooled, undefined)))
    return PRCurve(*(np.array([mean(values) for values in rows.T]) for rows in _curves(counts, undefined)))


def _curves(balls: HammingCounts, undefined: str) -> PRCurve:
    precision = ratio(balls.relevant_within, balls.retrieved_within, undefined=undefined)
    return PRCurve(precision, ratio(balls.relevant_within, balls.n_relevant[:, None], undefined=undefined))


RULES = ("trapezoid", "sum", "area")


@declared
def auprc(counts: HammingCounts, *, rule: str = "trapezoid", undefined: str = "zero") -> Floats:
    r"""Area under the precision-recall curve of the pooled queries, with points at the Hamming radii 0..n_bits.

    .. math:: \sum_{d \ge 1} \frac{P(d - 1) + P(d)}{2} \left(R(d) - R(d - 1)\right) \quad \text{or} \quad
        \sum_{d \ge 1} P(d) \left(R(d) - R(d - 1)\right)

    Parameters
    ----------
    counts : HammingCounts
    rule : {"trapezoid", "sum", "area"}, default="trapezoid"
        ``trapezoid`` is the first formula, and ``sum`` the second, which the thesis prints. ``area`` is the first
        formula from recall 0, with an additional point (0, P(0)) if R(0) > 0.
    undefined : {"zero", "drop"}, default="zero"
        Precision at a radius at which all balls are empty: 0, or the curve has no point there. The area if no query has
        relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If an option is unknown.

    Notes
    -----
    The thesis prints the sum, and states in a footnote that it is computed by the trapezoidal rule. The two differ, and
    both ignore the area left of radius 0: for the ideal curve, with all relevant items at distance 0, both give 0, and
    only ``area`` gives 1. The author's released code is ``trapezoid`` with radii from 0 to one below the largest
    distance. The published code that calls its area mAP is ``area`` with these radii and without repeated recalls.

    The thesis states that this area and mAP differ only if the numbers of relevant items are skewed over the queries.
    They also differ otherwise. For example, let two queries have one relevant item each, at distance 0 and at distance
    2, and let another item be at distance 1 from the first query: mAP is 1, but the area is below 1.

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
    return np.array([_area(*curve, rule) for curve in zip(*counts.pooled.once(_curves, undefined), strict=True)])


def _area(precision: Floats, recall: Floats, rule: str) -> float:
    if rule == "sum":
        return float(np.nan_to_num(precision[1:]) @ np.diff(recall))
    on_curve = ~np.isnan(precision)
    recall, precision = recall[on_curve], precision[on_curve]
    if rule == "area":
        recall, precision = np.append(0.0, recall), np.append(precision[0], precision)
    return float(np.trapezoid(precision, recall))


@declared
def auprc_macro(counts: HammingCounts, *, undefined: str = "zero") -> Floats:
    r"""Area under the precision-recall curve of each query by the trapezoidal rule, from recall 0.

    .. math:: P(d_0) R(d_0) + \sum_{d > d_0} \frac{P(d - 1) + P(d)}{2} \left(R(d) - R(d - 1)\right)

    The radius of the first ball that is not empty is d_0.

    Parameters
    ----------
    counts : HammingCounts
    undefined : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `undefined` is unknown.

    Notes
    -----
    AP is the area of rectangles whose height is the precision at each relevant item; this area has trapezoids with the
    precision before and after all items at a distance.

    References
    ----------
    Moran 2016, thesis, section 3.6.5.

    Examples
    --------
    Points (recall, precision): (1/2, 1) and (1, 1/2), and for the second query only (1, 1/2).

    >>> auprc_macro(HammingCounts.from_histograms([[1, 3], [0, 4]], [[1, 1], [0, 2]]))
    array([0.875, 0.5  ])
    """
    precision = ratio(counts.relevant_within, counts.retrieved_within, undefined="drop")
    first = np.take_along_axis(precision, (~np.isnan(precision)).argmax(axis=1)[:, None], axis=1)
    precision = np.hstack([first, np.where(np.isnan(precision), first, precision)])
    recall = ratio(counts.relevant_within, counts.n_relevant[:, None], undefined="zero")
    area = np.trapezoid(precision, np.hstack([np.zeros_like(first), recall]), axis=1)
    return np.where(counts.n_relevant > 0, area, undefined_value(undefined))
