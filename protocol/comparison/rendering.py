"""A comparison as sections of sentences, tables and figures: for a terminal, a notebook or a page."""

import html
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from protocol.checks import counted, printable
from protocol.comparison.differences import UNCORRECTED, Difference, Differences
from protocol.comparison.matching import NOT_RECORDED, OF_METRIC, Assumed
from protocol.comparison.reading import Score
from protocol.report.figure import (
    ABSENT,
    COLOURS,
    Figure,
    Section,
    Table,
    between,
    listed,
    rows_chart,
    spread,
    tooltips,
)
from protocol.scores import tables
from protocol.scores.identity import NONE_EXCLUDED, NOTED, PROTOCOL
from protocol.scores.statistics import CONFIDENCE, CORRECTED, ONE_DATASET

if TYPE_CHECKING:
    import pandas as pd

_EMPTY = {"zero": "undefined values count as 0", "drop": "undefined values are left out"}
_SIZES = {"n_queries": "queries", "n_database": "database items"}
_VERDICT = {True: "shown", False: "not shown"}
_TESTED = {
    CORRECTED: f"Over runs: {CORRECTED}. {ONE_DATASET}",
    UNCORRECTED: "Over runs: paired t-test (Student's t), not corrected for the items that the runs share, because no "
    "file records the numbers of queries and database items; its p-values and intervals are too small.",
}
_LEVEL = 1 - CONFIDENCE
_TINY = 1e-4


def protocol_of(score: Score) -> dict[str, str | None]:
    """Return the values of the fields `protocol.scores.identity.PROTOCOL` by name."""
    return dict(zip(PROTOCOL, score.protocol, strict=True))


def heading(score: Score) -> dict[str, str]:
    """Return the fields of the heading of a score's section; the fields that depend on the metric are in the captions.

    Excluded queries are included if there are any.
    """
    fields = {field: str(value) for field, value in protocol_of(score).items() if field not in OF_METRIC}
    if fields["excluded_queries"] == NONE_EXCLUDED:
        del fields["excluded_queries"]
    return fields


def title_of(fields: Mapping[str, str]) -> str:
    """Return the heading of a section."""
    recorded = {field: value for field, value in fields.items() if value != NOT_RECORDED}
    words = [f"{value} {_SIZES[field]}" if field in _SIZES else f"{field} {value}" for field, value in recorded.items()]
    text = ", ".join(words).replace("ground_truth ", "ground truth ", 1).replace("excluded_queries ", "without ", 1)
    return text or "protocol not recorded"


def name_of(fields: Mapping[str, str]) -> str:
    """Return the name of a section on a page."""
    return "-".join("".join(c if c.isalnum() else "-" for c in value) for value in fields.values())


