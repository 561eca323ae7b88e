"""Precision and recall by cutoff, radius and code length, redundant bits, and lookups (RAMAP, figures 5 and 7).

Recall lost to binarisation has the nearest neighbours by the original vectors as the ground truth.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from protocol.checks import counted
from protocol.evaluation.plots import LEAST_RECALL
from protocol.report.examples import BALL, LOOKUP_ITEMS, LOOKUP_QUERIES
from protocol.report.figure import PAGE, Figure, Section, series_scales
from protocol.report.results import Results, Selection, nearest_truths
from protocol.scores.statistics import half_width, shown_interval, why_not_shown
from protocol.scores.summary import SETTING, at

if TYPE_CHECKING:
    import pandas as pd

_AT = 100
"""The N that the sentence about precision quotes, or the nearest one."""
_CELL = [*SETTING, "n_bits", "hasher"]
TARGET = 0.95
"""The share of the true nearest neighbours that rescoring should reach."""
_GROUP = [*_CELL, "k", "c"]
_EXTENSIONS = {"none": "plain", "same": "same", "different": "different"}


def curves_section(results: Results, selection: Selection) -> Section:
    """Return the figures of precision and recall, all but recall with the level of chance, and of empty balls."""
    n_runs = at(results.table["curves"], **selection.combination)["n_runs"]
    figures = [
        _top(results, selection, "precision", _AT),
        _top(results, selection, "recall", None),
        _pr_curve(results, selection),
        _empty(results, selection),
    ]
    return PAGE.section("curves", [PAGE.text("curves", n_runs=list(n_runs), selection=selection)], figures)


@functools.lru_cache(maxsize=1)
def _chance(results: Results) -> "pd.DataFrame":
    """Return the precision of a random order, which is that of the ball that contains the whole database."""
    radii = at(results.table["radii"], extension="none", metric="precision[micro]")
    return radii[radii["radius"] == radii["n_bits"]][[*_CELL, "value"]].rename(columns={"value": "chance"})


@functools.lru_cache(maxsize=2)
def _top_rows(results: Results, metric: str) -> "pd.DataFrame":
    """Return the values of the top N, those of precision with the level of chance."""
    rows = at(results.table["curves"], metric=metric)
    rows = rows[[*_CELL, "at", "value"]].rename(columns={"at": "N", "value": metric})
    return rows.merge(_chance(results), on=_CELL) if metric == "precision" else rows


def pr_points(radii: "pd.DataFrame", curve: Sequence[str]) -> "pd.DataFrame":
    """Return the points of precision-recall curves of plain codes, one for each Hamming radius.

    The smallest balls are left out: if the queries of a run find no item, precision is 0/0, and a few pairs are no
    reliable estimate.

    Parameters
    ----------
    radii : DataFrame
        The table ``radii`` of `protocol.report.examples`.
    curve : sequence of str
        The columns that identify a curve.

    Returns
    -------
    DataFrame
        The columns of `curve`, ``radius``, ``precision`` and ``recall`` of all pairs of a run, and ``chance``, the
        precision of a random order: that of the largest ball, which contains the whole database.
    """
    on = [*curve, "radius"]
    precision, recall = (
        at(radii, metric=f"{side}[micro]", extension="none")[[*on, "value"]].rename(columns={"value": side})
        for side in ("precision", "recall")
    )
    rows = precision.merge(recall, on=on).sort_values("radius", kind="stable")
    rows = rows.assign(chance=rows.groupby(list(curve))["precision"].transform("last"))
    return rows[rows["recall"] >= LEAST_RECALL]


@functools.lru_cache(maxsize=1)
def _pr_rows(results: Results) -> "pd.DataFrame":
    rows = results.ordered(pr_points(results.table["radii"], _CELL))
    return rows.drop_duplicates([*_CELL, "precision", "recall"])  # radii without a further item give the same point


def _figure(
    name: str, results: Results, selection: Selection, rows: "pd.DataFrame", choices: Mapping[str, Any], **values: Any
) -> Figure:
    return PAGE.figure(
        name, rows, choices, chart=series_scales(results.hashers), results=results, selection=selection, **values
    )


def _top(results: Results, selection: Selection, metric: str, cutoff: int | None) -> Figure:
    """Return precision or recall of the top N; the sentence quotes the N nearest to `cutoff`, or else the largest.

    That is smaller than the database, of which every hasher retrieves the same items.
    """
    rows = _top_rows(results, metric)
    here = at(rows, **selection.combination)
    every = len(results.splits[selection.split]["database"])
    smaller = here["N"][here["N"] < every].unique() if here["N"].min() < every else here["N"].unique()
    n = max(smaller) if cutoff is None else min(smaller, key=lambda other: abs(other - cutoff))
    best = at(here, N=n).sort_values(metric, ascending=False, kind="stable").iloc[0]
    return _figure(
        f"{metric}-at-n",
        results,
        selection,
        rows,
        selection.combination,
        n=n,
        best=best,
        n_hashers=here["hasher"].nunique(),
    )


def _pr_curve(results: Results, selection: Selection) -> Figure:
    rows = _pr_rows(results)
    here = at(rows, **selection.combination)
    half = here[here["recall"] >= 0.5].sort_values("radius", kind="stable")
    first = half.drop_duplicates("hasher")
    best = None if first.empty else first.loc[first["precision"].idxmax()]
    return _figure(
        "pr-curves",
        results,
        selection,
        rows,
        selection.combination,
        best=best,
        least=LEAST_RECALL,
        n_hashers=len(first),
    )


def _of_codes(
    selection: Selection, rows: "pd.DataFrame", *columns: str
) -> "tuple[pd.DataFrame, dict[str, Any], pd.DataFrame]":
    """Return some columns of rows, the selection without its ground truth, and the selected rows.

    Neither balls nor buckets depend on the ground truth.
    """
    choices = {column: value for column, value in selection.combination.items() if column != "ground_truth"}
    rows = rows[[*choices, "hasher", *columns]]
    return rows, choices, at(rows, **choices)


def _empty(results: Results, selection: Selection) -> Figure:
    radii = at(results.table["radii"], metric="empty", extension="none", ground_truth=selection.setting["ground_truth"])
    rows, choices, here = _of_codes(selection, radii, "radius", "value")
    here = at(here, radius=BALL)
    most, fewest = here.loc[here["value"].idxmax()], here.loc[here["value"].idxmin()]
    return _figure(
        "empty-balls", results, selection, rows, choices, radius=BALL, most=most, fewest=fewest, n_hashers=len(here)
    )


def _sizes(results: Results, selection: Selection) -> Figure:
    rows, choices, here = _of_codes(selection, results.table["buckets"], "rank", "items", "n_buckets")
    here = here.drop_duplicates("hasher")
    fullest = here.loc[here["items"].idxmax()]
    return _figure(
        "bucket-sizes", results, selection, rows, choices, n_buckets=list(here["n_buckets"]), fullest=fullest
    )


def _times(results: Results, selection: Selection) -> Figure:
    rows, choices, here = _of_codes(selection, results.table["lookups"], "radius", "codes", "milliseconds")
    mean = here.groupby("radius")[["codes", "milliseconds"]].mean()
    values = {"radius": mean.index.max(), "first": mean.iloc[0], "last": mean.iloc[-1]}
    return _figure(
        "lookup-times", results, selection, rows, choices, n_queries=LOOKUP_QUERIES, n_items=LOOKUP_ITEMS, **values
    )


@functools.lru_cache(maxsize=1)
def _extended(results: Results) -> "pd.DataFrame":
    """Return RAMAP by radius of the codes that have extensions in a setting, with and without these."""
    rows, cell = at(results.table["radii"], metric="RAMAP"), [*SETTING, "hasher", "n_bits"]
    rows = rows.merge(rows[rows["extension"] != "none"][cell].drop_duplicates(), on=cell)
    added = rows["extension_bits"].map(lambda bits: f" +{bits}" if bits else "")
    ranks = rows["extension"].map([*_EXTENSIONS].index)
    rows = rows.assign(codes=rows["extension"].map(_EXTENSIONS) + added, rank=ranks)
    rows = rows.sort_values(["rank", "extension_bits"], kind="stable")
    return results.ordered(rows)[[*cell, "codes", "radius", "value"]]


def extensions_section(results: Results, selection: Selection) -> Section | None:
    """Return RAMAP by radius of codes with redundant bits; None without such codes."""
    rows = _extended(results)
    here = at(rows, **selection.setting)
    if here.empty:
        return None
    codes = {"hasher": here["hasher"].iloc[0], "n_bits": int(here["n_bits"].iloc[0])}
    radius, scales = min(BALL, codes["n_bits"]), series_scales(rows["codes"])
    colours = dict(zip(*series_scales(results.hashers)["colour"].values(), strict=True))
    scales["colour"]["range"] = [colours[codes["hasher"]] for _ in scales["colour"]["domain"]]
    means = at(results.summary, **selection.setting, **codes, metric="mAP")["mean"]
    figure = PAGE.figure(
        "extensions-by-radius",
        rows.drop(columns=["hasher", "n_bits"]),
        selection.setting,
        chart=scales,
        radius=radius,
        values=at(here, radius=radius).set_index("codes")["value"].to_dict(),
        differ=means.max() - means.min() if len(means) else None,
        setting=PAGE.text("extended", results=results, selection=selection, **codes),
    )
    return PAGE.section("extensions", [], [figure])


def appendix_section(results: Results, selection: Selection) -> Section:
    """Return the bucket sizes, the time of an inverted index."""
    figures = [_sizes(results, selection), _times(results, selection)]
    return PAGE.section("appendix", [PAGE.text("appendix")], figures)


def binarisation_section(results: Results, selection: Selection) -> Section | None:
    """Return the recall by hasher and size, and after rescoring; None without such a ground truth and metrics."""
    runs = shares(results)
    if runs.empty:
        return None
    means = with_intervals(runs)
    setting = _setting(selection, means)
    why = why_not_shown(means["n_runs"], runs["shared"].max())
    text = [_answer(means, setting), PAGE.text("binarisation-meaning", why=why)]
    return PAGE.section("binarisation", text, [_rescoring(results, selection, means, setting)])


def _answer(means: "pd.DataFrame", setting: Mapping[str, Any]) -> str:
    """Return in words which hasher finds the largest share at each size, for one feature, ground truth and split."""
    here = at(means, **{column: setting[column] for column in SETTING}, c=1).sort_values("mean", kind="stable")
    best = here.drop_duplicates("n_bits", keep="last").sort_values("n_bits", ascending=False)
    shares = [
        f"{row.mean:.1%} with {counted(-(-row.n_bits // 8), 'byte')} ({row.n_bits} bits) by {row.hasher}"
        for row in best.itertuples()
    ]
    k, n_runs = int(best["k"].iloc[0]), int(best["n_runs"].max())
    return PAGE.text("binarisation", k=k, shares=shares, setting=setting, n_runs=n_runs)


@functools.lru_cache(maxsize=1)
def shares(results: Results) -> "pd.DataFrame":
    """Return the share of the K true nearest neighbours that is found, by setting, hasher, run, K and c.

    A row is P@K or neighbours@K (c = 1), or R@N, with N a multiple of K (c = N / K), or 1-recall@K where K is 1; the
    relevant items are the K nearest neighbours. ``shared`` is `protocol.scores.statistics.shared_variance` of the runs.
    """
    scores = results.run_scores
    nearest = {results.display("ground_truth", name): k for name, k in nearest_truths(results.config).items()}
    k = scores["ground_truth"].map(nearest)
    c = [_factor(*pair) for pair in zip(scores["metric"], k, strict=True)]
    rows = scores.assign(k=k, c=c).dropna(subset="c").astype({"k": int, "c": int})
    rows = rows.assign(shared=rows["split"].map(results.shared).astype(float))
    columns = [*_GROUP, "run"]
    return results.ordered(rows)[[*columns, "value", "shared"]].drop_duplicates(columns, ignore_index=True)


def _factor(metric: str, k: int) -> float:
    """Return the factor of rescoring to which a metric corresponds; NaN for other metrics.

    Examples
    --------
    >>> [_factor(name, 10) for name in ("P@10", "neighbours@10", "R@40", "R@10", "R@15", "P@20", "mAP")]
    [1, 1, 4, nan, nan, nan, nan]
    >>> _factor("1-recall@4", 1)
    4
    """
    match = re.fullmatch("(P|neighbours|R|1-recall)@([0-9]+)", metric)
    if match is None:
        return math.nan
    kind, n = match[1], int(match[2])
    if kind in ("P", "neighbours"):
        return 1 if n == k else math.nan
    is_rescored = n % k == 0 and n > k and (kind == "R" or k == 1)
    return n // k if is_rescored else math.nan


def with_intervals(runs: "pd.DataFrame") -> "pd.DataFrame":
    """Return the mean, interval and number of runs of each share; the interval is NaN for a single run."""
    groups = runs.groupby([*_GROUP, "shared"], sort=False)["value"]
    means = groups.agg(mean="mean", std="std", n_runs="size").reset_index()
    half = half_width(means["std"], means["n_runs"], shared=means.pop("shared"))
    low, high = shown_interval(means["mean"] - half, means["mean"] + half, means["n_runs"], "neighbours@1")
    return means.assign(low=low, high=high)


def _setting(selection: Selection, means: "pd.DataFrame") -> dict[str, Any]:
    """Return the selection; a value without these shares is replaced by the first that has them, as on the page."""
    setting = {}
    for column, value in selection.combination.items():
        setting[column] = value if (means[column] == value).any() else means[column].iloc[0]
        means = means[means[column] == setting[column]]
    return setting


def _rescoring(results: Results, selection: Selection, means: "pd.DataFrame", setting: Mapping[str, Any]) -> Figure:
    """Return the figure of rescoring; its sentence has the factor with which each hasher reaches the target."""
    here = at(means, **setting)
    most = int(here["c"].max())
    factors: dict[int, list[str]] = {}
    for hasher, points in here.groupby("hasher", sort=False):
        reached = points[points["mean"] >= TARGET]["c"]
        factors.setdefault(most + 1 if reached.empty else int(reached.min()), []).append(hasher)
    values = {"most": most, "k": int(here["k"].iloc[0]), "target": TARGET, "setting": setting}
    values["factors"] = {f"more than {most}" if c > most else c: factors[c] for c in sorted(factors)}
    return _figure("rescoring", results, selection, means.drop(columns=["k", "std"]), setting, **values)
