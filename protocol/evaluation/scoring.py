"""Codes x truth -> counts -> scores: the counts of a ranking, its metrics, and the spread of mAP over conventions."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import counting, metrics
from protocol.checks import ProtocolError, rounded
from protocol.counting import HammingCounts
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.conventions import CONVENTIONS, DECLARED, Convention, find, is_defined
from protocol.evaluation.ground_truth import GroundTruth
from protocol.evaluation.printed import Printed
from protocol.evaluation.progress import Progress, stage
from protocol.scores.tables import Table

SPREAD: tuple[str, ...] = tuple(DECLARED["spread"])
"""The variants of mAP that `spread_of` compares."""
_TREATMENT = {("zero",): "counted as 0", ("drop",): "left out", ("zero", "drop"): "make no difference"}


def counted(
    codes: CodePair, truth: GroundTruth, names: Sequence[str], *, leave_one_out: bool, threads: int, progress: Progress
) -> dict[int, Iterable[HammingCounts]]:
    """Return the counts that some metrics need, in blocks of queries, for each number of nearest items of a truth.

    There is a single block for the Hamming ranking.
    """
    needed, index_order = metrics.needs(names), metrics.in_database_order(names)
    if codes.ranking != "hamming":
        done = stage(progress, "counting", len(codes.query) * len(truth.by_number))
        last: Any = codes.n_bits if codes.ranking == "asymmetric" else codes.ranking
        counts_of = counting.asymmetric_counts if codes.ranking == "asymmetric" else counting.distance_counts
        ranked = partial(counts_of, *codes[:2], last, index_order=index_order, leave_one_out=leave_one_out)
        return {number: ranked(one, threads=threads, progress=done) for number, one in truth.by_number.items()}
    counter: Callable[..., dict[str, HammingCounts]]
    if leave_one_out:
        counter = partial(counting.count_leave_one_out, index_order=index_order)
    else:  # precisions with ties in database order can't be added up over shards
        counter = partial(counting.count, index_order=True) if index_order else counting.count_in_shards
        counter = partial(counter, buckets=not needed.keys().isdisjoint(("bucket_sizes", "largest_bucket")))
    relevances = {str(number): relevance for number, relevance in truth.by_number.items()}
    done = stage(progress, "counting", len(codes.query))
    counts = counter(*codes[:3], relevances, threads=threads, progress=done)
    return {number: [counts[str(number)]] for number in truth.by_number}


class SpreadRow(NamedTuple):
    """One value: its metric, the treatment of undefined values, and the conventions that report it as mAP."""

    value: float
    metric: str
    undefined: tuple[str, ...]
    conventions: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Printed):
    """All values that published conventions report as mAP, and other variants of mAP.

    Parameters
    ----------
    rows : tuple of SpreadRow
        Largest first.
    """

    rows: tuple[SpreadRow, ...]

    def parts(self) -> list[str | Table]:
        """Return the table of all variants of mAP, with the conventions that report them as mAP."""
        cells = [(name, rounded(value), _TREATMENT[ways], ", ".join(by)) for value, name, ways, by in self.rows]
        values = [row.value for row in self.rows if row.conventions and not math.isnan(row.value)]
        ends = f"from {min(values):.4f} to {max(values):.4f}"
        title = f"values that published conventions report as mAP, {ends}, and others:"
        return [Table("spread", title, ("metric", "mean", "undefined values", "reported as mAP by"), cells)]

    def content(self) -> dict[str, Any]:
        """Return the rows as ``spread``."""
        return {"spread": self.rows}


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
        Mean precision and recall of the top K items for ``k`` up to 1,000, as expected values over ties.
    """

    per_query: dict[str, NDArray[np.float64]]
    is_undefined: dict[str, NDArray[np.bool_]]
    n_relevant: NDArray[np.int64]
    levels: tuple[int, int]
    top_k: metrics.TopKCurve


def score(blocks: Iterable[HammingCounts], names: Sequence[str], convention: str) -> Scores:
    """Return the scores of a ranking.

    Parameters
    ----------
    blocks : iterable of HammingCounts
        Counts of consecutive queries. If a metric is about the pooled queries or the database, all queries must be in
        one block.
    names : sequence of str
        The metrics.
    convention : str

    Raises
    ------
    ProtocolError
        If no query has relevant items.
    """
    rules = find(convention)
    parts = [_of_block(counts, names, rules) for counts in blocks]
    if not any(part.levels[0] for part in parts):
        raise ProtocolError("relevance: no query has a relevant item.")
    return parts[0] if len(parts) == 1 else _joined(parts, rules)


