"""Precision and recall by cutoff, radius and code length, redundant bits, and lookups (RAMAP, figures 5 and 7).

Recall lost to binarisation has the nearest neighbours by the original vectors as the ground truth.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from protocol.evaluation.plots import LEAST_RECALL
from protocol.report.examples import BALL, LOOKUP_ITEMS, LOOKUP_QUERIES
from protocol.report.figure import PAGE, Figure, Section, series_scales
from protocol.report.results import Results, Scores, Selection
from protocol.scores.statistics import half_width, shown_interval, why_not_shown
from protocol.scores.summary import SETTING, at

if TYPE_CHECKING:
    import pandas as pd

_AT = 100
"""The N that the sentence about precision quotes, or the nearest one."""
_CELL = [*SETTING, "n_bits", "hasher"]
_OF_CODES = ["feature", "split", "n_bits", "hasher"]
"""The columns of tables that do not depend on the ground truth."""
TARGET = 0.95
"""The share of the true nearest neighbours that rescoring should reach."""
_GROUP = [*_CELL, "k", "c"]
_EXTENSIONS = {"none": "plain", "same": "same", "different": "different"}


def curves_section(results: Results, selection: Selection) -> Section:
    """Return the figures of precision and recall, all but recall with the level of chance, and of empty balls."""
    precision, recall, radii = top_rows(results, "precision"), top_rows(results, "recall"), results.table["radii"]
    shown = at(results.table["curves"], **selection.combination)
    n_database = len(results.splits[selection.split]["database"])
    cutoffs = sorted(
        at(shown, metric="recall")["at"].unique()
    )  # of the whole database, every hasher retrieves the same items
    cutoffs = [n for n in cutoffs if n < n_database] or cutoffs
    half = at(points := pr_rows(results), **selection.combination)
    half = half[half["recall"] >= 0.5].sort_values("radius", kind="stable").drop_duplicates("hasher")
    best = None if half.empty else half.loc[half["precision"].idxmax()]
    empty = at(radii, metric="empty", extension="none", ground_truth=selection.ground_truth)
    figures = [
        figure_of("precision-at-n", precision, results, selection, n=min(cutoffs, key=lambda n: abs(n - _AT))),
        figure_of("recall-at-n", recall, results, selection, n=cutoffs[-1]),
        figure_of("pr-curves", points, results, selection, best=best, least=LEAST_RECALL),
        figure_of("empty-balls", empty[[*_OF_CODES, "radius", "value"]], results, selection, radius=BALL),
    ]
    return PAGE.section("curves", [PAGE.text("curves", n_runs=list(shown["n_runs"]), selection=selection)], figures)


def figure_of(name: str, rows: "pd.DataFrame", results: Results, selection: Selection, **values: Any) -> Figure:
    """Return a figure of all hashers; its sentence has `values` and the selected rows without undefined values."""
    choices = {column: value for column, value in selection.combination.items() if column in rows}
    here = at(rows, **choices).dropna()
    values |= {"here": here.to_dict("records"), "n_hashers": here["hasher"].nunique()}
    scales = series_scales(results.hashers)
    return PAGE.figure(name, rows, choices, chart=scales, results=results, selection=selection, **values)


@functools.lru_cache(maxsize=2)
def top_rows(results: Scores, metric: str) -> "pd.DataFrame":
    """Return precision or recall of the top N, with that of a random order, by the precision of the whole database."""
    rows, radii = at(results.table["curves"], metric=metric), results.table["radii"]
    rows = rows[[*_CELL, "at", "value"]].rename(columns={"at": "N", "value": metric})
    if metric == "recall":
        return rows
    radii = at(radii, extension="none", metric="precision[micro]")
    chance = radii[radii["radius"] == radii["n_bits"]][[*_CELL, "value"]].rename(columns={"value": "chance"})
    return rows.merge(chance, on=_CELL)


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
def pr_rows(results: Scores) -> "pd.DataFrame":
    """Return the points of the precision-recall curves of every setting."""
    rows = results.ordered(pr_points(results.table["radii"], _CELL))
    return rows.drop_duplicates([*_CELL, "precision", "recall"])  # radii without a further item give the same point


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
    sizes = results.table["buckets"][[*_OF_CODES, "rank", "items", "n_buckets"]]
    times = results.table["lookups"][[*_OF_CODES, "radius", "codes", "milliseconds"]]
    means = at(times, feature=selection.feature, split=selection.split, n_bits=selection.n_bits).groupby("radius")
    means = means[["codes", "milliseconds"]].mean().reset_index().to_dict("records")
    most = {"n_queries": LOOKUP_QUERIES, "n_items": LOOKUP_ITEMS}
    figures = [
        figure_of("bucket-sizes", sizes, results, selection),
        figure_of("lookup-times", times, results, selection, means=means, **most),
    ]
    return PAGE.section("appendix", [PAGE.text("appendix")], figures)


def binarisation_section(results: Results, selection: Selection) -> Section | None:
    """Return the recall by hasher and size, and after rescoring; None without such a ground truth and metrics."""
    runs = shares(results)
    if runs.empty:
        return None
    means = with_intervals(runs)
    setting = _setting(selection, means)
    best = at(means, **{column: setting[column] for column in SETTING}, c=1).sort_values("mean", kind="stable")
    best = best.drop_duplicates("n_bits", keep="last").sort_values("n_bits", ascending=False)
    text = PAGE.text("binarisation", best=best.to_dict("records"), setting=setting)
    meaning = PAGE.text("binarisation-meaning", why=why_not_shown(means["n_runs"], runs["shared"].max()))
    return PAGE.section("binarisation", [text, meaning], [_rescoring(results, means, setting)])


@functools.lru_cache(maxsize=1)
def shares(results: Results) -> "pd.DataFrame":
    """Return the share of the K true nearest neighbours that is found, by setting, hasher, run, K and c.

    A row is P@K or neighbours@K (c = 1), or R@N, with N a multiple of K (c = N / K), or 1-recall@K where K is 1; the
    relevant items are the K nearest neighbours. ``shared`` is `protocol.scores.statistics.shared_variance` of the runs.
    """
    scores = results.run_scores
    bases, options = results.config["ground_truth_bases"], results.config["ground_truth_options"]
    nearest = {
        shown: options[name]["n_neighbours"]
        for name, shown in results.names("ground_truth").items()
        if bases.get(name, name) == "nearest_neighbours"
    }
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


def _rescoring(results: Results, means: "pd.DataFrame", setting: Mapping[str, Any]) -> Figure:
    """Return the figure of rescoring; its sentence has the factor with which each hasher reaches the target."""
    here = at(means, **setting)
    most = int(here["c"].max())
    factors: dict[int, list[str]] = {}
    for hasher, points in here.groupby("hasher", sort=False):
        reached = points[points["mean"] >= TARGET]["c"]
        factors.setdefault(most + 1 if reached.empty else int(reached.min()), []).append(str(hasher))
    values: dict[str, Any] = {"most": most, "k": int(here["k"].iloc[0]), "target": TARGET, "setting": setting}
    values["factors"] = {f"more than {most}" if c > most else c: factors[c] for c in sorted(factors)}
    rows, scales = means.drop(columns=["k", "std"]), series_scales(results.hashers)
    return PAGE.figure("rescoring", rows, setting, chart=scales, **values)
