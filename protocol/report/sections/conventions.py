"""The effects of the order of ties (figure 3 of TALR), of the conventions that others use, and of the split."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from protocol.checks import listed
from protocol.report.figure import PAGE, Figure, Section, series_scales
from protocol.report.results import N_FIRST, Results, Scores, Selection
from protocol.report.sections.answer import scores_by
from protocol.report.sections.curves import figure_of
from protocol.scores.statistics import half_width, shown_interval, why_not_shown
from protocol.scores.summary import SETTING, at

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_CELL = [*SETTING, "n_bits", "hasher"]


def conventions_section(results: Results, selection: Selection) -> Section:
    """Return the range of mAP over the orders of ties, if it was computed, and mAP under every convention."""
    by_convention = _by_convention(results, selection)
    if not set(_NAMES) <= set(results.config["metrics"]):
        return PAGE.section("conventions", figures=[by_convention])
    return PAGE.section("conventions", [PAGE.text("ties")], [_ties(results, selection), by_convention])


def _ties(results: Results, selection: Selection) -> Figure:
    rows = _orders_of_ties(results)
    here = at(rows, **selection.combination)
    pairs = list(itertools.combinations(here.itertuples(), 2))
    overlap = sum(a.worst < b.best and b.worst < a.best for a, b in pairs)
    widest = here.loc[(here["best"] - here["worst"]).idxmax()]
    return figure_of("ties", rows, results, selection, widest=widest, n_pairs=len(pairs), overlap=overlap)


@functools.lru_cache(maxsize=1)
def _orders_of_ties(results: Results) -> "pd.DataFrame":
    scores = results.plain[results.plain["metric"].isin(_NAMES)]
    wide = scores.assign(metric=scores["metric"].map(_NAMES)).pivot_table(index=_CELL, columns="metric", values="mean")
    return results.ordered(wide.reset_index()[[*_CELL, *_NAMES.values()]])


@functools.lru_cache(maxsize=1)
def convention_values(results: Scores) -> "pd.DataFrame":
    """Return the values under every convention, of run 0, and whether a named convention reports them as mAP."""
    columns = [*SETTING, "n_bits", "hasher", "metric", "undefined", "reported_as_map_by", "value"]
    rows = results.table["conventions"][columns].fillna({"reported_as_map_by": ""})
    undefined = rows["undefined"].map(lambda way: "" if way == "no difference" else f", 0/0: {way}")
    named = np.where(rows["reported_as_map_by"] != "", "yes", "no")
    return rows.assign(label=rows["metric"] + undefined, named=named)


def _by_convention(results: Results, selection: Selection) -> Figure:
    """Return the values under every convention; the sentence is about those of the best hasher that have a name."""
    rows = convention_values(results)
    scores = at(results.plain, **selection.combination, metric=results.metric)
    best = str(scores.loc[scores["mean"].fillna(-1).idxmax(), "hasher"])
    named = at(rows, **selection.setting, named="yes").dropna(subset="value")
    of_best = at(named, hasher=best)
    used = named.pivot_table(index="hasher", columns="label", values="value").dropna(axis=1)
    pairs = list(itertools.combinations(used.index, 2))
    values: dict[str, Any] = {"results": results, "selection": selection, "n_pairs": len(pairs)}
    values["ends"] = [of_best.loc[of_best["value"].agg(end)] for end in ("idxmin", "idxmax")] if len(of_best) else []
    values["swapped"] = sum((used.loc[a] > used.loc[b]).any() and (used.loc[a] < used.loc[b]).any() for a, b in pairs)
    return PAGE.figure("one-number", rows, selection.setting | {"hasher": best}, **values)


def splits_compared_section(results: Results, selection: Selection) -> Section | None:
    """Return a figure of the paired differences between the first split and the others; None if there is only one."""
    first, *others = splits = list(dict.fromkeys(results.plain["split"]))
    if not others:
        return None
    rows = _between_splits(results)
    setting = {key: value for key, value in selection.combination.items() if key != "split"}
    sentences = {
        metric: _compared(results, selection, at(rows, **setting, metric=metric), metric, splits)
        for metric in dict.fromkeys([results.metric, *rows["metric"]])
    }
    difference = f"{first} minus {listed(others)}"
    figure = difference_figure("split-differences", results, rows, setting, difference, sentences)
    text = PAGE.text("databases", n_sizes=len({len(results.splits[split]["database"]) for split in splits}))
    tables = []
    if len(splits) > 2:
        rows, names, best = scores_by(at(results.plain, metric=results.metric, **setting), "split", results.metric)
        where = selection.where("split")
        tables.append(PAGE.table("by-split", rows, ["hasher", *names], best, results=results, setting=where))
    return PAGE.section("splits-compared", [text], [figure], tables, splits=splits)


def difference_figure(
    name: str,
    results: Results,
    rows: "pd.DataFrame",
    setting: Mapping[str, Any],
    difference: str,
    sentences: Mapping[str, str],
) -> Figure:
    """Return a figure of paired differences by hasher, with their intervals, and a sentence for each metric.

    `difference` describes the column of this name in `rows`; those of several ``versus`` are side by side.
    """
    versus = list(dict.fromkeys(rows["versus"]))
    chart = series_scales(results.hashers) | {"axis": f"{{metric}}: {difference}", "versus": versus}
    chart |= {"step": 10 + 10 * len(versus), "legend": {} if len(versus) > 1 else None}
    values = {"sentence": sentences[results.metric], "difference": difference}
    figure = PAGE.figure(name, rows, {"metric": results.metric, **setting}, of="differences", chart=chart, **values)
    return replace(figure, sentences=sentences)


def paired(rows: "pd.DataFrame", std: "pd.Series", n_runs: "pd.Series", shared: Any) -> "pd.DataFrame":
    """Return rows with the interval ``low`` to ``high`` of their ``difference``, a mean over runs."""
    half = half_width(std, n_runs, shared=shared)
    rows = rows.assign(low=rows["difference"] - half, high=rows["difference"] + half, n_runs=n_runs)
    for metric, rows_of in rows.groupby("metric"):
        ends = shown_interval(rows_of["low"], rows_of["high"], n_runs[rows_of.index], str(metric), difference=True)
        rows.loc[rows_of.index, ["low", "high"]] = np.column_stack(ends)
    return rows


@functools.lru_cache(maxsize=1)
def _between_splits(results: Results) -> "pd.DataFrame":
    """Return the mean of each hasher under the first split, and its paired difference from each other split."""
    import pandas as pd

    scores = results.run_scores[results.run_scores["metric"].isin(results.metrics[:N_FIRST])]
    first, *others = dict.fromkeys(results.plain["split"])
    cell = ["metric", "feature", "ground_truth", "n_bits", "hasher"]
    parts = []
    for other in others:
        both = at(scores, split=first).merge(at(scores, split=other), on=[*cell, "run"], suffixes=("", "_versus"))
        both = both.assign(difference=both["value"] - both["value_versus"]).dropna(subset="difference")
        groups = both.groupby(cell, sort=False)
        means = groups[["value", "value_versus", "difference"]].mean().reset_index()
        spread = groups["difference"].agg(["std", "size"]).reset_index(drop=True)
        intervals = paired(means, spread["std"], spread["size"], _shared(results, first, other))
        parts.append(intervals.assign(versus=other))
    return results.by_metric(results.ordered(pd.concat(parts, ignore_index=True)))


def _shared(results: Results, first: str, other: str) -> float:
    """Return the larger `shared_variance` of the runs of two splits; NaN unless these have the same queries."""
    has_pairs = np.array_equal(results.splits[first]["query"], results.splits[other]["query"])
    return max(map(results.shared, (first, other))) if has_pairs else np.nan


def _compared(results: Results, selection: Selection, here: "pd.DataFrame", metric: str, splits: Sequence[str]) -> str:
    """Return in words how the scores on two splits differ; of more splits, only what the figure shows."""
    first, second, *more = splits
    if here.empty:
        return PAGE.text("one-split", results=results, selection=selection, metric=metric)
    shared, has_intervals = _shared(results, first, second), bool((here["low"].notna() & (here["n_runs"] > 2)).any())
    why = "" if np.isnan(shared) else why_not_shown([selection.n_runs], shared)
    if more:
        values = {"metric": metric, "first": first, "has_intervals": has_intervals, "why": why}
        return PAGE.text("many-splits", selection=selection, **values)
    gap = here.set_index("hasher")["difference"]
    orders = [list(here.sort_values(column, kind="stable")["hasher"]) for column in ("value", "value_versus")]
    values = {"metric": metric, "first": first, "second": second, "n": len(here), "same": orders[0] == orders[1]}
    values |= {"mean": gap.mean(), "largest": gap[gap.abs().idxmax()], "hasher": gap.abs().idxmax(), "why": why}
    # Equal differences in all runs have no interval.
    clear = int(((here["low"] * here["high"] > 0) & (here["low"] < here["high"])).sum()) if has_intervals else None
    return PAGE.text("splits-compared", selection=selection, clear=clear, **values)
