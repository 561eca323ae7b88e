"""The share of the possible codes that the database uses."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.counting import HammingCounts
from protocol.metrics._undefined import EMPTY
from protocol.registry import MetricRecord


@MetricRecord(
    "utilisation",
    printed="Code utilisation",
    source="Mean Local Group Average Precision, section 3.3, figures 1 and 8, where the denominator is 2^n_bits",
    range=(0.0, 1.0),
    better="higher",
    empty="Always defined.",
    ties="None: the order of items plays no part.",
    defined_on="buckets",
    denominator="min(2^n_bits, database)",
    needs="bucket_sizes",
)
def utilisation(counts: HammingCounts, *, empty: str = "zero") -> NDArray[np.float64]:
    r"""Share of the codes that the database could use, min(2^n_bits, database), that at least one item has.

    .. math:: \frac{|\{\mathrm{codes\ of\ the\ database}\}|}{\min(2^Q, N)}

    A database of N items uses N codes at most, so 1 means that it uses as many codes of Q bits as it can.

    Parameters
    ----------
    counts : HammingCounts
    empty : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If `empty` is unknown.

    Notes
    -----
    The paper divides by all 2^Q codes. This gives the same value up to Q = log2(N) bits, 15 for CIFAR-10. Beyond that,
    the paper's value halves with every additional bit, even if all codes are distinct.

    References
    ----------
    *Mean Local Group Average Precision*, section 3.3.

    Examples
    --------
    Four items use two distinct codes. They could use four, both with 2 bits and with 10 bits.

    >>> utilisation(HammingCounts.from_histograms([[1, 3, 0]], [[1, 1, 0]]))
    array([0.5])
    >>> utilisation(HammingCounts.from_histograms([[1, 3, *[0] * 9]], [[1, 1, *[0] * 9]]))
    array([0.5])
    """
    one_of(empty, EMPTY, "empty")
    sizes = counts.requested("bucket_sizes")
    could = min(2**counts.n_bits, int(sizes.sum()))  # n_database is a multiple of it in pooled counts
    return np.array([sizes.size / could])
