"""Radius-aware mean average precision."""

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts
from protocol.metrics.hamming_balls import mean_over_radii
from protocol.registry import MetricRecord


@MetricRecord(
    "RAMAP@rR",
    printed="RAMAP@{radius}",
    source="Jiang, Li, Li, On the Evaluation Metric for Hashing, eq. 1",
    range=(0.0, 1.0),
    better="higher",
    undefined="A radius with an empty ball counts as 0, or is left out of the query's mean.",
    ties="Not affected: a Hamming ball includes all items at a given distance or none of them.",
    defined_on="radius",
    denominator="items in the ball times codes in the ball",
    beyond="R must not exceed n_bits, because the mean would include balls that do not exist.",
)
def ramap(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> NDArray[np.float64]:
    r"""Precision of the Hamming ball, divided by the number of buckets to look up, as the mean over the radii 0..R.

    .. math:: RAAP(R) = \frac{1}{R + 1} \sum_{r=0}^{R} \frac{P(r)}{V(r)}, \quad V(r) = \sum_{i \le r} \binom{Q}{i}

    Parameters
    ----------
    counts : HammingCounts
        Counts of codes of Q = ``counts.n_bits`` bits, including extension bits.
    radius : int
        R, from 0 to Q.
    undefined : {"zero", "drop"}, default="zero"
        A radius with an empty ball: 0, or left out of the mean of the query, which is NaN if all its balls are empty.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative or above Q.

    Notes
    -----
    Table 2 of the paper, where different-extension codes have 0.0000 at radius 0, implies that an empty ball has the
    value 0. Section 2.1 defines the ball with "= r"; the sums of table 1 are over distances up to r, as here.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, eq. 1, tables 1-3.

    Examples
    --------
    With Q = 2, precision is 1 in a ball of 1 code and 1/2 in a ball of 3 codes: (1 + 1/6) / 2.

    >>> ramap(HammingCounts.from_histograms([[1, 3, 0]], [[1, 1, 0]]), radius=1).round(4)
    array([0.5833])
    """
    return mean_over_radii(counts, radius, counts.retrieved_within, undefined=undefined)
