"""Curves of several methods in one figure: precision and recall by Hamming radius, and of the top N items."""

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from protocol.checks import ProtocolError, need
from protocol.evaluation import plots
from protocol.metrics import AVERAGES, PRCurve, TopNCurve
from protocol.provenance.checksums import verify
from protocol.report.figure import Figure, Section, rows_chart, tooltips
from protocol.report.sections.curves import LEAST_RECALL
from protocol.scores.summary import at
from protocol.styles import styles

if TYPE_CHECKING:
    import pandas as pd

_MOST_POINTS = 50
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


class Displays:
    """The tables with the curves of an experiment, in ``FEATURE/display/SPLIT/`` next to its summary."""

    def __init__(self, summary: Path, file: str) -> None:
        self._folder, self._file = summary.parent, file
        self._read = functools.cache(_table)

    def curves(self, feature: str, split: str, **place: Any) -> Curves | str:
        """Return the mean curves over the runs of one hasher and code length, or the reason why there are none."""
        missing = f"{self._file} has no FEATURE/display/SPLIT/curves.csv and radii.csv next to it"
        if not all(re.fullmatch(r"[\w.-]+", name) for name in (feature, split)):
            return missing
        files = [self._folder / feature / "display" / split / f"{name}.csv" for name in ("radii", "curves")]
        if not all(file.is_file() for file in files):
            return missing
        radii, curves = (at(self._read(file), **place) for file in files)
        radii = at(radii, extension="none")
        pr = PRCurve(*(_values(radii, f"{side}_micro", "radius") for side in PRCurve._fields))
        top = at(curves, metric="precision").sort_values("at")["at"].to_numpy()
        values = (_values(curves, side, "at") for side in ("precision", "recall"))
        return Curves({"micro": pr} if pr.recall.size else {}, TopNCurve(top, *values) if top.size else None)


def _table(path: Path) -> "pd.DataFrame":
    verify(path, required=False)
    try:
        return need("pandas", "report").read_csv(path)
    except (ValueError, KeyError) as error:
        raise ProtocolError(f"{path}: expected a table of curves, got {' '.join(str(error).split())}.") from error


def _values(rows: "pd.DataFrame", metric: str, by: str) -> Any:
    return at(rows, metric=metric).sort_values(by)["value"].to_numpy()


def written_curves(pr_curves: Path | None, top_n_curves: Path | None) -> Curves:
    """Return the curves in files of `Evaluation.write_pr_curves` and `Evaluation.write_top_n_curves`."""
    pr, top_n = {}, None
    if pr_curves is not None:
        table = _table(pr_curves)
        pr = {mean: PRCurve(*(table[f"{side}_{mean}"].to_numpy() for side in PRCurve._fields)) for mean in AVERAGES}
    if top_n_curves is not None:
        top_n = TopNCurve(*(_table(top_n_curves)[name].to_numpy() for name in TopNCurve._fields))
    return Curves(pr, top_n)


def curves_section(name: str, title: str, by_method: Mapping[tuple[str, int], Curves | str]) -> Section | None:
    """Return a section with the figures of all methods of one section, by method and code length; None if empty."""
    curves = {key: value for key, value in by_method.items() if isinstance(value, Curves)}
    pd = need("pandas", "report")
    pr, top = (pd.DataFrame([row for key, value in curves.items() for row in of(*key, value)]) for of in (_pr, _top))
    methods = list(dict.fromkeys(method for method, _ in curves))
    figures = [
        _figure(f"{name}-{kind.replace('@', '-at-')}", kind, rows, methods)
        for kind, rows in {"precision-recall": pr, "precision@N": top, "recall@N": top}.items()
        if len(rows)
    ]
    reasons = dict.fromkeys(value for value in by_method.values() if isinstance(value, str))
    text = [f"No curves: {reason}." for reason in reasons]
    return Section(f"{name}-curves", title, text, figures) if figures else None


def _pr(method: str, n_bits: int, curves: Curves) -> Iterable[dict[str, Any]]:
    if "micro" in curves.pr:
        points = zip(curves.pr["micro"].precision, curves.pr["micro"].recall, strict=True)
        for radius, (precision, recall) in enumerate(points):
            if recall >= LEAST_RECALL:
                yield {"method": method, "n_bits": n_bits, "radius": radius, "recall": recall, "precision": precision}


def _top(method: str, n_bits: int, curves: Curves) -> Iterable[dict[str, Any]]:
    if curves.top_n is not None:
        points = np.unique(np.linspace(0, len(curves.top_n.n) - 1, _MOST_POINTS).round().astype(int))
        for n, precision, recall in zip(*(values[points] for values in curves.top_n), strict=True):
            yield {"method": method, "n_bits": n_bits, "N": n, "precision": precision, "recall": recall}


def _figure(name: str, kind: str, rows: "pd.DataFrame", methods: list[str]) -> Figure:
    """Return a figure with a line for each method."""
    import altair as alt

    hashers = [method.partition(", ")[0] for method in methods]
    of_name = styles(hashers if len(set(hashers)) == len(methods) else methods)
    legend = alt.Legend(columns=1 if max(map(len, methods)) > _LONG else 2, labelLimit=0, symbolSize=600)
    colours, dashes = ([getattr(style, part) for style in of_name.values()] for part in ("colour", "dash"))
    encoded = rows_chart().encode(
        color=alt.Color("method:N", title=None, legend=legend, scale=alt.Scale(domain=methods, range=colours)),
        strokeDash=alt.StrokeDash(
            "method:N", title=None, legend=legend, scale=alt.Scale(domain=methods, range=list(map(list, dashes)))
        ),
    )
    if kind == "precision-recall":
        shows = "All queries together (micro); each corner of a line is a Hamming radius."
        unit = alt.Scale(domain=[0, 1])
        drawn = encoded.encode(
            x=alt.X("recall:Q", title="recall", scale=unit),
            y=alt.Y("precision:Q", title="precision", scale=unit),
            order="radius:Q",
            tooltip=tooltips("method:N", "radius:Q", "recall:Q", "precision:Q"),
        )
    else:
        side = kind.partition("@")[0]
        shows = "Mean over the queries, as the expected value over ties."
        drawn = encoded.encode(
            x=alt.X("N:Q", title="N, number of retrieved items"),
            y=alt.Y(f"{side}:Q", title=kind),
            tooltip=tooltips("method:N", "N:Q", f"{side}:Q"),
        )
    chart = drawn.mark_line(strokeWidth=2).properties(width="container")
    return Figure(f"figure-{name}", plots.TITLES[kind], shows, chart, rows, {"n_bits": int(rows["n_bits"].iloc[0])})
