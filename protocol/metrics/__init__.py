"""Metrics as pure functions of the counts, one file per family."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.counting import HammingCounts
from protocol.metrics._cutoff import ORDERS, hypergeometric
from protocol.metrics._names import ALL, everything, keywords, needs
from protocol.metrics._pr_curve import AVERAGES, PRCurve, pr_curve
from protocol.metrics._top_n import TopNCurve, top_n_curve
from protocol.metrics._undefined import mean
from protocol.metrics.neighbours import neighbours_found

__all__ = [
    "ALL",
    "AVERAGES",
    "ORDERS",
    "PRCurve",
    "TopNCurve",
    "evaluate",
    "everything",
    "hypergeometric",
    "keywords",
    "mean",
    "needs",
    "neighbours_found",
    "pr_curve",
    "top_n_curve",
]


def evaluate(counts: HammingCounts, names: Iterable[str], *, empty: str = "zero") -> dict[str, NDArray[np.float64]]:
    """Compute metrics by name.

    Parameters
    ----------
    counts : HammingCounts
    names : iterable of str
        Names of registered metrics with their numbers, for example ``"mAP@1000[all]"`` or ``"RAMAP@r2"``.
    empty : {"zero", "drop"}, default="zero"
        The value of undefined results: 0, or NaN, which `mean` leaves out.

    Returns
    -------
    dict of str to ndarray of float64
        The values in the order of `names`: (n_queries,), or (1,) for metrics of the pooled queries or of the database.

    Raises
    ------
    ProtocolError
        If a name is unknown, or its number is not possible for the counts.

    Examples
    --------
    >>> counts = HammingCounts.from_histograms([[1, 1], [2, 0]], [[1, 0], [1, 0]])
    >>> evaluate(counts, ["precision@r0", "precision_micro@r0"])
    {'precision@r0': array([1. , 0.5]), 'precision_micro@r0': array([0.66666667])}
    """
    return {name: registry.get("metric", name)(counts, empty=empty) for name in names}
