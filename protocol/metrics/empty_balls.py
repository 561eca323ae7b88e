"""Queries without any database item within a Hamming radius."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._balls import nearest_radius
from protocol.metrics._undefined import EMPTY
from protocol.registry import MetricRecord


@MetricRecord(
    "empty@rR",
    printed="Queries without an item within radius {radius}",
    source="Jiang, Li, Li, On the Evaluation Metric for Hashing, section 5.2, figure 5",
    range=(0.0, 1.0),
    better="lower",
    empty="Always defined.",
    ties="None: a ball holds all items at a distance or none.",
    defined_on="radius",
    denominator="queries",
    beyond="If R exceeds n_bits, the ball is the complete database.",
)
def empty_balls(counts: HammingCounts, *, radius: int, empty: str = "zero") -> NDArray[np.float64]:
    r"""Whether no database item lies within Hamming radius R; the mean is the share of such queries.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    empty : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        1 or 0.

    Raises
    ------
    ProtocolError
        If `radius` is negative, or `empty` is unknown.

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
    one_of(empty, EMPTY, "empty")
    return (counts.retrieved_within[:, nearest_radius(counts, radius)] == 0).astype(np.float64)
