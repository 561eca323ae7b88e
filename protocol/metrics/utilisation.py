"""How much of the code space the database uses."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.metrics._undefined import EMPTY
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord


@MetricRecord(
    "utilisation",
    source="Mean Local Group Average Precision, section 3.3, figures 1 and 8",
    range=(0.0, 1.0),
    better="higher",
    empty="Always defined.",
    ties="None: the order of items plays no part.",
    denominator="all codes, 2^n_bits",
)
def utilisation(counts: HammingCounts, *, empty: str = "zero") -> NDArray[np.float64]:
    r"""Share of the 2^n_bits codes that at least one database item has.

    Parameters
    ----------
    counts : HammingCounts
    empty : {"zero", "drop"}, default="zero"
        Changes nothing: the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If `empty` is unknown.

    Notes
    -----
    A database of N items uses at most N codes, so at 32 bits and more the value is small for any hasher.

    References
    ----------
    *Mean Local Group Average Precision*, section 3.3.

    Examples
    --------
    Two of four codes.

    >>> utilisation(HammingCounts.from_histograms([[1, 3, 0]], [[1, 1, 0]]))
    array([0.5])
    """
    one_of(empty, EMPTY, "empty")
    return np.atleast_1d(np.ldexp(float(counts.bucket_sizes.size), -counts.n_bits))
