"""What a bucket search costs."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.metrics._balls import nearest_radius, volumes
from protocol.metrics._undefined import EMPTY
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord


@MetricRecord(
    "lookups@rR",
    printed="Lookups within radius {radius}",
    source="Jiang, Li, Li, On the Evaluation Metric for Hashing, table 1 (time cost)",
    range=(1.0, float("inf")),
    better="lower",
    empty="Always defined.",
    ties="None: the order of items plays no part.",
    defined_on="radius",
    denominator="None: a number of buckets.",
    beyond="R above n_bits is every bucket, 2^n_bits.",
)
def lookups(counts: HammingCounts, *, radius: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Buckets to look up for everything within Hamming radius R of a query.

    .. math:: V(R) = \sum_{r \le R} \binom{Q}{r}

    Parameters
    ----------
    counts : HammingCounts
        Of codes of Q = ``counts.n_bits`` bits, extension bits included.
    radius : int
        R, at least 0; beyond n_bits every bucket is looked up.
    empty : {"zero", "drop"}, default="zero"
        Changes nothing: the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 1 to 2^Q. Every query has the same; exact up to 2^53.

    Raises
    ------
    ProtocolError
        If `radius` is negative, or `empty` is unknown.

    Notes
    -----
    The paper multiplies by the time t_0 of one look-up. Buckets that hold nothing are counted: a search has to look
    them up to know.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, table 1 and section 3.2.

    Examples
    --------
    Codes of 3 bits: the query's own, 3 at distance 1, 3 at distance 2.

    >>> lookups(HammingCounts.from_histograms([[1, 0, 2, 0]], [[1, 0, 0, 0]]), radius=2)
    array([7.])
    """
    one_of(empty, EMPTY, "empty")
    return volumes(counts.n_bits, nearest_radius(counts, radius))[-1:]
