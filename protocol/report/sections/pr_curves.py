"""Precision and recall over the Hamming radius, all queries pooled."""

from typing import Any

import altair as alt

from protocol.report.figure import Figure, Section, between, hasher_colour, number, rows_chart, tooltips
from protocol.report.results import Results

_ON = ["feature", "ground_truth", "split", "n_bits", "hasher", "radius"]


def section(results: Results) -> Section:
    """Return the micro precision-recall curves, a point for each radius."""
    radii = results.at(results.table["radii"], extension="none")
    sides = [
        results.at(radii, metric=f"{side}_micro")[[*_ON, "value"]].rename(columns={"value": side})
        for side in ("precision", "recall")
    ]
    rows = results.ordered(sides[0].merge(sides[1], on=_ON))
    figure = Figure(
        "pr-curves",
        "Micro precision and recall over the Hamming radius",
        _shows(results, rows),
        _chart(results),
        rows,
        choices=results.place | {"n_bits": results.n_bits},
    )
    text = (
        "All queries of a run pooled: relevant pairs within the radius over all pairs within it (precision), and over "
        f"all relevant pairs (recall); a point is the mean over its runs, {between(radii['n_runs'])} in number. No "
        "ties are broken: a ball holds all items at a distance or none."
    )
    return Section("pr-curves", "Micro precision-recall curves", [text], [figure])


def _chart(results: Results) -> Any:
    base = rows_chart().encode(
        x=alt.X("recall:Q", title="recall (micro)", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5)),
        y=alt.Y("precision:Q", title="precision (micro)", scale=alt.Scale(zero=False)),
        color=hasher_colour(results.hashers),
    )
    points = base.mark_point(filled=True, size=22).encode(
        tooltip=tooltips("hasher:N", "radius:O", "precision:Q", "recall:Q")
    )
    return alt.layer(base.mark_line().encode(order="radius:Q"), points).properties(width="container", height=300)


def _shows(results: Results, rows: Any) -> str:
    here = results.at(rows, **results.place, n_bits=results.n_bits)
    half = here[here["recall"] >= 0.5].sort_values("radius", kind="stable").groupby("hasher", sort=False).first()
    if half.empty:
        return f"No curve reaches a recall of one half ({results.where()})."
    best = half["precision"].idxmax()
    return (
        f"At the first radius that finds half of the relevant pairs, {best} is the most precise: "
        f"{number(half.loc[best, 'precision'])} at radius {half.loc[best, 'radius']} ({results.where()})."
    )
