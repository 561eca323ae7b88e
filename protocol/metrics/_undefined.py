"""The treatment of undefined values (0 / 0), and the mean that leaves them out."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import one_of

EMPTY = ("zero", "drop")


def mean(values: ArrayLike) -> float:
    """Return the mean over the queries without NaN; NaN if no value remains.

    Every mean of values per query in this package is computed by this function.

    Examples
    --------
    >>> mean([1.0, 0.5, float("nan")])
    0.75
    """
    array = np.asarray(values, dtype=np.float64)
    defined = array[~np.isnan(array)]
    return float(defined.mean()) if defined.size else float("nan")


def undefined(empty: str) -> float:
    """Return the value of undefined results: 0 (``zero``), or NaN, which `mean` leaves out (``drop``).

    Raises
    ------
    ProtocolError
        If `empty` is neither ``zero`` nor ``drop``.
    """
    return 0.0 if one_of(empty, EMPTY, "empty") == "zero" else np.nan


def ratio(numerator: ArrayLike, denominator: ArrayLike, *, empty: str) -> NDArray[np.float64]:
    """Return numerator / denominator, `undefined` where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, undefined(empty)), where=below != 0)
