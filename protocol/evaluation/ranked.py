"""The metrics that a ranking supports, and its scores, computed block by block from the counts of queries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol import metrics as scoring
from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.counting import HammingCounts
from protocol.evaluation.conventions import Convention
from protocol.evaluation.spread import SpreadRow, spread_metrics, spread_rows
from protocol.scores.identity import RANKINGS

_NEEDS = {"radius": "the Hamming radius", "buckets": "the buckets of the database"}


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one ranking; the fields are those of `protocol.evaluation.Evaluation`.

    Parameters
    ----------
    per_query : dict of str to ndarray of float64
    undefined : dict of str to int
    is_undefined : dict of str to ndarray of bool
        Where a metric is undefined, in the shape of `per_query`.
    n_relevant : ndarray of int64, shape (n_queries,)
        The number of relevant database items of each query.
    levels : tuple of int
    top_n : TopNCurve
    spread : tuple of SpreadRow
    """

    per_query: dict[str, NDArray[np.float64]]
    undefined: dict[str, int]
    is_undefined: dict[str, NDArray[np.bool_]]
    n_relevant: NDArray[np.int64]
    levels: tuple[int, int]
    top_n: scoring.TopNCurve
    spread: tuple[SpreadRow, ...]


def check_ranking(ranking: str, metrics: Iterable[str], **requested: bool) -> None:
    """Raise ProtocolError unless a ranking is known and supports the requested metrics and options.

    Parameters
    ----------
    ranking : str
    metrics : iterable of str
        Registered metrics, or ``all``.
    **requested : bool
        For each option of `protocol.evaluation.evaluate` that requires Hamming distances, whether it is requested.
    """
    one_of(ranking, RANKINGS, "ranking")
    if ranking == "hamming":
        return
    for name, is_requested in requested.items():
        if is_requested:
            raise ProtocolError(f"{name}: expected the ranking hamming, whose distances it requires, got {ranking}.")
    for metric in metrics:
        if not is_defined(metric, ranking):
            needs = _NEEDS[registry.METRICS.entry(metric).defined_on]
            raise ProtocolError(
                f"metric {metric!r}: expected a metric of the order of items for the ranking {ranking}, got one of "
                f"{needs}."
            )


def is_defined(metric: str, ranking: str) -> bool:
    """Return whether a metric, or ``all``, can be computed for a ranking; only the Hamming ranking has a radius.

    Examples
    --------
    >>> is_defined("mAP@100[all]", "asymmetric"), is_defined("precision@r2", "asymmetric")
    (True, False)
    """
    return ranking == "hamming" or metric == scoring.ALL or registry.METRICS.entry(metric).defined_on == "ranking"


def score(
    blocks: Iterable[HammingCounts], names: Sequence[str], rules: Convention, *, spread: str | None = None
) -> Scores:
    """Return the scores of a ranking under a convention.

    Parameters
    ----------
    blocks : iterable of HammingCounts
        Counts of consecutive queries. If a metric is about the pooled queries or the database, all queries must be in
        one block.
    names : sequence of str
        The metrics.
    rules : Convention
    spread : str, optional
        The ranking, if all values that conventions call mAP are requested.

    Raises
    ------
    ProtocolError
        If no query has relevant items.
    """
    values: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    undefined = dict.fromkeys(names, 0)
    masks: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in names}
    n_relevant, levels, curves = [], [], []
    for counts in blocks:
        pairs = [(name, rules.empty(name)) for name in names]
        for_spread = spread_metrics(counts.n_database, spread) if spread else []
        pairs += [(name, empty) for name in for_spread for empty in ("zero", "drop")]
        for name, empty in dict.fromkeys(pairs):
            values.setdefault((name, empty), []).append(scoring.evaluate(counts, [name], empty=empty)[name])
        for name in names:
            mask = _is_undefined(counts, name, values[name, rules.empty(name)][-1])
            undefined[name] += _queries_of(counts, mask)
            masks[name].append(mask)
        n_relevant.append(counts.n_relevant)
        levels.append(counts.levels[counts.at_level.any(axis=(0, 2))])
        curves.append(scoring.top_n_curve(counts, empty=rules.empty("R@K")))
    if not any(of_block.any() for of_block in n_relevant):
        raise ProtocolError("relevance: expected at least one query with a relevant item, got none.")
    joined = {pair: np.concatenate(of_blocks) for pair, of_blocks in values.items()}
    occurring = np.concatenate(levels)
    return Scores(
        per_query={name: joined[name, rules.empty(name)] for name in names},
        undefined=undefined,
        is_undefined={name: np.concatenate(of_blocks) for name, of_blocks in masks.items()},
        n_relevant=np.concatenate(n_relevant),
        levels=(int(occurring.min()), int(occurring.max())),
        top_n=_mean_curve(curves, n_relevant, rules.empty("R@K")),
        spread=spread_rows({pair: of_pair for pair, of_pair in joined.items() if pair[0] in for_spread})
        if spread
        else (),
    )


def n_undefined(counts: HammingCounts, metric: str, values: NDArray[np.float64]) -> int:
    """Return the number of queries for which a metric is undefined; `values` are 0 or NaN there."""
    return _queries_of(counts, _is_undefined(counts, metric, values))


def _is_undefined(counts: HammingCounts, metric: str, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where a metric is undefined, in the shape of its values, which are 0 or NaN there."""
    if (values == 0).any():
        values = scoring.evaluate(counts, [metric], empty="drop")[metric]
    return np.isnan(values)


def _queries_of(counts: HammingCounts, mask: NDArray[np.bool_]) -> int:
    """Return the number of queries that a mask marks: all queries if there is a single value for all."""
    return int(mask.sum()) * (counts.n_queries // mask.size)


def _mean_curve(
    curves: Sequence[scoring.TopNCurve], n_relevant: Sequence[NDArray[np.int64]], empty: str
) -> scoring.TopNCurve:
    """Return the mean curve over all queries from the mean curves of the blocks."""
    if len(curves) == 1:
        return curves[0]
    n_queries = np.array([of_block.size for of_block in n_relevant])
    n_defined = np.array([np.count_nonzero(of_block) for of_block in n_relevant]) if empty == "drop" else n_queries
    precision = n_queries @ np.array([curve.precision for curve in curves]) / n_queries.sum()
    recall = n_defined @ np.nan_to_num([curve.recall for curve in curves]) / n_defined.sum()
    return scoring.TopNCurve(curves[0].n, precision, recall)
