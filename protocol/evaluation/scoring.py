"""What is computed from the counts of a ranking: metrics under a convention, and the spread of mAP over conventions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import metrics, registry
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts
from protocol.evaluation.conventions import CONVENTIONS, find

_NEEDS = {"radius": "the Hamming radius", "buckets": "buckets of codes"}
_CUTOFFS = (1000, 5000)
SPREAD = (
    "mAP[best]",
    "mAP",
    "mAP[database-order]",
    "mAP[worst]",
    *(f"mAP@{cutoff}[{denominator}]" for cutoff in _CUTOFFS for denominator in ("all", "retrieved", "min")),
    "AUPRC[area]",
)
"""The variants of mAP that `spread_rows` compares."""


@dataclass(frozen=True)
class Scoring:
    """The metrics that are requested, and the convention under which they are computed.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        Registered metrics, or ``all``. If None, those of the convention.
    convention : str, default="default"
    spread : bool, default=False
        Whether to compute, in addition, all values that published conventions report as mAP.
    leave_one_out : bool, default=False
        Whether the queries are the database items, and each query leaves its own row out of the database.

    Raises
    ------
    ProtocolError
        If a name is unknown, or the list of metrics is empty.
    """

    metrics: str | Sequence[str] | None = None
    convention: str = "default"
    spread: bool = False
    leave_one_out: bool = False

    def __post_init__(self) -> None:
        find(self.convention)
        if self.metrics is not None and not len(self.metrics):
            raise ProtocolError("metrics: the list is empty. Pass None for the metrics of the convention.")
        for metric in self.requested:
            if metric != metrics.ALL:
                metrics.keywords(metric)

    @property
    def requested(self) -> list[str]:
        """The metrics that are requested by name."""
        return [self.metrics] if isinstance(self.metrics, str) else list(self.metrics or ())

    @property
    def of_nearest(self) -> list[str]:
        """The requested metrics about the nearest items, such as ``neighbours@10``."""
        return [name for name in self.requested if name != metrics.ALL and registry.METRICS.entry(name).relevant]

    def names(self, n_bits: int, ranking: str, *, without: Sequence[str] = ()) -> list[str]:
        """Return the metrics to compute for a code length and a ranking, except those in `without`.

        Metrics of the convention, and those that ``all`` stands for, are omitted if the codes or the ranking do not
        support them.

        Raises
        ------
        ProtocolError
            If a requested metric is not supported, or none of the convention's metrics is.
        """
        for name in self.requested:
            if name != metrics.ALL:
                self._check_supported(name, n_bits, ranking)
        if metrics.ALL in self.requested:
            return [name for name in metrics.everything(n_bits) if self._is_defined(name, ranking)]
        if self.metrics is not None:
            return [name for name in self.requested if name not in without]
        names = [name for name in find(self.convention).metrics if metrics.keywords(name).get("radius", 0) <= n_bits]
        names = [name for name in names if self._is_defined(name, ranking)]
        if not names:
            raise ProtocolError(f"convention {self.convention!r}: the {ranking} ranking has none of its metrics.")
        return names

    def _is_defined(self, metric: str, ranking: str) -> bool:
        of_buckets = registry.METRICS.entry(metric).defined_on == "buckets"
        return is_defined(metric, ranking) and not (of_buckets and self.leave_one_out)

    def _check_supported(self, metric: str, n_bits: int, ranking: str) -> None:
        if not is_defined(metric, ranking):
            needed = _NEEDS[registry.METRICS.entry(metric).defined_on]
            raise ProtocolError(f"metric {metric!r} needs {needed}, which the {ranking} ranking does not have.")
        if not self._is_defined(metric, ranking):
            raise ProtocolError(f"metric {metric!r} describes the complete database, so not with leave_one_out.")
        radius = metrics.keywords(metric).get("radius", 0)
        if radius > n_bits:
            raise ProtocolError(f"metric {metric!r}: the radius {radius:g} exceeds the code length, {n_bits} bits.")


def is_defined(metric: str, ranking: str) -> bool:
    """Return whether a metric can be computed for a ranking; only the Hamming ranking has a radius.

    Examples
    --------
    >>> is_defined("mAP@100[all]", "asymmetric"), is_defined("precision@r2", "asymmetric")
    (True, False)
    """
    return ranking == "hamming" or registry.METRICS.entry(metric).defined_on == "ranking"


class SpreadRow(NamedTuple):
    """One value: its metric, the treatment of undefined values, and the conventions that report it as mAP."""

    value: float
    metric: str
    undefined: tuple[str, ...]
    conventions: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The scores of a ranking.

    Parameters
    ----------
    per_query : dict of str to ndarray of float64
        The values of each query, NaN where a query is left out: (n_queries,), or (1,) for metrics of the pooled queries
        or of the database.
    is_undefined : dict of str to ndarray of bool
        Where each metric is undefined (0/0), in the shape of `per_query`.
    n_relevant : ndarray of int64, shape (n_queries,)
        The number of relevant database items of each query.
    levels : tuple of int
        The smallest and the largest relevance level; a larger level is more relevant.
    top_k : TopKCurve
        Mean precision and recall of the top K items for ``n`` up to 1,000, as expected values over ties.
    spread : tuple of SpreadRow
        All values that published conventions report as mAP, and other variants of mAP, largest first; empty unless
        requested.
    """

    per_query: dict[str, NDArray[np.float64]]
    is_undefined: dict[str, NDArray[np.bool_]]
    n_relevant: NDArray[np.int64]
    levels: tuple[int, int]
    top_k: metrics.TopKCurve
    spread: tuple[SpreadRow, ...]


