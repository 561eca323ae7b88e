"""The function `compare`, which builds tables in which all scores have the same protocol, and its result."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.checks import need, one_of, positive_number
from protocol.comparison.differences import Differences, differences
from protocol.comparison.matching import Assumed, assumptions, match
from protocol.comparison.reading import Score, read_sources
from protocol.comparison.rendering import (
    as_number,
    differences_table,
    heading,
    html_of,
    name_of,
    notes,
    overview,
    protocol_of,
    scores_table,
    text_of,
    title_of,
    unused,
    with_figures,
)
from protocol.evaluation import Evaluation, WithoutQueries
from protocol.report.figure import Section, Table, listed

if TYPE_CHECKING:
    import pandas as pd

_Rows = list[tuple[Score, Assumed]]
_FEW = 4


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`. It is printed as the tables of the command line.

    Parameters
    ----------
    sections : tuple of Section
        First a section about what is compared and what was left out, then one section for each dataset, ground truth,
        split and size.
    scores : tuple of (str, Score, Assumed)
        Every compared score, with the name of its section and the fields that were assumed.
    differences : tuple of (str, str, Differences)
        The paired differences for each section and metric.
    """

    sections: tuple[Section, ...]
    scores: tuple[tuple[str, Score, Assumed], ...]
    differences: tuple[tuple[str, str, Differences], ...]

    def __repr__(self) -> str:
        return text_of(self.sections)

    def _repr_html_(self) -> str:
        return html_of(self.sections)

    def to_frame(self) -> "pd.DataFrame":
        """Return the compared scores: a row per file, method, code length and metric.

        Columns: ``section``, ``method``, ``ranking``, ``file``, the fields of `protocol.scores.identity.PROTOCOL`,
        ``n_bits``, ``metric``, ``mean``, ``std``, ``n_runs``, ``convention``, ``version``, and ``assumed``, the
        names of the assumed fields.
        """
        rows = [
            {"section": section, "method": score.method, "ranking": score.ranking, "file": score.file}
            | protocol_of(score)
            | {name: getattr(score, name) for name in ("n_bits", "metric", "mean", "std")}
            | {"n_runs": as_number(score.n_runs), "convention": score.convention, "version": score.version}
            | {"assumed": " ".join(assumed)}
            for section, score, assumed in self.scores
        ]
        return need("pandas", "report").DataFrame(rows)

    def differences_to_frame(self) -> "pd.DataFrame":
        """Return the paired differences: a row per metric, method and code length; p-values are corrected."""
        rows = [
            {"section": section, "metric": metric, "reference": of_table.reference, "method": one.method}
            | {"n_bits": one.n_bits, "unit": one.pairs.unit, "n_pairs": one.pairs.one.size, "test": one.test}
            | one.outcome._asdict()
            for section, metric, of_table in self.differences
            for one in of_table.found
        ]
        return need("pandas", "report").DataFrame(rows)

    def to_html(self) -> str:
        """Return a page that opens offline, with the tables and a figure for each section."""
        from protocol.report.page import render

        return render("Comparison", with_figures(self.sections, self.to_frame()))


