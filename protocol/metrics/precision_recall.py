"""Precision, recall and F-measure of the Hamming ball, per query and pooled."""

from protocol.checks import positive_number
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


@declared
def f_measure(counts: HammingCounts, *, radius: int, beta: float = 1.0, undefined: str = "zero") -> Floats:
    r"""Weighted harmonic mean of precision and recall within Hamming radius R; beta is a number, as in F0.5@r2.

    .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}
        = \frac{(1 + \beta^2) TP}{(1 + \beta^2) TP + \beta^2 FN + FP}

    The right-hand denominator equals the number of items in the ball plus beta^2 times the number of relevant items.

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    beta : float, default=1.0
        Above 0. Values below 1 give more weight to precision, values above 1 to recall.
    undefined : {"zero", "drop"}, default="zero"
        A query with neither a relevant item nor an item in the ball: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `radius` is negative, `beta` is not a number above 0, or `undefined` is unknown.

    Notes
    -----
    The two forms agree if precision and recall are defined and not both 0. We compute the one on the right: it is 0 if
    no relevant item is found, even if the ball is empty, and 0/0 only if no item is relevant or retrieved. The function
    fbeta_score of scikit-learn does the same.

    The thesis combines macro-averaged precision and recall, which gives a single number for all queries that differs
    from the mean of this value.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.10.

    Examples
    --------
    Precision 1/2 and recall 1: 2/3. With beta = 1/2, precision weighs more: 5/4 / (2 + 1/4).

    >>> counts = HammingCounts.from_histograms([[2, 1]], [[1, 0]])
    >>> [f_measure(counts, radius=0, beta=beta).round(4).item() for beta in (1, 0.5)]
    [0.6667, 0.5556]
    """
    positive_number(beta, "beta")
    at = nearest_radius(counts, radius)
    weighted = counts.retrieved_within[:, at] + beta**2 * counts.n_relevant
    return ratio((1 + beta**2) * counts.relevant_within[:, at], weighted, undefined=undefined)


@declared
def f_measure_micro(counts: HammingCounts, *, radius: int, beta: float = 1.0, undefined: str = "zero") -> Floats:
    r"""Weighted harmonic mean of the pooled precision and recall within Hamming radius R, as in F0.5@r2[micro].

    .. math:: F_\beta = \frac{(1 + \beta^2) P_{micro} R_{micro}}{\beta^2 P_{micro} + R_{micro}}

    Parameters
    ----------
    counts : HammingCounts
    radius : int
        R, at least 0; beyond n_bits, the ball is the complete database.
    beta : float, default=1.0
        Above 0. Values below 1 give more weight to precision, values above 1 to recall.
    undefined : {"zero", "drop"}, default="zero"
        If no query has a relevant item or an item in its ball: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (1,)

    Raises
    ------
    ProtocolError
        If `radius` is negative, `beta` is not a number above 0, or `undefined` is unknown.

    Notes
    -----
    The toy example of the thesis (figure 3.4: TP = 3, FP = 1, FN = 2) has F1 = 2/3. The printed 0.78 is impossible for
    any beta, because F lies between the precision, 0.75, and the recall, 0.6.

    References
    ----------
    Moran 2016, thesis, section 3.6.1, eq. 3.8-3.10.

    Examples
    --------
    Figure 3.4, as two queries:

    >>> counts = HammingCounts.from_histograms([[1, 3], [3, 1]], [[1, 1], [2, 1]])
    >>> f_measure_micro(counts, radius=0).round(4)
    array([0.6667])
    """
    return f_measure(counts.pooled, radius=radius, beta=beta, undefined=undefined)
