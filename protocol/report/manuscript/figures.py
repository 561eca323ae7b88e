"""The figures of a paper: scores by code length, precision-recall curves, and the conventions of one number."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.evaluation.plots import LEAST_RECALL
from protocol.report.description import Description, series_scales
from protocol.report.examples import middle
from protocol.report.figure import COLUMN_WIDTH, PAGE_WIDTH, Figure
from protocol.report.manuscript.content import Content
from protocol.report.manuscript.files import file_name
from protocol.report.sections.curves import pr_points
from protocol.scores.summary import at

if TYPE_CHECKING:
    import pandas as pd

PACKAGE_DATA = "figures.yaml"

_FIGURES = Description(Path(__file__).with_name(PACKAGE_DATA))
_LETTERS, _INDENT = 17, 0.3  # of a legend: letters in an inch, and the inches to the left of it
_KEY = {"symbolSize": 25, "symbolOffset": 7, "labelOffset": 12, "columnPadding": 8}  # 20 points wide
_MOST_PANELS = 4
_READ = {
    "[best]": ", relevant first in ties",
    "[worst]": ", relevant last in ties",
    "[index]": ", ties in database order",
    "[all]": " / all relevant",
    "[retrieved]": " / relevant among K",
    "[min]": " / min(K, relevant)",
    "AUPRC[area]": "area under precision-recall",
}
"""How the variants of mAP are called in a figure, by a part of their names."""


def paper_figures(content: Content) -> list[Figure]:
    """Return the figures of every place: those as wide as a column first, then those as wide as a page."""
    figures: list[Figure | None] = []
    for place in content.places:
        figures += [_scores(content, place, metric) for metric in content.metrics]
        figures += [_top(content, place, side) for side in ("precision", "recall")]
        figures += [_curves(content, place), _all_curves(content, place), _conventions(content, place)]
    return [figure for figure in figures if figure is not None]


def _figure(
    name: str,
    content: Content,
    place: Mapping[str, str],
    rows: "pd.DataFrame",
    *,
    of: str,
    chart: Mapping[str, Any],
    inches: float = COLUMN_WIDTH,
    **values: Any,
) -> Figure:
    """Return a figure with a line or a row for each hasher, whose data have the display names."""
    hashers = {content.name("hasher", name): name for name in content.config["names"]["hashers"]}
    drawn = list(dict.fromkeys(rows["hasher"]))
    return _FIGURES.figure(
        name,
        rows.assign(hasher=content.names(rows["hasher"])),
        of=of,
        chart=series_scales(hashers, **_KEY, columns=_legend_columns(content.names(drawn), inches)) | dict(chart),
        inches=inches,
        content=content,
        place=place,
        learned=content.trained_on(drawn, place),
        **values,
    )


def _scores(content: Content, place: Mapping[str, str], metric: str) -> Figure | None:
    """Return a metric by code length, or, of a single one, by hasher."""
    rows = content.summary(metric, place)
    if rows.empty:
        return None
    title = content.name("metric", metric)
    return _figure(
        file_name("scores", metric, *place.values()),
        content,
        place,
        _with_bars(rows[["hasher", "n_bits", "mean", "std", "n_runs"]], metric),
        of="scores-by-hasher" if rows["n_bits"].nunique() == 1 else "scores-by-length",  # noqa: PD101 - not empty
        chart={"title": title},
        metric=title,
        n_runs=int(rows["n_runs"].max()),
        definition=content.definition(metric),
    )


def _with_bars(rows: "pd.DataFrame", metric: str) -> "pd.DataFrame":
    """Return rows with the ends of their bars, one standard deviation around the mean, within the metric's range."""
    least, greatest = registry.METRICS.entry(metric).range
    low, high = ((rows["mean"] + sign * rows["std"]).clip(least, greatest) for sign in (-1, 1))
    return rows.assign(low=low, high=high)


