"""The function `compare`, which makes tables in which all scores have the same protocol, and its result."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol.checks import ProtocolError, need, one_of
from protocol.comparison import rendering
from protocol.comparison.differences import ComparedTable, compared_table
from protocol.comparison.matching import assumptions, match
from protocol.comparison.places import short_names
from protocol.comparison.reading import OF_METRIC, Score, Source, read_sources
from protocol.evaluation.printed import Shown
from protocol.report.figure import Section
from protocol.scores.metadata import UNHASHED, is_bound
from protocol.scores.tables import DataFrame, Table, filled
from protocol.truth import DISTANCES

_MOST_TABLES = 6
_HEADLINE, _ALL = "mAP", "all"
_Table = tuple[str, str, list[Score]]
"""The section of a table, its metric and its scores."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """The result of `compare`. It is printed as the tables of the command line.

    Parameters
    ----------
    files : tuple of str
        The names of the sources.
    tables : tuple of ComparedTable
        The tables by section; those of a section agree in dataset, ground truth, split and sizes.
    left_out : dict of str to list of str
        For each file, the scores that are in no table, with the reasons.
    further : tuple of str
        The metrics of the tables that are not shown because there are many, one for each table.
    """

    files: tuple[str, ...]
    tables: tuple[ComparedTable, ...]
    left_out: Mapping[str, Sequence[str]]
    further: tuple[str, ...]

    @property
    def sections(self) -> list[Section]:
        """The tables by section, and a last section about what was compared, how, and what was left out."""
        notes = rendering.notes(self.tables, self.left_out, self.further)
        overview = Section("overview", "What was compared, and how", [*rendering.why(self.files, self.tables), *notes])
        return [*rendering.sections(self.tables), overview]

    def parts(self) -> list[str | Table]:
        """Return the paragraphs and tables of all sections, and what was left out."""
        return rendering.parts(self.tables, rendering.notes(self.tables, self.left_out, self.further))

    def why(self) -> str:
        """Return what is compared, and how it is tested."""
        return "\n".join(map(filled, rendering.why(self.files, self.tables)))

    def to_html(self) -> str:
        """Return a page that opens offline, with the tables and a figure of the scores for each section."""
        from protocol.report.page import render

        return render("Comparison", rendering.with_figures(self.sections, self.tables))

    def to_latex(self) -> str:
        """Return the tables as LaTeX (package booktabs) with their protocol; a column's best mean of codes is bold."""
        return rendering.latex(self.tables)

    def to_frame(self) -> DataFrame:
        """Return the compared scores: a row per file, method, code length and metric.

        Columns: ``section``, ``method``, ``ranking``, ``file``, the fields of `protocol.scores.metadata.PROTOCOL`,
        ``n_bits``, ``metric``, ``mean``, ``std``, ``n_runs``, ``convention``, ``version``, and ``assumed``, the
        names of the assumed fields.
        """
        rows = [
            {"section": table.section, "method": score.method, "ranking": score.ranking, "file": score.file}
            | dict(score.fields)
            | {name: getattr(score, name) for name in ("n_bits", "metric", "mean", "std")}
            | {"n_runs": score.n_runs or np.nan, "convention": score.convention, "version": score.version}
            | {"assumed": " ".join(score.assumed)}
            for table in self.tables
            for score in table.scores
        ]
        return need("pandas", "report").DataFrame(rows)


def compare(
    *sources: Source, metrics: str | Iterable[str] = (), assume: str | Iterable[str] = (), against: str | None = None
) -> Comparison:
    """Compare scores whose protocols are known and equal, or assumed to be equal.

    Parameters
    ----------
    *sources : str, Path or Evaluation
        The ``summary.csv`` of an experiment, the JSON file of ``protocol evaluate --json``, or the result of
        `evaluate`; or one list of them. Several sources are compared where two or more have a score under the same
        protocol.
    metrics : sequence of str, default=()
        The metrics to compare, ``"all"`` for all of them. If empty, all except bounds (ties in the worst or best
        order) if they make at most six tables, and otherwise mAP (or else the first metric) under the first protocol.
    assume : sequence of str, default=()
        ``FIELD=VALUE``: values of fields of `protocol.scores.metadata.PROTOCOL` that are assumed for sources that do
        not record them. A recorded value is never replaced.
    against : str, optional
        The reference method of the paired differences, by its name in the tables, or that of its hasher or record if
        no other method has it, or "unhashed" for the only vectors that were ranked themselves; if None, the method with
        the best mean in each table.

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
    if len(sources) == 1 and isinstance(sources[0], (list, tuple)):
        sources = tuple(sources[0])
    by_source = read_sources(sources)
    if not sources:
        raise ProtocolError("compare needs at least one file.")
    selected = _selected(list(itertools.chain(*by_source.values())), metrics)
    scores, left_out = match(selected, assumed, least=min(2, len(sources)))
    if against is not None:
        names = short_names(scores)
        full = dict(zip(names.values(), names, strict=True)) | dict(zip(names, names, strict=True))
        if len(vectors := {score.method for score in scores if score.ranking in DISTANCES}) == 1:
            full.setdefault(UNHASHED, *vectors)
        against = one_of(full.get(against, against), names, "against")
    every = _grouped(scores)
    shown = every if metrics or len(every) <= _MOST_TABLES else _headline(every)
    tables = tuple(compared_table(section, metric, of_table, against) for section, metric, of_table in shown)
    return Comparison(tuple(by_source), tables, left_out, tuple(table[1] for table in every if table not in shown))


def _selected(scores: list[Score], metrics: str | Iterable[str]) -> list[Score]:
    """Return the scores of these metrics, or all except bounds; raise ProtocolError if no score has a metric."""
    known = dict.fromkeys(score.metric for score in scores)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        return [score for score in scores if not is_bound(score.metric)] or scores
    selected = {one_of(metric, known, "metric") for metric in names if metric != _ALL}
    return scores if _ALL in names else [score for score in scores if score.metric in selected]


def _grouped(scores: Iterable[Score]) -> list[_Table]:
    """Return the scores of each table, those of a section one after the other."""
    sections: dict[Any, dict[Any, list[Score]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        sections[score.section][score.metric, tuple(score.fields[field] for field in OF_METRIC)].append(score)
    numbered = enumerate(sections.values(), 1)
    return [(f"protocol-{n}", metric, scores) for n, tables in numbered for (metric, _), scores in tables.items()]


def _headline(tables: Sequence[_Table]) -> list[_Table]:
    """Return the tables of the first section for mAP, or else for its first metric."""
    first = tables[0][0]
    metrics = [metric for section, metric, _ in tables if section == first]
    return [table for table in tables if table[:2] == (first, _HEADLINE if _HEADLINE in metrics else metrics[0])]
