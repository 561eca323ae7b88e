"""How evenly the database is spread over its buckets, the items that share a code."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of
from protocol.metrics._undefined import EMPTY, ratio
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord

_metric = partial(
    MetricRecord, ties="None: the order of items plays no part.", defined_on="buckets", needs="bucket_sizes"
)


@_metric(
    "entropy",
    printed="Code entropy",
    source="Shannon 1948, A Mathematical Theory of Communication, section 6; in none of the papers reproduced here",
    range=(0.0, float("inf")),
    better="higher",
    empty="Always defined.",
    denominator="None: in bits, not divided by the largest possible value.",
)
def entropy(counts: HammingCounts, *, empty: str = "zero") -> NDArray[np.float64]:
    r"""Entropy of the code of a random database item, in bits.

    .. math:: H = \sum_b \frac{|b|}{N} \log_2 \frac{N}{|b|}

    Parameters
    ----------
    counts : HammingCounts
    empty : {"zero", "drop"}, default="zero"
        Changes nothing: the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 0, one bucket, to min(n_bits, log2 N), buckets as even as can be.

    Raises
    ------
    ProtocolError
        If `empty` is unknown.

    Notes
    -----
    In bits, so that it reads beside the length of the code: codes of 32 bits with an entropy of 11 tell items apart as
    well as 11 even bits would. It is that of the database at hand, of N items, and stays below log2 N for any hasher:
    compare databases of one size.

    References
    ----------
    Shannon 1948, *A Mathematical Theory of Communication*, section 6.
    *Mean Local Group Average Precision*, section 3.3 and figure 1, for what it is about: how codes are distributed.

    Examples
    --------
    Half of the items in one bucket and a quarter in each of two: 1/2 * 1 + 1/4 * 2 + 1/4 * 2.

    >>> entropy(HammingCounts.from_histograms([[2, 1, 1]], [[1, 0, 0]]))
    array([1.5])
    """
    one_of(empty, EMPTY, "empty")
    sizes = counts.requested("bucket_sizes")
    return np.atleast_1d(sizes @ np.log2(sizes.sum() / sizes) / sizes.sum())


@_metric(
    "collision",
    printed="Collision probability",
    source="Simpson 1949, Measurement of Diversity; Mean Local Group Average Precision, section 3.3, without a formula",
    range=(0.0, 1.0),
    better="lower",
    empty="A database of one item has no pair: 0, or left out.",
    denominator="pairs of different database items",
)
def collision(counts: HammingCounts, *, empty: str = "zero") -> NDArray[np.float64]:
    r"""Chance that two different random database items share a code.

    .. math:: \frac{\sum_b |b| (|b| - 1)}{N (N - 1)}

    Parameters
    ----------
    counts : HammingCounts
    empty : {"zero", "drop"}, default="zero"
        A database of one item: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)
        0 if every item has a code of its own, 1 if all share one.

    Raises
    ------
    ProtocolError
        If `empty` is unknown.

    Notes
    -----
    The two items are drawn without putting the first one back, so that the value doesn't depend on the size of the
    database by itself: its expected value over random databases is the chance for two new items. The papers speak of
    collision without a formula; this is the probability of hash tables, not the share of items that are not alone.

    References
    ----------
    Simpson 1949, *Measurement of Diversity*, Nature 163.
    *Mean Local Group Average Precision*, section 3.3.

    Examples
    --------
    Of the 6 pairs of 4 items, those of the 2 items in one bucket: 1.

    >>> collision(HammingCounts.from_histograms([[2, 1, 1]], [[1, 0, 0]])).round(4)
    array([0.1667])
    """
    sizes = counts.requested("bucket_sizes").astype(np.float64)
    n_items = sizes.sum()
    return np.atleast_1d(ratio(sizes @ (sizes - 1), n_items * (n_items - 1), empty=empty))


@_metric(
    "largest_bucket",
    printed="Largest bucket",
    source="Mean Local Group Average Precision, eq. 10 (largest bucket), of the whole code space",
    range=(0.0, 1.0),
    better="lower",
    empty="Always defined.",
    denominator="items of the database",
)
def largest_bucket(counts: HammingCounts, *, empty: str = "zero") -> NDArray[np.float64]:
    r"""Share of the database in its fullest bucket.

    .. math:: \max_b |b| / N

    Parameters
    ----------
    counts : HammingCounts
    empty : {"zero", "drop"}, default="zero"
        Changes nothing: the value is always defined.

    Returns
    -------
    ndarray of float64, shape (1,)
        From 1 / N, every item has a code of its own, to 1, all share one.

    Raises
    ------
    ProtocolError
        If `empty` is unknown.

    Notes
    -----
    The most items that one look-up can bring. `mlgap` takes the largest bucket within each query's ball instead.

    References
    ----------
    *Mean Local Group Average Precision*, eq. 10.

    Examples
    --------
    >>> largest_bucket(HammingCounts.from_histograms([[2, 1, 1]], [[1, 0, 0]]))
    array([0.5])
    """
    one_of(empty, EMPTY, "empty")
    sizes = counts.requested("bucket_sizes")
    return np.atleast_1d(sizes.max() / sizes.sum())
