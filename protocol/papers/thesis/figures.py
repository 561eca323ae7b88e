"""Figure 3.8 of *Learning to Hash for Large Scale Image Retrieval*: precision-recall curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from protocol.checks import counted
from protocol.papers import layout
from protocol.papers.figure_data import FigureData
from protocol.papers.layout import Drawn
from protocol.papers.results import having
from protocol.report.figure import Figure, listed, number

if TYPE_CHECKING:
    import pandas as pd

_SIDES = ("precision", "recall")


def precision_recall(data: FigureData, *, name: str, title: str, hashers: Sequence[str], n_bits: int) -> Drawn:
    """Return the micro precision-recall curves of hashers at a code length, a point for each Hamming radius."""
    rows = _curves(having(data.radii, plugin=hashers, extension="none"))
    rows = having(rows, n_bits=layout.chosen_lengths(rows["n_bits"], [n_bits]))
    drawn = [(place, own) for place, own in layout.by_place(rows, "n_bits") if layout.several(own["plugin"])]
    paper = [set(own["plugin"]) for place, own in drawn if place["dataset"] == "cifar10"]
    fullest: set[str] = max(paper, key=len, default=set())
    absent = layout.lacking(hashers, fullest)
    missing = (
        f"the curves of {listed(absent)} at {n_bits} bits on cifar10, in one experiment with the others (files "
        "examples/SPLIT/radii.csv): `workflow/config/cifar10_thesis.yaml`"
        if absent
        else ""
    )
    return Drawn([_figure(name, title, hashers, place, own) for place, own in drawn], missing=missing)


def _curves(radii: "pd.DataFrame") -> "pd.DataFrame":
    """Return precision and recall at each radius side by side."""
    same = [name for name in radii if name not in ("metric", "value")]
    precision, recall = (
        having(radii, metric=f"{side}_micro").rename(columns={"value": side}).drop(columns="metric") for side in _SIDES
    )
    return precision.merge(recall, on=same)


def _figure(name: str, title: str, hashers: Sequence[str], place: dict[str, Any], rows: "pd.DataFrame") -> Figure:
    rows = rows.assign(order=rows["plugin"].map(hashers.index)).sort_values(["order", "radius"], kind="stable")
    methods, n_runs = list(dict.fromkeys(rows["method"])), int(rows["n_runs"].max())
    shows = layout.sentences(
        f"{_at_half(rows)} ({layout.where(place)}, {place['n_bits']} bits, {counted(n_runs, 'run')}).",
        "All queries of a run are pooled; a point is a Hamming radius.",
        layout.substitute(place, dataset="cifar10"),
    )
    columns = ["method", "n_bits", "radius", "precision", "recall", "n_runs"]
    title = f"{title}, {place['n_bits']} bits, {place['dataset']}, {place['feature']}"
    chart = layout.chart("precision-recall", **layout.series(methods))
    return Figure(layout.file_name(name, place, place["n_bits"]), title, shows, chart, rows[columns])


def _at_half(rows: "pd.DataFrame") -> str:
    """Return the precision of each method at the first radius that finds half of the relevant pairs."""
    half = rows[rows["recall"] >= 0.5].groupby("method", sort=False).first()
    values = [f"{number(row.precision)} ({row.Index})" for row in half.itertuples()]
    return (
        f"At the first radius with a recall of one half, the precision is {listed(values)}"
        if values
        else ("No curve reaches a recall of one half")
    )
