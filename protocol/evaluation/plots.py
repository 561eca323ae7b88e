"""The figures of an evaluation, as charts of the library altair."""

from collections.abc import Iterable, Mapping
from typing import Any

from protocol.checks import ProtocolError, need, one_of
from protocol.evaluation.printed import shown
from protocol.evaluation.result import Evaluation
from protocol.metrics import PRCurve, TopKCurve
from protocol.scores.metadata import method_name
from protocol.styles import Style

TITLES = {
    "precision-recall": "Precision and recall by Hamming radius",
    "precision@K": "Precision of the top K items",
    "recall@K": "Recall of the top K items",
}
"""The figures of curves, by kind."""
LEAST_RECALL = 0.001
"""The least recall of a point of a precision-recall curve; a few pairs are no reliable estimate of precision."""
SIDE = 300
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
    return lines(chart, kind, styles).properties(width=SIDE, height=SIDE)


def plot(evaluation: Evaluation, kind: str) -> Any:
    """Return a figure of an evaluation, see `Evaluation.plot`."""
    one_of(kind, TITLES, "plot")
    name, mean = next(iter(evaluation.metrics.items()))
    method = method_name(evaluation.name or f"{name} {shown(mean)}", evaluation.ranking)
    if kind != "precision-recall":
        return curves(kind, {method: evaluation.top_k})
    if not evaluation.pr_curves:
        raise ProtocolError(
            f"plot 'precision-recall' needs the Hamming radius, which the {evaluation.ranking} ranking does not have. "
            "Other figures: 'precision@K' and 'recall@K'."
        )
    return curves(kind, {method: evaluation.pr_curves["micro"]})
