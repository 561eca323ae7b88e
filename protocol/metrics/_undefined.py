"""What 0 / 0 is, and the mean that leaves it out: the one place that decides."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import one_of

EMPTY = ("zero", "drop")


def mean(values: ArrayLike) -> float:
    """Return the mean over the queries, NaN left out; NaN if nothing is left.

    Every mean of per-query values is taken here.

    Examples
    --------
    >>> mean([1.0, 0.5, float("nan")])
    0.75
    """
    array = np.asarray(values, dtype=np.float64)
    defined = array[~np.isnan(array)]
    return float(defined.mean()) if defined.size else float("nan")


def undefined(empty: str) -> float:
    """Return what an undefined value is: 0 (``zero``), or NaN, to be left out (``drop``).

    Raises
    ------
    ProtocolError
        If `empty` is neither.
    """
    return 0.0 if one_of(empty, EMPTY, "empty") == "zero" else np.nan


def ratio(numerator: ArrayLike, denominator: ArrayLike, *, empty: str) -> NDArray[np.float64]:
    """Return numerator / denominator, `undefined` where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, undefined(empty)), where=below != 0)
