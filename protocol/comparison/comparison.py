"""The function `compare`, which builds tables in which all scores have the same protocol, and its result."""

import html
import itertools
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from protocol import registry
from protocol.checks import ProtocolError, counted, need, one_of, positive_number, printable
from protocol.comparison.curves import Curves, curves_section, own_styles
from protocol.comparison.differences import UNCORRECTED, UNTESTED, Difference, Differences, differences
from protocol.comparison.matching import NOT_RECORDED, OF_METRIC, Assumed, assumptions, match
from protocol.comparison.reading import RUN, Score, read_sources
from protocol.evaluation import Evaluation, WithoutQueries, plots
from protocol.report.figure import (
    ABSENT,
    Figure,
    Section,
    between,
    decimals,
    listed,
    rows_chart,
    spread,
    tooltips,
)
from protocol.scores.metadata import NONE_EXCLUDED, NOTED, PROTOCOL
from protocol.scores.statistics import (
    CONFIDENCE,
    CORRECTED,
    NO_TEST,
    ONE_DATASET,
    TWO_RUNS,
    half_width,
    shared_variance,
    shown_interval,
)
from protocol.scores.tables import Table, filled

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_Rows = list[tuple[Score, Assumed]]
_Headings = dict[tuple[tuple[str, str], ...], dict[tuple[str, str, str], _Rows]]
_FEW = 4
_EMPTY = {"zero": "undefined values count as 0", "drop": "undefined values are left out"}
_SIZES = {"n_queries": "queries", "n_database": "database items"}
_MOST_TABLES = 6
_HEADLINE, _ALL = "mAP", "all"
_TESTED = {
    UNTESTED: NO_TEST,
    CORRECTED: f"Over runs: {CORRECTED}. {ONE_DATASET}",
    UNCORRECTED: "Over runs: paired t-test (Student's t), not corrected for the items that the runs share, because no "
    "file records the numbers of queries and database items; its p-values and intervals are too small.",
}
_LEVEL = 1 - CONFIDENCE
_TINY = 1e-4
_AXIS = "{metric} at {n_bits} bits (the axis does not begin at 0)"
_LETTERS = 28  # of a method's name in one line of the figure
_PIECES = f"/(.{{1,{_LETTERS}}})(?: |$)|(.{{1,{_LETTERS - 1}}}_)|(.{{{_LETTERS}}})/g"
_WRAPPED = f"split(trim(replace(datum.label, {_PIECES}, '$1$2$3\\n')), '\\n')"
_BASELINE = {"condition": {"test": f"length(datum.label) > {_LETTERS}", "value": "bottom"}, "value": "middle"}


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
            | one.outcome._asdict()
            for section, metric, of_table in self.differences
            for one in of_table.comparisons
        ]
        return need("pandas", "report").DataFrame(rows)

    def plot(self, kind: str = "precision-recall", n_bits: int | None = None) -> "alt.Chart":
        """Return a figure with a line for each method of the first section.

        The curves are those of evaluations; of the files to which ``protocol evaluate --pr-curves --top-n-curves
        --json`` refers; and of the pipeline, next to a ``summary.csv``.

        Parameters
        ----------
        kind : {"precision-recall", "precision@N", "recall@N"}
            As for `Evaluation.plot`.
        n_bits : int, optional
            The code length; by default the one that most methods have.

        Raises
        ------
        ProtocolError
            If there is no such figure, or no method has such a curve.
        """
        one_of(kind, plots.TITLES, "plot")
        every = self._curves(self.scores[0][0])
        of_kind = {key: one.of(kind) for key, one in every.items() if isinstance(one, Curves)}
        drawn = {key: curve for key, curve in of_kind.items() if curve}
        lengths = Counter(map(operator.itemgetter(1), drawn))
        if not drawn or n_bits not in (None, *lengths):
            reasons = "; ".join(dict.fromkeys(one for one in every.values() if isinstance(one, str)))
            got = f"n_bits={n_bits}, not {listed(list(map(str, lengths)))}" if drawn else reasons or "other rankings"
            raise ProtocolError(f"plot {kind!r}: no method has this curve: {got}.")
        length = n_bits or max(lengths, key=lambda length: lengths[length])
        curves = {method: curve for (method, own), curve in drawn.items() if own == length}
        return plots.curves(kind, curves, own_styles(list(curves)))

    def _curves(self, section: str) -> dict[tuple[str, int], Curves | str]:
        """Return the curves of a section by method and code length, the best first, or the reason why it has none."""
        scores = [score for name, score, _ in self.scores if name == section]
        scores = [score for score in scores if score.metric == scores[0].metric]
        sign = 1 if registry.METRICS.entry(scores[0].metric).better == "higher" else -1
        scores.sort(key=lambda score: -sign * score.mean)
        return {(score.method, score.n_bits): score.curves() for score in scores}

    def with_figures(self) -> list[Section]:
        """Return the sections with figures of the scores, each followed by a section of curves if there are any."""
        ends = [_interval(score) for _, score, _ in self.scores]
        scores, parts = self.to_frame(), []
        scores[["low", "high"]] = ends
        for part in self.sections:
            of_part = scores[scores["section"] == part.name]
            if of_part.empty:
                parts.append(part)  # the overview
                continue
            title = f"Curves: {part.title}" if len(self.sections) > 2 else "Curves"
            curves = curves_section(part.name, title, self._curves(part.name))
            parts += [replace(part, figures=[_figure(part.name, of_part)]), *([curves] if curves else [])]
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
    margin: float | None = None,
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
        Fields of `protocol.scores.metadata.PROTOCOL` that are assumed to agree if a source does not record them:
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
    margin = None if margin is None else positive_number(margin, "margin")
    by_source = read_sources(sources)
    matched = match(_selected(itertools.chain(*by_source.values()), metrics), assumed)
    if against is not None:
        one_of(against, dict.fromkeys(score.method for score, _ in matched.compared), "against")
    every = _by_heading(matched.compared)
    headings = every if metrics or sum(map(len, every.values())) <= _MOST_TABLES else _headline(every)
    sections: dict[str, Section] = {}
    compared: list[tuple[str, Score, Assumed]] = []
    paired: list[tuple[str, str, Differences]] = []
    for heading, tables in headings.items():
        name = _unused(_name(value for _, value in heading), sections)
        sections[name], of_section = _section(name, _title(dict(heading)), tables, against, margin)
        compared += [(name, *row) for row in itertools.chain(*tables.values())]
        paired += of_section
    n_tables, n_every = (sum(map(len, each.values())) for each in (headings, every))
    last = _overview(n_tables, n_every - n_tables, list(by_source), matched.left_out, paired, margin)
    return Comparison((*sections.values(), last), tuple(compared), tuple(paired))


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


