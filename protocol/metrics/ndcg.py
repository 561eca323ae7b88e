"""Normalised discounted cumulative gain of the Hamming ranking, for graded relevance."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.metrics._cutoff import hypergeometric, last_distance, places, running_sums
from protocol.metrics._undefined import ratio
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord

IDEALS = ("database", "retrieved")
_HIGHEST_LEVEL = 1000  # its gain still fits a float64
_MOST_DRAWS = 1_000_000  # what a query may take: some megabytes and a tenth of a second
_SOURCE = "Evaluation metrics (mAP@p, nDCG@p), eq. 6-9; He et al., Hashing as Tie-Aware Learning to Rank, eq. 7"
_metric = partial(
    MetricRecord,
    source=_SOURCE,
    range=(0.0, 1.0),
    better="higher",
    empty="A query without relevant items counts 0, or is left out.",
    ties="Expected value over all orders of tied items, in closed form.",
)


@_metric(
    "nDCG",
    denominator="DCG of the best order of the whole database",
    summary="Discounted gain of the whole ranking over that of the best order, expected over ties.",
)
@_metric(
    "nDCG@K",
    denominator="DCG of the top K of the best order of the whole database",
    beyond="K above the database is the whole database.",
    summary="Discounted gain of the top K over that of the best order, expected over ties.",
)
def ndcg(
    counts: HammingCounts, *, cutoff: int | None = None, ideal: str = "database", empty: str = "zero"
) -> NDArray[np.float64]:
    r"""Discounted gain of the ranking over that of the best order, expected over ties.

    .. math:: DCG@K = \sum_{t=1}^{K} \frac{2^{\mathrm{level}(t)} - 1}{\log_2(1 + t)}, \quad
        nDCG@K = E\left[\frac{DCG@K}{\max DCG@K}\right]

    The maximum is over all orders of the database, or of the K retrieved items. That of the database is a constant: an
    item of a tie is at each of its ranks equally often, so a rank's expected gain is the mean gain of its tie. That of
    the retrieved items is random where the cutoff divides a tie; the expected value is then the sum over the numbers
    of items of each level that may be above the cut (multivariate hypergeometric), given which the items above the cut
    are a tie of their own.

    Parameters
    ----------
    counts : HammingCounts
    cutoff : int, optional
        K, at least 1; exact also where it divides a tie. The whole database if None or larger.
    ideal : {"database", "retrieved"}, default="database"
        What the best order is of: the whole database, or the top K items.
    empty : {"zero", "drop"}, default="zero"
        A query without relevant items (among the top K for ``retrieved``): 0, or NaN. For ``retrieved`` this is decided
        order by order: ``drop`` leaves the orders with no relevant item in the top K out of the query's mean.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If an option is unknown, `cutoff` is below 1, or a level is above 1000. If, for ``retrieved``, the cutoff
        divides a tie in more than a million ways, told apart by how many items of each level are above the cut: the
        sum over them is exact or not taken.

    Notes
    -----
    The paper does not say whether the best possible ranking is of the whole database or of the retrieved items; it is
    of the database by default, as in TALR. Over the retrieved items a ranking that finds one relevant item of a
    hundred and puts it first has 1. TALR's released code gives 1 to a query without relevant items, which raises the
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
    one_of(ideal, IDEALS, "ideal")
    top = places(counts, cutoff)
    if counts.levels[-1] > _HIGHEST_LEVEL:
        raise ProtocolError(f"nDCG: wanted levels up to {_HIGHEST_LEVEL}, came {counts.levels[-1]}")
    gains = np.exp2(counts.levels) - 1
    discount_until = running_sums(counts.n_database, lambda ranks: 1 / np.log2(ranks + 1))
    discount = np.diff(discount_until[np.minimum(counts.retrieved_within, top)], axis=1, prepend=0.0)
    gained = np.einsum("l,qlr->qr", gains, counts.at_level) / np.maximum(counts.retrieved, 1) * discount
    if ideal == "database" or top == counts.n_database:
        return ratio(gained.sum(axis=1), _best(counts.at_level.sum(axis=2), gains, discount_until, top), empty=empty)
    values = np.empty(counts.n_queries)
    for query, cut in enumerate(last_distance(counts, top)):
        n_tied, of_levels = counts.retrieved[query, cut], counts.at_level[query, :, cut]
        drawn = top - (counts.retrieved_within[query, cut] - n_tied)
        chance, found = _draws(of_levels, n_tied, drawn)
        dcg = gained[query, :cut].sum() + found @ gains * discount[query, cut] / drawn
        retrieved = counts.at_level[query, :, :cut].sum(axis=1) + found
        value = ratio(dcg, _best(retrieved, gains, discount_until, top), empty=empty)
        chance[np.isnan(value)] = 0
        values[query] = ratio(chance @ np.nan_to_num(value), chance.sum(), empty=empty)
    return values


def _best(
    of_levels: NDArray[np.int64], gains: NDArray[np.float64], discount_until: NDArray[np.float64], top: int
) -> NDArray[np.float64]:
    """Return the largest DCG of the top `top` of each row's items, (n_rows,), by the numbers at each level."""
    at_least = of_levels[:, ::-1].cumsum(axis=1)  # items at a level or above, highest level first
    return np.diff(discount_until[np.minimum(at_least, top)], axis=1, prepend=0.0) @ gains[::-1]


def _draws(of_levels: NDArray[np.int64], n: int, drawn: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the ways to draw `drawn` of n items by how many of each level come: their chances, and the numbers.

    Level by level: given how many came of the levels before, the number of the next one is hypergeometric.
    """
    chance: NDArray[np.float64] = np.ones(1)
    found, left = np.zeros((1, 0), dtype=np.int64), np.array([drawn])
    for m in of_levels:
        fewest, most = np.maximum(0, left - (n - m)), np.minimum(m, left)
        width = (most - fewest).max() + 1
        if left.size * width > _MOST_DRAWS:
            raise ProtocolError(
                f"nDCG: ideal='retrieved': the cutoff divides a tie in more than {_MOST_DRAWS} ways; use 'database'"
            )
        numbers = fewest[:, None] + np.arange(width)
        chances = chance[:, None] * hypergeometric(numbers, n, m, left[:, None])
        way, column = np.nonzero(chances)
        chance, numbers = chances[way, column], numbers[way, column]
        found, left = np.column_stack([found[way], numbers]), left[way] - numbers
        n -= m
    return chance, found
