"""Normalised discounted cumulative gain of the Hamming ranking, for graded relevance."""

from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.counting import HammingCounts
from protocol.metrics._ties import (
    EXPECTED,
    TIES,
    hypergeometric,
    in_every_order,
    last_distance,
    places,
    ratio,
    running_sums,
)
from protocol.registry import MetricRecord

IDEALS = ("database", "retrieved")
GAINS = ("exponential", "linear")
_HIGHEST_LEVEL = 1000  # its gain still fits in a float64
_MOST_DRAWS = 1_000_000  # the limit for one query: some megabytes and a tenth of a second
_EXPONENTIAL = "Evaluation metrics (mAP@p, nDCG@p), eq. 6-9; He et al., Hashing as Tie-Aware Learning to Rank, eq. 7"
_LINEAR = "trec_eval, ndcg; gain: Järvelin and Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques"
_metric = partial(
    MetricRecord,
    module=__name__,
    range=(0.0, 1.0),
    better="higher",
    undefined="A query without relevant items counts as 0, or is left out.",
    ties=EXPECTED,
)
_SUMMARY = "Discounted gain of the {}, relative to the best order, as the expected value over ties; the gain is {}."


def ndcg(
    counts: HammingCounts,
    *,
    cutoff: int | None = None,
    gain: str = "exponential",
    ties: str = "expected",
    ideal: str = "database",
    undefined: str = "zero",
) -> NDArray[np.float64]:
    r"""Discounted gain of the ranking, relative to the best order, as the expected value over ties.

    .. math:: DCG@K = \sum_{t=1}^{K} \frac{g(t)}{\log_2(1 + t)}, \quad
        g(t) = 2^{\mathrm{level}(t)} - 1 \;\text{or}\; \mathrm{level}(t), \quad
        nDCG@K = E\left[\frac{DCG@K}{\max DCG@K}\right]

    The maximum is over all orders of the database, or of the K retrieved items. The maximum over the database is a
    constant. Because an item of a tie is equally often at each rank of the tie, the expected gain at a rank is the mean
    gain of its tie. The maximum over the retrieved items is random if the cutoff divides a tie. The expected value is
    then a sum over the possible numbers of items of each level above the cutoff (multivariate hypergeometric); given
    these numbers, the items above the cutoff form a smaller tie.

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
    ideal : {"database", "retrieved"}, default="database"
        The items whose best order is the reference: the complete database, or the top K items.
    undefined : {"zero", "drop"}, default="zero"
        A query without relevant items (among the top K for ``retrieved``): 0, or NaN. For ``retrieved`` this applies
        to each order of ties: ``drop`` leaves orders without relevant items in the top K out of the query's mean.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If an option is unknown, `cutoff` is below 1, or a level is above 1000 and the gain exponential. If ``index`` is
        requested with a cutoff, or was not counted. If ``retrieved`` is requested with other ties than ``expected``, or
        there are more than a million possible combinations of the numbers of items of each level above the cutoff,
        because the sum over them is not approximated.

    Notes
    -----
    TALR and the paper on evaluation metrics have the exponential gain. trec_eval, scikit-learn and ranx (``ndcg``) have
    the linear one of Järvelin and Kekäläinen.

    The paper does not state whether the best ranking is of the complete database or of the retrieved items. Our
    default is the database, as in TALR. With the retrieved items, a ranking that finds one of a hundred relevant items
    and puts it first has the value 1. The released code of TALR gives 1 to a query without relevant items, which raises
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
    _check(gain, ties, ideal)
    top = places(counts, cutoff)
    if gain == "exponential" and counts.levels[-1] > _HIGHEST_LEVEL:
        raise ProtocolError(f"nDCG: levels must be at most {_HIGHEST_LEVEL}, got {counts.levels[-1]}.")
    gains = np.exp2(counts.levels) - 1 if gain == "exponential" else counts.levels.astype(np.float64)
    discount_until = _discounts_until(counts.n_database)
    if ties != "expected":
        best = _best(counts.at_level.sum(axis=2), gains, discount_until, top)
        return ratio(_of_one_order(counts, gains, discount_until, top, ties), best, undefined=undefined)
    discount = np.diff(discount_until[np.minimum(counts.retrieved_within, top)], axis=1, prepend=0.0)
    gained = np.einsum("l,qlr->qr", gains, counts.at_level) / np.maximum(counts.retrieved, 1) * discount
    if ideal == "database" or top == counts.n_database:
        return ratio(
            gained.sum(axis=1), _best(counts.at_level.sum(axis=2), gains, discount_until, top), undefined=undefined
        )
    values = np.empty(counts.n_queries)
    for query, cut in enumerate(last_distance(counts, top)):
        n_tied, of_levels = counts.retrieved[query, cut], counts.at_level[query, :, cut]
        drawn = top - (counts.retrieved_within[query, cut] - n_tied)
        chance, drawn_relevant = _draws(of_levels, n_tied, drawn)
        dcg = gained[query, :cut].sum() + drawn_relevant @ gains * discount[query, cut] / drawn
        retrieved = counts.at_level[query, :, :cut].sum(axis=1) + drawn_relevant
        value = ratio(dcg, _best(retrieved, gains, discount_until, top), undefined=undefined)
        chance[np.isnan(value)] = 0
        values[query] = ratio(chance @ np.nan_to_num(value), chance.sum(), undefined=undefined)
    return values


def _check(gain: str, ties: str, ideal: str) -> None:
    one_of(gain, GAINS, "gain")
    one_of(ties, TIES, "ties")
    if one_of(ideal, IDEALS, "ideal") == "retrieved" and ties != "expected":
        raise ProtocolError(f"ideal='retrieved' needs ties='expected', got {ties!r}.")


def _of_one_order(
    counts: HammingCounts, gains: NDArray[np.float64], discount_until: NDArray[np.float64], top: int, ties: str
) -> NDArray[np.float64]:
    """Return the DCG of the top `top` items in one order of ties."""
    if ties == "index":
        if top < counts.n_database:
            raise ProtocolError(f"nDCG: ties='index' needs cutoff=None, got {top:,}. Use ties='expected'.")
        return counts.requested("index_discounts") @ gains
    last = counts.retrieved_within - (counts.retrieved if ties == "best" else counts.relevant)
    dcg: NDArray[np.float64] = np.zeros(counts.n_queries)
    until = discount_until[np.minimum(last, top)]
    for level in np.flatnonzero(counts.at_level.any(axis=(0, 2)))[:: -1 if ties == "best" else 1]:
        last = last + counts.at_level[:, level]
        before, until = until, discount_until[np.minimum(last, top)]
        dcg += gains[level] * (until - before).sum(axis=1)
    return dcg


@lru_cache(maxsize=1)  # all counts of a database need it
def _discounts_until(n: int) -> NDArray[np.float64]:
    """Return the sum of the discounts of ranks 1 to 0, 1, ..., n, (n + 1,)."""
    return running_sums(n, lambda ranks: 1 / np.log2(ranks + 1))


def _best(
    of_levels: NDArray[np.int64], gains: NDArray[np.float64], discount_until: NDArray[np.float64], top: int
) -> NDArray[np.float64]:
    """Return the largest DCG of the top `top` items of each row, (n_rows,), from the numbers of items at each level."""
    at_least = of_levels[:, ::-1].cumsum(axis=1)  # items at or above each level, highest level first
    return np.diff(discount_until[np.minimum(at_least, top)], axis=1, prepend=0.0) @ gains[::-1]


def _draws(of_levels: NDArray[np.int64], n: int, drawn: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the probabilities and the numbers of items of each level for all ways to draw `drawn` of n items.

    Levels are processed in turn: given the numbers drawn from previous levels, the next number is hypergeometric.
    """
    chance: NDArray[np.float64] = np.ones(1)
    drawn_relevant, left = np.zeros((1, 0), dtype=np.int64), np.array([drawn])
    for m in of_levels:
        fewest, most = np.maximum(0, left - (n - m)), np.minimum(m, left)
        width = (most - fewest).max() + 1
        if left.size * width > _MOST_DRAWS:
            raise ProtocolError(
                f"nDCG: ideal='retrieved': the cutoff divides a tie in more than {_MOST_DRAWS:,} ways. Use "
                "ideal='database'."
            )
        numbers = fewest[:, None] + np.arange(width)
        chances = chance[:, None] * hypergeometric(numbers, n, m, left[:, None])
        way, column = np.nonzero(chances)
        chance, numbers = chances[way, column], numbers[way, column]
        drawn_relevant, left = np.column_stack([drawn_relevant[way], numbers]), left[way] - numbers
        n -= m
    return chance, drawn_relevant


for _bracket, _gain, _source, _plugin in (
    ("", "2^level - 1", _EXPONENTIAL, ndcg),
    ("[linear]", "the level", _LINEAR, partial(ndcg, gain="linear")),
):
    _best_order = f"the best order of the database; gain: {_gain}"
    in_every_order(
        _metric(
            f"nDCG{_bracket}",
            source=_source,
            denominator=f"DCG of {_best_order}",
            summary=_SUMMARY.format("ranking", _gain),
            synonyms=("NDCG",),
        ),
        "index_discounts",
    )(_plugin)
    in_every_order(
        _metric(
            f"nDCG@K{_bracket}",
            source=_source,
            denominator=f"DCG of the top K of {_best_order}",
            beyond="If K exceeds the size of the database, the size of the database replaces it.",
            summary=_SUMMARY.format("top K", _gain),
            synonyms=("NDCG@K", *["ndcg_cut@K"] * bool(_bracket)),
        ),
        "",
    )(_plugin)
