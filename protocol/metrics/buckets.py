"""How evenly the database is spread over its buckets, the sets of items with the same code."""

import numpy as np

from protocol.counting.counts import Floats, HammingCounts
from protocol.metrics._records import declared
from protocol.metrics._ties import ratio


@declared
def entropy(counts: HammingCounts, *, undefined: str = "zero") -> Floats:
    r"""Entropy of the code of a random database item, in bits.

    .. math:: H = \sum_b \frac{|b|}{N} \log_2 \frac{N}{|b|}

    Parameters
    ----------
    counts : HammingCounts
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 0 (a single bucket) to min(n_bits, log2 N) (buckets of equal size).

    Raises
    ------
    ProtocolError
        If the buckets were not counted.

    Notes
    -----
    The unit is bits, to be compared with the code length: codes of 32 bits with an entropy of 11 distinguish items as
    well as 11 balanced, independent bits. It is the entropy of the given database of N items, which never exceeds
    log2 N, so only databases of equal size should be compared.

    References
    ----------
    Shannon 1948, *A Mathematical Theory of Communication*, section 6.
    *Mean Local Group Average Precision*, section 3.3 and figure 1, discusses the distribution of codes.

    Examples
    --------
    Half of the items are in one bucket, and a quarter in each of two others: 1/2 * 1 + 1/4 * 2 + 1/4 * 2.

    >>> entropy(HammingCounts.from_histograms([[2, 1, 1]], [[1, 0, 0]]))
    array([1.5])
    """
    sizes = counts.requested("bucket_sizes")
    return np.atleast_1d(sizes @ np.log2(sizes.sum() / sizes) / sizes.sum())


@declared
def collision(counts: HammingCounts, *, undefined: str = "zero") -> Floats:
    r"""Probability that two different random database items have the same code.

    .. math:: \frac{\sum_b |b| (|b| - 1)}{N (N - 1)}

    Parameters
    ----------
    counts : HammingCounts
    undefined : {"zero", "drop"}, default="zero"
        A database of one item: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)
        0 if all codes are distinct, 1 if all are equal.

    Raises
    ------
    ProtocolError
        If the buckets were not counted, or `undefined` is unknown.

    Notes
    -----
    The two items are drawn without replacement, so the value does not depend on the size of the database as such: its
    expected value over random databases is the probability for two new items. The papers mention collisions without a
    formula. This is the collision probability of hash tables, not the share of items that share their bucket.

    References
    ----------
    Simpson 1949, *Measurement of Diversity*, Nature 163.
    *Mean Local Group Average Precision*, section 3.3.

    Examples
    --------
    Of the 6 pairs of 4 items, 1 pair is in the same bucket.

    >>> collision(HammingCounts.from_histograms([[2, 1, 1]], [[1, 0, 0]])).round(4)
    array([0.1667])
    """
    sizes = counts.requested("bucket_sizes").astype(np.float64)
    n_items = sizes.sum()
    return np.atleast_1d(ratio(sizes @ (sizes - 1), n_items * (n_items - 1), undefined=undefined))


@declared
def largest_bucket(counts: HammingCounts, *, undefined: str = "zero") -> Floats:
    r"""Share of the database in its largest bucket.

    .. math:: \max_b |b| / N

    Parameters
    ----------
    counts : HammingCounts
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 1 / N (all codes are distinct) to 1 (all are equal).

    Raises
    ------
    ProtocolError
        If the buckets were not counted.

    Notes
    -----
    It is the largest share of items that one lookup can return. `mlgap` uses the largest bucket within each query's
    ball instead.

    References
    ----------
    *Mean Local Group Average Precision*, eq. 10.

    Examples
    --------
    >>> largest_bucket(HammingCounts.from_histograms([[2, 1, 1]], [[1, 0, 0]]))
    array([0.5])
    """
    sizes = counts.requested("bucket_sizes")
    return np.atleast_1d(sizes.max() / sizes.sum())


@declared
def utilisation(counts: HammingCounts, *, undefined: str = "zero") -> Floats:
    r"""Share of the 2^n_bits codes (or of one code per item, if that is less) that occur in the database.

    .. math:: \frac{|\{\mathrm{codes\ of\ the\ database}\}|}{\min(2^Q, N)}

    A database of N items uses N codes at most, so 1 means that it uses as many codes of Q bits as it can.

    Parameters
    ----------
    counts : HammingCounts
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If the buckets were not counted.

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
    sizes = counts.requested("bucket_sizes")
    could = min(2**counts.n_bits, int(sizes.sum()))  # n_database is a multiple of it in pooled counts
    return np.array([sizes.size / could])
