"""Precision and recall of the Hamming ball, per query and pooled."""

from protocol.counting.counts import Floats, HammingCounts
from protocol.metrics._records import declared
from protocol.metrics._ties import ratio
from protocol.metrics.hamming_balls import nearest_radius


@declared
def precision(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
    r"""Share of the items within Hamming radius R that are relevant.

    .. math:: P(R) = \frac{\sum_{r \le R} n^+_r}{\sum_{r \le R} n_r}

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    undefined : {"zero", "drop"}, default="zero"
        A query with an empty ball: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative.

    Notes
    -----
    An empty ball has precision 0 in the RAMAP paper (table 2, where different-extension codes have 0.0000 at radius 0)
    and in the published code of GRH, MIH and DeepHash. Section 3.2 of the RAMAP paper also uses the name
    precision(y, R) for the value divided by the search cost, which is a term of `ramap`.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, table 1 and section 3.2.
    *Mean Local Group Average Precision*, section 3.1.

    Examples
    --------
    >>> precision(HammingCounts.from_histograms([[1, 3, 0]], [[1, 1, 0]]), radius=1)
    array([0.5])
    """
    at = nearest_radius(counts, radius)
    return ratio(counts.relevant_within[:, at], counts.retrieved_within[:, at], undefined=undefined)


@declared
def recall(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
    r"""Share of a query's relevant items that lie within Hamming radius R.

    .. math:: \mathrm{recall}(R) = \frac{1}{N^+} \sum_{r \le R} n^+_r

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    undefined : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative.

    References
    ----------
    Jiang, Li, Li, *On the Evaluation Metric for Hashing*, section 2.4 and table 3.

    Examples
    --------
    >>> recall(HammingCounts.from_histograms([[1, 3, 4]], [[1, 1, 2]]), radius=1)
    array([0.5])
    """
    return ratio(counts.relevant_within[:, nearest_radius(counts, radius)], counts.n_relevant, undefined=undefined)


@declared
def precision_micro(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
    r"""Share of the items within Hamming radius R of any query that are relevant to it, all queries pooled.

    .. math:: P(R) = \frac{\sum_q \sum_{r \le R} n^+_{q,r}}{\sum_q \sum_{r \le R} n_{q,r}}

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    undefined : {"zero", "drop"}, default="zero"
        If the ball is empty for every query: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If `radius` is negative.

    Notes
    -----
    The thesis does not define 0/0; its code sets 0.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.8.

    Examples
    --------
    >>> precision_micro(HammingCounts.from_histograms([[1, 1], [2, 0]], [[1, 0], [1, 0]]), radius=0).round(4)
    array([0.6667])
    """
    return precision(counts.pooled, radius=radius, undefined=undefined)


@declared
def recall_micro(counts: HammingCounts, *, radius: int, undefined: str = "zero") -> Floats:
    r"""Share of all relevant pairs that lie within Hamming radius R, all queries pooled.

    .. math:: \mathrm{recall}(R) = \frac{\sum_q \sum_{r \le R} n^+_{q,r}}{\sum_q N^+_q}

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    undefined : {"zero", "drop"}, default="zero"
        If no query has a relevant item: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If `radius` is negative.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.9.

    Examples
    --------
    >>> recall_micro(HammingCounts.from_histograms([[1, 2], [2, 1]], [[1, 0], [1, 1]]), radius=0).round(4)
    array([0.6667])
    """
    return recall(counts.pooled, radius=radius, undefined=undefined)
