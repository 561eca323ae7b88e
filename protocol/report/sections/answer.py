"""The answer: the best hasher in a sentence, with the figure and the table that show it."""

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.report.figure import ABSENT, PAGE, Section, between, cells, decimals, series_scales, spread
from protocol.report.results import N_FIRST, Results, Selection
from protocol.scores.metadata import NONE_EXCLUDED
from protocol.scores.statistics import (
    CONFIDENCE,
    lead,
    paired_differences,
    shown_interval,
    why_not_shown,
)
from protocol.scores.summary import SETTING, at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 1 - CONFIDENCE
_MOST_PAIRS = 1000
"""Of paired differences of all metrics at one selection; they take a fifth of a millisecond each."""


def answer_section(results: Results, selection: Selection) -> Section:
    """Return the answer, a figure of every metric by code length, and tables of the main metric."""
    scores = _scores(results)
    figure = PAGE.figure(
        "by-length",
        scores,
        {"metric": results.metric} | selection.setting,
        chart=series_scales(results.hashers) | {"lower": list(filter(_is_lower, results.config["metrics"]))},
        results=results,
        selection=selection,
        rows=scores,
    )
    precomputed = [results.display("hasher", name) for name in results.config.get("codes", {})]
    text = [sentence(results, selection), *([PAGE.text("precomputed", names=precomputed)] if precomputed else [])]
    pairs = _pairs(results, selection)
    tables = [_main_table(results, selection), *_differences(results, selection, pairs)]
    return PAGE.section("answer", text, [figure], tables, context={"pairs": pairs})


@functools.lru_cache(maxsize=1)
def _scores(results: Results) -> "pd.DataFrame":
    """Return every score of plain codes, by metric."""
    return results.by_metric(results.plain)[["metric", *SETTING, "hasher", "n_bits", "mean", "std", "n_runs"]]


def _is_lower(metric: str) -> bool:
    """Return whether a lower value of a metric is better."""
    return registry.METRICS.entry(metric).better == "lower"


def experiment_line(results: Results) -> str:
    """Return a one-line summary of what was run."""
    plain = results.plain
    excluded = [label for label in plain["excluded_queries"].unique() if label != NONE_EXCLUDED]
    return PAGE.text(
        "experiment",
        results=results,
        features=list(plain["feature"].unique()),
        n_hashers=plain["hasher"].nunique(),
        n_bits=plain["n_bits"],
        left_out=[label.partition(" quer")[0] for label in excluded],
        n_runs=list(plain["n_runs"]),
    )


def _by_run(scores: "pd.DataFrame") -> "pd.DataFrame":
    return scores.pivot(index="run", columns="hasher", values="value")  # noqa: PD010 - pivot_table takes thrice as long


def sentence(results: Results, selection: Selection) -> str:
    """Return in words which hasher is best at the selected setting, and by how much."""
    shared, metric = results.shared(selection.setting["split"]), results.metric
    scores = results.ordered(at(results.run_scores, metric=metric, **selection.setting))
    better = registry.METRICS.entry(metric).better
    lengths_run = sorted(scores["n_bits"].unique().tolist())
    all_leads = {n: lead(_by_run(at(scores, n_bits=n)), shared=shared, better=better) for n in lengths_run}
    leads = {n: one for n, one in all_leads.items() if one is not None}
    if not leads:
        return PAGE.text("undefined", results=results, selection=selection)
    n_bits = selection.n_bits if selection.n_bits in leads else min(leads)
    first = leads[n_bits]
    if first.second is None:
        ends = [f"{metric} {leads[n].mean:.3f} at {n} bits" for n in sorted({min(leads), max(leads)})]
        return PAGE.text("alone", ends=ends, lead=first)
    lengths: dict[str, list[str]] = {}
    for n, one in leads.items():
        lengths.setdefault(one.best, []).append(str(n))
    interval = _brackets(*shown_interval(first.low, first.high, first.n_runs, metric, difference=True))
    return PAGE.text(
        "best",
        results=results,
        selection=selection,
        lead=first,
        n_bits=n_bits,
        lengths=lengths,
        n_lengths=len(leads),
        difference=f"{first.difference:+.3f}{interval and ' '}{interval}",
        why="" if interval else why_not_shown([first.n_runs], shared),
    )


def _brackets(low: Any, high: Any, digits: int = 3) -> str:
    """Return an interval in brackets; empty if there is none."""
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]" if math.isfinite(low) else ""


