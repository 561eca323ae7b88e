"""Hamming balls: radii, volumes, the mean over radii of RAMAP and mLGAP, empty balls, and the number of lookups."""

from itertools import accumulate
from math import comb

import numpy as np

from protocol.checks import integer
from protocol.counting.counts import Floats, HammingCounts, Integers
from protocol.metrics._records import declared
from protocol.metrics._ties import ratio


def nearest_radius(counts: HammingCounts, radius: int) -> int:
    """Return `radius`, or n_bits if it is larger, because the ball then is the complete database.

    Raises
    ------
    ProtocolError
        If `radius` is negative.
    """
    return min(integer(radius, "radius", minimum=0), counts.n_bits)


def volumes(n_bits: int, radius: int) -> Floats:
    r"""Return the number of codes of `n_bits` bits within radius 0, 1, ..., `radius` of a code, (radius + 1,).

    .. math:: V(r) = \sum_{i \le r} \binom{Q}{i}

    Examples
    --------
    >>> volumes(3, 3)
    array([1., 4., 7., 8.])
    """
    return np.array(list(accumulate(comb(n_bits, i) for i in range(radius + 1))), dtype=np.float64)


def mean_over_radii(counts: HammingCounts, radius: int, denominator: Integers, *, undefined: str) -> Floats:
    """Return the mean over r = 0..R of relevant(r) / (denominator(r) V(r)), with the volume V(r) from `volumes`.

    With ``undefined="drop"``, radii with an empty ball are left out of the mean of a query.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at most the number of bits.
    denominator : ndarray of int64, shape (n_queries, n_bits + 1)
        0 exactly where the ball is empty.
    undefined : {"zero", "drop"}

    Raises
    ------
    ProtocolError
        If `radius` is negative or above the number of bits, because the mean would include balls that do not exist.
    """
    integer(radius, "radius", minimum=0, maximum=counts.n_bits)
    upto = slice(radius + 1)
    volume = volumes(counts.n_bits, radius)
    terms = ratio(counts.relevant_within[:, upto], denominator[:, upto] * volume, undefined=undefined)
    return ratio(np.nansum(terms, axis=1), (~np.isnan(terms)).sum(axis=1), undefined=undefined)


@declared
def empty_balls(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
    r"""Whether no database item lies within Hamming radius R; the mean is the share of such queries.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        1 or 0.

    Raises
    ------
    ProtocolError
        If `radius` is negative.

    Notes
    -----
    The paper shows the number of queries; this is their share.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 5.2, figure 5.

    Examples
    --------
    >>> empty_balls(HammingCounts.from_histograms([[0, 2], [1, 1]], [[0, 1], [1, 0]]), radius=0)
    array([1., 0.])
    """
    return (counts.retrieved_within[:, nearest_radius(counts, radius)] == 0).astype(np.float64)


@declared
def lookups(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
    r"""Buckets to look up to retrieve all items within Hamming radius R of a query.

    .. math:: V(R) = \sum_{r \le R} \binom{Q}{r}

    Parameters
    ----------
    counts : HammingCounts
        Counts of codes of Q = ``counts.n_bits`` bits, including extension bits.
    radius : int
        R, at least 0; beyond n_bits, all buckets are looked up.
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 1 to 2^Q, equal for all queries; exact up to 2^53.

    Raises
    ------
    ProtocolError
        If `radius` is negative.

    Notes
    -----
    The paper multiplies by the time t_0 of one lookup. Empty buckets count, because a search must look them up to find
    that they are empty.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, table 1 and section 3.2.

    Examples
    --------
    For codes of 3 bits: the query's code, 3 codes at distance 1, and 3 at distance 2.

    >>> lookups(HammingCounts.from_histograms([[1, 0, 2, 0]], [[1, 0, 0, 0]]), radius=2)
    array([7.])
    """
    return volumes(counts.n_bits, nearest_radius(counts, radius))[-1:]


@declared
def ramap(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
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


@declared
def mlgap(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
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