def _by_heading(rows: _Rows) -> _Headings:
    """Return the rows of each table, by its metric, undefined values and ties, for each heading."""
    headings: _Headings = {}
    for score, values in rows:
        key = (score.metric, str(score.fields["empty"]), str(score.fields["ties"]))
        headings.setdefault(tuple(_heading(score).items()), {}).setdefault(key, []).append((score, values))
    return headings


def _heading(score: Score) -> dict[str, str]:
    """Return the fields of the heading of a score's section; the fields that depend on the metric are in the captions.

    Excluded queries are included if there are any.
    """
    fields = {field: str(value) for field, value in score.fields.items() if field not in OF_METRIC}
    return {field: value for field, value in fields.items() if (field, value) != ("excluded_queries", NONE_EXCLUDED)}


def _title(fields: Mapping[str, str]) -> str:
    """Return the heading of a section."""
    recorded = {field: value for field, value in fields.items() if value != NOT_RECORDED}
    words = [f"{value} {_SIZES[field]}" if field in _SIZES else f"{field} {value}" for field, value in recorded.items()]
    text = ", ".join(words).replace("ground_truth ", "ground truth ", 1).replace("excluded_queries ", "without ", 1)
    return text or "protocol not recorded"


def _name(values: Iterable[str]) -> str:
    """Return the name of a section or table on a page."""
    return "-".join("".join(c if c.isalnum() else "-" for c in value) for value in values)


