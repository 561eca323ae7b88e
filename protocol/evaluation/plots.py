"""The figures of an evaluation, as charts of the library altair."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from protocol import checks
from protocol.evaluation.data import EvaluationData
from protocol.scores.identity import method_name

_SIDE = 300
"""Width and height in pixels."""


def plot(evaluation: EvaluationData, kind: str) -> Any:
    """Return a figure as an altair chart.

    Parameters
    ----------
    evaluation : EvaluationData
    kind : str
        A key of `KINDS`.

    Raises
    ------
    ProtocolError
        If there is no such figure, or altair is not installed.
    """
    checks.one_of(kind, KINDS, "plot")
    return KINDS[kind](evaluation, checks.need("altair", "report")).properties(width=_SIDE, height=_SIDE)


def _precision_recall(evaluation: EvaluationData, alt: Any) -> Any:
    """Return precision over recall, a point for each Hamming radius."""
    if not evaluation.pr_curves:
        raise checks.ProtocolError(
            "plot 'precision-recall': expected the ranking hamming, because the curve is a function of the radius, got "
            f"{evaluation.ranking}. Other figures: 'precision@N' and 'recall@N'."
        )
    points = [
        {"average": average, "radius": radius, "recall": float(recall), "precision": float(precision)}
        for average, curve in evaluation.pr_curves.items()
        for radius, (precision, recall) in enumerate(zip(curve.precision, curve.recall, strict=True))
        if precision == precision and recall == recall  # NaN if every query is left out
    ]
    unit = alt.Scale(domain=[0, 1])
    return (
        alt.Chart(alt.Data(values=points), title=evaluation.name or "Precision and recall by Hamming radius")
        .mark_line(point=True)
        .encode(
            x=alt.X("recall:Q", scale=unit, title="recall"),
            y=alt.Y("precision:Q", scale=unit, title="precision"),
            color=alt.Color("average:N", title="average"),
            order="radius:Q",
            tooltip=["average:N", "radius:Q", "recall:Q", "precision:Q"],
        )
    )


def _over_n(values: str) -> Callable[[EvaluationData, Any], Any]:
    """Return the figure of precision or recall over the number of retrieved items."""

    def chart(evaluation: EvaluationData, alt: Any) -> Any:
        curve = evaluation.top_n
        points = [
            {"N": int(n), values: float(value)}
            for n, value in zip(curve.n, getattr(curve, values), strict=True)
            if value == value  # NaN if every query is left out
        ]
        title = method_name(evaluation.name or f"{values.capitalize()} of the top N items", evaluation.ranking)
        return (
            alt.Chart(alt.Data(values=points), title=title)
            .mark_line()
            .encode(
                x=alt.X("N:Q", title="N, number of retrieved items"),
                y=alt.Y(f"{values}:Q", scale=alt.Scale(domain=[0, 1]), title=f"{values}@N"),
                tooltip=["N:Q", f"{values}:Q"],
            )
        )

    return chart


def _rescoring(evaluation: EvaluationData, alt: Any) -> Any:
    """Plot the share of the K nearest items after re-ranking over c: a line for each K, a band from worst to best."""
    if not evaluation.rescoring:
        raise checks.ProtocolError("plot 'rescoring': expected an evaluation of vectors, got one without.")
    points = [
        {"by": curve.by, "K": row.neighbours, "c": row.factor, "worst": row.worst, "share": row.expected}
        | {"best": row.best}
        for curve in evaluation.rescoring
        for row in curve.rows
    ]
    title = evaluation.name or "Nearest items that remain after re-ranking"
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
    return alt.layer(band, line)


KINDS: MappingProxyType[str, Callable[[EvaluationData, Any], Any]] = MappingProxyType(
    {
        "precision-recall": _precision_recall,
        "precision@N": _over_n("precision"),
        "recall@N": _over_n("recall"),
        "rescoring": _rescoring,
    }
)
"""The figures: each a function of the evaluation and the module altair."""
