"""How the codes are used: histograms and bucket sizes (mLGAP, figures 1 and 8)."""

from typing import Any

import altair as alt

from protocol.report.display import LONGEST_HISTOGRAM
from protocol.report.figure import Figure, Section, hasher_colour, rows_chart, tooltips
from protocol.report.results import Results

_TOP = alt.Axis(tickCount=1, labelExpr="datum.value ? format(datum.value, '~s') : ''")
_LOG, _FEW = alt.Scale(type="log"), alt.Axis(tickCount=4, format="~s")


def section(results: Results) -> Section:
    """Return the histogram of the shortest codes, where they are short, and the bucket sizes of all."""
    histogram, text = results.table["histogram"], []
    figures = [_sizes(results)]
    if len(histogram):
        figures.insert(0, _histogram(results))
    else:
        text = [f"No histogram over the codes: the shortest have more than {LONGEST_HISTOGRAM} bits, too many to draw."]
    return Section("code-use", "How the codes are used", [*text], figures)


def _place(results: Results) -> dict[str, str]:
    return {column: value for column, value in results.place.items() if column != "ground_truth"}


def _histogram(results: Results) -> Figure:
    columns = ["feature", "split", "hasher", "n_bits", "code", "items"]
    rows, place = results.table["histogram"][columns], _place(results)
    if results.at(rows, **place).empty:
        place = rows.iloc[0][["feature", "split"]].to_dict()
    here = results.at(rows, **place)
    n_bits = int(here["n_bits"].iloc[0])
    used = here.groupby("hasher", sort=False)["code"].nunique() / 2**n_bits
    fullest = here.loc[here["items"].idxmax()]
    shows = (
        f"Of the 2^{n_bits} codes {used.idxmax()} uses {used.max():.1%} and {used.idxmin()} {used.min():.1%}; "
        f"the fullest bucket, of {fullest['hasher']}, holds {fullest['items']:,} of {_n_items(here):,} items "
        f"({place['feature']}, {place['split']} split, run 0)."
    )
    hashers = [hasher for hasher in results.hashers if hasher in set(rows["hasher"])]
    chart = (
        rows_chart()
        .transform_calculate(end="datum.code + 1")
        .mark_bar(binSpacing=0)
        .encode(
            x=alt.X(
                "code:Q",
                bin="binned",
                title=f"code, as a number from 0 to {2**n_bits - 1}",
                scale=alt.Scale(domain=[0, 2**n_bits], nice=False),
            ),
            x2="end:Q",
            y=alt.Y("items:Q", title=None, scale=alt.Scale(type="sqrt"), axis=_TOP),
            color=hasher_colour(results.hashers, legend=False),
            tooltip=tooltips("hasher:N", "code:Q", "items:Q"),
        )
        .properties(width="container", height=46)
        .facet(
            row=alt.Row(
                "hasher:N",
                title=None,
                sort=hashers,
                header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="left"),
            ),
            spacing=8,
        )
    )
    title = f"Items of the database with each {n_bits}-bit code (heights on a square-root scale)"
    return Figure("code-histogram", title, shows, chart, rows, place)


def _n_items(here: Any) -> int:
    return int(here.groupby("hasher")["items"].sum().max())


def _sizes(results: Results) -> Figure:
    columns = ["feature", "split", "n_bits", "hasher", "rank", "items", "n_buckets"]
    rows, place = results.table["buckets"][columns], _place(results)
    here = results.at(rows, **place, n_bits=results.n_bits).drop_duplicates("hasher")
    most, least = here.loc[here["n_buckets"].idxmax()], here.loc[here["n_buckets"].idxmin()]
    fullest = here.loc[here["items"].idxmax()]
    shows = (
        f"{most['hasher']} spreads the database over {most['n_buckets']:,} buckets, {least['hasher']} over "
        f"{least['n_buckets']:,}; the fullest bucket of {fullest['hasher']} holds {fullest['items']:,} items "
        f"({place['feature']}, {place['split']} split, {results.n_bits} bits, run 0)."
    )
    chart = (
        rows_chart()
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("rank:Q", title="bucket, the fullest first (log scale)", scale=_LOG, axis=_FEW),
            y=alt.Y("items:Q", title="items in it (log scale)", scale=_LOG, axis=_FEW),
            color=hasher_colour(results.hashers),
            tooltip=tooltips("hasher:N", "rank:Q", "items:Q", "n_buckets:Q"),
        )
        .properties(width="container", height=280)
    )
    return Figure("bucket-sizes", "Bucket sizes", shows, chart, rows, place | {"n_bits": results.n_bits})
