"""The figures of an evaluation, as charts of the library altair."""

from typing import Any

from protocol.checks import ProtocolError, need, one_of, rounded
from protocol.evaluation.result import Evaluation
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


def plot(evaluation: Evaluation, kind: str) -> Any:
    """Return a figure of an evaluation, see `Evaluation.plot`.

    In a sum of such charts, altair gives each method a colour and a dash. A point of ``precision-recall`` is a Hamming
    radius. Those of a recall below `LEAST_RECALL` are left out.
    """
    one_of(kind, TITLES, "plot")
    alt = need("altair", "report")
    unit = alt.Scale(domain=[0, 1])
    curve: Any = evaluation.top_k
    if kind == "precision-recall":
        if not evaluation.pr_curves:
            needs = f"needs the Hamming radius, which the {evaluation.ranking} ranking does not have"
            raise ProtocolError(f"plot {kind!r} {needs}. Other figures: 'precision@K' and 'recall@K'.")
        curve = evaluation.pr_curves["micro"]
        at, steps, least = "radius", range(len(curve.recall)), LEAST_RECALL
        x, y, title = alt.X("recall:Q", scale=unit), "precision", "precision"
    else:
        at, steps, least = "K", curve.k.tolist(), 0
        x, y, title = alt.X("K:Q", title="K, number of retrieved items"), kind.partition("@")[0], kind
    name, mean = next(iter(evaluation.metrics.items()))
    method = method_name(evaluation.name or f"{name} {rounded(mean)}", evaluation.ranking)
    values = zip(steps, curve.precision.tolist(), curve.recall.tolist(), strict=True)
    # The recall is NaN if every query is left out.
    points = [{"method": method, at: step, "precision": p, "recall": r} for step, p, r in values if r >= least]
    by = {"shorthand": "method:N", "title": None, "legend": alt.Legend(symbolSize=600, labelLimit=0)}
    chart = alt.Chart(alt.Data(values=points), title=TITLES[kind], width=SIDE, height=SIDE).mark_line(strokeWidth=2)
    up, tooltip = alt.Y(f"{y}:Q", scale=unit, title=title), ["method:N", f"{at}:Q", "recall:Q", "precision:Q"]
    style = {"color": alt.Color(**by), "strokeDash": alt.StrokeDash(**by)}
    return chart.encode(x=x, y=up, **style, tooltip=tooltip, order=f"{at}:Q")
