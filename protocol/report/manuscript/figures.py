"""The figures of a paper: scores by code length, precision-recall curves, and the conventions of one number."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import counted
from protocol.report.display import middle
from protocol.report.figure import COLUMN_WIDTH, PAGE_WIDTH, Figure, lines_and_points, number, rows_chart
from protocol.report.manuscript.content import Content
from protocol.report.manuscript.files import file_name
from protocol.report.styles import hasher_scales
from protocol.scores.summary import at

if TYPE_CHECKING:
    import pandas as pd

_HEIGHT, _ROW = 120, 11  # points: of a panel, and of a line of one-dimensional ones
_LETTERS = 17  # of a legend's text in an inch
_LEAST_RECALL = 0.001
_MOST_PANELS = 4


def paper_figures(content: Content) -> list[Figure]:
    """Return the figures of every place: those as wide as a column first, then those as wide as a page."""
    figures: list[Figure | None] = []
    for place in content.places:
        figures += [_scores(content, place, metric) for metric in content.metrics]
        figures += [_top(content, place, side) for side in ("precision", "recall")]
        figures += [_curves(content, place), _all_curves(content, place), _conventions(content, place)]
    return [figure for figure in figures if figure is not None]


def _scores(content: Content, place: Mapping[str, str], metric: str) -> Figure | None:
    """Return a metric by code length, or, of a single one, by hasher."""
    rows = content.summary(metric, place)
    if rows.empty:
        return None
    hashers = _present(content, rows)
    rows = _named(content, rows)[["hasher", "n_bits", "mean", "std", "n_runs"]]
    alone = len(set(rows["n_bits"])) == 1
    title, n_runs = content.name("metric", metric), int(rows["n_runs"].max())
    bars = f"means of {counted(n_runs, 'run')}, bars of one standard deviation" if n_runs > 1 else "one run"
    return Figure(
        file_name("scores", metric, *place.values()),
        f"{title} by code length",
        f"{title} by code length on {content.where(place)}: {bars}. {content.definition(metric)}"
        f"{content.trained_on(hashers, place)}",
        _by_hasher(content, hashers, title) if alone else _by_length(content, hashers, title),
        _with_bars(rows, metric),
        inches=COLUMN_WIDTH,
    )


def _with_bars(rows: "pd.DataFrame", metric: str) -> "pd.DataFrame":
    """Return rows with the ends of their bars, one standard deviation around the mean, within the metric's range."""
    least, greatest = registry.METRICS.entry(metric).range
    low, high = ((rows["mean"] + sign * rows["std"]).clip(least, greatest) for sign in (-1, 1))
    return rows.assign(low=low, high=high)


def _by_length(content: Content, hashers: Sequence[str], title: str) -> Any:
    import altair as alt

    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=5))
    x = alt.X("n_bits:O", title="Code length (bits)", axis=alt.Axis(labelAngle=0))
    base = rows_chart().encode(x=x, **_styled(content, hashers, "strokeDash"))
    ends = base.transform_filter("isValid(datum.std)")
    bars = ends.mark_rule(strokeDash=[1, 0]).encode(
        y=alt.Y("low:Q", title=title), y2="high:Q", strokeDash=alt.Undefined
    )
    points = base.mark_point(filled=True, opacity=1).encode(y=y, **_styled(content, hashers, "shape"))
    return lines_and_points(bars, base.mark_line().encode(y=y), points).properties(width="container", height=_HEIGHT)


