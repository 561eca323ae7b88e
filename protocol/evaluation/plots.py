"""The figures of an evaluation, as charts of the library altair."""

from collections.abc import Mapping
from typing import Any

from protocol.checks import need
from protocol.metrics import PRCurve, TopNCurve

TITLES = {
    "precision-recall": "Precision and recall by Hamming radius",
    "precision@N": "Precision of the top N items",
    "recall@N": "Recall of the top N items",
}
"""The figures of curves, by kind."""
_SIDE = 300
"""Width and height in pixels."""


def precision_recall(methods: Mapping[str, Mapping[str, PRCurve]]) -> Any:
    """Return a chart of precision over recall, with a point for each Hamming radius.

    Each method has a colour and a marker, and each average a dash, also in the sum of several charts.
    """
    alt = need("altair", "report")
    points = [
        {"method": method, "average": average, "radius": radius, "recall": float(recall), "precision": float(precision)}
        for method, curves in methods.items()
        for average, curve in curves.items()
        for radius, (precision, recall) in enumerate(zip(curve.precision, curve.recall, strict=True))
        if precision == precision and recall == recall  # NaN if every query is left out
    ]
    unit = alt.Scale(domain=[0, 1])
    chart = (
        alt.Chart(alt.Data(values=points), title=TITLES["precision-recall"])
        .mark_line(point=True)
        .encode(
            x=alt.X("recall:Q", scale=unit, title="recall"),
            y=alt.Y("precision:Q", scale=unit, title="precision"),
            color=alt.Color("method:N", title="method"),
            shape=alt.Shape("method:N", title="method"),
            strokeDash=alt.StrokeDash("average:N", title="average"),
            order="radius:Q",
            tooltip=["method:N", "average:N", "radius:Q", "recall:Q", "precision:Q"],
        )
    )
    return chart.properties(width=_SIDE, height=_SIDE)


def top_n(methods: Mapping[str, TopNCurve], kind: str) -> Any:
    """Return a chart of ``precision@N`` or ``recall@N`` over the number of retrieved items, a line for each method."""
    alt, values = need("altair", "report"), kind.partition("@")[0]
    points = [
        {"method": method, "N": int(n), values: float(value)}
        for method, curve in methods.items()
        for n, value in zip(curve.n, getattr(curve, values), strict=True)
        if value == value  # NaN if every query is left out
    ]
    chart = (
        alt.Chart(alt.Data(values=points), title=TITLES[kind])
        .mark_line()
        .encode(
            x=alt.X("N:Q", title="N, number of retrieved items"),
            y=alt.Y(f"{values}:Q", scale=alt.Scale(domain=[0, 1]), title=kind),
            color=alt.Color("method:N", title="method"),
            strokeDash=alt.StrokeDash("method:N", title="method"),
            tooltip=["method:N", "N:Q", f"{values}:Q"],
        )
    )
    return chart.properties(width=_SIDE, height=_SIDE)


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
