"""Precision and recall by cutoff, radius and code length (RAMAP, figure 5), and recall lost to binarisation."""

import math
import re
from typing import Any

from protocol.evaluation.plots import LEAST_RECALL
from protocol.report.figure import PAGE, DataFrame, Figure, Section, series_scales
from protocol.report.results import Results, Scores
from protocol.scores.statistics import half_width, shown_interval, why_not_shown
from protocol.scores.summary import SETTING, at

CELL = [*SETTING, "n_bits", "hasher"]


def curves_section(results: Results) -> Section:
    """Return the figures of precision and recall, all but recall with the level of chance, and of empty balls."""
    empty = at(results.table["radii"], metric="empty", ground_truth=results.selections[0].ground_truth)
    figures = [
        figure_of("precision-at-n", top_rows(results, "precision"), results),
        figure_of("recall-at-n", top_rows(results, "recall"), results),
        figure_of("pr-curves", pr_rows(results), results, least=LEAST_RECALL),
        figure_of("empty-balls", empty[["feature", "split", "n_bits", "hasher", "radius", "value"]], results),
    ]
    return PAGE.section("curves", [PAGE.text("curves")], figures)


def figure_of(name: str, rows: DataFrame, results: Results, **values: Any) -> Figure:
    """Return a figure of all hashers, which first shows the first selection.

    A value that the rows lack is replaced by the first that they have, as on the page.
    """
    choices, here = dict[str, Any](), rows
    for column, value in results.selections[0].combination.items():
        if column in rows:
            choices[column] = value if (here[column] == value).any() else next(iter(here[column]), value)
            here = at(here, **{column: choices[column]})
    return PAGE.figure(name, rows, choices, chart=series_scales(results.hashers), **values)


def top_rows(results: Scores, metric: str) -> DataFrame:
    """Return precision or recall of the top N, with that of a random order, by the precision of the whole database."""
    rows, radii = at(results.table["curves"], metric=metric), results.table["radii"]
    rows = rows[[*CELL, "at", "value"]].rename(columns={"at": "N", "value": metric})
    if metric == "recall":
        return rows
    radii = at(radii, metric="precision[micro]")
    chance = radii[radii["radius"] == radii["n_bits"]][[*CELL, "value"]].rename(columns={"value": "chance"})
    return rows.merge(chance, on=CELL)


def pr_rows(results: Scores) -> DataFrame:
    """Return the points of the precision-recall curves of every setting, one for each Hamming radius.

    The smallest balls are left out: if the queries of a run find no item, precision is 0/0, and a few pairs are no
    reliable estimate. Radii without a further item give the same point.

    Returns
    -------
    DataFrame
        The columns that identify a curve, ``radius``, ``precision`` and ``recall`` of all pairs of a run, and
        ``chance``, the precision of a random order: that of the largest ball, which contains the whole database.
    """
    on = [*CELL, "radius"]
    precision, recall = (
        at(results.table["radii"], metric=f"{side}[micro]")[[*on, "value"]].rename(columns={"value": side})
        for side in ("precision", "recall")
    )
    rows = precision.merge(recall, on=on).sort_values("radius", kind="stable")
    rows = rows.assign(chance=rows.groupby(CELL)["precision"].transform("last"))
    rows = results.ordered(rows[rows["recall"] >= LEAST_RECALL])
    return rows.drop_duplicates([*CELL, "precision", "recall"])


def binarisation_section(results: Results) -> Section | None:
    """Return the recall after rescoring; None without nearest neighbours as the ground truth, or their metrics."""
    rows = shares(results)
    if rows.empty:
        return None
    why = why_not_shown(rows["n_runs"], max(map(results.shared.__getitem__, rows["split"].unique())))
    return PAGE.section("binarisation", [PAGE.text("binarisation", why=why)], [figure_of("rescoring", rows, results)])


def shares(results: Results) -> DataFrame:
    """Return the mean share of the K true nearest neighbours that is found, with its interval, by setting and c.

    A row is P@K or neighbours@K (c = 1), or R@N, with N a multiple of K (c = N / K), or 1-recall@K where K is 1; the
    relevant items are the K nearest neighbours.
    """
    rows, bases, options = results.plain, results.config["ground_truth_bases"], results.config["ground_truth_options"]
    nearest = {
        shown: options[name]["n_neighbours"]
        for name, shown in results.names("ground_truth").items()
        if bases.get(name, name) == "nearest_neighbours"
    }
    c = [_factor(*pair) for pair in zip(rows["metric"], rows["ground_truth"].map(nearest), strict=True)]
    rows = rows.assign(c=c).dropna(subset=["c", "mean"]).astype({"c": int}).drop_duplicates([*CELL, "c"])
    half = half_width(rows["std"], rows["n_runs"], shared=rows["split"].map(results.shared).astype(float))
    low, high = shown_interval(rows["mean"] - half, rows["mean"] + half, rows["n_runs"], "neighbours@1")
    rows = rows.assign(low=low, high=high).sort_values("c", kind="stable")
    return results.ordered(rows)[[*CELL, "c", "mean", "low", "high", "n_runs"]]


def _factor(metric: str, k: float) -> float:
    """Return the factor of rescoring to which a metric corresponds where K is k; NaN for other metrics.

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
    kind, (c, rest) = match[1], divmod(int(match[2]), k)
    is_share = c == 1 if kind in ("P", "neighbours") else c > 1 and (kind == "R" or k == 1)
    return c if is_share and not rest else math.nan
