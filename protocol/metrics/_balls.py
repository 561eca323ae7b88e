"""Hamming balls: radii, volumes, and the mean over radii that RAMAP and mLGAP share."""

from itertools import accumulate
from math import comb

import numpy as np
from numpy.typing import NDArray

from protocol.checks import integer
from protocol.counting import HammingCounts
from protocol.metrics._undefined import ratio


def nearest_radius(counts: HammingCounts, radius: int) -> int:
    """Return `radius`, or n_bits if it is larger, because the ball then is the complete database.

    Raises
    ------
    ProtocolError
        If `radius` is negative.
    """
    return min(integer(radius, "radius", minimum=0), counts.n_bits)


def volumes(n_bits: int, radius: int) -> NDArray[np.float64]:
    r"""Return the number of codes of `n_bits` bits within radius 0, 1, ..., `radius` of a code, (radius + 1,).

    .. math:: V(r) = \sum_{i \le r} \binom{Q}{i}

    Examples
    --------
    >>> volumes(3, 3)
    array([1., 4., 7., 8.])
    """
    return np.array(list(accumulate(comb(n_bits, i) for i in range(radius + 1))), dtype=np.float64)


def mean_over_radii(
    counts: HammingCounts, radius: int, denominator: NDArray[np.int64], *, empty: str
) -> NDArray[np.float64]:
    """Return the mean over r = 0..R of relevant(r) / (denominator(r) V(r)), with the volume V(r) from `volumes`.

    With ``empty="drop"``, radii with an empty ball are left out of the mean of a query.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at most the number of bits.
    denominator : ndarray of int64, shape (n_queries, n_bits + 1)
        0 exactly where the ball is empty.
    empty : {"zero", "drop"}

    Raises
    ------
    ProtocolError
        If `radius` is negative or above the number of bits, because the mean would include balls that do not exist.
    """
    integer(radius, "radius", minimum=0, maximum=counts.n_bits)
    upto = slice(radius + 1)
    volume = volumes(counts.n_bits, radius)
    terms = ratio(counts.relevant_within[:, upto], denominator[:, upto] * volume, empty=empty)
    return ratio(np.nansum(terms, axis=1), (~np.isnan(terms)).sum(axis=1), empty=empty)
