"""Normalised discounted cumulative gain of the Hamming ranking, for graded relevance."""

from functools import lru_cache

import numpy as np

from protocol.checks import ProtocolError, one_of
from protocol.counting.counts import Floats, HammingCounts
from protocol.metrics._records import declared
from protocol.metrics._ties import TIES, places, ratio, running_sums

GAINS = ("exponential", "linear")
_HIGHEST_LEVEL = 1000  # its gain still fits in a float64


@declared
def ndcg(
    counts: HammingCounts,
    *,
    cutoff: int | None = None,
    gain: str = "exponential",
    ties: str = "expected",
    undefined: str = "zero",
) -> Floats:
    r"""Discounted gain of the ranking, relative to the best order, as the expected value over ties.

    .. math:: DCG@K = \sum_{t=1}^{K} \frac{g(t)}{\log_2(1 + t)}, \quad
        g(t) = 2^{\mathrm{level}(t)} - 1 \;\text{or}\; \mathrm{level}(t), \quad
        nDCG@K = E\left[\frac{DCG@K}{\max DCG@K}\right]

    The maximum is over all orders of the database. Because an item of a tie is equally often at each rank of the tie,
    the expected gain at a rank is the mean gain of its tie.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int, optional
        K, at least 1; exact even if it divides a tie. The complete database if None or larger.
    gain : {"exponential", "linear"}, default="exponential"
        The gain of an item: 2^level - 1, or its level. With a single level, both give the same value.
    ties : {"expected", "best", "worst", "index"}, default="expected"
        The mean over all orders of tied items; higher levels first, or last; or the order of the database, which
        requires ``count(..., index_order=True)``.
    undefined : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If an option is unknown, `cutoff` is below 1, or a level is above 1000 and the gain exponential. If ``index`` is
        requested with a cutoff, or was not counted.

    Notes
    -----
    TALR and the paper on evaluation metrics have the exponential gain. trec_eval, scikit-learn and ranx (``ndcg``) have
    the linear one of Järvelin and Kekäläinen.

    The paper does not state whether the best ranking is of the complete database or of the retrieved items. Here it is
    the database, as in TALR; with the retrieved items, a ranking that finds one of a hundred relevant items and puts it
    first would have the value 1. The released code of TALR gives 1 to a query without relevant items, which raises
    the mean; here the value is 0, or left out. That code also computes gains in 8-bit integers, so the gain of any
    level above 6 is 126.

    References
    ----------
    *Evaluation metrics* (mAP@p, nDCG@p), eq. 6-9.
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, eq. 7 and 20-23.
    Järvelin and Kekäläinen 2002, *Cumulated Gain-Based Evaluation of IR Techniques* (linear gain).

    Examples
    --------
    One of two tied items is relevant, with the discounts 1 and 1 / log2(3) = 0.6309 equally often.

    >>> ndcg(HammingCounts.from_histograms([[2, 0]], [[1, 0]])).round(4)
    array([0.8155])
    """
    one_of(gain, GAINS, "gain")
    one_of(ties, TIES, "ties")
    top = places(counts, cutoff)
    if gain == "exponential" and counts.levels[-1] > _HIGHEST_LEVEL:
        raise ProtocolError(f"nDCG: levels must be at most {_HIGHEST_LEVEL}, got {counts.levels[-1]}.")
    gains = np.exp2(counts.levels) - 1 if gain == "exponential" else counts.levels.astype(np.float64)
    discount_until = _discounts_until(counts.n_database)
    if ties == "index":
        if top < counts.n_database:
            raise ProtocolError(f"nDCG: ties='index' needs cutoff=None, got {top:,}. Use ties='expected'.")
        dcg: Floats = counts.requested("index_discounts") @ gains
    elif ties == "expected":
        discount = np.diff(discount_until[np.minimum(counts.retrieved_within, top)], axis=1, prepend=0.0)
        dcg = (np.einsum("l,qlr->qr", gains, counts.at_level) / np.maximum(counts.retrieved, 1) * discount).sum(axis=1)
    else:
        dcg = np.zeros(counts.n_queries)
        last = counts.retrieved_within - (counts.retrieved if ties == "best" else counts.relevant)
        until = discount_until[np.minimum(last, top)]
        for level in np.flatnonzero(counts.at_level.any(axis=(0, 2)))[:: -1 if ties == "best" else 1]:
            last = last + counts.at_level[:, level]
            before, until = until, discount_until[np.minimum(last, top)]
            dcg += gains[level] * (until - before).sum(axis=1)
    at_least = counts.at_level.sum(axis=2)[:, ::-1].cumsum(axis=1)  # items at or above each level, highest level first
    best = np.diff(discount_until[np.minimum(at_least, top)], axis=1, prepend=0.0) @ gains[::-1]
    return ratio(dcg, best, undefined=undefined)


@lru_cache(maxsize=1)  # all counts of a database need it
def _discounts_until(n: int) -> Floats:
    """Return the sum of the discounts of ranks 1 to 0, 1, ..., n, (n + 1,)."""
    return running_sums(n, lambda ranks: 1 / np.log2(ranks + 1))
