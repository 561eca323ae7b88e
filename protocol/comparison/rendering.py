"""A comparison in words: the tables of its scores and differences, a figure, and the sentences about them."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from protocol import registry
from protocol.checks import counted
from protocol.comparison.curves import style_names
from protocol.comparison.differences import UNCORRECTED, UNTESTED, Difference, Differences, differences
from protocol.comparison.matching import Assumed
from protocol.comparison.reading import RUN, Score
from protocol.report.figure import ABSENT, PAGE, Figure, Section, between, decimals, listed, series_scales, spread
from protocol.scores.metadata import PROTOCOL
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
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

Rows = list[tuple[Score, Assumed]]
_UNDEFINED = {"zero": "undefined values count as 0", "drop": "undefined values are left out"}
_HEADINGS = {"ground_truth": "ground truth {}", "excluded_queries": "without {}"}
_HEADINGS |= {"n_queries": "{} queries", "n_database": "{} database items"}
_TESTED = {
    UNTESTED: NO_TEST,
    CORRECTED: f"Over runs: {CORRECTED}. {ONE_DATASET}",
    UNCORRECTED: "Over runs: paired t-test (Student's t), not corrected for the items that the runs share, because no "
    "file records the numbers of queries and database items; its p-values and intervals are too small.",
}
_LEVEL = 1 - CONFIDENCE
_TINY = 1e-4
_LETTERS = 28  # of a method's name in one line of the figure
_PAIRED = (
    "A difference is a mean over pairs: over runs on the same items, or over queries at the same position if all of "
    "these have the same relevant positions (labels alone do not identify the items). The intervals hold "
    f"simultaneously for all comparisons in a table, with {100 * CONFIDENCE:g} % confidence (Bonferroni). p: paired "
    "t-tests (sign tests if all differences are equal), corrected for all comparisons in the table (Holm). Name the "
    "reference with --against if you can. Otherwise, the reference is the method with the best mean. This choice "
    "depends on the tested values, so all pairs of methods count as comparisons."
)


def title_of(fields: Mapping[str, str]) -> str:
    """Return the heading of a section, in which scores agree in these fields."""
    return ", ".join(_HEADINGS.get(field, f"{field} {{}}").format(value) for field, value in fields.items())


def section(
    name: str, title: str, tables: Mapping[tuple[str, str, str], Rows], against: str | None
) -> tuple[Section, list[tuple[str, str, Differences]]]:
    """Return a section with its tables of scores and differences, and the differences themselves."""
    shown: list[Table] = []
    paired: list[tuple[str, str, Differences]] = []
    verdicts: list[str] = []
    for number, ((metric, *_), rows) in enumerate(tables.items(), 1):
        table_name = f"{name}-{number}"
        by_method: dict[str, dict[int, Score]] = {}
        for score, _ in rows:
            by_method.setdefault(score.method, {})[score.n_bits] = score
        shown.append(_scores_table(table_name, metric, by_method, _assumed(rows)))
        of_table = differences(by_method, metric, against=against)
        paired.append((name, metric, of_table))
        if of_table.comparisons:
            verdicts.append(_verdict(metric, of_table))
            shown.append(_differences_table(table_name, metric, of_table))
    return Section(name, title, verdicts, [], shown), paired


def _verdict(metric: str, of_table: Differences) -> str:
    """Return a sentence about the reference and the method that comes nearest to it or is farthest above it."""
    sign = 1 if registry.METRICS.entry(metric).better == "higher" else -1
    one = max(of_table.comparisons, key=lambda one: sign * one.difference)
    better, worse = one.method, str(of_table.reference)
    if sign * one.difference < 0:
        better, worse = worse, better
    low, high = sorted(math.copysign(1, one.difference) * limit for limit in _limits(metric, one))
    interval = "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    at = f"{abs(one.difference):.3f}{interval} ({metric}, {one.n_bits} bits, {_pairs(one)})"
    if one.p < _LEVEL:
        return f"{better} beats {worse} by {at}."
    tested = "not tested" if math.isnan(one.p) else "not significant"
    return f"The difference between {better} and {worse} is {tested}: {at}."


def overview(
    n_tables: int,
    n_further: int,
    files: Sequence[str],
    left_out: Mapping[str, Sequence[str]],
    paired: Sequence[tuple[str, str, Differences]],
) -> Section:
    """Return the section about what is compared and tested, and what was left out and why."""
    agree = f"All scores in a table agree in {listed(PROTOCOL)}, and in the metric"
    text = [f"{listed(files)}: {counted(n_tables, 'table')}. {agree}; those in a column also agree in the code length."]
    if any(of_table.comparisons for _, _, of_table in paired):
        text.append(_PAIRED)
    text += [f"Left out of {file}: {reason}." for file, reasons in left_out.items() for reason in reasons]
    missing: dict[tuple[str, ...], dict[str, None]] = {}
    for _, metric, of_table in paired:
        for reason, methods in of_table.missing.items():
            missing.setdefault((reason, *methods), {})[metric] = None
    for (reason, *names), metrics in missing.items():
        text.append(f"No paired differences for {listed(names)} ({listed([*metrics])}): {reason}.")
    if n_further:
        text.append(
            f"{counted(n_further, 'further table')} not shown: use --metrics NAME for one metric under every protocol, "
            "or --metrics all for all of them."
        )
    return Section("overview", "What was compared, and how", text)


def _assumed(rows: Rows) -> list[str]:
    """Return a sentence for each file of a table that does not record the assumed fields."""
    by_file: dict[str, Assumed] = {}
    for score, assumed in rows:
        by_file.setdefault(score.file, {}).update(assumed)
    texts = {file: ", ".join(map(" = ".join, fields.items())) for file, fields in by_file.items()}
    return [f"Assumed, because {file} does not record it: {text}." for file, text in texts.items() if text]


def _scores_table(
    name: str, metric: str, by_method: Mapping[str, Mapping[int, Score]], assumed: Sequence[str]
) -> Table:
    """Return the means of one metric under one protocol: a row per method, a column per code length."""
    scores = [score for by_length in by_method.values() for score in by_length.values()]
    lengths, digits = sorted(set().union(*by_method.values())), decimals(score.std for score in scores)
    of_runs = any(score.n_runs is not None for score in scores)
    rows = []
    for method, by_length in by_method.items():
        runs = [score.n_runs for score in by_length.values() if score.n_runs is not None]
        files = ", ".join(dict.fromkeys(score.file for score in by_length.values()))
        means = [spread(by_length[n].mean, by_length[n].std, digits) if n in by_length else ABSENT for n in lengths]
        rows.append([method, files, *([between(runs) if runs else ABSENT] if of_runs else []), *means])
    undefined, ties = (str(scores[0].fields[field]) for field in ("undefined", "ties"))
    value = "mean ± standard deviation over the runs" if of_runs else "mean over the queries"
    statement = f"{metric}: {value}; {_UNDEFINED.get(undefined, f'undefined values: {undefined}')}; "
    statement += f"ties: {ties[:1].lower()}{ties[1:].rstrip('.')}."
    header = ["method", "file", *(["runs"] if of_runs else []), *map("{} bits".format, lengths)]
    return Table(name, " ".join([statement, *assumed]), header, rows, n_labels=2)


def _differences_table(name: str, metric: str, of_table: Differences) -> Table:
    """Return the differences from the reference, at least one, as a table."""
    header = ["method", "bits", "difference", "interval", "p", "pairs"]
    compared = of_table.comparisons
    caption = f"{metric}: differences from {of_table.reference}"
    caption += "" if of_table.is_named else ", the method with the best mean in this table"
    caption += f"; {counted(len(compared), 'comparison')}"
    if of_table.n_tests > len(compared):
        caption += f", corrected for all {of_table.n_tests:,} pairs of methods"
    caption += "."
    is_hidden = any(math.isfinite(one.low) and math.isnan(_limits(metric, one)[0]) for one in compared)
    tested = dict.fromkeys(_TESTED[one.test] for one in compared if one.test in _TESTED)
    caption = " ".join([caption, *tested, *([TWO_RUNS] if is_hidden else [])])
    return Table(f"{name}-differences", caption, header, [_row(metric, one) for one in compared], n_labels=1)


def _limits(metric: str, one: Difference) -> tuple[float, float]:
    """Return the limits of the interval of a difference; NaN if there is none, or it is not shown."""
    n_runs = one.pairs.one.size if one.pairs.unit == RUN else 0
    low, high = shown_interval(one.low, one.high, n_runs, metric, difference=True)
    return float(low), float(high)


def _row(metric: str, one: Difference) -> list[str]:
    """Return the cells of a difference."""
    low, high = _limits(metric, one)
    return [
        one.method,
        str(one.n_bits),
        f"{one.difference:+.4f}",
        ABSENT if math.isnan(low) else f"{low:+.4f} to {high:+.4f}",
        ABSENT if math.isnan(one.p) else "< 0.0001" if one.p < _TINY else f"{one.p:.4f}",
        _pairs(one),
    ]


def _pairs(one: Difference) -> str:
    """Return the number of pairs in words, such as "9 of 10 runs"."""
    n, of, noun = one.pairs.one.size, one.pairs.of, {"run": "runs", "query": "queries"}[one.pairs.unit]
    return f"{n:,} {noun}" if n == of else f"{n:,} of {of:,} {noun}"


def interval(score: Score) -> tuple[float, float]:
    """Return the limits of the interval of a mean over the runs, or else over the queries; NaN if it is not shown."""
    half = math.nan
    if score.n_runs is not None:
        shared = shared_variance(*(score.fields[size] for size in ("n_queries", "n_database")))
        half = float(half_width(score.std, score.n_runs, shared=0.0 if math.isnan(shared) else shared))
    elif not isinstance(values := score.values(), str):
        defined = values.numbers[~np.isnan(values.numbers)]
        half = float(half_width(defined.std(ddof=1), defined.size)) if defined.size > 1 else math.nan
    low, high = shown_interval(score.mean - half, score.mean + half, score.n_runs or 0, score.metric)
    return float(low), float(high)


def scores_figure(name: str, scores: "pd.DataFrame") -> Figure:
    """Return a figure of the means of a section, by method; the reader selects the metric and the code length."""
    rows = scores[["metric", "n_bits", "method", "file", "mean", "low", "high", "n_runs"]]
    metric, n_bits = rows["metric"].iloc[0], int(rows["n_bits"].iloc[0])
    here = rows[(rows["metric"] == metric) & (rows["n_bits"] == n_bits)].dropna(subset="mean")
    of_runs = rows.dropna(subset="low")["n_runs"].notna()
    methods = list(dict.fromkeys(rows["method"]))
    labels = {method: textwrap.wrap(method, _LETTERS, break_on_hyphens=False) for method in methods}
    scales = series_scales(dict(zip(methods, style_names(methods), strict=True)))
    return PAGE.figure(
        f"figure-{name}",
        rows,
        {"metric": metric, "n_bits": n_bits},
        of="scores-by-method",
        chart=scales
        | {"labels": f"{json.dumps(labels)}[datum.label]", "step": 12 + 12 * max(map(len, labels.values()))},
        metric=metric,
        n_bits=n_bits,
        ends=[here.loc[here["mean"].idxmin()], here.loc[here["mean"].idxmax()]] if len(here) else [],
        units=[*(["runs"] if of_runs.any() else []), *([] if of_runs.all() else ["queries"])],
        confidence=f"{100 * CONFIDENCE:g} %",
        two_runs=TWO_RUNS if ((rows["n_runs"] == 2) & rows["low"].isna()).any() else "",
    )
