"""The function `compare`, which builds tables in which all scores have the same protocol, and its result."""

import html
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from protocol import registry
from protocol.checks import need, one_of, printable
from protocol.comparison.curves import Curves, curves_section
from protocol.comparison.differences import Differences
from protocol.comparison.matching import OF_METRIC, Assumed, assumptions, match
from protocol.comparison.reading import Score, read_sources
from protocol.comparison.rendering import Rows, interval, overview, scores_figure, section, title_of
from protocol.evaluation import Evaluation, WithoutQueries
from protocol.report.figure import Section
from protocol.scores.metadata import NONE_EXCLUDED
from protocol.scores.tables import filled

if TYPE_CHECKING:
    import pandas as pd

_Headings = dict[tuple[tuple[str, str], ...], dict[tuple[str, str, str], Rows]]
_MOST_TABLES = 6
_HEADLINE, _ALL = "mAP", "all"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`. It is printed as the tables of the command line.

    Parameters
    ----------
    sections : tuple of Section
        One section for each dataset, ground truth, split and size, and last a section about what was compared, how, and
        what was left out.
    scores : tuple of (str, Score, Assumed)
        Every compared score, with the name of its section and the fields that were assumed.
    differences : tuple of (str, str, Differences)
        The paired differences for each section and metric.
    """

    sections: tuple[Section, ...]
    scores: tuple[tuple[str, Score, Assumed], ...]
    differences: tuple[tuple[str, str, Differences], ...]

    def __repr__(self) -> str:
        blocks = []
        for part in self.sections:
            lines = [filled(line) for line in (f"== {part.title}", *part.text)]
            blocks += ["\n".join(lines), *(table.text() for table in part.tables)]
        return printable("\n\n".join(blocks), keep="\n")

    def _repr_html_(self) -> str:
        blocks = []
        for part in self.sections:
            blocks.append(f"<h4>{html.escape(part.title)}</h4>")
            blocks += [f"<p>{html.escape(paragraph)}</p>" for paragraph in part.text]
            blocks += [table.html() for table in part.tables]
        return printable("\n".join(blocks), keep="\n")

    def to_frame(self) -> "pd.DataFrame":
        """Return the compared scores: a row per file, method, code length and metric.

        Columns: ``section``, ``method``, ``ranking``, ``file``, the fields of `protocol.scores.metadata.PROTOCOL`,
        ``n_bits``, ``metric``, ``mean``, ``std``, ``n_runs``, ``convention``, ``version``, and ``assumed``, the
        names of the assumed fields.
        """
        rows = [
            {"section": section, "method": score.method, "ranking": score.ranking, "file": score.file}
            | score.fields
            | {name: getattr(score, name) for name in ("n_bits", "metric", "mean", "std")}
            | {"n_runs": score.n_runs or np.nan, "convention": score.convention, "version": score.version}
            | {"assumed": " ".join(assumed)}
            for section, score, assumed in self.scores
        ]
        return need("pandas", "report").DataFrame(rows)

    def differences_to_frame(self) -> "pd.DataFrame":
        """Return the paired differences: a row per metric, method and code length; p-values are corrected."""
        rows = [
            {"section": section, "metric": metric, "reference": of_table.reference, "method": one.method}
            | {"n_bits": one.n_bits, "unit": one.pairs.unit, "n_pairs": one.pairs.one.size, "test": one.test}
            | {name: getattr(one, name) for name in ("difference", "low", "high", "p")}
            for section, metric, of_table in self.differences
            for one in of_table.comparisons
        ]
        return need("pandas", "report").DataFrame(rows)

    def _curves(self, section: str) -> dict[tuple[str, int], Curves | str]:
        """Return the curves of a section by method and code length, the best first, or the reason why it has none."""
        scores = [score for name, score, _ in self.scores if name == section]
        scores = [score for score in scores if score.metric == scores[0].metric]
        sign = 1 if registry.METRICS.entry(scores[0].metric).better == "higher" else -1
        scores.sort(key=lambda score: -sign * score.mean)
        return {(score.method, score.n_bits): score.curves() for score in scores}

    def with_figures(self) -> list[Section]:
        """Return the sections with figures of the scores, each followed by a section of curves if there are any."""
        scores, parts = self.to_frame(), []
        scores[["low", "high"]] = [interval(score) for _, score, _ in self.scores]
        for part in self.sections:
            of_part = scores[scores["section"] == part.name]
            if of_part.empty:
                parts.append(part)  # the overview
                continue
            title = f"Curves: {part.title}" if len(self.sections) > 2 else "Curves"
            curves = curves_section(part.name, title, self._curves(part.name))
            parts += [replace(part, figures=[scores_figure(part.name, of_part)]), *([curves] if curves else [])]
        return parts

    def to_html(self) -> str:
        """Return a page that opens offline, with the tables, and figures of the scores and curves, for each section."""
        from protocol.report.page import render

        return render("Comparison", self.with_figures())


def compare(
    *sources: str | Path | Evaluation | WithoutQueries,
    metrics: str | Iterable[str] = (),
    assume: str | Iterable[str] = (),
    against: str | None = None,
) -> Comparison:
    """Compare scores whose protocols are known and equal, or assumed to be equal.

    Parameters
    ----------
    *sources : str, Path, Evaluation or WithoutQueries
        At least two sources: the ``summary.csv`` of an experiment, the JSON file of ``protocol evaluate --json``, or
        the result of `evaluate`.
    metrics : sequence of str, default=()
        The metrics to compare, ``"all"`` for all of them. If empty, all metrics if they make at most six tables, and
        otherwise mAP (or else the first metric) under the first protocol.
    assume : sequence of str, default=()
        ``FIELD=VALUE``: values of fields of `protocol.scores.metadata.PROTOCOL` that are assumed for sources that do
        not record them. A recorded value is never replaced.
    against : str, optional
        The reference method of the paired differences; if None, the method with the best mean in each table.

    Returns
    -------
    Comparison

    Raises
    ------
    ProtocolError
        If a source can't be read, or nothing can be compared. The message gives the reason for each source, and what to
        do.
    """
    assumed = assumptions(assume)
    by_source = read_sources(sources)
    rows, left_out = match(_selected(itertools.chain(*by_source.values()), metrics), assumed)
    if against is not None:
        one_of(against, dict.fromkeys(score.method for score, _ in rows), "against")
    every = _by_heading(rows)
    headings = every if metrics or sum(map(len, every.values())) <= _MOST_TABLES else _headline(every)
    sections: list[Section] = []
    compared: list[tuple[str, Score, Assumed]] = []
    paired: list[tuple[str, str, Differences]] = []
    for number, (heading, tables) in enumerate(headings.items(), 1):
        part, of_section = section(f"protocol-{number}", title_of(dict(heading)), tables, against)
        sections.append(part)
        compared += [(part.name, *row) for row in itertools.chain(*tables.values())]
        paired += of_section
    n_tables, n_every = (sum(map(len, each.values())) for each in (headings, every))
    last = overview(n_tables, n_every - n_tables, list(by_source), left_out, paired)
    return Comparison((*sections, last), tuple(compared), tuple(paired))


def _selected(scores: Iterable[Score], metrics: str | Iterable[str]) -> list[Score]:
    """Return the scores of these metrics, or all if there are none; raise ProtocolError if no score has a metric."""
    every = list(scores)
    known = dict.fromkeys(score.metric for score in every)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    selected = {one_of(metric, known, "metric") for metric in names if metric != _ALL}
    return every if _ALL in names or not names else [score for score in every if score.metric in selected]


def _headline(headings: _Headings) -> _Headings:
    """Return the first heading, with mAP or else its first metric alone."""
    heading, tables = next(iter(headings.items()))
    metric = next((key[0] for key in tables if key[0] == _HEADLINE), next(iter(tables))[0])
    return {heading: {key: rows for key, rows in tables.items() if key[0] == metric}}


def _by_heading(rows: Rows) -> _Headings:
    """Return the rows of each table, by its metric, undefined values and ties, for each heading.

    A heading has the fields that do not depend on the metric, and excluded queries if there are any.
    """
    headings: _Headings = {}
    for score, values in rows:
        fields = {field: str(value) for field, value in score.fields.items()}
        heading = [pair for pair in fields.items() if pair[0] not in OF_METRIC]
        heading = [pair for pair in heading if pair != ("excluded_queries", NONE_EXCLUDED)]
        key = (score.metric, fields["undefined"], fields["ties"])
        headings.setdefault(tuple(heading), {}).setdefault(key, []).append((score, values))
    return headings
