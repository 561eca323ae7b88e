"""The same hashers under each split, such as standard and improved."""

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from protocol.report.figure import COLOURS, Figure, Section, number, rows_chart, tooltips
from protocol.report.results import Results

if TYPE_CHECKING:
    import pandas as pd

_METRICS = ("mAP", "nDCG", "AUPRC[area]", "AUPRC[trapezoid]", "precision@r2", "recall@r2", "RAMAP@r2", "mLGAP@r2")
"""The metrics that the reader can choose from, besides the main one."""


def section(results: Results) -> Section | None:
    """Return a figure of every hasher's scores under each split; None if there is only one split."""
    splits = list(dict.fromkeys(results.plain["split"]))
    if len(splits) == 1:
        return None
    columns = ["metric", "feature", "ground_truth", "n_bits", "hasher", "split", "mean", "std"]
    order = {metric: i for i, metric in enumerate(results.config["metrics"])}
    rows = results.plain[results.plain["metric"].isin([*_METRICS, results.metric])][columns]
    rows = rows.loc[rows["metric"].map(order).sort_values(kind="stable").index]
    place = {key: value for key, value in results.place.items() if key != "split"}
    sentences = {metric: _shows(results, own, metric, splits) for metric, own in rows.groupby("metric", sort=False)}
    figure = Figure(
        "splits-compared",
        "Each hasher under each split",
        sentences[results.metric],
        lambda: _chart(results, splits),
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


def _chart(results: Results, splits: list[str]) -> Any:
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


def _shows(results: Results, rows: "pd.DataFrame", metric: str, splits: list[str]) -> str:
    place = {key: value for key, value in results.place.items() if key != "split"}
    here = results.at(rows, **place, n_bits=results.n_bits)
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
