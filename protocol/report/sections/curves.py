"""Precision and recall by cutoff, radius and code length, and lookups in hash tables (RAMAP, figures 5 and 7)."""

from functools import partial
from typing import TYPE_CHECKING, Any

import altair as alt

from protocol.checks import counted
from protocol.report.display import BALL, LOOKUP_QUERIES
from protocol.report.figure import (
    Figure,
    Section,
    between,
    hasher_colour,
    hasher_dash,
    hasher_lines,
    number,
    rows_chart,
    tooltips,
)
from protocol.report.results import Results
from protocol.scores.summary import PLACE, at

if TYPE_CHECKING:
    import pandas as pd

_AT = 100
"""The N that the sentence about precision quotes, or the nearest one."""
_CELL = [*PLACE, "n_bits", "hasher"]
_FEW = alt.Axis(tickCount=4, format="~g")
_LOG, _COUNTS = alt.Scale(type="log"), alt.Axis(tickCount=4, format="~s")


def curves_section(results: Results) -> Section:
    """Return the four figures, all but recall with the level of chance."""
    n_runs, chance = at(results.table["curves"], **results.place)["n_runs"], _chance(results)
    text = (
        f"Means over {between(n_runs)} run{'s' if max(n_runs) > 1 else ''}. Ties are never broken: "
        "precision and recall of the top N are expectations over the orders of tied items, and a Hamming ball contains "
        "either all items at a distance or none. The dashed line is chance, the precision of a random order."
    )
    figures = [_precision(results, chance), _recall(results), _pr_curve(results, chance), *_in_ball(results, chance)]
    return Section("curves", "Precision and recall", [text], figures)


def _chance(results: Results) -> "pd.DataFrame":
    """Return the precision of a random order, which is that of the ball that contains the whole database."""
    radii = at(results.table["radii"], extension="none", metric="precision_micro")
    whole = radii[radii["radius"] == radii["n_bits"]]
    return whole[[*_CELL, "value"]].rename(columns={"value": "chance"})


def _top(results: Results, metric: str) -> "pd.DataFrame":
    rows = at(results.table["curves"], metric=metric)
    return rows[[*_CELL, "at", "value"]].rename(columns={"at": "N", "value": metric})


def _precision(results: Results, chance: "pd.DataFrame") -> Figure:
    rows = _top(results, "precision").merge(chance, on=_CELL)
    here = at(rows, **results.place, n_bits=results.n_bits)
    n = min(here["N"].unique(), key=lambda cutoff: abs(cutoff - _AT))
    best = at(here, N=n).sort_values("precision", ascending=False, kind="stable").iloc[0]
    shows = (
        f"Of the top {n:,} items, {best['precision']:.1%} are relevant with {best['hasher']}{_most(here)}; by "
        f"chance {best['chance']:.1%} ({results.where()})."
    )
    chart = partial(_lines, results, "N", "precision", "N: items retrieved", "precision@N", chance=True)
    return Figure("precision-at-n", "Precision@N", shows, chart, rows, results.place | {"n_bits": results.n_bits})


def _recall(results: Results) -> Figure:
    rows = _top(results, "recall")
    here = at(rows, **results.place, n_bits=results.n_bits)
    last = here["N"].max()
    best = at(here, N=last).sort_values("recall", ascending=False, kind="stable").iloc[0]
    shows = (
        f"The top {last:,} items contain {best['recall']:.1%} of the relevant ones with {best['hasher']}"
        f"{_most(here)} ({results.where()})."
    )
    chart = partial(_lines, results, "N", "recall", "N: items retrieved", "recall@N", chance=False)
    return Figure("recall-at-n", "Recall@N", shows, chart, rows, results.place | {"n_bits": results.n_bits})


def _most(rows: "pd.DataFrame") -> str:
    return ", the most" if len(set(rows["hasher"])) > 1 else ""


def _pr_curve(results: Results, chance: "pd.DataFrame") -> Figure:
    radii, on = at(results.table["radii"], extension="none"), [*_CELL, "radius"]
    precision, recall = (
        at(radii, metric=f"{side}_micro")[[*on, "value"]].rename(columns={"value": side})
        for side in ("precision", "recall")
    )
    rows = results.ordered(precision.merge(recall, on=on).merge(chance, on=_CELL))
    title, choices = "Precision-recall curve over the Hamming radius", results.place | {"n_bits": results.n_bits}
    return Figure("pr-curves", title, _pr_shows(results, rows), lambda: _pr_chart(results), rows, choices)


