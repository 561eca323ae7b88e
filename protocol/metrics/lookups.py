"""The number of bucket lookups of a search within a Hamming radius."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._balls import nearest_radius, volumes
from protocol.metrics._undefined import EMPTY
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
    beyond="If R exceeds n_bits, all 2^n_bits buckets are looked up.",
)
def lookups(counts: HammingCounts, *, radius: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Buckets to look up to retrieve all items within Hamming radius R of a query.

    .. math:: V(R) = \sum_{r \le R} \binom{Q}{r}

    Parameters
    ----------
    counts : HammingCounts
        Counts of codes of Q = ``counts.n_bits`` bits, including extension bits.
    radius : int
        R, at least 0; beyond n_bits, all buckets are looked up.
    empty : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 1 to 2^Q, equal for all queries; exact up to 2^53.

    Raises
    ------
    ProtocolError
        If `radius` is negative, or `empty` is unknown.

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
    one_of(empty, EMPTY, "empty")
    return volumes(counts.n_bits, nearest_radius(counts, radius))[-1:]
