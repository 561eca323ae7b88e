"""The same hashers under each split, such as standard and improved."""

from typing import Any

import altair as alt
import numpy as np

from protocol.report.figure import COLOURS, Figure, Section, number, rows_chart, tooltips
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return a metric of every hasher, a point for each split."""
    splits = list(dict.fromkeys(results.plain["split"]))
    title = " versus ".join(splits).capitalize()
    if len(splits) == 1:
        return Section(
            "splits-compared", "Splits compared", [f"Nothing to compare: every run is on the {splits[0]} split."]
        )
    columns = ["metric", "feature", "ground_truth", "n_bits", "hasher", "split", "mean", "std"]
    order = {metric: i for i, metric in enumerate(results.setting["metrics"])}
    rows = results.plain[columns]
    rows = rows.loc[rows["metric"].map(order).sort_values(kind="stable").index]
    rows = rows[rows["metric"].isin(_compared(results))]
    place = {key: value for key, value in results.place.items() if key != "split"}
    figure = Figure(
        "splits-compared",
        "Each hasher under each split",
        _shows(results, rows, splits),
        _chart(results, splits),
        rows,
        choices={"metric": results.metric} | place | {"n_bits": results.n_bits},
    )
    text = (
        "Protocols that draw the same partitions have the same queries and models, so the distance between two points "
        "of a row comes from the database alone."
    )
    return Section("splits-compared", title, [text, _databases(results, splits)], [figure])


def _databases(results: Results, splits: list[str]) -> str:
    """Return how the databases differ, and why the distance is not a leak of training items alone."""
    databases = []
    for split, parts in results.splits.items():
        if split in splits:
            n_trained = int(np.isin(parts["train"], parts["database"]).sum())
            databases.append(f"{split} ranks {len(parts['database']):,} items, {n_trained:,} of them training items")
    return (
        f"The databases differ in size and composition: {'; '.join(databases)} (run 0). So the distance is not a leak "
        "of training items alone. The target `leak` measures that leak: it trains on one of two databases of equal "
        "size and class balance and ranks both. Its results for CIFAR-10 are in results/reference/leak/."
    )


def _compared(results: Results) -> list[str]:
    """Return the metrics that are worth choosing: not each radius and cutoff again."""
    wanted = ("mAP", "nDCG", "AUPRC[area]", "AUPRC[trapezoid]", "precision@r2", "recall@r2", "RAMAP@r2", "mLGAP@r2")
    return [metric for metric in results.setting["metrics"] if metric in (*wanted, results.metric)]


def _chart(results: Results, splits: list[str]) -> Any:
    y = alt.Y("hasher:N", title=None, sort=results.hashers)
    x = alt.X("mean:Q", title="{metric}", scale=alt.Scale(zero=False))
    base = rows_chart().encode(y=y)
    line = base.mark_rule(opacity=0.35, strokeWidth=3).encode(
        x=alt.X("min(mean):Q", title="{metric}", scale=alt.Scale(zero=False)),
        x2="max(mean):Q",
        color=alt.value("currentColor"),
    )
    scale = alt.Scale(domain=splits, range=[COLOURS[i % len(COLOURS)] for i in range(len(splits))])
    shapes = alt.Scale(domain=splits, range=["circle", "diamond", "square", "triangle-up", "cross"][: len(splits)])
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x,
        color=alt.Color("split:N", title=None, scale=scale),
        shape=alt.Shape("split:N", title=None, scale=shapes),
        tooltip=tooltips("hasher:N", "split:N", "mean:Q", "std:Q"),
    )
    return alt.layer(line, points).properties(width="container", height=alt.Step(26))


def _shows(results: Results, rows: Any, splits: list[str]) -> str:
    place = {key: value for key, value in results.place.items() if key != "split"}
    here = results.at(rows, metric=results.metric, **place, n_bits=results.n_bits)
    wide = here.pivot_table(index="hasher", columns="split", values="mean")
    first, second = splits[:2]
    if not {first, second} <= set(wide):
        return f"{results.metric} is not defined under both splits ({results.where('split')})."
    wide = wide.dropna(subset=[first, second])  # finished codes may exist for one split only
    gap = wide[first] - wide[second]
    largest = gap.abs().idxmax()
    orders = [list(wide[split].sort_values(kind="stable").index) for split in (first, second)]
    same = "the same order" if orders[0] == orders[1] else "another order"
    return (
        f"{results.metric} under {first} is on average {number(abs(gap.mean()))} "
        f"{'above' if gap.mean() > 0 else 'below'} that under {second}; the largest difference is that of {largest}, "
        f"{gap[largest]:+.4f}, and the two splits put the hashers in {same} ({results.where('split')})."
    )