def _main_table(results: Results, selection: Selection) -> Table:
    """Return the table of the selected setting, which on the page follows the metric of the figure.

    It has a row per hasher, the best first, and a column per code length.
    """
    rows = at(results.plain, metric=results.metric, **selection.setting)
    n_runs, in_order = rows["n_runs"], rows.sort_values("n_bits", kind="stable")
    texts, lengths, best = scores_by(in_order, "n_bits", results.metric)
    return PAGE.table(
        "answer-table",
        texts,
        ["hasher", *(f"{n} bits" for n in lengths)],
        best,
        results=results,
        over=f"mean ± standard deviation over {between(n_runs)} runs" if max(n_runs) > 1 else "one run",
        is_tested=selection.n_runs > 1 and len(texts) > 1 and not math.isinf(results.shared(selection.split)),
    )


def scores_by(
    rows: "pd.DataFrame", column: str, metric: str
) -> tuple[list[list[str]], list[Any], frozenset[tuple[int, int]]]:
    """Return means with their deviations, a row per hasher, the best first; the columns; and the cells of the best.

    The columns are the values of `column` in `rows`, in their order.
    """
    digits, is_lower = decimals(rows["std"]), _is_lower(metric)
    means = rows.pivot_table(index="hasher", columns=column, values="mean", sort=False, dropna=False)
    means = means.loc[means.mean(axis=1).sort_values(ascending=is_lower, kind="stable").index]
    texts = rows.assign(text=[spread(*pair, digits) for pair in zip(rows["mean"], rows["std"], strict=True)])
    texts = texts.pivot_table(index="hasher", columns=column, values="text", aggfunc="first")
    texts, best = texts.reindex_like(means).fillna(ABSENT), means.eq(means.min() if is_lower else means.max())
    return [[str(hasher), *row] for hasher, *row in texts.itertuples()], list(means), cells(best)


def _pairs(results: Results, selection: Selection) -> dict[str, dict[str, Any]]:
    """Return the paired differences of all hashers at the selection by metric, as the script puts them in a table.

    Rows and columns are the hashers, the best first, and a row has the differences from those above it. If there are
    too many, only the first metrics have them.
    """
    scores = at(results.run_scores, **selection.combination)
    n_pairs = math.comb(scores["hasher"].nunique(), 2)
    metrics = results.metrics if n_pairs * len(results.metrics) <= _MOST_PAIRS else results.metrics[:N_FIRST]
    by_metric = dict(iter(scores.groupby("metric")))
    shared = results.shared(selection.split)
    return {metric: _of_metric(metric, _by_run(by_metric[metric]), shared) for metric in metrics if metric in by_metric}


def _of_metric(metric: str, scores: "pd.DataFrame", shared: float) -> dict[str, Any]:
    """Return the hashers, the best first, the rows of their paired differences, and the significant ones."""
    scores = scores.dropna()
    scores = scores[scores.mean().sort_values(ascending=_is_lower(metric), kind="stable").index]
    names, pairs = [*map(str, scores)], paired_differences(scores, shared=shared)
    ends = ([pair.low for pair in pairs.values()], [pair.high for pair in pairs.values()])
    low, high = shown_interval(*ends, len(scores), metric, difference=True)
    digits = decimals((high - low) / 2) if (high > low).any() else 3
    texts = {
        (below, above): f"{pair.mean:+z.{digits}f}{_brackets(least, most, digits)}"
        for ((above, below), pair), least, most in zip(pairs.items(), low, high, strict=True)
    }
    return {
        "hashers": names,
        "rows": [";".join(texts.get((one, other), "") for other in names[:i]) for i, one in enumerate(names)][1:],
        "strong": [(names.index(b) - 1, names.index(a)) for (a, b), pair in pairs.items() if pair.p < _LEVEL],
        "n_runs": len(scores),
    }


def _differences(results: Results, selection: Selection, pairs: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return the paired differences of the main metric as a table; [] if there is one hasher everywhere."""
    if results.run_scores.groupby([*SETTING, "n_bits"])["hasher"].nunique().max() < 2:
        return []
    shown = pairs.get(results.metric, {"hashers": [], "rows": [], "strong": [], "n_runs": selection.n_runs})
    names, shared = shown["hashers"], results.shared(selection.split)
    rows = [row.replace("[", "\n[").split(";") for row in shown["rows"]]
    table = PAGE.table(
        "differences",
        [[one, *row, *[""] * (len(names) - 1 - len(row))] for one, row in zip(names[1:], rows, strict=True)],
        ["hasher", *names[:-1]],
        frozenset((down, across + 1) for down, across in shown["strong"]),
        metric=results.metric,
        selection=selection,
        n_hashers=len(names),
        n_runs=shown["n_runs"],
        why=why_not_shown([shown["n_runs"]], shared),
        is_tested=not math.isinf(shared),
        confidence=CONFIDENCE,
    )
    return [table]
