"""Figures of an evaluation, by name, as charts of the library altair."""

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from protocol import checks
from protocol.identity import ranked_name

if TYPE_CHECKING:
    from protocol.evaluation.evaluation import Evaluation

_SIDE = 300
"""Width and height in pixels."""


def plot(evaluation: "Evaluation", kind: str) -> Any:
    """Return a figure as an altair chart.

    Parameters
    ----------
    evaluation : Evaluation
    kind : str
        A key of `KINDS`.

    Raises
    ------
    ProtocolError
        If there is no such figure, or altair is not installed.
    """
    checks.one_of(kind, KINDS, "plot")
    return KINDS[kind](evaluation, checks.need("altair", "report")).properties(width=_SIDE, height=_SIDE)


def _precision_recall(evaluation: "Evaluation", alt: Any) -> Any:
    """Return precision over recall, a point for each Hamming radius."""
    if not evaluation.pr_curves:
        raise checks.ProtocolError(
            "plot 'precision-recall': expected the ranking hamming, whose radius it shows, got "
            f"{evaluation.ranking}. Other figures: 'precision@N' and 'recall@N'."
        )
    points = [
        {"average": average, "radius": radius, "recall": float(recall), "precision": float(precision)}
        for average, curve in evaluation.pr_curves.items()
        for radius, (precision, recall) in enumerate(zip(curve.precision, curve.recall, strict=True))
        if precision == precision and recall == recall  # NaN where every query is left out
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


def _over_n(values: str) -> Callable[["Evaluation", Any], Any]:
    """Return the figure of precision or recall over the number of retrieved items."""

    def chart(evaluation: "Evaluation", alt: Any) -> Any:
        curve = evaluation.top_n
        points = [
            {"N": int(n), values: float(value)}
            for n, value in zip(curve.n, getattr(curve, values), strict=True)
            if value == value  # NaN where every query is left out
        ]
        title = ranked_name(evaluation.name or f"{values.capitalize()} of the top N items", evaluation.ranking)
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


KINDS: MappingProxyType[str, Callable[["Evaluation", Any], Any]] = MappingProxyType(
    {
        "precision-recall": _precision_recall,
        "precision@N": _over_n("precision"),
        "recall@N": _over_n("recall"),
    }
)
"""The figures: each a function of the evaluation and the module altair."""
