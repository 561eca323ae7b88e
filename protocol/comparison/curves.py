"""Curves of several methods in one figure: precision and recall by Hamming radius, and of the top K items."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from protocol.checks import ProtocolError, need
from protocol.evaluation import plots
from protocol.metrics import PRCurve, TopKCurve
from protocol.provenance.checksums import verify
from protocol.report.figure import ROWS, Figure, Section
from protocol.scores.summary import at
from protocol.styles import styles

if TYPE_CHECKING:
    import pandas as pd

_MOST_POINTS = 50
_SHOWS = {
    "precision-recall": "All queries are pooled (micro-average). Each vertex of a line is a Hamming radius.",
    **dict.fromkeys(("precision@K", "recall@K"), "Means over the queries of the expected values over ties."),
}


class Curves(NamedTuple):
    """The curves of one method and code length: of all queries pooled by Hamming radius, and of the top K items."""

    pr: PRCurve | None = None
    top_k: TopKCurve | None = None


def _of_tables(pr: "pd.DataFrame | None", top_k: "pd.DataFrame | None") -> Curves:
    """Return the curves in a table with a row per radius and in one with a row per N; None, or no rows: no curve."""
    return Curves(
        None if pr is None or pr.empty else PRCurve(*(pr[f"{side}[micro]"].to_numpy() for side in PRCurve._fields)),
        None if top_k is None or top_k.empty else TopKCurve(*(top_k[side].to_numpy() for side in TopKCurve._fields)),
    )


def written_curves(pr_curves: Path | None = None, top_k_curves: Path | None = None) -> Curves:
    """Return the curves in files of `protocol.evaluation.output.write_csv`."""
    return _of_tables(*(None if path is None else read_curves(path) for path in (pr_curves, top_k_curves)))


def stored_curves(
    summary: Path, file: str, read: "Callable[[Path], pd.DataFrame]", feature: str, split: str, **place: Any
) -> Curves | str:
    """Return an experiment's mean curves of one hasher and code length, or the reason why there are none.

    They are in the folder ``FEATURE/examples/SPLIT/`` next to the summary; `read` reads a table.
    """
    files = [summary.parent / feature / "examples" / split / f"{name}.csv" for name in ("radii", "curves")]
    is_inside = all(re.fullmatch(r"[\w.-]+", name) for name in (feature, split))
    if not is_inside or not all(file.is_file() for file in files):
        return f"{file} has no FEATURE/examples/SPLIT/curves.csv and radii.csv next to it"
    radii, curves = (at(read(path), **place) for path in files)
    pr = at(radii, extension="none").pivot_table(index="radius", columns="metric", values="value")
    top_k = curves[curves["metric"].isin(TopKCurve._fields)].pivot_table(index="at", columns="metric", values="value")
    return _of_tables(pr, top_k.rename_axis(index="k").reset_index())


def read_curves(path: Path) -> "pd.DataFrame":
    """Return a table of curves; its checksum is verified if it has one."""
    verify(path, required=False)
    try:
        return need("pandas", "report").read_csv(path)
    except (ValueError, KeyError) as error:
        raise ProtocolError(f"{path}: can't be read as a table of curves ({' '.join(str(error).split())}).") from error


def style_names(methods: Sequence[str]) -> Sequence[str]:
    """Return the names whose styles methods have: those of the hashers in a report, if no two methods share one."""
    hashers = [method.partition(", ")[0] for method in methods]
    return hashers if len(set(hashers)) == len(methods) else methods


def curves_section(name: str, title: str, by_method: Mapping[tuple[str, int], Curves | str]) -> Section | None:
    """Return a section with the figures of all methods of one section, by method and code length; None if empty."""
    known = {key: value for key, value in by_method.items() if isinstance(value, Curves)}
    pd, alt = need("pandas", "report"), need("altair", "report")
    methods = list(dict.fromkeys(method for method, _ in known))
    of_method = dict(zip(methods, styles(style_names(methods)).values(), strict=True))
    figures = []
    for kind, shows in _SHOWS.items():
        rows = pd.DataFrame([row for key, value in known.items() for row in _rows(kind, *key, value)])
        if len(rows):
            chart = plots.lines(alt.Chart(alt.NamedData(ROWS)), kind, of_method, columns=1)
            choices = {"n_bits": int(rows["n_bits"].iloc[0])}
            label = f"figure-{name}-{kind.replace('@', '-at-')}"
            figures.append(Figure(label, plots.TITLES[kind], shows, chart.properties(width="container"), rows, choices))
    reasons = dict.fromkeys(value for value in by_method.values() if isinstance(value, str))
    text = [f"No curves: {reason}." for reason in reasons]
    return Section(f"{name}-curves", title, text, figures) if figures else None


def _rows(kind: str, method: str, n_bits: int, own: Curves) -> Iterable[dict[str, Any]]:
    curve = own.pr if kind == "precision-recall" else own.top_k
    if isinstance(curve, TopKCurve):
        few = np.unique(np.linspace(0, len(curve.k) - 1, _MOST_POINTS).round().astype(int))
        curve = TopKCurve(*(values[few] for values in curve))
    return ({"n_bits": n_bits} | row for row in plots.points(kind, {method: curve} if curve else {}))