def _by_hasher(content: Content, hashers: Sequence[str], title: str) -> Any:
    import altair as alt

    x = alt.X("mean:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=5))
    y = alt.Y("hasher:N", title=None, sort=content.names(hashers))
    scales = hasher_scales(hashers, content.names(hashers))
    base = rows_chart().encode(y=y, color=alt.Color("hasher:N", scale=scales["colour"], legend=None))
    ends = base.transform_filter("isValid(datum.std)")
    bars = ends.mark_rule().encode(x=alt.X("low:Q", title=title), x2="high:Q")
    shape = alt.Shape("hasher:N", scale=scales["shape"], legend=None)
    points = base.mark_point(filled=True, opacity=1).encode(x=x, shape=shape)
    return alt.layer(bars, points).properties(width="container", height=alt.Step(_ROW))


def _top(content: Content, place: Mapping[str, str], side: str) -> Figure | None:
    """Return precision or recall of the top N with the middle code length, as wide as a column."""
    import altair as alt

    rows = at(content.curves, metric=side, **place)
    rows = rows[rows["n_bits"].isin(content.config["paper"]["n_bits"])]
    if rows.empty:
        return None
    n_bits = middle(sorted(rows["n_bits"].unique()))
    rows = at(rows, n_bits=n_bits).rename(columns={"at": "N"})[["hasher", "n_bits", "N", "value"]]
    hashers, title = _present(content, rows), f"{side.capitalize()}@N"
    base = rows_chart().encode(
        x=alt.X("N:Q", title="Retrieved items N", axis=alt.Axis(tickCount=5, format=",d")),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5, format="~g")),
    )
    lines = base.mark_line().encode(order="N:Q", **_styled(content, hashers, "strokeDash"))
    marks = base.mark_point(filled=True, opacity=1, size=12).encode(**_styled(content, hashers, "shape"))
    return Figure(
        file_name(f"{side}-at-n", n_bits, *place.values()),
        f"{title} with {n_bits} bits",
        f"{title} on {content.where(place)}, {n_bits} bits: means over the queries and the runs. Ties count with their "
        f"expected value.{content.trained_on(hashers, place)}",
        lines_and_points(lines, marks).properties(width="container", height=_HEIGHT),
        _named(content, rows),
        inches=COLUMN_WIDTH,
    )


def _curves(content: Content, place: Mapping[str, str]) -> Figure | None:
    """Return the precision-recall curves of the middle code length, as wide as a column."""
    rows = _curve_rows(content, place)
    if rows.empty:
        return None
    n_bits = middle(sorted(rows["n_bits"].unique()))
    rows = at(rows, n_bits=n_bits)
    return Figure(
        file_name("pr-curves", n_bits, *place.values()),
        f"Precision and recall with {n_bits} bits",
        f"{_of_curves(content, place)}, {n_bits} bits. {_CURVES}{content.trained_on(rows['hasher'], place)}",
        _curve_chart(content, _present(content, rows)).properties(width="container", height=_HEIGHT),
        _named(content, rows),
        inches=COLUMN_WIDTH,
    )


def _all_curves(content: Content, place: Mapping[str, str]) -> Figure | None:
    """Return the precision-recall curves of up to four code lengths side by side, as wide as a page."""
    import altair as alt

    rows = _curve_rows(content, place)
    lengths = sorted(rows["n_bits"].unique())
    if len(lengths) < 2:
        return None
    rows = rows[rows["n_bits"].isin(lengths[-_MOST_PANELS:])]
    rows = rows.assign(panel=rows["n_bits"].map("{} bits".format))
    header = alt.Header(title=None, labelOrient="top")
    panel = alt.Column("panel:N", sort=list(dict.fromkeys(rows["panel"])), header=header)
    layers = _curve_chart(content, _present(content, rows), inches=PAGE_WIDTH)
    layers = layers.properties(width="container", height=_HEIGHT)
    return Figure(
        file_name("pr-curves", *place.values()),
        "Precision and recall by code length",
        f"{_of_curves(content, place)}, by code length. {_CURVES}{content.trained_on(rows['hasher'], place)}",
        layers.facet(column=panel, spacing=10),
        _named(content, rows),
    )


_CURVES = (
    "All queries of a run are pooled (micro-average), and a curve is the mean over the runs at every Hamming radius. "
    f"Radii with a recall below {_LEAST_RECALL} are left out. The dotted line is the precision of a random ranking."
)


def _of_curves(content: Content, place: Mapping[str, str]) -> str:
    return f"Precision-recall curves on {content.where(place)}"


def _curve_rows(content: Content, place: Mapping[str, str]) -> "pd.DataFrame":
    """Return precision and recall at every radius of the chosen code lengths, and the precision of a random ranking.

    A ball of the largest radius is the whole database, so its precision is that of a random ranking. The smallest balls
    are left out: if the queries of a run find no item, precision is 0/0, and a few pairs are no reliable estimate.
    """
    radii = at(content.radii, extension="none", **place)
    radii = radii[radii["n_bits"].isin(content.config["paper"]["n_bits"])]
    on = ["hasher", "n_bits", "radius"]
    precision, recall = (
        at(radii, metric=f"{side}_micro")[[*on, "value"]].rename(columns={"value": side})
        for side in ("precision", "recall")
    )
    rows = precision.merge(recall, on=on)
    rows = rows.assign(order=rows["hasher"].map(content.hashers.index)).sort_values(["n_bits", "order", "radius"])
    chance = rows.groupby(["hasher", "n_bits"])["precision"].transform("last")
    return rows.drop(columns="order").assign(chance=chance)[rows["recall"] >= _LEAST_RECALL]


