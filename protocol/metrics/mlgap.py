"""Mean local group average precision."""

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts
from protocol.metrics.hamming_balls import mean_over_radii
from protocol.registry import MetricRecord


@MetricRecord(
    "mLGAP@rR",
    printed="mLGAP@{radius}",
    source="Mean Local Group Average Precision, eq. 10-11",
    deviations="The paper does not define the value of an empty ball; here: 0, or left out. Its name has no radius.",
    range=(0.0, 1.0),
    better="higher",
    undefined="A radius with an empty ball counts as 0, or is left out of the query's mean.",
    ties="Not affected: a Hamming ball includes all items at a given distance or none of them.",
    defined_on="radius",
    denominator="items in the ball's largest bucket times codes in the ball",
    needs="largest_bucket",
    beyond="R must not exceed n_bits, because the mean would include balls that do not exist.",
)
def mlgap(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> NDArray[np.float64]:
    r"""Precision of the Hamming ball, weighted by how evenly its buckets are filled, as the mean over the radii 0..R.

    .. math:: LGAP(R) = \frac{1}{R + 1} \sum_{r=0}^{R} P(r)\, \varphi(S_r), \quad
        \varphi(S_r) = \frac{|S_r|}{\max_b |b| \cdot V(r)}, \quad V(r) = \sum_{i \le r} \binom{Q}{i}

    The ball S_r has V(r) buckets b, including empty ones. Because P(r) is the number of relevant items divided by
    ``|S_r|``, a term is the number of relevant items divided by the size of the largest bucket and by V(r).

    Parameters
    ----------
    counts : HammingCounts
        Counts of codes of k = ``counts.n_bits`` bits.
    radius : int
        R, from 0 to k.
    undefined : {"zero", "drop"}, default="zero"
        A radius with an empty ball: 0, or left out of the mean of the query, which is NaN if all its balls are empty.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative or above k, or the largest buckets were not counted.

    Notes
    -----
    The paper states neither the radius of its table 1 nor the value of an empty ball, for which P and the penalty are
    both 0/0. A term equals that of RAMAP multiplied by ``|S_r|`` and divided by the size of the largest bucket, so
    mLGAP is never below RAMAP at the same radius.

    References
    ----------
    *Mean Local Group Average Precision*, eq. 10-15, figure 6.

    Examples
    --------
    With k = 1, two relevant items have the query's code and two others do not: (1 * 1 + 1/2 * 4 / (2 * 2)) / 2.

    >>> mlgap(HammingCounts.from_histograms([[2, 2]], [[2, 0]]), radius=1)
    array([0.75])
    """
    return mean_over_radii(counts, radius, counts.requested("largest_bucket"), undefined=undefined)