def _unused(name: str, names: Collection[str]) -> str:
    """Return the name, with a number added if it is already among `names`: different headings may have equal names."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], numbered) if one not in names)


def _section(
    name: str, title: str, tables: Mapping[tuple[str, str, str], _Rows], against: str | None, margin: float | None
) -> tuple[Section, list[tuple[str, str, Differences]]]:
    """Return a section with its tables of scores and differences, and the differences themselves."""
    shown: dict[str, Table] = {}
    paired: list[tuple[str, str, Differences]] = []
    verdicts: list[str] = []
    for (metric, empty, _), rows in tables.items():
        table_name = _unused(_name([name, empty, metric]), shown)
        by_method: dict[str, dict[int, Score]] = {}
        for score, _ in rows:
            by_method.setdefault(score.method, {})[score.n_bits] = score
        shown[table_name] = _scores_table(table_name, metric, by_method, _assumed(rows))
        of_table = differences(by_method, metric, against=against, margin=margin)
        paired.append((name, metric, of_table))
        if of_table.comparisons:
            verdicts.append(_verdict(metric, of_table))
            shown[f"{table_name}-differences"] = _differences_table(table_name, metric, of_table, margin)
    text = [*verdicts, *_notes([score for rows in tables.values() for score, _ in rows])]
    return Section(name, title, text, [], list(shown.values())), paired


def _verdict(metric: str, of_table: Differences) -> str:
    """Return a sentence about the reference and the method that comes nearest to it or is farthest above it."""
    sign = 1 if registry.METRICS.entry(metric).better == "higher" else -1
    one = max(of_table.comparisons, key=lambda one: sign * one.outcome.difference)
    difference, p, (low, high) = one.outcome.difference, one.outcome.p, _limits(metric, one)
    names = [one.method, str(of_table.reference)]
    if difference * sign < 0:
        names, difference, low, high = names[::-1], -difference, -high, -low
    if sign < 0:
        low, high = -high, -low
    interval = "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    at = f"{abs(difference):.3f}{interval} ({metric}, {one.n_bits} bits, {_pairs(one)})"
    if math.isnan(p):
        return f"The difference between {names[0]} and {names[1]} is not tested: {at}."
    if p < _LEVEL:
        return f"{names[0]} beats {names[1]} by {at}."
    return f"The difference between {names[0]} and {names[1]} is not significant: {at}."


def _missing(paired: Iterable[tuple[str, str, Differences]]) -> list[str]:
    """Return one sentence for each reason why methods have no paired differences."""
    missing: dict[str, dict[tuple[str, str], None]] = {}
    for _, metric, of_table in paired:
        for reason, methods in of_table.missing.items():
            missing.setdefault(reason, {}).update(dict.fromkeys((method, metric) for method in methods))
    sentences = []
    for reason, methods_and_metrics in missing.items():
        names, metrics = (_few(list(dict.fromkeys(each))) for each in zip(*methods_and_metrics, strict=True))
        sentences.append(f"No paired differences for {names} ({metrics}): {reason}.")
    return sentences


def _few(names: list[str]) -> str:
    """Return the first names as text, and the number of further ones."""
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more" if len(names) > _FEW else listed(names)


def _overview(
    n_tables: int,
    n_further: int,
    files: Sequence[str],
    left_out: Mapping[str, Sequence[str]],
    paired: Sequence[tuple[str, str, Differences]],
    margin: float | None,
) -> Section:
    """Return the section about what is compared and tested, and what was left out and why."""
    statement = (
        f"{listed(files)}: {counted(n_tables, 'table')}. All scores in a table agree in {listed(PROTOCOL)}, and in the "
        "metric; those in a column also agree in the code length."
    )
    text, is_paired = [statement], any(of_table.comparisons for _, _, of_table in paired)
    if is_paired:
        text.append(
            "A difference is a mean over pairs: over runs on the same items, or over queries at the same position if "
            "all of these have the same relevant positions (labels alone do not identify the items). The intervals "
            f"hold simultaneously for all comparisons in a table, with {100 * CONFIDENCE:g} % confidence (Bonferroni). "
            "p: paired t-tests (sign tests if all differences are equal), corrected for all comparisons in the table "
            "(Holm). Name the reference with --against if you can. Otherwise, the reference is the method with the "
            "best mean. This choice depends on the tested values, so all pairs of methods count as comparisons."
        )
    if is_paired and margin is not None:
        text.append(
            f"Margin {margin:g}: a method is non-inferior if its mean is less than {margin:g} worse than the "
            f"reference's (one-sided t-test), and equivalent if the two differ by less than {margin:g} (two one-sided "
            "t-tests, TOST); “yes” means that p, corrected for all comparisons in the table (Holm), is below "
            f"{_LEVEL:.2g}."
        )
    text += [f"Left out of {file}: {reason}." for file, reasons in left_out.items() for reason in reasons]
    text += _missing(paired)
    if n_further:
        text.append(
            f"{counted(n_further, 'further table')} not shown: use --metric NAME for one metric under every protocol, "
            "or --metric all for all of them."
        )
    return Section("overview", "What was compared, and how", text)


def _notes(scores: Sequence[Score]) -> list[str]:
    """Return a line for each field that is recorded but not compared, and in which the files differ."""
    lines = []
    for field in NOTED:
        by_file: dict[str, dict[str, None]] = {}
        for score in scores:
            by_file.setdefault(score.file, {})[getattr(score, field) or NOT_RECORDED] = None
        if len({tuple(values) for values in by_file.values()}) > 1:
            recorded = "; ".join(f"{file}: {listed(list(values))}" for file, values in by_file.items())
            lines.append(f"Different {field}s, which are not compared: {recorded}.")
    return lines


def _assumed(rows: Sequence[tuple[Score, Assumed]]) -> list[str]:
    """Return a sentence for each file of a table that does not record the assumed fields."""
    by_file: dict[str, Assumed] = {}
    equal: dict[str, None] = {}
    for score, assumed in rows:
        known = {field: value for field, value in assumed.items() if value != NOT_RECORDED}
        by_file.setdefault(score.file, {}).update(known)
        equal |= dict.fromkeys(assumed.keys() - known.keys())
    sentences = [
        f"Assumed, because {file} does not record it: {', '.join(map(' = '.join, fields.items()))}."
        for file, fields in by_file.items()
        if fields
    ]
    fields = [field for field in PROTOCOL if field in equal]
    return [*sentences, f"Assumed to agree, because no file records it: {listed(fields)}."] if fields else sentences


def _scores_table(
    name: str, metric: str, by_method: Mapping[str, Mapping[int, Score]], assumed: Sequence[str]
) -> Table:
    """Return the means of one metric under one protocol: a row per method, a column per code length."""
    lengths = sorted(set().union(*by_method.values()))
    digits = decimals(score.std for by_length in by_method.values() for score in by_length.values())
    rows = [_scores_row(method, by_length, lengths, digits) for method, by_length in by_method.items()]
    fields = next(iter(next(iter(by_method.values())).values())).fields
    empty, ties = str(fields["empty"]), str(fields["ties"])
    ties = f"{ties[:1].lower()}{ties[1:]}".rstrip(".")
    header, value = (
        ["method", "file", "runs", *map("{} bits".format, lengths)],
        "mean ± standard deviation over the runs",
    )
    if {row[2] for row in rows} == {ABSENT}:
        header, rows, value = _without(header, 2), [_without(row, 2) for row in rows], "mean over the queries"
    statement = f"{metric}: {value}; {_EMPTY.get(empty, f'undefined values: {empty}')}; ties: {ties}."
    return Table(name, " ".join([statement, *assumed]), header, rows, n_labels=2)


def _scores_row(method: str, by_length: Mapping[int, Score], lengths: Sequence[int], digits: int) -> list[str]:
    runs = [score.n_runs for score in by_length.values() if score.n_runs is not None]
    files = ", ".join(dict.fromkeys(score.file for score in by_length.values()))
    means = [spread(by_length[n].mean, by_length[n].std, digits) if n in by_length else ABSENT for n in lengths]
    return [method, files, between(runs) if runs else ABSENT, *means]


def _without(cells: list[str], at: int) -> list[str]:
    return [*cells[:at], *cells[at + 1 :]]


def _differences_table(name: str, metric: str, of_table: Differences, margin: float | None) -> Table:
    """Return the differences from the reference, at least one, as a table."""
    header = ["method", "bits", "difference", "interval", "p", "pairs"]
    if margin is not None:
        header += ["non-inferior", "equivalent"]
    how = "" if of_table.is_named else ", the method with the best mean in this table"
    caption = (
        f"{metric}: differences from {of_table.reference}{how}; {counted(len(of_table.comparisons), 'comparison')}"
    )
    if of_table.n_tests > len(of_table.comparisons):
        caption += f", corrected for all {of_table.n_tests:,} pairs of methods"
    caption += "." if margin is None else f", margin {margin:g}."
    caption = " ".join(
        [caption, *dict.fromkeys(_TESTED[one.test] for one in of_table.comparisons if one.test in _TESTED)]
    )
    is_hidden = any(
        math.isfinite(one.outcome.low) and math.isnan(_limits(metric, one)[0]) for one in of_table.comparisons
    )
    caption += f" {TWO_RUNS}" if is_hidden else ""
    rows = [_row(metric, one, margin) for one in of_table.comparisons]
    return Table(f"{name}-differences", caption, header, rows, n_labels=1)


def _limits(metric: str, one: Difference) -> tuple[float, float]:
    """Return the limits of the interval of a difference; NaN if there is none, or it is not shown."""
    low, high = one.outcome.low, one.outcome.high
    n_runs = one.pairs.one.size if one.pairs.unit == RUN else 0
    low, high = map(float, shown_interval(low, high, n_runs, metric, difference=True))
    return low, high


def _row(metric: str, one: Difference, margin: float | None) -> list[str]:
    test = one.outcome
    low, high = _limits(metric, one)
    cells = [
        one.method,
        str(one.n_bits),
        f"{test.difference:+.4f}",
        ABSENT if math.isnan(low) else f"{low:+.4f} to {high:+.4f}",
        ABSENT if math.isnan(test.p) else "< 0.0001" if test.p < _TINY else f"{test.p:.4f}",
        _pairs(one),
    ]
    verdicts = [ABSENT if math.isnan(p) else "yes" if p < _LEVEL else "no" for p in (test.p_no_worse, test.p_equal)]
    return [*cells, *verdicts] if margin is not None else cells


def _pairs(one: Difference) -> str:
    """Return the number of pairs in words, such as "9 of 10 runs"."""
    n, of, noun = one.pairs.one.size, one.pairs.of, {"run": "runs", "query": "queries"}[one.pairs.unit]
    return f"{n:,} {noun}" if n == of else f"{n:,} of {of:,} {noun}"


def _interval(score: Score) -> tuple[float, float]:
    """Return the limits of the interval of a mean over the runs, or else over the queries; NaN if it is not shown."""
    half = math.nan
    if score.n_runs is not None:
        shared = shared_variance(*(score.fields[size] for size in _SIZES))
        half = float(half_width(score.std, score.n_runs, shared=0.0 if math.isnan(shared) else shared))
    elif not isinstance(values := score.values(), str):
        defined = values.numbers[~np.isnan(values.numbers)]
        half = float(half_width(defined.std(ddof=1), defined.size)) if defined.size > 1 else math.nan
    low, high = map(float, shown_interval(score.mean - half, score.mean + half, score.n_runs or 0, score.metric))
    return low, high


def _figure(name: str, scores: "pd.DataFrame") -> Figure:
    """Return a figure of the means of a section, by method; the reader selects the metric and the code length."""
    import altair as alt

    rows = scores[["metric", "n_bits", "method", "file", "mean", "low", "high", "n_runs"]]
    metric, n_bits = rows["metric"].iloc[0], int(rows["n_bits"].iloc[0])
    here = rows[(rows["metric"] == metric) & (rows["n_bits"] == n_bits)].dropna(subset="mean")
    shows = f"{metric} is undefined for all methods."
    of_runs = scores.dropna(subset="low")["n_runs"].notna()
    units = " or ".join([*(["runs"] if of_runs.any() else []), *([] if of_runs.all() else ["queries"])])
    drawn = f" Lines: {100 * CONFIDENCE:g} % intervals of the means over the {units}." if units else ""
    drawn += f" {TWO_RUNS}" if ((scores["n_runs"] == 2) & scores["low"].isna()).any() else ""
    if len(here):
        best, worst = here.loc[[here["mean"].idxmax(), here["mean"].idxmin()]].itertuples()
        ends = [f"{end.mean:.4f} ({end.method})" for end in (worst, best)]
        shows = f"{metric} at {n_bits} bits ranges from {' to '.join(ends)}.{drawn}"
    of_method = own_styles(list(dict.fromkeys(rows["method"])))
    colours, markers = (
        alt.Scale(domain=list(of_method), range=[getattr(style, part) for style in of_method.values()])
        for part in ("colour", "marker")
    )
    y = alt.Y(
        "method:N",
        title=None,
        sort=alt.EncodingSortField("mean", order="descending"),
        axis=alt.Axis(labelExpr=_WRAPPED, labelLimit=0, labelBaseline=_BASELINE),
    )
    encoded = rows_chart().encode(y=y, color=alt.Color("method:N", legend=None, scale=colours))
    points = encoded.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X(
            "mean:Q", title="{metric} at {n_bits} bits (the axis does not begin at 0)", scale=alt.Scale(zero=False)
        ),
        shape=alt.Shape("method:N", legend=None, scale=markers),
        tooltip=tooltips("file:N", "method:N", "mean:Q", "low:Q", "high:Q", "n_runs:Q"),
    )
    height = 24 if max(map(len, rows["method"])) <= _LETTERS else 36
    intervals = encoded.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    layered = alt.layer(intervals, points).properties(width="container", height=alt.Step(height))
    return Figure(f"figure-{name}", "Scores by method", shows, layered, rows, {"metric": metric, "n_bits": n_bits})
