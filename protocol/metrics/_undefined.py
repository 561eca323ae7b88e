"""What 0 / 0 is: the one place that decides."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import one_of

EMPTY = ("zero", "drop")


def ratio(numerator: ArrayLike, denominator: ArrayLike, *, empty: str) -> NDArray[np.float64]:
    """Return numerator / denominator; where the denominator is 0, 0 (``zero``) or NaN, to be left out (``drop``).

    Raises
    ------
    ProtocolError
        If `empty` is neither.
    """
    undefined = 0.0 if one_of(empty, EMPTY, "empty") == "zero" else np.nan
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, undefined), where=below != 0)
