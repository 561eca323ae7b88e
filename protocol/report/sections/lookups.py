"""Searching by buckets: queries that find nothing, and the time it takes, by radius (RAMAP, figures 5 and 7)."""

from typing import Any

import altair as alt

from protocol.checks import counted
from protocol.report.display import LOOKUP_QUERIES
from protocol.report.figure import Figure, Section, hasher_colour, hasher_shape, rows_chart, tooltips
from protocol.report.results import Results

_FEW = alt.Axis(tickCount=4, format="~g")


def section(results: Results) -> Section:
    """Return the share of empty balls, and the time of an inverted index."""
    text = (
        "A bucket search probes every code within the radius of the query's: with too small a radius it finds nothing, "
        "with a large one it takes as many probes as there are codes in the ball, most of them empty."
    )
    return Section("lookups", "Searching by buckets", [text], [_empty(results), _times(results)])


def _empty(results: Results) -> Figure:
    columns = ["feature", "ground_truth", "split", "n_bits", "hasher", "radius", "value"]
    rows = results.at(results.table["radii"], metric="empty", extension="none")[columns]
    truth = results.place["ground_truth"]  # no ball depends on it
    rows = results.at(rows, ground_truth=truth).drop(columns="ground_truth")
    place = {column: value for column, value in results.place.items() if column != "ground_truth"}
    here = results.at(rows, **place, n_bits=results.n_bits, radius=2)
    most, fewest = here.loc[here["value"].idxmax()], here.loc[here["value"].idxmin()]
    shows = (
        f"Within radius 2, {most['value']:.1%} of the queries find nothing with {results.n_bits}-bit codes of "
        f"{most['hasher']}, and {fewest['value']:.1%} with {fewest['hasher']}, the fewest ({place['feature']}, "
        f"{place['split']} split; mean over {counted(results.n_runs, 'run')})."
    )
    base = _base(results).encode(
        y=alt.Y("value:Q", title="queries without an item in the ball", axis=alt.Axis(format="%")),
        tooltip=tooltips("hasher:N", "radius:O", "value:Q"),
    )
    return Figure(
        "empty-balls",
        "Queries with an empty ball",
        shows,
        _lines(results, base),
        rows,
        place | {"n_bits": results.n_bits},
    )


def _times(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "radius", "codes", "milliseconds"]
    rows = results.table["lookups"][columns]
    place = {column: value for column, value in results.place.items() if column != "ground_truth"}
    here = results.at(rows, **place, n_bits=results.n_bits)
    mean = here.groupby("radius")[["codes", "milliseconds"]].mean()
    last = mean.index.max()
    shows = (
        f"From radius 0 to {last} the ball grows from 1 to {mean.loc[last, 'codes']:,.0f} codes and the mean time a "
        f"query from {mean.loc[0, 'milliseconds']:.2g} to {mean.loc[last, 'milliseconds']:.2g} ms ({place['feature']}, "
        f"{place['split']} split, {results.n_bits} bits)."
    )
    base = _base(results).encode(
        y=alt.Y("milliseconds:Q", title="ms a query (log scale)", scale=alt.Scale(type="log"), axis=_FEW),
        tooltip=tooltips("hasher:N", "radius:O", "codes:Q", "milliseconds:Q"),
    )
    title = f"Time of a bucket search: run 0, {LOOKUP_QUERIES} queries at the most; a time of this machine, no result"
    return Figure("lookup-times", title, shows, _lines(results, base), rows, place | {"n_bits": results.n_bits})


def _base(results: Results) -> alt.Chart:
    x = alt.X("radius:O", title="Hamming radius", axis=alt.Axis(labelAngle=0))
    return rows_chart().encode(x=x, color=hasher_colour(results.hashers))


def _lines(results: Results, base: alt.Chart) -> Any:
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=hasher_shape(results.hashers))
    return alt.layer(base.mark_line(), points).properties(width="container", height=260)