def compare(
    *sources: str | Path | Evaluation | WithoutQueries,
    metrics: str | Iterable[str] = (),
    assume: str | Iterable[str] = (),
    against: str | None = None,
    margin: float | None = None,
) -> Comparison:
    """Compare scores whose protocols are known and equal, or assumed to be equal.

    Parameters
    ----------
    *sources : str, Path, Evaluation or WithoutQueries
        At least two sources: the ``summary.csv`` of an experiment, the JSON file of ``protocol evaluate --json``, or
        the result of `evaluate`.
    metrics : sequence of str, default=()
        The metrics to compare; all metrics if empty.
    assume : sequence of str, default=()
        Fields of `protocol.scores.identity.PROTOCOL` that are assumed to agree if a source does not record them:
        ``FIELD``, or ``FIELD=VALUE`` if the other sources record several values. A recorded value is never replaced.
    against : str, optional
        The reference method of the paired differences; if None, the method with the best mean in each table.
    margin : float, optional
        The largest difference that does not matter. If given, tests of non-inferiority and of equivalence are added.

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
    if margin is not None:
        margin = positive_number(margin, "margin")
    read = read_sources(sources)
    files = [scores[0].file if scores else str(source) for source, scores in zip(sources, read, strict=True)]
    chosen = [metrics] if isinstance(metrics, str) else list(metrics)
    known = dict.fromkeys(score.metric for scores in read for score in scores)
    for metric in chosen:
        one_of(metric, known, "metric")
    found = match([[score for score in scores if not chosen or score.metric in chosen] for scores in read], assumed)
    if against is not None:
        one_of(against, dict.fromkeys(score.method for score, _ in found.compared), "against")
    by_heading: dict[tuple[tuple[str, str], ...], dict[tuple[str, ...], _Rows]] = {}
    for score, filled in found.compared:
        protocol = protocol_of(score)
        key = (score.metric, str(protocol["empty"]), str(protocol["ties"]))
        by_heading.setdefault(tuple(heading(score).items()), {}).setdefault(key, []).append((score, filled))
    by_section: dict[str, dict[tuple[str, ...], _Rows]] = {}
    parts, all_differences = [], []
    for fields, of_section in by_heading.items():
        name = unused(name_of(dict(fields)), by_section)
        by_section[name] = of_section
        part, of_part = _section(name, title_of(dict(fields)), of_section, against, margin)
        parts.append(part)
        all_differences += of_part
    n_tables = sum(map(len, by_section.values()))
    paired = any(of_table.found for _, _, of_table in all_differences)
    return Comparison(
        sections=(overview(n_tables, files, found.left_out, paired=paired, margin=margin), *parts),
        scores=tuple(
            (name, score, filled)
            for name, tables in by_section.items()
            for rows in tables.values()
            for score, filled in rows
        ),
        differences=tuple(all_differences),
    )


def _section(
    name: str, title: str, tables: dict[tuple[str, ...], _Rows], against: str | None, margin: float | None
) -> tuple[Section, list[tuple[str, str, Differences]]]:
    """Return a section with its tables of scores and differences, and the differences themselves."""
    shown: list[Table] = []
    every: list[tuple[str, str, Differences]] = []
    missing: dict[str, dict[tuple[str, str], None]] = {}
    for (metric, empty, _), rows in tables.items():
        table_name = unused(name_of({"section": name, "empty": empty, "metric": metric}), [one.name for one in shown])
        shown.append(scores_table(table_name, metric, rows))
        by_method: dict[str, dict[int, Score]] = {}
        for score, _ in rows:
            by_method.setdefault(score.method, {})[score.n_bits] = score
        found = differences(by_method, metric, against=against, margin=margin)
        if found is None:
            reason = f"{against} has no value here" if against else "no method has a value"
            missing.setdefault(reason, {}).update(dict.fromkeys((method, metric) for method in by_method))
            continue
        shown += [differences_table(table_name, metric, found, margin)] if found.found else []
        for reason, methods in found.missing.items():
            missing.setdefault(reason, {}).update(dict.fromkeys((method, metric) for method in methods))
        every.append((name, metric, found))
    text = [*notes([score for rows in tables.values() for score, _ in rows]), *_unpaired(missing)]
    return Section(name, title, text, [], shown), every


def _unpaired(missing: dict[str, dict[tuple[str, str], None]]) -> list[str]:
    """Return a sentence for each reason why methods and metrics have no paired differences."""
    sentences = []
    for reason, found in missing.items():
        methods, metrics = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
        sentences.append(f"No paired differences for {_few(methods)} ({_few(metrics)}): {reason}.")
    return sentences


def _few(names: list[str]) -> str:
    """Return the first names as text, and the number of further ones."""
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more" if len(names) > _FEW else listed(names)
