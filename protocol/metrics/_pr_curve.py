"""The precision-recall curve over the Hamming radius.

`protocol.metrics` exports it. It is in a private module so that it is covered by the digests of metrics that use it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._undefined import mean, ratio

AVERAGES = ("micro", "macro")


class PRCurve(NamedTuple):
    """Precision and recall at radius 0, 1, ..., n_bits, each of shape (n_bits + 1,)."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


def pr_curve(counts: HammingCounts, *, average: str = "micro", empty: str = "zero") -> PRCurve:
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
    empty : {"zero", "drop"}, default="zero"
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
    balls = counts.pooled() if one_of(average, AVERAGES, "average") == "micro" else counts
    precision = ratio(balls.relevant_within, balls.retrieved_within, empty=empty)
    recall = ratio(balls.relevant_within, balls.n_relevant[:, None], empty=empty)
    return PRCurve(*(np.array([mean(values) for values in of_queries.T]) for of_queries in (precision, recall)))