def _pr_chart(results: Results) -> Any:
    x = alt.X("recall:Q", title="recall", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    y = alt.Y("precision:Q", title="precision", scale=alt.Scale(domainMin=0))
    tooltip = tooltips("hasher:N", "radius:O", "precision:Q", "recall:Q")
    return hasher_lines(results.hashers, x, y, tooltip, size=22, order="radius:Q", above=_chance_line())


def _pr_shows(results: Results, rows: "pd.DataFrame") -> str:
    pooled = "The pairs of all queries are counted together, which is called the micro average."
    here = at(rows, **results.place, n_bits=results.n_bits)
    half = here[here["recall"] >= 0.5].sort_values("radius", kind="stable").groupby("hasher", sort=False).first()
    if half.empty:
        return f"No curve reaches a recall of 0.5 ({results.where()}). {pooled}"
    best = half["precision"].idxmax()
    return (
        f"At the first radius with a recall of 0.5 or more, {best} has the highest precision: "
        f"{number(half.loc[best, 'precision'])} at radius {half.loc[best, 'radius']} ({results.where()}). {pooled}"
    )


def _in_ball(results: Results, chance: "pd.DataFrame") -> list[Figure]:
    """Return the figure of precision within the ball by code length; none if all codes are shorter than the radius."""
    rows = at(results.table["curves"], metric="precision_in_ball")
    here = at(rows, **results.place).reset_index(drop=True)
    if here.empty:
        return []
    best = here.loc[here["value"].idxmax()]
    empty = "counts 0" if results.config["empty"] == "zero" else "is left out"
    shows = (
        f"{best['hasher']} with {best['n_bits']} bits has the highest precision within radius {BALL}, "
        f"{number(best['value'])}; a query with an empty ball {empty} ({results.where(n_bits=False)})."
    )
    rows = rows[[*_CELL, "value"]].rename(columns={"value": "precision"}).merge(chance, on=_CELL)
    title = f"precision within radius {BALL}"
    chart = partial(_lines, results, "n_bits", "precision", "code length (bits)", title, chance=True)
    return [Figure("precision-in-ball", f"Precision within Hamming radius {BALL}", shows, chart, rows, results.place)]


def _lines(results: Results, x: str, y: str, x_title: str, y_title: str, *, chance: bool) -> Any:
    """Return a chart with a line per hasher, and the level of chance if `chance` is true."""
    along = (
        alt.X("n_bits:O", title=x_title, axis=alt.Axis(labelAngle=0))
        if x == "n_bits"
        else alt.X(f"{x}:Q", title=x_title, axis=alt.Axis(tickCount=5, format=",d"))
    )
    up = alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(domainMin=0), axis=alt.Axis(format="~g"))
    tooltip = tooltips("hasher:N", f"{x}:{'O' if x == 'n_bits' else 'Q'}", f"{y}:Q")
    return hasher_lines(results.hashers, along, up, tooltip, above=_chance_line() if chance else [])


def _chance_line() -> list[Any]:
    level = rows_chart().encode(y=alt.Y("mean(chance):Q"))
    line = level.mark_rule(strokeDash=[5, 4], color="currentColor", opacity=0.7)
    name = level.mark_text(align="left", dy=-6, fontSize=11, text="chance").encode(x=alt.value(6))
    return [line, name]


def lookups_section(results: Results) -> Section:
    """Return the share of empty balls, the bucket sizes, and the time of an inverted index."""
    text = (
        "A lookup in a hash table probes every code within a Hamming radius of the query's code. A small radius often "
        "finds nothing; a large one needs many probes. If items share few large buckets, a lookup returns much of the "
        "database."
    )
    figures = [_empty(results), _sizes(results), _times(results)]
    return Section("lookups", "Hash-table lookup", [text], figures)


def _without_truth(results: Results) -> dict[str, Any]:
    """Return the main place without its ground truth, on which neither balls nor buckets depend."""
    return {column: value for column, value in results.place.items() if column != "ground_truth"}