def unused(name: str, names: Collection[str]) -> str:
    """Return the name, with a number added if it is already among `names`: different headings may have equal names."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], numbered) if one not in names)


def overview(
    n_tables: int, files: Sequence[str], left_out: Mapping[str, Sequence[str]], *, paired: bool, margin: float | None
) -> Section:
    """Return the section about what is compared and tested, and what was left out and why."""
    statement = (
        f"{listed(files)}: {counted(n_tables, 'table')}. All scores in a table agree in {listed(PROTOCOL)}, and in the "
        "metric; those in a column also agree in the code length."
    )
    text = [statement]
    if paired:
        text.append(
            "Differences are means over pairs: runs on the same items, or queries at the same position, where all have "
            "the same relevant positions (labels alone do not identify the items). Intervals: "
            f"{100 * CONFIDENCE:g} % simultaneously for all comparisons in a table (Bonferroni). p: paired t-tests "
            "(sign tests where all differences are equal), corrected for all comparisons in the table (Holm). Name the "
            "reference with --against if you can. Otherwise it is the method with the best mean, which depends on the "
            "tested values, so all pairs of methods then count as comparisons."
        )
    if paired and margin is not None:
        text.append(
            f"Margin {margin:g}: a method is “no worse” if its mean is less than {margin:g} worse than the reference's "
            f"(one-sided t-test), and “equal” if the two differ by less than {margin:g} (two one-sided t-tests, TOST); "
            f"“shown” means that p, corrected for all comparisons in the table (Holm), is below {_LEVEL:.2g}."
        )
    text += [f"Left out of {file}: {reason}." for file, reasons in left_out.items() for reason in reasons]
    return Section("overview", "What is compared", text)


def notes(scores: Sequence[Score]) -> list[str]:
    """Return a line for each field that is recorded but not compared, and in which the files differ."""
    found = []
    for field in NOTED:
        by_file: dict[str, dict[str, None]] = {}
        for score in scores:
            by_file.setdefault(score.file, {})[getattr(score, field) or NOT_RECORDED] = None
        if len({tuple(values) for values in by_file.values()}) > 1:
            recorded = "; ".join(f"{file}: {listed(list(values))}" for file, values in by_file.items())
            found.append(f"Different {field}s, which are not compared: {recorded}.")
    return found


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


def scores_table(name: str, metric: str, rows: Sequence[tuple[Score, Assumed]]) -> Table:
    """Return the means of one metric under one protocol: a row per method, a column per code length."""
    by_method: dict[str, list[Score]] = {}
    for score, _ in rows:
        by_method.setdefault(score.method, []).append(score)
    lengths = sorted({score.n_bits for score, _ in rows})
    cells = []
    for method, of_method in by_method.items():
        by_length = {score.n_bits: spread(score.mean, score.std) for score in of_method}
        runs = [score.n_runs for score in of_method if score.n_runs is not None]
        files = ", ".join(dict.fromkeys(score.file for score in of_method))
        cells.append([method, files, between(runs) if runs else ABSENT, *(by_length.get(n, ABSENT) for n in lengths)])
    protocol = protocol_of(rows[0][0])
    empty, ties = str(protocol["empty"]), str(protocol["ties"])
    statement = (
        f"{metric}: mean ± standard deviation over the runs; {_EMPTY.get(empty, f'undefined values: {empty}')}; "
        f"ties: {ties.rstrip('.')}."
    )
    caption = " ".join([statement, *_assumed(rows)])
    header = ["method", "file", "runs", *(f"{n_bits} bits" for n_bits in lengths)]
    return Table(name, caption, header, cells, n_labels=2)


def differences_table(name: str, metric: str, found: Differences, margin: float | None) -> Table:
    """Return the differences from the reference, at least one, as a table."""
    header = ["method", "bits", "difference", "interval", "p", "pairs"]
    if margin is not None:
        header += ["no worse", "equal"]
    chosen = "" if found.chosen else ", the method with the best mean of this table"
    caption = f"{metric}: differences from {found.reference}{chosen}; {counted(len(found.found), 'comparison')}"
    if found.n_tests > len(found.found):
        caption += f", corrected for all {found.n_tests:,} pairs of methods"
    caption += "." if margin is None else f", margin {margin:g}."
    caption = " ".join([caption, *dict.fromkeys(_TESTED[one.test] for one in found.found if one.test in _TESTED)])
    rows = [_row(one, margin) for one in found.found]
    return Table(f"{name}-differences", caption, header, rows, n_labels=1)


def _row(one: Difference, margin: float | None) -> list[str]:
    test, pairs = one.outcome, one.pairs
    n = pairs.one.size
    noun = pairs.unit if n == 1 else {"run": "runs", "query": "queries"}[pairs.unit]
    cells = [
        one.method,
        str(one.n_bits),
        f"{test.difference:+.4f}",
        f"{test.low:+.4f} to {test.high:+.4f}",
        "< 0.0001" if test.p < _TINY else f"{test.p:.4f}",
        f"{n:,} {noun}" if n == pairs.of else f"{n:,} of {pairs.of:,} {noun}",
    ]
    verdicts = [_VERDICT[p < _LEVEL] for p in (test.p_no_worse, test.p_equal)]
    return [*cells, *verdicts] if margin is not None else cells


def figure(name: str, scores: "pd.DataFrame") -> Figure:
    """Return a figure of the means of a section, by method; the reader selects the metric and the code length."""
    import altair as alt

    rows = scores[["metric", "n_bits", "method", "file", "mean", "std", "n_runs"]]
    metric, n_bits = rows["metric"].iloc[0], int(rows["n_bits"].iloc[0])
    here = rows[(rows["metric"] == metric) & (rows["n_bits"] == n_bits)].dropna(subset="mean")
    shows = f"{metric} is undefined in all of them."
    if len(here):
        best, worst = here.loc[[here["mean"].idxmax(), here["mean"].idxmin()]].itertuples()
        ends = [f"{end.mean:.4f} ({end.method})" for end in (worst, best)]
        shows = f"{metric} at {n_bits} bits ranges from {' to '.join(ends)}."
    files = list(dict.fromkeys(rows["file"]))
    scale = alt.Scale(domain=files, range=[COLOURS[i % len(COLOURS)] for i in range(len(files))])
    chart = (
        rows_chart()
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            y=alt.Y("method:N", title=None, sort=alt.EncodingSortField("mean", order="descending")),
            x=alt.X("mean:Q", title="{metric} at {n_bits} bits", scale=alt.Scale(zero=False)),
            color=alt.Color("file:N", title=None, scale=scale),
            shape=alt.Shape("file:N", title=None, scale=alt.Scale(domain=files)),
            tooltip=tooltips("file:N", "method:N", "mean:Q", "std:Q", "n_runs:Q"),
        )
    )
    layered = alt.layer(chart).properties(width="container", height=alt.Step(24))
    return Figure(f"figure-{name}", "Side by side", shows, layered, rows, {"metric": metric, "n_bits": n_bits})


def with_figures(parts: Sequence[Section], scores: "pd.DataFrame") -> list[Section]:
    """Return the sections, adding a figure to each section that has scores."""
    return [
        replace(part, figures=[figure(part.name, shown)])
        if len(shown := scores[scores["section"] == part.name])
        else part
        for part in parts
    ]


def text_of(parts: Sequence[Section]) -> str:
    """Return a comparison as text for a terminal: sentences, then the tables."""
    blocks = []
    for part in parts:
        blocks.append("\n".join([f"== {part.title}", *part.text]))
        blocks += [f"{table.caption}\n{tables.text(table.header, table.rows)}" for table in part.tables]
    return printable("\n\n".join(blocks), keep="\n")


def html_of(parts: Sequence[Section]) -> str:
    """Return a comparison as a fragment of HTML for a notebook: sentences, then the tables."""
    blocks = []
    for part in parts:
        blocks.append(f"<h4>{html.escape(part.title)}</h4>")
        blocks += [f"<p>{html.escape(paragraph)}</p>" for paragraph in part.text]
        for table in part.tables:
            head = "".join(f"<th>{html.escape(name)}</th>" for name in table.header)
            body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
            blocks.append(
                f"<p>{html.escape(table.caption)}</p>\n<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
    return printable("\n".join(blocks), keep="\n")


def as_number(value: int | None) -> float:
    """Return a number of runs as a float, NaN if there are none."""
    return np.nan if value is None else value