def score(blocks: Iterable[HammingCounts], names: Sequence[str], scoring: Scoring, ranking: str) -> Scores:
    """Return the scores of a ranking.

    Parameters
    ----------
    blocks : iterable of HammingCounts
        Counts of consecutive queries. If a metric is about the pooled queries or the database, all queries must be in
        one block.
    names : sequence of str
        The metrics.
    scoring : Scoring
    ranking : str

    Raises
    ------
    ProtocolError
        If no query has relevant items.
    """
    parts = [_of_block(counts, names, scoring, ranking) for counts in blocks]
    occurring = np.concatenate([part.levels for part in parts])
    if not occurring.size:
        raise ProtocolError("relevance: no query has a relevant item.")
    rules, values = find(scoring.convention), _joined([part.values for part in parts])
    return Scores(
        per_query={name: values[name, rules.undefined(name)] for name in names},
        is_undefined=_joined([part.is_undefined for part in parts]),
        n_relevant=np.concatenate([part.n_relevant for part in parts]),
        levels=(int(occurring.min()), int(occurring.max())),
        top_k=_mean_curve(parts, rules.undefined("R@K")),
        spread=spread_rows({pair: values[pair] for pair in parts[0].of_spread}),
    )


def with_nearest(scores: Scores, counts: Mapping[int, HammingCounts], numbers: Sequence[int]) -> Scores:
    """Return scores that start with ``neighbours@K`` and ``1-recall@K`` for some K, each expected, best and worst.

    `counts` are those with the K nearest items as the relevant ones, for each K in `numbers` and for 1.
    """
    shares: dict[str, NDArray[np.float64]] = {}
    for name in ("neighbours", "1-recall"):
        for number in numbers:
            of_number = counts[number if name == "neighbours" else 1]
            shares |= metrics.evaluate(of_number, [f"{name}@{number}{ties}" for ties in ("", "[best]", "[worst]")])
    defined = {name: np.zeros(values.shape, dtype=bool) for name, values in shares.items()}
    return replace(scores, per_query=shares | scores.per_query, is_undefined=defined | scores.is_undefined)


def _joined(blocks: Sequence[Mapping[Any, NDArray]]) -> dict[Any, NDArray]:
    return {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}


class _Block(NamedTuple):
    """The scores of a block of queries, for each metric and treatment of undefined values."""

    values: dict[tuple[str, str], NDArray[np.float64]]
    is_undefined: dict[str, NDArray[np.bool_]]
    of_spread: list[tuple[str, str]]
    n_relevant: NDArray[np.int64]
    levels: NDArray[np.int64]
    top_k: metrics.TopKCurve


