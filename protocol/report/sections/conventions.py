"""The effects of the order of ties (figure 3 of TALR), of the conventions that others use, and of the split."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from protocol.checks import listed
from protocol.report.figure import PAGE, DataFrame, Figure, Section, series_scales
from protocol.report.results import N_FIRST, Results, Scores
from protocol.report.sections.curves import CELL, figure_of
from protocol.scores.statistics import half_width, shown_interval, why_not_shown
from protocol.scores.summary import SETTING, at

_NAMES = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_SAME = "no difference"


def conventions_section(results: Results) -> Section:
    """Return the range of mAP over the orders of ties, if it was computed, and mAP under every convention."""
    figures = [_ties(results)] if set(_NAMES) <= set(results.config["metrics"]) else []
    rows = convention_values(results)
    named = at(rows, named="yes").dropna(subset="value")
    best = _n_best(named)
    shown = at(results.plain, **results.selections[0].combination, metric=results.metric)
    choices = results.selections[0].setting | {"hasher": str(shown.loc[shown["mean"].fillna(-1).idxmax(), "hasher"])}
    figures.append(PAGE.figure("one-number", rows, choices))
    text = [PAGE.text("conventions", depends=(best > 1).sum(), n=len(best))] if len(set(named["hasher"])) > 1 else []
    return PAGE.section("conventions", text, figures)


def _n_best(values: DataFrame) -> Any:
    """Return how many hashers are best under some convention, by setting.

    A hasher without undefined values has the same one under every treatment of these, which other hashers have.
    """
    metric = [*SETTING, "metric"]
    treatments = values.loc[values["undefined"] != _SAME, [*metric, "undefined"]].drop_duplicates()
    every = values.merge(treatments.rename(columns={"undefined": "as"}), on=metric, how="left").fillna({"as": _SAME})
    every = every[(every["undefined"] == _SAME) | (every["undefined"] == every["as"])].reset_index(drop=True)
    best = every.loc[every.groupby([*metric, "as"])["value"].idxmax()]
    return best.groupby(list(SETTING))["hasher"].nunique()


def _ties(results: Results) -> Figure:
    scores = results.plain[results.plain["metric"].isin(_NAMES)]
    wide = scores.assign(metric=scores["metric"].map(_NAMES)).pivot_table(index=CELL, columns="metric", values="mean")
    return figure_of("ties", results.ordered(wide.reset_index()[[*CELL, *_NAMES.values()]]), results)


def convention_values(results: Scores) -> DataFrame:
    """Return the values under every convention, of run 0, and whether a named convention reports them as mAP."""
    columns = [*SETTING, "n_bits", "hasher", "metric", "undefined", "reported_as_map_by", "value"]
    rows = results.table["conventions"][columns].fillna({"reported_as_map_by": ""})
    undefined = rows["undefined"].map(lambda way: "" if way == _SAME else f", 0/0: {way}")
    named = np.where(rows["reported_as_map_by"] != "", "yes", "no")
    return rows.assign(label=rows["metric"] + undefined, named=named)


def splits_compared_section(results: Results) -> Section | None:
    """Return a figure of the paired differences between the first split and the others; None if there is only one."""
    first, *others = splits = list(results.plain["split"].unique())
    if not others:
        return None
    rows = _between_splits(results, first, others)
    setting = {key: value for key, value in results.selections[0].combination.items() if key != "split"}
    chart = series_scales(results.hashers) | {"versus": others, "legend": {} if len(others) > 1 else None}
    chart |= {"axis": f"{{metric}}: {first} minus {listed(others)}", "step": 10 + 10 * len(others)}
    figure = PAGE.figure("split-differences", rows, {"metric": results.metric, **setting}, chart=chart)
    text = [PAGE.text("databases", n_sizes=len({len(results.splits[split]["database"]) for split in splits}))]
    for other, own in at(rows, metric=results.metric).groupby("versus", sort=False):
        tested = own[own["low"].notna() & (own["n_runs"] > 2) & (own["low"] < own["high"])]
        largest, shared = own.loc[own["difference"].abs().idxmax()], _shared(results, first, str(other))
        values = {"mean": own["difference"].mean(), "largest": largest, "n": len(tested)}
        values |= {"clear": int((tested["low"] * tested["high"] > 0).sum()), "metric": results.metric}
        why = "" if np.isnan(shared) else why_not_shown(own["n_runs"], shared)
        text.append(PAGE.text("splits-compared", first=first, other=other, why=why, **values))
    return PAGE.section("splits-compared", text, [figure], splits=splits)


def _between_splits(results: Results, first: str, others: Sequence[str]) -> DataFrame:
    """Return the mean of each hasher under the first split, and its paired difference from each other split.

    ``low`` and ``high`` are the limits of the interval of the ``difference``, which is a mean over runs.
    """
    import pandas as pd

    scores = results.run_scores[results.run_scores["metric"].isin(results.metrics[:N_FIRST])]
    cell = ["metric", "feature", "ground_truth", "n_bits", "hasher"]
    parts = []
    for other in others:
        both = at(scores, split=first).merge(at(scores, split=other), on=[*cell, "run"], suffixes=("", "_versus"))
        both = both.assign(difference=both["value"] - both["value_versus"]).dropna(subset="difference")
        groups = both.groupby(cell, sort=False)
        rows = groups[["value", "value_versus", "difference"]].mean().reset_index()
        spread = groups["difference"].agg(["std", "size"]).reset_index(drop=True)
        half = half_width(spread["std"], spread["size"], shared=_shared(results, first, other))
        rows = rows.assign(low=rows["difference"] - half, high=rows["difference"] + half, n_runs=spread["size"])
        for metric, own in rows.groupby("metric"):
            ends = shown_interval(own["low"], own["high"], own["n_runs"], str(metric), difference=True)
            rows.loc[own.index, ["low", "high"]] = np.column_stack(ends)
        parts.append(rows.assign(versus=other))
    return results.by_metric(results.ordered(pd.concat(parts, ignore_index=True)))


def _shared(results: Results, first: str, other: str) -> float:
    """Return the larger `shared_variance` of the runs of two splits; NaN unless these have the same queries."""
    has_pairs = np.array_equal(results.splits[first]["query"], results.splits[other]["query"])
    return max(results.shared[first], results.shared[other]) if has_pairs else np.nan