def _joined(parts: Sequence[Scores], rules: Convention) -> Scores:
    """Return the scores of all queries from those of blocks."""

    def of_all(field: str) -> dict[str, NDArray]:
        every = [getattr(part, field) for part in parts]
        return {name: np.concatenate([of_block[name] for of_block in every]) for name in every[0]}

    n_queries = np.array([part.n_relevant.size for part in parts])
    n_defined = np.array([np.count_nonzero(part.n_relevant) for part in parts])
    weights = n_defined if rules.undefined("R@K") == "drop" else n_queries
    k, precision, recall = map(np.array, zip(*(part.top_k for part in parts), strict=True))
    precision, recall = n_queries @ precision / n_queries.sum(), weights @ np.nan_to_num(recall) / weights.sum()
    levels = np.array([part.levels for part in parts])[n_defined > 0]
    ends, n_relevant = (int(levels.min()), int(levels.max())), np.concatenate([part.n_relevant for part in parts])
    top_k = metrics.TopKCurve(k[0], precision, recall)
    return Scores(of_all("per_query"), of_all("is_undefined"), n_relevant, ends, top_k)


def _of_block(counts: HammingCounts, names: Sequence[str], rules: Convention) -> Scores:
    """Return the scores of a block of queries; its levels are 0 if no query has a relevant item."""
    values = {name: metrics.evaluate(counts, [name], undefined=rules.undefined(name))[name] for name in names}
    occurring = counts.levels[counts.at_level.any(axis=(0, 2))]
    is_undefined = {name: undefined_queries(counts, name, values[name]) for name in names}
    levels = (int(occurring[0]), int(occurring[-1])) if occurring.size else (0, 0)
    top_k = metrics.top_k_curve(counts, undefined=rules.undefined("R@K"))
    return Scores(values, is_undefined, counts.n_relevant, levels, top_k)


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


def undefined_queries(counts: HammingCounts, metric: str, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where a metric is undefined, in the shape of its values, which are 0 or NaN there."""
    if (values == 0).any():
        values = metrics.evaluate(counts, [metric], undefined="drop")[metric]
    return np.isnan(values)


def spread_names(n_database: int, ranking: str) -> list[str]:
    """Return the variants of mAP of a ranking.

    Cutoffs beyond the size of the database are omitted, because the value equals that for the complete ranking.
    """
    names = [name for name in SPREAD if is_defined(name, ranking)]
    return [name for name in names if metrics.keywords(name).get("cutoff", 0) < n_database]


def spread_of(blocks: Iterable[HammingCounts], ranking: str = "hamming") -> tuple[SpreadRow, ...]:
    """Return the mean of every variant of mAP, largest first, once with undefined values as 0 and once without them.

    A variant that no convention reports as mAP has no ``conventions``. If undefined values make no difference, there is
    only one row.

    Parameters
    ----------
    blocks : iterable of HammingCounts
        Counts of consecutive queries with ``index_order``; for the Hamming ranking, a single block.
    ranking : str
    """
    values: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for counts in blocks:
        for name, undefined in itertools.product(spread_names(counts.n_database, ranking), ("zero", "drop")):
            values.setdefault((name, undefined), []).append(metrics.evaluate(counts, [name], undefined=undefined)[name])
    rows = []
    for name in dict.fromkeys(name for name, _ in values):
        zero, drop = (metrics.mean(np.concatenate(values[name, undefined])) for undefined in ("zero", "drop"))
        same = math.isclose(zero, drop, rel_tol=1e-12)
        means: dict[tuple[str, ...], float] = {("zero", "drop"): zero} if same else {("zero",): zero, ("drop",): drop}
        for treatments, mean in means.items():
            users = (rules.name for rules in CONVENTIONS if rules.reports(name, treatments))
            rows.append(SpreadRow(mean, name, treatments, tuple(users)))
    return tuple(sorted(rows, key=lambda row: 1.0 if math.isnan(row.value) else -row.value))
