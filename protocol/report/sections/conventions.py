"""The effects of the order of ties (figure 3 of TALR), of the conventions that others use, and of the split."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from protocol.report.description import PAGE, hasher_scales
from protocol.report.figure import COLOURS, Figure, Section
from protocol.report.results import Results
from protocol.scores.summary import PLACE, at

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"mAP[worst]": "worst", "mAP": "expected", "mAP[best]": "best"}
_CELL = [*PLACE, "n_bits", "hasher"]
_METRICS = ("mAP", "nDCG", "AUPRC[area]", "AUPRC[trapezoid]", "precision@r2", "recall@r2", "RAMAP@r2", "mLGAP@r2")
"""The metrics that the reader can choose from, besides the main one."""
_SHAPES = ["circle", "diamond", "square", "triangle-up", "cross"]


def conventions_section(results: Results) -> Section:
    """Return the range of mAP over the orders of ties, if it was computed, and mAP under every convention."""
    figures, text = [_by_convention(results)], [PAGE.text("conventions")]
    if set(_NAMES) <= set(results.config["metrics"]):
        figures, text = [_ties(results), *figures], [PAGE.text("ties"), *text]
    return PAGE.section("conventions", text, figures)


def _ties(results: Results) -> Figure:
    rows = results.once(_orders_of_ties)
    here = at(rows, **results.combination).reset_index(drop=True)
    pairs = list(itertools.combinations(here.to_dict("records"), 2))
    return PAGE.figure(
        "ties",
        rows,
        results.combination,
        chart=hasher_scales(results.hashers),
        results=results,
        widest=here.loc[(here["best"] - here["worst"]).idxmax()],
        n_pairs=len(pairs),
        overlap=sum(a["worst"] < b["best"] and b["worst"] < a["best"] for a, b in pairs),
    )


def _orders_of_ties(results: Results) -> "pd.DataFrame":
    scores = results.plain[results.plain["metric"].isin(_NAMES)]
    wide = scores.assign(metric=scores["metric"].map(_NAMES)).pivot_table(index=_CELL, columns="metric", values="mean")
    return results.ordered(wide.reset_index()[[*_CELL, *_NAMES.values()]])


def _values(results: Results) -> "pd.DataFrame":
    """Return every value that a named convention calls mAP, of run 0."""
    columns = ["feature", "ground_truth", "split", "n_bits", "hasher", "metric", "undefined", "called_map_by", "value"]
    rows = results.table["conventions"][columns].fillna({"called_map_by": ""})
    undefined = rows["undefined"].map(lambda way: "" if way == "either way" else f", 0/0: {way}")
    named = np.where(rows["called_map_by"] != "", "by a convention", "by none")
    return rows.assign(label=rows["metric"] + undefined, named=named)


def _by_convention(results: Results) -> Figure:
    rows = results.once(_values)
    sentences = _sentences(at(rows, **results.place).dropna(subset="value"), results)
    scores = at(results.plain, **results.combination, metric=results.metric)
    best = str(scores.loc[scores["mean"].fillna(-1).idxmax(), "hasher"])
    return PAGE.figure(
        "one-number",
        rows,
        results.place | {"hasher": best},
        sentences=sentences,
        sentence=sentences.get(best, PAGE.text("no-convention", results=results)),
    )


def _sentences(here: "pd.DataFrame", results: Results) -> dict[str, str]:
    """Return the sentence about each hasher at a place, where all have the same code length."""
    used = here[here["called_map_by"] != ""].pivot_table(index="hasher", columns="label", values="value").dropna(axis=1)
    pairs = list(itertools.combinations(used.index, 2))
    swapped = sum((used.loc[a] > used.loc[b]).any() and (used.loc[a] < used.loc[b]).any() for a, b in pairs)
    return {
        hasher: PAGE.text(
            "convention",
            results=results,
            hasher=hasher,
            low=own.loc[own["value"].idxmin()],
            high=own.loc[own["value"].idxmax()],
            n_pairs=len(pairs),
            swapped=swapped,
        )
        for hasher, own in here.groupby("hasher", sort=False)
    }


def splits_compared_section(results: Results) -> Section | None:
    """Return a figure of every hasher's scores under each split; None if there is only one split."""
    splits = list(dict.fromkeys(results.plain["split"]))
    if len(splits) == 1:
        return None
    rows = results.once(_compared_scores)
    place = {key: value for key, value in results.combination.items() if key != "split"}
    here = at(rows, **place)
    sentences = {
        metric: _compared(results, at(here, metric=metric), metric, splits) for metric in rows["metric"].unique()
    }
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(splits))]
    figure = PAGE.figure(
        "splits-compared",
        rows,
        {"metric": results.metric} | place,
        chart=hasher_scales(results.hashers)
        | {"splits": {"domain": splits, "range": colours}}
        | {"shapes": {"domain": splits, "range": _SHAPES[: len(splits)]}},
        sentences=sentences,
        sentence=sentences[results.metric],
    )
    databases = [
        (split, len(parts["database"]), int(np.isin(parts["train"], parts["database"]).sum()))
        for split, parts in ((split, results.splits[split]) for split in splits)
    ]
    return PAGE.section("splits-compared", [PAGE.text("databases", databases=databases)], [figure], splits=splits)


def _compared_scores(results: Results) -> "pd.DataFrame":
    columns = ["metric", "feature", "ground_truth", "n_bits", "hasher", "split", "mean", "std"]
    return results.by_metric(results.plain[results.plain["metric"].isin([*_METRICS, results.metric])])[columns]


def _compared(results: Results, here: "pd.DataFrame", metric: str, splits: list[str]) -> str:
    """Return in words how the scores under the first two splits differ."""
    wide = here.pivot_table(index="hasher", columns="split", values="mean")
    first, second = splits[:2]
    if not {first, second} <= set(wide):
        return PAGE.text("one-split", results=results, metric=metric)
    wide = wide.dropna(subset=[first, second])  # finished codes may exist for one split only
    gap = wide[first] - wide[second]
    orders = [list(wide[split].sort_values(kind="stable").index) for split in (first, second)]
    return PAGE.text(
        "splits-compared",
        results=results,
        metric=metric,
        first=first,
        second=second,
        mean=gap.mean(),
        largest=gap[gap.abs().idxmax()],
        hasher=gap.abs().idxmax(),
        same=orders[0] == orders[1],
    )
