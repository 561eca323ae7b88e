"""The effects of the order of ties (figure 3 of TALR), of the conventions that others use, and of the split."""

import itertools
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from protocol.report.figure import COLOURS, Figure, Section, hasher_colour, number, rows_chart, tooltips
from protocol.report.results import Results
from protocol.scores.summary import at

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_CELL = ["feature", "ground_truth", "split", "n_bits", "hasher"]
_TIES = (
    "Items at the same Hamming distance are tied, and sorting puts them in an arbitrary order. A bar extends from the "
    "mAP with the relevant items last in every tie to the mAP with them first. The point is the expected value over "
    "all orders."
)
_CONVENTIONS = (
    "Published programs compute mAP under different conventions: for the order of ties, the cutoff K, the denominator "
    "and queries without relevant items. The second figure scores the same codes under all of them."
)
_METRICS = ("mAP", "nDCG", "AUPRC[area]", "AUPRC[trapezoid]", "precision@r2", "recall@r2", "RAMAP@r2", "mLGAP@r2")
"""The metrics that the reader can choose from, besides the main one."""


def conventions_section(results: Results) -> Section:
    """Return the range of mAP over the orders of ties, if it was computed, and mAP under every convention."""
    figures, text = [_by_convention(results)], [_CONVENTIONS]
    if set(_NAMES) <= set(results.config["metrics"]):
        figures, text = [_ties(results), *figures], [_TIES, *text]
    return Section("conventions", "Ties and conventions", text, figures)


def _ties(results: Results) -> Figure:
    named = results.plain[results.plain["metric"].isin(_NAMES)]
    wide = named.assign(metric=named["metric"].map(_NAMES)).pivot_table(index=_CELL, columns="metric", values="mean")
    rows = results.ordered(wide.reset_index()[[*_CELL, *_NAMES.values()]])
    title = "Worst, expected and best mAP over all orders of tied items"
    choices = results.place | {"n_bits": results.n_bits}
    return Figure("ties", title, _ties_shows(results, rows), lambda: _ties_chart(results), rows, choices)