def _empty(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "radius", "value"]
    table = at(results.table["radii"], metric="empty", extension="none")
    rows = at(table, ground_truth=results.place["ground_truth"])[columns]
    place = _without_truth(results)
    here = at(rows, **place, n_bits=results.n_bits, radius=BALL)
    most, fewest = here.loc[here["value"].idxmax()], here.loc[here["value"].idxmin()]
    shares = f"{most['value']:.1%} of the queries find nothing with {most['hasher']}"
    if len(here) > 1:
        shares = f"from {fewest['value']:.1%} of the queries ({fewest['hasher']}) to {most['value']:.1%} "
        shares += f"({most['hasher']}) find nothing"
    shows = (
        f"Within radius {BALL}, {shares} ({place['feature']}, {place['split']} split, {results.n_bits} bits; mean over "
        f"{counted(results.n_runs, 'run')})."
    )

    def chart() -> Any:
        y = alt.Y("value:Q", title="queries with an empty ball", axis=alt.Axis(format="%"))
        return _by_radius(results, y, tooltips("hasher:N", "radius:O", "value:Q"))

    choices = place | {"n_bits": results.n_bits}
    return Figure("empty-balls", "Queries with an empty ball", shows, chart, rows, choices)


def _sizes(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "rank", "items", "n_buckets"]
    rows, place = results.table["buckets"][columns], _without_truth(results)
    here = at(rows, **place, n_bits=results.n_bits).drop_duplicates("hasher")
    most, least = here.loc[here["n_buckets"].idxmax()], here.loc[here["n_buckets"].idxmin()]
    fullest = here.loc[here["items"].idxmax()]
    shows = (
        f"{most['hasher']} spreads the database over {most['n_buckets']:,} buckets, {least['hasher']} over "
        f"{least['n_buckets']:,}; the largest bucket, of {fullest['hasher']}, contains {fullest['items']:,} items "
        f"({place['feature']}, {place['split']} split, {results.n_bits} bits, run 0)."
    )
    choices = place | {"n_bits": results.n_bits}
    return Figure("bucket-sizes", "Bucket sizes", shows, lambda: _sizes_chart(results), rows, choices)


def _sizes_chart(results: Results) -> Any:
    return (
        rows_chart()
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("rank:Q", title="bucket, in order of size (log scale)", scale=_LOG, axis=_COUNTS),
            y=alt.Y("items:Q", title="items in the bucket (log scale)", scale=_LOG, axis=_COUNTS),
            color=hasher_colour(results.hashers),
            strokeDash=hasher_dash(results.hashers, legend=True),
            tooltip=tooltips("hasher:N", "rank:Q", "items:Q", "n_buckets:Q"),
        )
        .properties(width="container", height=230)
    )


def _times(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "radius", "codes", "milliseconds"]
    rows, place = results.table["lookups"][columns], _without_truth(results)
    here = at(rows, **place, n_bits=results.n_bits)
    mean = here.groupby("radius")[["codes", "milliseconds"]].mean()
    last = mean.index.max()
    shows = (
        f"From radius 0 to {last} the ball grows from 1 to {mean.loc[last, 'codes']:,.0f} codes, and the mean time of "
        f"a query from {mean.loc[0, 'milliseconds']:.2g} to {mean.loc[last, 'milliseconds']:.2g} ms "
        f"({place['feature']}, {place['split']} split, {results.n_bits} bits; run 0, at most {LOOKUP_QUERIES} "
        "queries). These times depend on the machine and are not results."
    )

    def chart() -> Any:
        y = alt.Y("milliseconds:Q", title="ms per query (log scale)", scale=_LOG, axis=_FEW)
        return _by_radius(results, y, tooltips("hasher:N", "radius:O", "codes:Q", "milliseconds:Q"))

    choices = place | {"n_bits": results.n_bits}
    return Figure("lookup-times", "Time of a lookup", shows, chart, rows, choices, folded=True)


def _by_radius(results: Results, y: alt.Y, tooltip: Any) -> Any:
    x = alt.X("radius:O", title="Hamming radius", axis=alt.Axis(labelAngle=0))
    return hasher_lines(results.hashers, x, y, tooltip, size=45)
