"""The figures of an evaluation, as charts of the library altair."""

from collections.abc import Iterable, Mapping
from typing import Any

from protocol.checks import need
from protocol.metrics import PRCurve, TopKCurve
from protocol.styles import Style

TITLES = {
    "precision-recall": "Precision and recall by Hamming radius",
    "precision@K": "Precision of the top K items",
    "recall@K": "Recall of the top K items",
}
"""The figures of curves, by kind."""
LEAST_RECALL = 0.001
"""The least recall of a point of a precision-recall curve; a few pairs are no reliable estimate of precision."""
_SIDE = 300
"""Width and height in pixels."""


def points(kind: str, methods: Mapping[str, PRCurve | TopKCurve]) -> list[dict[str, Any]]:
    """Return the points of the curves of one kind, by method.

    A point of ``precision-recall`` is a Hamming radius. Those of a recall below `LEAST_RECALL` are left out.
    """
    step, least = ("radius", LEAST_RECALL) if kind == "precision-recall" else ("N", 0)
    return [
        {"method": method, step: int(at), "precision": float(precision), "recall": float(recall)}
        for method, curve in methods.items()
        for at, precision, recall in zip(_steps(curve), curve.precision, curve.recall, strict=True)
        if recall >= least  # not NaN, if every query is left out
    ]


def _steps(curve: PRCurve | TopKCurve) -> Iterable[int]:
    return curve.k if isinstance(curve, TopKCurve) else range(len(curve.recall))


def lines(chart: Any, kind: str, styles: Mapping[str, Style] | None = None, **legend: Any) -> Any:
    """Return a chart of `points`, with a line for each method, which has a colour and a dash.

    Parameters
    ----------
    chart : altair.Chart
        A chart with the data alone.
    kind : str
        A key of `TITLES`.
    styles : mapping of str to Style, optional
        By method; without it, altair gives each line of a chart, or of a sum of charts, one of its own.
    **legend
        Properties of the legend.
    """
    alt, x = need("altair", "report"), "recall" if kind == "precision-recall" else "N"
    y = kind.partition("@")[0] if x == "N" else "precision"
    unit = alt.Scale(domain=[0, 1])
    colour = dash = alt.Undefined
    if styles:
        dash = alt.Scale(domain=list(styles))
        colour = alt.Scale(domain=list(styles), range=[style.colour for style in styles.values()])
    by = {"shorthand": "method:N", "title": None, "legend": alt.Legend(symbolSize=600, labelLimit=0, **legend)}
    return chart.mark_line(strokeWidth=2).encode(
        x=alt.X("recall:Q", scale=unit) if x == "recall" else alt.X("N:Q", title="N, number of retrieved items"),
        y=alt.Y(f"{y}:Q", scale=unit, title=y if x == "recall" else kind),
        color=alt.Color(**by, scale=colour),
        strokeDash=alt.StrokeDash(**by, scale=dash),
        order="radius:Q" if x == "recall" else alt.Undefined,
        tooltip=["method:N", *(["radius:Q"] if x == "recall" else []), f"{x}:Q", f"{y}:Q"],
    )


def curves(kind: str, methods: Mapping[str, PRCurve | TopKCurve], styles: Mapping[str, Style] | None = None) -> Any:
    """Return a figure of one of the `TITLES`, with the curves by method in the figure itself."""
    alt = need("altair", "report")
    chart = alt.Chart(alt.Data(values=points(kind, methods)), title=TITLES[kind])
    return lines(chart, kind, styles).properties(width=_SIDE, height=_SIDE)


def rescoring(points: list[dict[str, Any]], title: str) -> Any:
    """Return a chart of the share of the K nearest items after re-ranking over c: a line and a band for each K.

    `points` have the keys ``by``, ``K``, ``c``, ``worst``, ``share`` and ``best``.
    """
    alt = need("altair", "report")
    base = alt.Chart(alt.Data(values=points), title=title).encode(
        x=alt.X("c:Q", scale=alt.Scale(type="log", base=2), title="c: c x K items are retrieved by code"),
        color=alt.Color("K:N", title="K"),
    )
    share = alt.Scale(domain=[0, 1])
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("worst:Q", scale=share, title="share of the K nearest items"), y2="best:Q", detail="by:N"
    )
    line = base.mark_line(point=True).encode(
        y=alt.Y("share:Q", scale=share),
        strokeDash=alt.StrokeDash("by:N", title="re-ranked by"),
        tooltip=["by:N", "K:Q", "c:Q", "worst:Q", "share:Q", "best:Q"],
    )
    return alt.layer(band, line).properties(width=_SIDE, height=_SIDE)


def equal_bytes(points: list[dict[str, Any]], title: str) -> Any:
    """Return a chart of the share of the nearest items over the bytes of a vector, with a line for each quantiser.

    `points` have the keys ``name``, ``bytes``, ``share``, ``low`` and ``high``, the ends of an interval, and ``panel``,
    the heading of the part of the figure. A line connects the points of names that differ in options only.
    """
    alt = need("altair", "report")
    values = [point | {"method": point["name"].partition(":")[0]} for point in points]
    share = alt.Scale(domain=[0, 1])
    base = alt.Chart().encode(
        x=alt.X("bytes:Q", scale=alt.Scale(type="log", base=2), title="bytes a vector"),
        color=alt.Color("method:N", sort=None, title=None, scale=alt.Scale(scheme="tableau20")),
    )
    bars = base.mark_rule().encode(y=alt.Y("low:Q", scale=share, title="share of the K nearest items"), y2="high:Q")
    line = base.mark_line(point=True).encode(
        y=alt.Y("share:Q", scale=share), tooltip=["name:N", "bytes:Q", "share:Q", "low:Q", "high:Q"]
    )
    panel = alt.layer(bars, line).properties(width=_SIDE, height=_SIDE)
    return panel.facet(alt.Column("panel:N", sort=None, title=None), data=alt.Data(values=values), title=title)
