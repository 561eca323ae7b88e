"""Curves of several methods in one figure: precision and recall by Hamming radius, and of the top N items."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from protocol.checks import ProtocolError, need
from protocol.evaluation import plots
from protocol.metrics import AVERAGES, PRCurve, TopNCurve
from protocol.provenance.checksums import verify
from protocol.report.figure import ROWS, Figure, Section
from protocol.scores.summary import at
from protocol.styles import styles

if TYPE_CHECKING:
    import pandas as pd

_MOST_POINTS = 50
_SHOWS = {
    "precision-recall": "All queries are pooled (micro-average). Each vertex of a line is a Hamming radius.",
    **dict.fromkeys(("precision@N", "recall@N"), "Means over the queries of the expected values over ties."),
}
_LONG = 20  # letters of a name, of which a phone has no room for two side by side


class Curves(NamedTuple):
    """The curves of one method and code length.

    Parameters
    ----------
    pr : mapping of str to PRCurve
        By average, ``micro`` or ``macro``; {} if they are not known, or the ranking has no radius.
    top_n : TopNCurve or None
    """

    pr: Mapping[str, PRCurve] = {}
    top_n: TopNCurve | None = None

    def of(self, kind: str) -> PRCurve | TopNCurve | None:
        """Return the curve of a figure of `plots.TITLES`."""
        return self.pr.get("micro") if kind == "precision-recall" else self.top_n


class CurveTables:
    """The tables with the curves of an experiment, in ``FEATURE/examples/SPLIT/`` next to its summary."""

    def __init__(self, summary: Path, file: str) -> None:
        self._folder, self._file = summary.parent, file
        self._read = functools.cache(_table)

    def curves(self, feature: str, split: str, **place: Any) -> Curves | str:
        """Return the mean curves over the runs of one hasher and code length, or the reason why there are none."""
        missing = f"{self._file} has no FEATURE/examples/SPLIT/curves.csv and radii.csv next to it"
        if not all(re.fullmatch(r"[\w.-]+", name) for name in (feature, split)):
            return missing
        files = [self._folder / feature / "examples" / split / f"{name}.csv" for name in ("radii", "curves")]
        if not all(file.is_file() for file in files):
            return missing
        radii, curves = at(self._read(files[0]), **place, extension="none"), at(self._read(files[1]), **place)
        pr = PRCurve(*(_values(radii, f"{side}_micro", "radius") for side in PRCurve._fields))
        top = at(curves, metric="precision").sort_values("at")["at"].to_numpy()
        values = (_values(curves, side, "at") for side in ("precision", "recall"))
        return Curves({"micro": pr} if pr.recall.size else {}, TopNCurve(top, *values) if top.size else None)


def _table(path: Path) -> "pd.DataFrame":
    verify(path, required=False)
    try:
        return need("pandas", "report").read_csv(path)
    except (ValueError, KeyError) as error:
        raise ProtocolError(f"{path}: can't be read as a table of curves ({' '.join(str(error).split())}).") from error


def _values(rows: "pd.DataFrame", metric: str, by: str) -> Any:
    return at(rows, metric=metric).sort_values(by)["value"].to_numpy()


def written_curves(pr_curves: Path | None = None, top_n_curves: Path | None = None) -> Curves:
    """Return the curves in files of `Evaluation.write_pr_curves` and `Evaluation.write_top_n_curves`."""
    pr, top_n = {}, None
    if pr_curves is not None:
        table = _table(pr_curves)
        pr = {mean: PRCurve(*(table[f"{side}_{mean}"].to_numpy() for side in PRCurve._fields)) for mean in AVERAGES}
    if top_n_curves is not None:
        top_n = TopNCurve(*(_table(top_n_curves)[name].to_numpy() for name in TopNCurve._fields))
    return Curves(pr, top_n)


def style_names(methods: Sequence[str]) -> Sequence[str]:
    """Return the names whose styles methods have: those of the hashers in a report, if no two methods share one."""
    hashers = [method.partition(", ")[0] for method in methods]
    return hashers if len(set(hashers)) == len(methods) else methods


def curves_section(name: str, title: str, by_method: Mapping[tuple[str, int], Curves | str]) -> Section | None:
    """Return a section with the figures of all methods of one section, by method and code length; None if empty."""
    known = {key: value for key, value in by_method.items() if isinstance(value, Curves)}
    pd, alt = need("pandas", "report"), need("altair", "report")
    methods = list(dict.fromkeys(method for method, _ in known))
    columns = 2 - (max(map(len, methods), default=0) > _LONG)
    of_method = dict(zip(methods, styles(style_names(methods)).values(), strict=True))
    figures = []
    for kind, shows in _SHOWS.items():
        rows = pd.DataFrame([row for key, value in known.items() for row in _rows(kind, *key, value)])
        if len(rows):
            chart = plots.lines(alt.Chart(alt.NamedData(ROWS)), kind, of_method, columns=columns)
            choices = {"n_bits": int(rows["n_bits"].iloc[0])}
            label = f"figure-{name}-{kind.replace('@', '-at-')}"
            figures.append(Figure(label, plots.TITLES[kind], shows, chart.properties(width="container"), rows, choices))
    reasons = dict.fromkeys(value for value in by_method.values() if isinstance(value, str))
    text = [f"No curves: {reason}." for reason in reasons]
    return Section(f"{name}-curves", title, text, figures) if figures else None


def _rows(kind: str, method: str, n_bits: int, own: Curves) -> Iterable[dict[str, Any]]:
    curve = own.of(kind)
    if isinstance(curve, TopNCurve):
        few = np.unique(np.linspace(0, len(curve.n) - 1, _MOST_POINTS).round().astype(int))
        curve = TopNCurve(*(values[few] for values in curve))
    return ({"n_bits": n_bits} | row for row in plots.points(kind, {method: curve} if curve else {}))
