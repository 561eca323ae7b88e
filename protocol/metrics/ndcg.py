"""Normalised discounted cumulative gain of the Hamming ranking, for graded relevance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.metrics._cutoff import places
from protocol.metrics._undefined import ratio
from protocol.ranking import HammingCounts
from protocol.registry import register

_HIGHEST_LEVEL = 1000  # its gain still fits a float64
_SOURCE = "Evaluation metrics (mAP@p, nDCG@p), eq. 6-9; He et al., Hashing as Tie-Aware Learning to Rank, eq. 7"
_FACTS: dict[str, Any] = {
    "source": _SOURCE,
    "range": (0.0, 1.0),
    "better": "higher",
    "empty": "A query without relevant items counts 0, or is left out.",
    "ties": "Expected value over all orders of tied items, in closed form.",
}


@register(
    "metric",
    "nDCG",
    denominator="DCG of the best order of the whole database",
    summary="Discounted gain of the whole ranking over that of the best order, expected over ties.",
    **_FACTS,
)
@register(
    "metric",
    "nDCG@K",
    denominator="DCG of the top K of the best order of the whole database",
    summary="Discounted gain of the top K over that of the best order, expected over ties.",
    **_FACTS,
)
def ndcg(counts: HammingCounts, *, cutoff: int | None = None, empty: str = "zero") -> NDArray[np.float64]:
    r"""Discounted gain of the ranking over that of the best order of the database, expected over ties.

    .. math:: DCG@K = \sum_{t=1}^{K} \frac{2^{\mathrm{level}(t)} - 1}{\log_2(1 + t)}, \quad
        nDCG@K = \frac{E[DCG@K]}{\max DCG@K}

    An item of a tie is at each of its ranks equally often, so a rank's expected gain is the mean gain of its tie.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int, optional
        K, at least 1; exact also where it divides a tie. The whole database if None or larger.
    empty : {"zero", "drop"}, default="zero"
        A query without relevant items: 0, or NaN.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If `cutoff` is below 1, or a level is above 1000.

    Notes
    -----
    The paper does not say whether the best possible ranking is of the whole database or of the retrieved items; it is
    of the database here, as in TALR. TALR's released code gives 1 to a query without relevant items, which raises the
    mean; here it has 0, or is left out. That code also computes gains in 8-bit integers, where a level above 6 has
    a gain of 126.

    References
    ----------
    *Evaluation metrics* (mAP@p, nDCG@p), eq. 6-9.
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, eq. 7 and 20-23.

    Examples
    --------
    One relevant item of two tied ones has the discounts 1 and 1 / log2(3) = 0.6309 equally often.

    >>> ndcg(HammingCounts.from_histograms([[2, 0]], [[1, 0]])).round(4)
    array([0.8155])
    """
    top = places(counts, cutoff)
    if counts.levels[-1] > _HIGHEST_LEVEL:
        raise ProtocolError(f"nDCG: wanted levels up to {_HIGHEST_LEVEL}, came {counts.levels[-1]}")
    gains = np.exp2(counts.levels) - 1
    discount_until = np.append(0.0, np.cumsum(1 / np.log2(np.arange(2, counts.n_database + 2))))
    gained = np.einsum("l,qlr->qr", gains, counts.at_level) / np.maximum(counts.retrieved, 1)
    discount = np.diff(discount_until[np.minimum(counts.retrieved_within, top)], axis=1, prepend=0.0)
    return ratio((gained * discount).sum(axis=1), _best(counts, gains, discount_until, top), empty=empty)


def _best(
    counts: HammingCounts, gains: NDArray[np.float64], discount_until: NDArray[np.float64], top: int
) -> NDArray[np.float64]:
    """Return the largest DCG of the top `top` items in any order of the database, (n_queries,)."""
    at_least = counts.at_level.sum(axis=2)[:, ::-1].cumsum(axis=1)  # items at a level or above, highest level first
    return np.diff(discount_until[np.minimum(at_least, top)], axis=1, prepend=0.0) @ gains[::-1]