def _ties_chart(results: Results) -> Any:
    y = alt.Y("hasher:N", title=None, sort=list(results.hashers))
    x = alt.X("worst:Q", title="mAP: worst, expected, best order of ties", scale=alt.Scale(zero=False))
    colour = hasher_colour(results.hashers, legend=False)
    base = rows_chart().encode(y=y, color=colour, tooltip=tooltips("hasher:N", "worst:Q", "expected:Q", "best:Q"))
    bars = base.mark_bar(height=8, opacity=0.45, cornerRadius=4).encode(x=x, x2="best:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(x="expected:Q")
    return alt.layer(bars, dots).properties(width="container", height=alt.Step(26))


def _ties_shows(results: Results, rows: "pd.DataFrame") -> str:
    here = at(rows, **results.place, n_bits=results.n_bits).reset_index(drop=True)
    width = here["best"] - here["worst"]
    widest = here.loc[width.idxmax()]
    pairs = [(a, b) for i, a in here.iterrows() for j, b in here.iterrows() if i < j]
    overlap = sum(a["worst"] < b["best"] and b["worst"] < a["best"] for a, b in pairs)
    shows = (
        f"Depending on the order of ties, the mAP of {widest['hasher']} is between {number(widest['worst'])} and "
        f"{number(widest['best'])}"
    )
    if pairs:
        shows += f"; the ranges of {overlap} of {len(pairs)} pairs of hashers overlap"
    return f"{shows} ({results.where()})."


def _by_convention(results: Results) -> Figure:
    """Return every value that a named convention calls mAP, of run 0."""
    table = results.table["conventions"]
    columns = ["feature", "ground_truth", "split", "n_bits", "hasher", "metric", "undefined", "called_map_by", "value"]
    named = table["metric"] + table["undefined"].map(lambda way: "" if way == "either way" else f", 0/0: {way}")
    rows = table[columns].assign(
        label=named,
        named=table["called_map_by"].fillna("").map(lambda names: "by a convention" if names else "by none"),
    )
    rows["called_map_by"] = rows["called_map_by"].fillna("")
    best = _best(results)
    here = at(rows, **results.place).dropna(subset="value")
    shows = _conventions_show(here, results.where(n_bits=False))
    title, choices = "The same codes under every convention", results.place | {"hasher": best}
    return Figure(
        "one-number",
        title,
        shows.get(best, f"No convention was computed ({results.where(n_bits=False)})."),
        _conventions_chart,
        rows,
        choices,
        folded=True,
        sentences=shows,
    )


def _best(results: Results) -> str:
    rows = at(results.plain, **results.place, metric=results.metric, n_bits=results.n_bits)
    return str(rows.loc[rows["mean"].fillna(-1).idxmax(), "hasher"])


def _conventions_chart() -> Any:
    y = alt.Y("label:N", title=None, sort=alt.EncodingSortField("value", op="max", order="descending"))
    colour = alt.Color(
        "named:N",
        title="called mAP",
        scale=alt.Scale(domain=["by a convention", "by none"], range=["#2f7fd1", "#7a8594"]),
    )
    base = rows_chart().encode(
        y=y,
        x=alt.X("value:Q", title="mean over the queries"),
        tooltip=tooltips("label:N", "called_map_by:N", "value:Q"),
    )
    bars = base.mark_bar(height=14).encode(color=colour)
    text = base.mark_text(align="left", dx=4, fontSize=11).encode(text=alt.Text("value:Q", format=".4f"))
    return alt.layer(bars, text).properties(width="container", height=alt.Step(22))


def _conventions_show(here: "pd.DataFrame", where: str) -> dict[str, str]:
    """Return the sentence about each hasher at a place, where all have the same code length."""
    used = here[here["called_map_by"] != ""].pivot_table(index="hasher", columns="label", values="value").dropna(axis=1)
    pairs = list(itertools.combinations(used.index, 2))
    swapped = sum((used.loc[a] > used.loc[b]).any() and (used.loc[a] < used.loc[b]).any() for a, b in pairs)
    swaps = f"; {swapped} of {len(pairs)} pairs of hashers swap places between two values that are called mAP"
    sentences = {}
    for hasher, own in here.groupby("hasher", sort=False):
        low, high = own.loc[own["value"].idxmin()], own.loc[own["value"].idxmax()]
        sentences[hasher] = (
            f"The same codes of {hasher} score from {number(low['value'])} ({low['label']}) to "
            f"{number(high['value'])} ({high['label']}){swaps if pairs else ''} ({where}; run 0, for "
            f"{low['n_bits']} bits alone)."
        )
    return sentences


def splits_compared_section(results: Results) -> Section | None:
    """Return a figure of every hasher's scores under each split; None if there is only one split."""
    splits = list(dict.fromkeys(results.plain["split"]))
    if len(splits) == 1:
        return None
    columns = ["metric", "feature", "ground_truth", "n_bits", "hasher", "split", "mean", "std"]
    order = {metric: i for i, metric in enumerate(results.config["metrics"])}
    rows = results.plain[results.plain["metric"].isin([*_METRICS, results.metric])][columns]
    rows = rows.loc[rows["metric"].map(order).sort_values(kind="stable").index]
    place = {key: value for key, value in results.place.items() if key != "split"}
    by_metric = rows.groupby("metric", sort=False)
    sentences = {metric: _splits_show(results, own, metric, splits) for metric, own in by_metric}
    figure = Figure(
        "splits-compared",
        "Each hasher under each split",
        sentences[results.metric],
        lambda: _splits_chart(results, splits),
        rows,
        choices={"metric": results.metric} | place | {"n_bits": results.n_bits},
        sentences=sentences,
    )
    title = " versus ".join(splits).capitalize()
    return Section("splits-compared", f"{title} split", [_databases(results, splits)], [figure])


def _databases(results: Results, splits: list[str]) -> str:
    """Return in words how the databases differ, and what follows for differences between scores."""
    databases = []
    for split in splits:
        parts = results.splits[split]
        n_trained = int(np.isin(parts["train"], parts["database"]).sum())
        databases.append(f"{split} ranks {len(parts['database']):,} items, including {n_trained:,} training items")
    return (
        f"The databases differ in size and composition: {'; '.join(databases)} (run 0). A difference between splits is "
        "therefore not the effect of training items alone; the target “leak” measures that effect, with two databases "
        "of equal size and class balance."
    )


def _splits_chart(results: Results, splits: list[str]) -> Any:
    y = alt.Y("hasher:N", title=None, sort=list(results.hashers))
    scale = alt.Scale(zero=False)
    x = alt.X("mean:Q", title="{metric}", scale=scale)
    colours = alt.Scale(domain=splits, range=[COLOURS[i % len(COLOURS)] for i in range(len(splits))])
    shapes = alt.Scale(domain=splits, range=["circle", "diamond", "square", "triangle-up", "cross"][: len(splits)])
    base = rows_chart().encode(y=y, color=alt.Color("split:N", title=None, scale=colours))
    ends = base.transform_calculate(low="datum.mean - datum.std", high="datum.mean + datum.std")
    bars = ends.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", title="{metric}", scale=scale), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x,
        shape=alt.Shape("split:N", title=None, scale=shapes),
        tooltip=tooltips("hasher:N", "split:N", "mean:Q", "std:Q"),
    )
    return alt.layer(bars, points).properties(width="container", height=alt.Step(26))


def _splits_show(results: Results, rows: "pd.DataFrame", metric: str, splits: list[str]) -> str:
    place = {key: value for key, value in results.place.items() if key != "split"}
    here = at(rows, **place, n_bits=results.n_bits)
    wide = here.pivot_table(index="hasher", columns="split", values="mean")
    first, second = splits[:2]
    if not {first, second} <= set(wide):
        return f"{metric} is not defined under both splits ({results.where('split')})."
    wide = wide.dropna(subset=[first, second])  # finished codes may exist for one split only
    gap = wide[first] - wide[second]
    largest = gap.abs().idxmax()
    orders = [list(wide[split].sort_values(kind="stable").index) for split in (first, second)]
    same = "the same order" if orders[0] == orders[1] else "different orders"
    bars = "; bars: one standard deviation over the runs" if results.n_runs > 1 else ""
    return (
        f"{metric} is on average {number(abs(gap.mean()))} {'higher' if gap.mean() > 0 else 'lower'} under "
        f"{first} than under {second}; the largest difference is {gap[largest]:+.4f}, for {largest}. The two splits "
        f"rank the hashers in {same} ({results.where('split')}{bars})."
    )