def _curve_chart(content: Content, hashers: Sequence[str], *, inches: float = COLUMN_WIDTH) -> Any:
    import altair as alt

    x = alt.X("recall:Q", title="Recall", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5, format="~g"))
    y = alt.Y("precision:Q", title="Precision", axis=alt.Axis(tickCount=5, format="~g"))
    chart = rows_chart()
    base = chart.encode(x=x, y=y)
    lines = base.mark_line().encode(order="radius:Q", **_styled(content, hashers, "strokeDash", inches=inches))
    shapes = _styled(content, hashers, "shape", inches=inches)
    points = base.mark_point(filled=True, opacity=1, size=10).encode(**shapes)
    level = alt.Y("mean(chance):Q", title="Precision")
    chance = chart.mark_rule(strokeDash=[1, 2], color="black").encode(y=level)
    return lines_and_points(chance, lines, points)


def _conventions(content: Content, place: Mapping[str, str]) -> Figure | None:
    """Return the values under the named conventions for the codes of the best hasher, as wide as a column."""
    import altair as alt

    rows = at(content.conventions, **place).dropna(subset="value")
    rows = rows[rows["called_map_by"].fillna("") != ""]
    if rows["value"].nunique() < 2:
        return None
    best = rows.loc[
        at(rows, metric="mAP")["value"].idxmax() if "mAP" in set(rows["metric"]) else rows["value"].idxmax()
    ]
    rows = at(rows, hasher=best["hasher"]).sort_values("value", ascending=False, kind="stable")
    undefined = rows["undefined"].map({"0": ", 0/0 = 0", "left out": ", 0/0 left out"}).fillna("")
    rows = rows.assign(convention=rows["metric"] + undefined)[["convention", "called_map_by", "value"]]
    name = content.name("hasher", best["hasher"])
    scale = alt.Scale(domain=[0, 1.18 * float(rows["value"].max())], nice=False)
    base = rows_chart().encode(
        x=alt.X("value:Q", title="Value that is called mAP", scale=scale, axis=alt.Axis(tickCount=5, format="~g")),
        y=alt.Y("convention:N", title=None, sort=list(rows["convention"])),
    )
    text = base.mark_text(align="left", dx=3).encode(text=alt.Text("value:Q", format=".4f"))
    bars = base.mark_bar(height=0.7 * _ROW, color="#777777")
    return Figure(
        file_name("conventions", *place.values()),
        "The same codes under every convention for mAP",
        f"The {best['n_bits']}-bit codes of {name} (run 0) on {content.where(place)}, scored as tools and papers score "
        f"mAP: from {number(rows['value'].min())} to {number(rows['value'].max())}.",
        alt.layer(bars, text).properties(width="container", height=alt.Step(_ROW)),
        rows,
        inches=COLUMN_WIDTH,
    )


def _present(content: Content, rows: "pd.DataFrame") -> list[str]:
    there = set(rows["hasher"])
    return [name for name in content.hashers if name in there]


def _named(content: Content, rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return rows with the hashers' display names."""
    return rows.assign(hasher=rows["hasher"].map(lambda name: content.name("hasher", name)))


def _styled(content: Content, hashers: Sequence[str], channel: str, *, inches: float = COLUMN_WIDTH) -> dict[str, Any]:
    """Return the encoding of hashers by colour and by shape or dash.

    Colour and shape share a legend, which leaves out the dashes (`lines_and_points`).
    """
    import altair as alt

    names = content.names(hashers)
    scales, legend = hasher_scales(hashers, names), alt.Legend(columns=_legend_columns(names, inches))
    other = {
        "shape": alt.Shape("hasher:N", title=None, scale=scales["shape"], legend=legend),
        "strokeDash": alt.StrokeDash("hasher:N", title=None, scale=scales["dash"], legend=None),
    }
    return {"color": alt.Color("hasher:N", title=None, scale=scales["colour"], legend=legend), channel: other[channel]}


def _legend_columns(names: Sequence[str], inches: float) -> int:
    """Return how many columns of a legend fit into a width.

    Examples
    --------
    >>> _legend_columns(["LSH", "ITQ", "PCA-RR", "SKLSH", "SH"], 3.3), _legend_columns(["LSH", "ITQ"], 6.9)
    (5, 2)
    """
    longest = max(map(len, names)) + 5  # the symbol takes as much as five letters
    return max(1, min(int(_LETTERS * inches) // longest, len(names)))
