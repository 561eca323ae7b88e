"""The figures of an evaluation, as charts of the library altair."""

from typing import Any

from protocol.checks import ProtocolError, need, one_of, rounded
from protocol.evaluation.result import Evaluation
from protocol.metrics import PRCurve, TopKCurve
from protocol.scores.metadata import method_name

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


def _chart(kind: str, method: str, curve: PRCurve | TopKCurve) -> Any:
    """Return a figure of one of the `TITLES`; in a sum of such charts, altair gives each method a colour and a dash.

    A point of ``precision-recall`` is a Hamming radius. Those of a recall below `LEAST_RECALL` are left out.
    """
    alt = need("altair", "report")
    if isinstance(curve, TopKCurve):
        at, least, y, order, further = "K", 0.0, kind.partition("@")[0], {}, []
        x, titles = alt.X("K:Q", title="K, number of retrieved items"), {"title": kind}
        steps = curve.k.tolist()
    else:
        at, least, y, order, further = "radius", LEAST_RECALL, "precision", {"order": "radius:Q"}, ["recall:Q"]
        x, titles = alt.X("recall:Q", scale=alt.Scale(domain=[0, 1])), {"title": "precision"}
        steps = list(range(len(curve.recall)))
    points = [
        {"method": method, at: step, "precision": float(precision), "recall": float(recall)}
        for step, precision, recall in zip(steps, curve.precision, curve.recall, strict=True)
        if recall >= least  # not NaN, if every query is left out
    ]
    by = {"shorthand": "method:N", "title": None, "legend": alt.Legend(symbolSize=600, labelLimit=0)}
    return (
        alt.Chart(alt.Data(values=points), title=TITLES[kind], width=SIDE, height=SIDE)
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y(f"{y}:Q", scale=alt.Scale(domain=[0, 1]), **titles),
            color=alt.Color(**by),
            strokeDash=alt.StrokeDash(**by),
            tooltip=["method:N", f"{at}:Q", *further, f"{y}:Q"],
            **order,
        )
    )


def plot(evaluation: Evaluation, kind: str) -> Any:
    """Return a figure of an evaluation, see `Evaluation.plot`."""
    one_of(kind, TITLES, "plot")
    name, mean = next(iter(evaluation.metrics.items()))
    method = method_name(evaluation.name or f"{name} {rounded(mean)}", evaluation.ranking)
    if kind != "precision-recall":
        return _chart(kind, method, evaluation.top_k)
    if not evaluation.pr_curves:
        raise ProtocolError(
            f"plot 'precision-recall' needs the Hamming radius, which the {evaluation.ranking} ranking does not have. "
            "Other figures: 'precision@K' and 'recall@K'."
        )
    return _chart(kind, method, evaluation.pr_curves["micro"])
