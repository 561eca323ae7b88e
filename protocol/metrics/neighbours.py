"""Recall after binarisation: the share of the nearest items, by the original vectors, among the top K by code."""

from protocol.checks import ProtocolError
from protocol.counting.counts import Floats, HammingCounts
from protocol.metrics._records import declared
from protocol.metrics._ties import places, relevant_among


def neighbours_found(counts: HammingCounts, *, nearest: int, retrieved: int, ties: str = "expected") -> Floats:
    r"""Return the share of the `nearest` true neighbours that are found by exact re-ranking of the top `retrieved`.

    .. math:: \frac{\min(|\mathrm{top}_N \cap R_K|, K)}{K}

    R_K are the items that are no farther from the query than its K-th nearest item, which are more than K if several
    are equally far. Any K of them are a correct result, so no more than K count. N = K gives ``neighbours@K``; K = 1
    with N retrieved items gives ``1-recall@K``; N = cK gives the share after re-ranking by exact distances.

    Parameters
    ----------
    counts : HammingCounts
        With the items of R_K as the relevant ones.
    nearest : int
        K, at least 1.
    retrieved : int
        N, at least 1; the complete database if larger.
    ties : {"expected", "best", "worst"}, default="expected"
        The mean over the orders of items at equal Hamming distance, in closed form; items of R_K first, or last.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `retrieved` is below 1, `ties` is unknown, or a query has fewer than K relevant items.

    Examples
    --------
    One of two nearest items is at distance 0, the other is tied with two more items at distance 1.

    >>> counts = HammingCounts.from_histograms([[1, 3]], [[1, 1]])
    >>> [neighbours_found(counts, nearest=2, retrieved=n).item() for n in (1, 2, 4)]
    [0.5, 0.6666666666666666, 1.0]
    """
    fewest = int(counts.n_relevant.min())
    if fewest < nearest:
        needed = f"the relevant items of each query must be its {nearest:,} nearest"
        raise ProtocolError(f"counts: {needed}, but a query has {fewest:,}.")
    return relevant_among(counts, places(counts, retrieved), ties=ties, at_most=nearest) / nearest


@declared
def neighbours_at_cutoff(
    counts: HammingCounts, *, cutoff: int, ties: str = "expected", undefined: str = "zero"
) -> Floats:
    r"""Share of the K nearest items, by the vectors, that are among the top K, as the expected value over ties.

    .. math:: \mathrm{neighbours}@K = \frac{|\mathrm{top}_K \cap R_K|}{K}

    R_K are the items that are no farther from the query than its K-th nearest item by the original vectors: K items, or
    more if several are as far as the K-th.

    Parameters
    ----------
    counts : HammingCounts
        With the items of R_K as the relevant ones.
    cutoff : int
        K, at least 1; exact even if it divides a tie.
    ties : {"expected", "best", "worst"}, default="expected"
        Mean over the orders of items at equal Hamming distance; items of R_K first, or last.
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If a query has fewer than K relevant items, because these can't be the K nearest, or an option is unknown.

    Notes
    -----
    This is P@K if the K nearest items are the relevant ones. ann-benchmarks also counts by distance, so that any item
    as near as the K-th counts.

    References
    ----------
    Aumueller, Bernhardsson and Faithfull 2020, *ANN-Benchmarks: A Benchmarking Tool for Approximate Nearest Neighbor
    Algorithms*, section 2 (recall).

    Examples
    --------
    One of the two nearest items is certainly in the top 2, the other is one of two tied items: (1 + 1/2) / 2.

    >>> neighbours_at_cutoff(HammingCounts.from_histograms([[1, 2]], [[1, 1]]), cutoff=2)
    array([0.75])
    """
    return neighbours_found(counts, nearest=cutoff, retrieved=cutoff, ties=ties)


@declared
def first_neighbour_at_cutoff(
    counts: HammingCounts, *, cutoff: int, ties: str = "expected", undefined: str = "zero"
) -> Floats:
    """Whether the nearest item is among the top K; the mean is the share of such queries.

    If several items are equally near, one of them in the top K suffices.

    Parameters
    ----------
    counts : HammingCounts
        With the nearest item of each query as the relevant one, or those equally near.
    cutoff : int
        K, at least 1; exact even if it divides a tie. The complete database if larger.
    ties : {"expected", "best", "worst"}, default="expected"
        The share of the orders of tied items in which a nearest item is found; or nearest items first, or last.
    undefined : {"zero", "drop"}, default="zero"
        It has no effect, because the value is always defined.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If a query has no relevant item, `cutoff` is below 1, or an option is unknown.

    References
    ----------
    Jegou, Douze and Schmid 2011, *Product Quantization for Nearest Neighbor Search*, section V-A (recall@R).

    Examples
    --------
    The nearest item is one of three at distance 1, after another item.

    >>> counts = HammingCounts.from_histograms([[1, 3]], [[0, 1]])
    >>> [round(first_neighbour_at_cutoff(counts, cutoff=k).item(), 4) for k in (1, 2, 4)]
    [0.0, 0.3333, 1.0]
    """
    return neighbours_found(counts, nearest=1, retrieved=cutoff, ties=ties)
