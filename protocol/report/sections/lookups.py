"""Hash-table lookup: queries with an empty ball, bucket sizes, and the time of a search (RAMAP, figures 5 and 7)."""

from typing import Any

import altair as alt

from protocol.checks import counted
from protocol.report.display import BALL, LOOKUP_QUERIES
from protocol.report.figure import (
    Figure,
    Section,
    hasher_colour,
    hasher_dash,
    hasher_shape,
    lines_and_points,
    rows_chart,
    tooltips,
)
from protocol.report.results import Results

_FEW = alt.Axis(tickCount=4, format="~g")
_LOG, _COUNTS = alt.Scale(type="log"), alt.Axis(tickCount=4, format="~s")


def section(results: Results) -> Section:
    """Return the share of empty balls, the bucket sizes, and the time of an inverted index."""
    text = (
        "A lookup in a hash table probes every code within a Hamming radius of the query's code. A small radius often "
        "finds nothing; a large one needs many probes. If items share few large buckets, a lookup returns much of the "
        "database."
    )
    figures = [_empty(results), _sizes(results), _times(results)]
    return Section("lookups", "Hash-table lookup", [text], figures)


def _place(results: Results) -> dict[str, Any]:
    """Return the main place without its ground truth, on which neither balls nor buckets depend."""
    return {column: value for column, value in results.place.items() if column != "ground_truth"}


def _empty(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "radius", "value"]
    table = results.at(results.table["radii"], metric="empty", extension="none")
    rows = results.at(table, ground_truth=results.place["ground_truth"])[columns]
    place = _place(results)
    here = results.at(rows, **place, n_bits=results.n_bits, radius=BALL)
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
        return _lines(results, y, tooltips("hasher:N", "radius:O", "value:Q"))

    choices = place | {"n_bits": results.n_bits}
    return Figure("empty-balls", "Queries with an empty ball", shows, chart, rows, choices)


def _sizes(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "rank", "items", "n_buckets"]
    rows, place = results.table["buckets"][columns], _place(results)
    here = results.at(rows, **place, n_bits=results.n_bits).drop_duplicates("hasher")
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
    rows, place = results.table["lookups"][columns], _place(results)
    here = results.at(rows, **place, n_bits=results.n_bits)
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
        return _lines(results, y, tooltips("hasher:N", "radius:O", "codes:Q", "milliseconds:Q"))

    choices = place | {"n_bits": results.n_bits}
    return Figure("lookup-times", "Time of a lookup", shows, chart, rows, choices, folded=True)


def _lines(results: Results, y: alt.Y, tooltip: Any) -> Any:
    x = alt.X("radius:O", title="Hamming radius", axis=alt.Axis(labelAngle=0))
    base = rows_chart().encode(x=x, y=y, color=hasher_colour(results.hashers), tooltip=tooltip)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=hasher_shape(results.hashers))
    return lines_and_points(base.mark_line().encode(strokeDash=hasher_dash(results.hashers)), points).properties(
        width="container", height=230
    )
