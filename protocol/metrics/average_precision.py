"""Average precision of the Hamming ranking, by what is done about ties, the cutoff and the denominator."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.metrics._cutoff import Ties, hypergeometric, last_distance, places, running_sums, ties_at
from protocol.metrics._undefined import ratio, undefined
from protocol.ranking import HammingCounts
from protocol.registry import MetricRecord

TIES = ("expected", "best", "worst", "index")
DENOMINATORS = ("all", "retrieved", "min")
_BLOCK = 128  # queries at a time, so that the arrays of a block stay in the cache


def average_precision(
    counts: HammingCounts,
    *,
    ties: str = "expected",
    cutoff: int | None = None,
    denominator: str = "all",
    empty: str = "zero",
) -> NDArray[np.float64]:
    r"""Mean precision at the ranks of the relevant items.

    .. math:: AP@K = \frac{1}{N} \sum_{t=1}^{K} \mathrm{rel}(t) \frac{\sum_{u \le t} \mathrm{rel}(u)}{t}

    Items at one distance are tied, and their order in a ranked list is arbitrary. The expected value is the mean over
    all orders. For a tie of n items, m of them relevant, after S items, P of them relevant, the sum above gains

    .. math:: \frac{m}{n} \sum_{t=S+1}^{S+n} \frac{P + 1 + \frac{m-1}{n-1} (t - S - 1)}{t}

    where t stops at the cutoff; (m - 1) / (n - 1) is 0 for n = 1.

    Parameters
    ----------
    counts : HammingCounts
    ties : {"expected", "best", "worst", "index"}, default="expected"
        Mean over the orders of tied items; relevant items first; relevant items last; in the order of the database,
        for which the items had to be looked at while they were counted (``count(..., index_order=True)``).
    cutoff : int, optional
        K, at least 1. The whole database if None or larger.
    denominator : {"all", "retrieved", "min"}, default="all"
        N: the relevant items of the whole database, those among the top K, or the smaller of the former and K.
    empty : {"zero", "drop"}, default="zero"
        A query with N = 0: 0, or NaN. For ``retrieved`` this is decided order by order: ``drop`` leaves the orders
        with no relevant item in the top K out of the query's mean.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ProtocolError
        If an option is unknown, `cutoff` is below 1, or ``retrieved`` is asked for at a cutoff with best or worst
        ties: with relevant items first it is not largest (+ - - - - has 1, + - - - + has 0.7). If ``index`` is asked
        for at a cutoff, or was not counted.

    Notes
    -----
    Exact also where the cutoff divides a tie. With the denominator ``retrieved``, numerator and denominator are then
    both random and the ratio of their expectations is not the expected ratio; the number of relevant items above the
    cut is hypergeometric, and given that number the places above the cut are a tie of their own.

    TALR's text leaves 0/0 open at n = 1 and n = 0; the single item and the empty distance need no special case here.
    Its released code gives 0 to a query without relevant items, as ``zero`` does, except to the last ones of a test
    set, which drop out of its mean. RAMAP prints 1/N+ without a cutoff, but its MAP row falls with the number of
    returned samples, which only ``retrieved`` can do.

    Published code that sorts the distances with a stable sort (GRH, MIH) has ``index``; the order of code with numpy's
    default sort is not stable, moves with the version of numpy, and can't be had here.

    References
    ----------
    He, Cakir, Bargal, Sclaroff, *Hashing as Tie-Aware Learning to Rank*, eq. 6 and 17-19 (expected), figure 3 (range).
    *Mean Local Group Average Precision*, section 3.2.1, figure 2 (best and worst).
    *Evaluation metrics* (mAP@p, nDCG@p), eq. 2-5; Moran 2016, thesis, eq. 3.12 and 3.13 (``retrieved``).
    Weyand, Araujo, Cao, Sim 2020, *Google Landmarks Dataset v2*, mAP@100, over min(m_q, 100) for the m_q relevant
    items of query q (``min``).

    Examples
    --------
    One relevant item of two tied ones is first or second: (1 + 1/2) / 2.

    >>> average_precision(HammingCounts.from_histograms([[2, 0]], [[1, 0]]))
    array([0.75])
    >>> average_precision(HammingCounts.from_histograms([[2, 0]], [[1, 0]]), ties="worst")
    array([0.5])
    """
    one_of(ties, TIES, "ties")
    one_of(denominator, DENOMINATORS, "denominator")
    top = places(counts, cutoff)
    if ties == "index":
        return _in_index_order(counts, top, empty)
    if denominator == "retrieved" and top < counts.n_database:
        if ties != "expected":
            raise ProtocolError(f"ties={ties!r}: can't be had with denominator='retrieved' at a cutoff; use 'expected'")
        return _expected_over_retrieved(counts, top, empty)
    precisions = _sum_of_precisions(counts, np.full(counts.n_queries, top), ties)
    n_relevant = np.minimum(counts.n_relevant, top) if denominator == "min" else counts.n_relevant
    return ratio(precisions, n_relevant, empty=empty)


def _in_index_order(counts: HammingCounts, top: int, empty: str) -> NDArray[np.float64]:
    if top < counts.n_database:
        raise ProtocolError(f"ties='index': counted for the whole ranking only, came cutoff={top}; use 'expected'")
    precisions = counts.requested("index_average_precision")
    return np.where(np.isnan(precisions), undefined(empty), precisions)


def _harmonic_numbers(counts: HammingCounts) -> NDArray[np.float64]:
    return running_sums(counts.n_database, lambda ranks: 1.0 / ranks)


def _sum_of_precisions(counts: HammingCounts, tops: NDArray[np.int64], ties: str) -> NDArray[np.float64]:
    """Return the sum of the precisions at each query's relevant items, down to its rank in `tops`."""
    harmonic = _harmonic_numbers(counts)
    values = np.empty(counts.n_queries)
    for start in range(0, counts.n_queries, _BLOCK):
        block = slice(start, start + _BLOCK)
        tied, top = ties_at(counts, block), tops[block, None]
        values[block] = (
            _expected(tied, top, harmonic) if ties == "expected" else _extreme(tied, top, harmonic, ties)
        ).sum(axis=1)
    return values