def _top(content: Content, place: Mapping[str, str], side: str) -> Figure | None:
    """Return precision or recall of the top N with the middle code length, as wide as a column."""
    rows = at(content.curves, metric=side, **place)
    rows = rows[rows["n_bits"].isin(content.config["paper"]["n_bits"])]
    if rows.empty:
        return None
    n_bits = middle(sorted(rows["n_bits"].unique()))
    rows = at(rows, n_bits=n_bits).rename(columns={"at": "N"})[["hasher", "n_bits", "N", "value"]]
    if is_precision := side == "precision":
        rows = rows.assign(chance=_curve_rows(content, place).query("n_bits == @n_bits")["chance"].mean())
    name, title = file_name(f"{side}-at-n", n_bits, *place.values()), f"{side.capitalize()}@N"
    values: dict[str, Any] = {"title": title, "n_bits": n_bits, "of_random": is_precision}
    return _figure(name, content, place, rows, of="top", chart={"title": title}, **values)


def _curves(content: Content, place: Mapping[str, str]) -> Figure | None:
    """Return the precision-recall curves of the middle code length, as wide as a column."""
    rows = _curve_rows(content, place)
    if rows.empty:
        return None
    n_bits = middle(sorted(rows["n_bits"].unique()))
    name = file_name("pr-curves", n_bits, *place.values())
    values: dict[str, Any] = {"lengths": f"with {n_bits} bits", "bits": f"{n_bits} bits", "least": LEAST_RECALL}
    return _figure(name, content, place, at(rows, n_bits=n_bits), of="pr-curves", chart={}, **values)


def _all_curves(content: Content, place: Mapping[str, str]) -> Figure | None:
    """Return the precision-recall curves of up to four code lengths side by side, as wide as a page."""
    rows = _curve_rows(content, place)
    lengths = sorted(rows["n_bits"].unique())
    if len(lengths) < 2:
        return None
    rows = rows[rows["n_bits"].isin(lengths[-_MOST_PANELS:])]
    rows = rows.assign(panel=rows["n_bits"].map("{} bits".format))
    name, panels = file_name("pr-curves", *place.values()), list(dict.fromkeys(rows["panel"]))
    values: dict[str, Any] = {"lengths": "by code length", "bits": "by code length", "least": LEAST_RECALL}
    return _figure(
        name, content, place, rows, of="pr-curves-by-length", chart={"panels": panels}, inches=PAGE_WIDTH, **values
    )


def _curve_rows(content: Content, place: Mapping[str, str]) -> "pd.DataFrame":
    """Return `pr_points` of the chosen code lengths, in order."""
    radii = at(content.radii, **place)
    rows = pr_points(radii[radii["n_bits"].isin(content.config["paper"]["n_bits"])], ["hasher", "n_bits"])
    rows = rows.assign(order=rows["hasher"].map(content.hashers.index)).sort_values(["n_bits", "order", "radius"])
    return rows.drop(columns="order")


def _conventions(content: Content, place: Mapping[str, str]) -> Figure | None:
    """Return the values under the named conventions for the codes of the best hasher, as wide as a column."""
    rows = at(content.conventions, **place).dropna(subset="value")
    rows = rows[rows["reported_as_map_by"].fillna("") != ""]
    if rows["value"].nunique() < 2:
        return None
    compared = at(rows, metric="mAP") if "mAP" in set(rows["metric"]) else rows
    best = rows.loc[compared["value"].idxmax()]
    rows = at(rows, hasher=best["hasher"]).sort_values("value", ascending=False, kind="stable")
    undefined = rows["undefined"].map({"0": ", 0/0 = 0", "left out": ", 0/0 left out"}).fillna("")
    read = rows["metric"].replace({re.escape(part): words for part, words in _READ.items()}, regex=True)
    rows = rows.assign(convention=read + undefined)[["convention", "reported_as_map_by", "value"]]
    return _FIGURES.figure(
        file_name("conventions", *place.values()),
        rows,
        of="conventions",
        chart={"conventions": list(rows["convention"])},
        inches=COLUMN_WIDTH,
        content=content,
        place=place,
        rows=rows,
        n_bits=best["n_bits"],
        hasher=content.name("hasher", best["hasher"]),
    )


def _legend_columns(names: list[str], inches: float) -> int:
    """Return how many columns of a legend fit into a width.

    Examples
    --------
    >>> _legend_columns(["LSH", "ITQ", "PCA-RR", "SKLSH", "SH"], 3.3), _legend_columns(["LSH", "ITQ"], 6.9)
    (3, 2)
    """
    longest = max(map(len, names)) + 8  # the symbol takes as much as eight letters
    return max(1, min(int(_LETTERS * (inches - _INDENT)) // longest, len(names)))