def _of_block(counts: HammingCounts, names: Sequence[str], scoring: Scoring, ranking: str) -> _Block:
    rules = find(scoring.convention)
    of_spread = spread_pairs(counts.n_database, ranking) if scoring.spread else []
    pairs = dict.fromkeys([*((name, rules.undefined(name)) for name in names), *of_spread])
    values = {
        (name, undefined): metrics.evaluate(counts, [name], undefined=undefined)[name] for name, undefined in pairs
    }
    return _Block(
        values,
        {name: undefined_queries(counts, name, values[name, rules.undefined(name)]) for name in names},
        of_spread,
        counts.n_relevant,
        counts.levels[counts.at_level.any(axis=(0, 2))],
        metrics.top_k_curve(counts, undefined=rules.undefined("R@K")),
    )


def undefined_queries(counts: HammingCounts, metric: str, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where a metric is undefined, in the shape of its values, which are 0 or NaN there."""
    if (values == 0).any():
        values = metrics.evaluate(counts, [metric], undefined="drop")[metric]
    return np.isnan(values)


def _mean_curve(blocks: Sequence[_Block], undefined: str) -> metrics.TopKCurve:
    """Return the mean curve over all queries from the mean curves of the blocks."""
    curves = [block.top_k for block in blocks]
    if len(curves) == 1:
        return curves[0]
    n_queries = n_defined = np.array([block.n_relevant.size for block in blocks])
    if undefined == "drop":
        n_defined = np.array([np.count_nonzero(block.n_relevant) for block in blocks])
    precision = n_queries @ np.array([curve.precision for curve in curves]) / n_queries.sum()
    recall = n_defined @ np.nan_to_num([curve.recall for curve in curves]) / n_defined.sum()
    return metrics.TopKCurve(curves[0].k, precision, recall)


def spread_of(counts: HammingCounts) -> tuple[SpreadRow, ...]:
    """Return the rows of `spread_rows` for a Hamming ranking, from its counts with ``index_order``."""
    pairs = spread_pairs(counts.n_database, "hamming")
    return spread_rows(
        {(name, undefined): metrics.evaluate(counts, [name], undefined=undefined)[name] for name, undefined in pairs}
    )


def spread_pairs(n_database: int, ranking: str) -> list[tuple[str, str]]:
    """Return the variants of mAP of a ranking, each with both treatments of undefined values, ``zero`` and ``drop``.

    Cutoffs beyond the size of the database are omitted, because the value is that of the complete ranking.
    """
    names = [name for name in SPREAD if is_defined(name, ranking)]
    names = [name for name in names if metrics.keywords(name).get("cutoff", 0) < n_database]
    return [(name, undefined) for name in names for undefined in ("zero", "drop")]


def spread_rows(values: Mapping[tuple[str, str], NDArray[np.float64]]) -> tuple[SpreadRow, ...]:
    """Return the mean of every variant of mAP, largest first, once with undefined values as 0 and once without them.

    A variant that no convention reports as mAP has no ``conventions``. If undefined values make no difference, there is
    only one row. `values` contains the values per query for each pair that `spread_pairs` returns.
    """
    rows = []
    for name in dict.fromkeys(name for name, _ in values):
        zero, drop = (metrics.mean(values[name, undefined]) for undefined in ("zero", "drop"))
        same = math.isclose(zero, drop, rel_tol=1e-12)
        ways: dict[tuple[str, ...], float] = {("zero", "drop"): zero} if same else {("zero",): zero, ("drop",): drop}
        for undefined, value in ways.items():
            used_by = [
                own.name for own in CONVENTIONS if name in own.reported_as_map and own.undefined(name) in undefined
            ]
            rows.append(SpreadRow(value, name, undefined, tuple(used_by)))
    return tuple(sorted(rows, key=lambda row: 1.0 if math.isnan(row.value) else -row.value))