def _expected(tied: Ties, top: NDArray[np.int64], harmonic: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each tie is expected to add to the sum of precisions down to rank `top`."""
    counted = np.clip(top - tied.before, 0, tied.n)
    until = np.diff(harmonic[np.minimum(tied.before + tied.n, top)], axis=1, prepend=0.0)
    return _expected_in(tied, counted, until)


def _expected_in(tied: Ties, counted: NDArray[np.int64], harmonic: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same from the number of ranks that count in each tie and the sum of 1 / rank over them."""
    n, m, before, relevant_before = tied
    slope = (m - 1) / np.maximum(n - 1, 1)
    return m / np.maximum(n, 1) * ((relevant_before + 1) * harmonic + slope * (counted - (before + 1) * harmonic))


def _extreme(tied: Ties, top: NDArray[np.int64], harmonic: NDArray[np.float64], ties: str) -> NDArray[np.float64]:
    """Return what each tie adds to the sum of precisions down to rank `top`, its relevant items first or last."""
    n, m, before, relevant_before = tied
    first = before if ties == "best" else before + n - m
    counted = np.clip(top - first, 0, m)
    return counted + (relevant_before - first) * (harmonic[first + counted] - harmonic[first])


def _expected_over_retrieved(counts: HammingCounts, top: int, empty: str) -> NDArray[np.float64]:
    """Return the expected ratio of the sum of precisions down to rank `top` and the relevant items among them."""
    tie = ties_at(counts, (np.arange(counts.n_queries), last_distance(counts, top)))
    drawn = top - tie.before
    fewest, most = np.maximum(0, drawn - (tie.n - tie.m)), np.minimum(tie.m, drawn)
    sure = _sum_of_precisions(counts, tie.before, "expected")
    harmonic = _harmonic_numbers(counts)
    harmonic = harmonic[top] - harmonic[tie.before]
    values = np.empty(counts.n_queries)
    by_width = np.argsort(most - fewest, kind="stable")  # so that the queries of a block need about as many columns
    for start in range(0, counts.n_queries, _BLOCK):
        rows = by_width[start : start + _BLOCK]
        n, m, before, relevant_before, places = (part[rows, None] for part in (*tie, drawn))
        found = fewest[rows, None] + np.arange((most - fewest)[rows[-1]] + 1)
        chance = hypergeometric(found, n, m, places)
        gained = _expected_in(Ties(places, found, before, relevant_before), places, harmonic[rows, None])
        value = ratio(sure[rows, None] + gained, relevant_before + found, empty=empty)
        chance[np.isnan(value)] = 0
        values[rows] = ratio((chance * np.nan_to_num(value)).sum(axis=1), chance.sum(axis=1), empty=empty)
    return values


_TALR = "He et al., Hashing as Tie-Aware Learning to Rank"
_ALL, _RETRIEVED, _MIN = "all relevant items", "relevant items among the top K", "min(all relevant items, K)"
_metric = partial(
    MetricRecord, range=(0.0, 1.0), better="higher", empty="A query without relevant items counts 0, or is left out."
)
_BEYOND = "K above the database is the whole database."
_EXPECTED = "Expected value over all orders of tied items, in closed form."

_metric(
    "mAP",
    source=f"{_TALR}, eq. 6",
    ties=_EXPECTED,
    denominator=_ALL,
    summary="Mean precision at the ranks of the relevant items, expected over ties.",
    synonyms=("AP", "mAP@all", "mAP@-1"),
)(average_precision)
_metric(
    "mAP[best]",
    source="Mean Local Group Average Precision, figure 2",
    ties="Relevant items first.",
    denominator=_ALL,
    summary="mAP if every tie were broken in favour of the relevant items.",
)(partial(average_precision, ties="best"))
_metric(
    "mAP[worst]",
    source="Mean Local Group Average Precision, figure 2",
    ties="Relevant items last.",
    denominator=_ALL,
    summary="mAP if every tie were broken against the relevant items.",
)(partial(average_precision, ties="worst"))
_metric(
    "mAP[index]",
    source="released code of GRH and MIH, which sort the distances stably; in none of the papers reproduced here",
    ties="In the order of the database.",
    denominator=_ALL,
    summary="mAP if every tie were broken by the items' places in the database.",
    needs="index_average_precision",
)(partial(average_precision, ties="index"))
_metric(
    "mAP@K[all]",
    source=f"{_TALR}, eq. 17",
    ties=_EXPECTED,
    denominator=_ALL,
    beyond=_BEYOND,
    summary="mAP of the top K over all relevant items, found or not.",
)(average_precision)
_metric(
    "mAP@K[retrieved]",
    source="Evaluation metrics (mAP@p, nDCG@p), eq. 2-5; Moran 2016, thesis, eq. 3.12",
    ties=_EXPECTED,
    denominator=_RETRIEVED,
    beyond=_BEYOND,
    summary="mAP of the top K over the relevant items among them.",
    empty="A query without relevant items in the top K counts 0, or is left out.",
)(partial(average_precision, denominator="retrieved"))
_metric(
    "mAP@K[min]",
    source="Weyand et al. 2020, Google Landmarks Dataset v2, mAP@100; in none of the papers reproduced here",
    ties=_EXPECTED,
    denominator=_MIN,
    beyond=_BEYOND,
    summary="mAP of the top K over as many relevant items as it could hold.",
)(partial(average_precision, denominator="min"))
