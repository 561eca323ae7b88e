"""A comparison in words: the tables of its scores and differences, a figure, and the sentences about them."""

import itertools
import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import abridged, counted, listed, need
from protocol.comparison.differences import ComparedTable, Difference, scores_by_method, sign_of
from protocol.comparison.reading import ONE_VALUE, RUN, TEXTS, Score, Values
from protocol.report.figure import ABSENT, PAGE, Figure, Section, between, brackets, rendered, series_scales, spreads
from protocol.scores import statistics
from protocol.scores.metadata import NONE_EXCLUDED, is_bound, options_of
from protocol.scores.tables import Table
from protocol.truth import DISTANCES

_TINY = 1e-4
_LETTERS = 28  # of a method's name in one line of the figure
_MOST_NAMED = 3  # methods with one outcome, each with a sentence
_UNDECIDED = 2  # the first outcome of those in which neither is better


def sections(tables: Sequence[ComparedTable], *, with_files: bool = True) -> list[Section]:
    """Return the tables by section, without figures, and with or without the names of the files."""
    parts = []
    for name, group in itertools.groupby(tables, lambda table: table.section):
        of_section, blocks = list(group), list[Table]()
        for number, table in enumerate(of_section, 1):
            blocks.append(_scores_table(f"{name}-{number}", table, with_files=with_files))
            blocks += [_differences_table(f"{name}-{number}-differences", table)] if table.comparisons else []
        verdicts = [text for table in of_section if not is_bound(table.metric) for text in _verdicts(table)]
        parts.append(Section(name, heading(of_section[0].scores[0].fields), verdicts, [], blocks))
    return parts


def why(files: Sequence[str], tables: Sequence[ComparedTable]) -> list[str]:
    """Return the paragraphs about what is compared, and how it is tested."""
    about = TEXTS["compared"].format(listed(files), counted(len(tables), "table"))
    return [about, *[TEXTS["pairs"]] * any(table.comparisons for table in tables)]


def notes(tables: Sequence[ComparedTable], left_out: Mapping[str, Sequence[str]], further: Sequence[str]) -> list[str]:
    """Return sentences about everything that was left out, and about the family of the tests."""
    sentences = [f"Left out of {file}: {reason}." for file, reasons in left_out.items() for reason in reasons]
    missing: dict[tuple[str, ...], dict[str, None]] = {}
    for table in tables:
        for reason, methods in table.missing.items():
            missing.setdefault((reason, *methods), {})[table.metric] = None
    for (reason, *methods), metrics in missing.items():
        sentences.append(f"No paired differences for {listed(methods)} ({listed([*metrics])}): {reason}.")
    if further:
        about = counted(len(further), "further table"), abridged(dict.fromkeys(further))
        sentences.append(TEXTS["further"].format(*about))
    unnamed = ((table.reference, score) for table in tables if not table.is_named for score in table.scores)
    vectors = dict.fromkeys(one.method for best, one in unnamed if one.ranking in DISTANCES and one.method != best)
    sentences += (TEXTS["against"].format(method) for method in vectors)
    named = {table.is_named for table in tables if table.comparisons}
    return sentences + [statistics.family(*["all pairs with the reference"] * is_named) for is_named in named]


def parts(tables: Sequence[ComparedTable], below: Sequence[str]) -> list[str | Table]:
    """Return the tables by section, then sentences."""
    blocks = list[str | Table]()
    for part in sections(tables):
        blocks += ["\n".join([f"== {part.title}", *part.text]), *part.tables]
    return blocks + ["\n".join(below)] * bool(below)


def latex(tables: Sequence[ComparedTable]) -> str:
    """Return the tables as LaTeX, each with its protocol in the caption, and without the names of the files."""
    texts = []
    for part in sections(tables, with_files=False):
        for table in part.tables:
            caption = re.sub('"([^"]*)"', "“\\1”", f"{part.title}. {table.caption}")
            rows = [[re.sub(r"(?<!\S)-(?=\d)", "\N{MINUS SIGN}", cell) for cell in row] for row in table.rows]
            texts.append(replace(table, caption=caption, rows=rows).latex())
    return "\n".join(texts)


def with_figures(parts: Sequence[Section], tables: Sequence[ComparedTable]) -> list[Section]:
    """Return sections with a figure of the scores for each that has any."""
    scores = {part.name: [s for table in tables if table.section == part.name for s in table.scores] for part in parts}
    return [replace(one, figures=[_figure(one.name, scores[one.name])]) if scores[one.name] else one for one in parts]


def heading(fields: Mapping[str, str | None]) -> str:
    """Return the fields that all scores of a section share, in words."""
    return rendered(TEXTS["heading"], none_excluded=NONE_EXCLUDED, **fields)


def _verdicts(table: ComparedTable) -> list[str]:
    """Return sentences about all differences from the reference, one for each outcome and code lengths."""
    of_methods: dict[tuple[int, str], list[Difference]] = {}
    for one in table.comparisons:
        is_lost = sign_of(table.metric) * one.of.mean > 0
        decided = int(is_lost) if one.of.is_significant else _UNDECIDED
        outcome = _UNDECIDED + 1 if math.isnan(one.of.p) else decided
        of_methods.setdefault((outcome, one.method), []).append(one)
    groups: dict[tuple[int, tuple[int, ...]], list[list[Difference]]] = {}
    for (outcome, _), of in of_methods.items():
        groups.setdefault((outcome, tuple(one.n_bits for one in of)), []).append(of)
    verdicts = list[str]()
    for (outcome, lengths), by_method in sorted(groups.items(), key=lambda group: group[0][0]):
        parts = by_method if len(by_method) <= _MOST_NAMED else [[*itertools.chain(*by_method)]]
        verdicts += [_verdict(outcome, table, lengths, part) for part in parts]
    return verdicts


def _verdict(outcome: int, table: ComparedTable, lengths: Iterable[int], of: Sequence[Difference]) -> str:
    """Return a sentence about differences with one outcome: of one method, or of too many to name."""
    others, n, every = of[0].method, *(len({one.method for one in some}) for some in (of, table.comparisons))
    sizes, text = [(one.of.mean, *_limits(table.metric, one)) for one in of], "{:+z.3f}".format
    if outcome < _UNDECIDED:  # the verb says which is better
        text = "{:z.3f}".format
        sizes = [(mean, low, high) if mean > 0 else (-mean, -high, -low) for mean, low, high in sizes]
    if n == 1:
        size = listed(f"{text(size)} {brackets(low, high)}".rstrip() for size, low, high in sizes)
    else:
        others = f"{'all' if n == every else f'{n} of'} {every} others"
        size = " to ".join(dict.fromkeys(text(end) for end, *_ in (min(sizes), max(sizes))))
    about = f"{table.metric}, {listed(map(str, lengths))} bits, {listed(dict.fromkeys(map(_pairs, of)))}"
    verbs = ("s", "does", "is") if n == 1 else ("", "do", "are")
    return TEXTS["outcomes"][outcome].format(table.reference, others, f"{size} ({about})", *verbs)


def _assumed(scores: Sequence[Score]) -> list[str]:
    """Return a sentence for the files of a table that do not record the same assumed fields."""
    files: dict[str, dict[str, None]] = {}
    for score in scores:
        if score.assumed:
            files.setdefault(", ".join(map(" = ".join, score.assumed.items())), {})[score.file] = None
    return [TEXTS["assumed"].format(listed(of), "do" if len(of) > 1 else "does", text) for text, of in files.items()]


def _from_mirrors(scores: Sequence[Score]) -> list[str]:
    """Return a sentence for files of a table with data from a mirror, if not all have the same."""
    mirrors = {score.file: options_of(str(score.recorded.get("options") or "")).get("mirror") for score in scores}
    files = [file for file, mirror in mirrors.items() if mirror]
    sentence = TEXTS["mirrored"].format(listed(files), "have" if len(files) > 1 else "has")
    return [sentence] * (len({*mirrors.values()}) > 1)


def _scores_table(name: str, table: ComparedTable, *, with_files: bool) -> Table:
    """Return the means of one metric under one protocol: a row per method, a column per code length."""
    methods, is_of_runs = scores_by_method(table.scores), any(score.n_runs is not None for score in table.scores)
    columns, strong = {"method": [*methods]}, set[tuple[int, int]]()
    is_vectors = np.array([any(score.ranking in DISTANCES for score in of.values()) for of in methods.values()])
    if with_files:
        columns["file"] = [", ".join({score.file: None for score in scores.values()}) for scores in methods.values()]
    if is_of_runs:
        runs = [[one.n_runs for one in of.values() if one.n_runs is not None] for of in methods.values()]
        columns["runs"] = [between(of) if of else ABSENT for of in runs]
    for n_bits in sorted({score.n_bits for score in table.scores}):
        means, cells = _means(table, [scores.get(n_bits) for scores in methods.values()])
        means[is_vectors & ~is_vectors.all()] = math.nan  # the best of codes is strong
        if np.isfinite(means).sum() > 1:
            strong |= {(int(down), len(columns)) for down in np.flatnonzero(means == np.nanmax(means))}
        columns[f"{n_bits} bits"] = cells
    sentences = [_statement(table, is_of_runs=is_of_runs), *_assumed(table.scores), *_from_mirrors(table.scores)]
    rows = list(map(list, zip(*columns.values(), strict=True)))
    return Table(name, " ".join(sentences), list(columns), rows, n_labels=1 + with_files, strong=frozenset(strong))


def _means(table: ComparedTable, scores: Sequence[Score | None]) -> tuple[NDArray[np.float64], list[str]]:
    """Return the means of a column, of which the largest is the best, and as text; NaN and a dash without a score.

    If there is only one method, and therefore no table of differences, its interval follows.
    """
    means, stds = np.array([(score.mean, score.std) if score else (math.nan, math.nan) for score in scores]).T
    cells = [cell if score else ABSENT for cell, score in zip(spreads(means, stds), scores, strict=True)]
    if len(scores) == 1:
        intervals = [brackets(*interval_of(score), digits=4) for score in scores if score]
        cells = [" ".join(filter(None, [cells[0], interval])) for interval in intervals]
    return sign_of(table.metric) * means, cells


def _statement(table: ComparedTable, *, is_of_runs: bool) -> str:
    """Return what the values of a table are, and how undefined values and ties are treated."""
    undefined, ties = (str(table.scores[0].fields[name]) for name in ("undefined", "ties"))
    about = {"metric": table.metric, "ties": ties, "is_of_runs": is_of_runs, "confidence": statistics.CONFIDENCE}
    about |= {"undefined": TEXTS["undefined"].get(undefined, f"undefined values: {undefined}")}
    is_pooled = all(isinstance(score.values, str) and ONE_VALUE in score.values for score in table.scores)
    is_single = len({score.method for score in table.scores}) == 1
    return rendered(TEXTS["statement"], pooled=ONE_VALUE * is_pooled, is_single=is_single, **about)


def _differences_table(name: str, table: ComparedTable) -> Table:
    """Return the differences from the reference, at least one, as a table."""
    header = ["method", "bits", "difference", "interval", "p", "pairs"]
    is_apart = len({score.ranking in DISTANCES for score in table.scores}) > 1 and not table.is_named
    caption = rendered(TEXTS["differences"], table=table, is_apart=is_apart)
    of_runs = [one.of for one in table.comparisons if one.pairs.unit == RUN]
    first, tested = table.scores[0], f"Over runs: {statistics.CORRECTED}. {_runs_share(table.scores)}"
    sentences = dict.fromkeys(statistics.why_untested(first.shared) if math.isnan(one.p) else tested for one in of_runs)
    rows = []
    for one in table.comparisons:
        low, high = _limits(table.metric, one)
        interval = ABSENT if math.isnan(low) else f"{low:+.4f} to {high:+.4f}"
        if math.isnan(low) and math.isfinite(one.of.low):
            sentences[statistics.TWO_RUNS] = None
        p = ABSENT if math.isnan(one.of.p) else "< 0.0001" if one.of.p < _TINY else f"{one.of.p:.4f}"
        rows.append([one.method, str(one.n_bits), f"{one.of.mean:+.4f}", interval, p, _pairs(one)])
    return Table(name, " ".join([caption, *sentences]), header, rows, n_labels=1)


def _runs_share(scores: Sequence[Score]) -> str:
    """Return a sentence on what the runs of a table have in common."""
    items = [one.values.items.tolist() for one in scores if isinstance(one.values, Values) and one.values.unit == RUN]
    is_fixed = len({item.split()[-1] for of_score in items for item in of_score}) == 1 < max(map(len, items), default=0)
    return statistics.FIXED_SPLIT.format(scores[0].fields["split"]) if is_fixed else statistics.ONE_DATASET


def _limits(metric: str, one: Difference) -> tuple[float, float]:
    """Return the limits of the interval of a difference; NaN if there is none, or it is not shown."""
    n_runs = one.pairs.one.size if one.pairs.unit == RUN else 0
    low, high = statistics.shown_interval(one.of.low, one.of.high, n_runs, metric, difference=True)
    return float(low), float(high)


def _pairs(one: Difference) -> str:
    """Return the number of pairs in words, such as "9 of 10 runs"."""
    n, of = one.pairs.one.size, one.pairs.of
    return f"{f'{n:,} of ' if n < of else ''}{counted(of, one.pairs.unit)}"


def interval_of(score: Score) -> tuple[float, float]:
    """Return the limits of the interval of a mean over the runs, or else over the queries; NaN if it is not shown."""
    half = math.nan
    if score.n_runs is not None:
        half = float(statistics.half_width(score.std, score.n_runs, shared=score.shared))
    elif isinstance(score.values, Values):
        defined = score.values.numbers[~np.isnan(score.values.numbers)]
        half = float(statistics.half_width(defined.std(ddof=1), defined.size)) if defined.size > 1 else math.nan
    low, high = statistics.shown_interval(score.mean - half, score.mean + half, score.n_runs or 0, score.metric)
    return float(low), float(high)


def _figure(name: str, scores: Sequence[Score]) -> Figure:
    """Return a figure of the means of a section, by method; the reader selects the metric and the code length."""
    columns = ("metric", "n_bits", "method", "file", "mean", "n_runs")
    rows = need("pandas", "report").DataFrame([{name: getattr(score, name) for name in columns} for score in scores])
    rows["n_runs"] = rows["n_runs"].astype(float)
    rows[["low", "high"]] = list(map(interval_of, scores))
    rows.loc[rows["n_runs"] < 3, ["low", "high"]] = math.nan
    metric, n_bits = rows["metric"].iloc[0], int(rows["n_bits"].iloc[0])
    of_runs = rows.dropna(subset="low")["n_runs"].notna()
    methods = list(dict.fromkeys(rows["method"]))
    labels = {method: textwrap.wrap(method, _LETTERS, break_on_hyphens=False) for method in methods}
    scales = series_scales({method: method.partition(", ")[0] for method in methods})  # as in a report
    step = 8 + 12 * max(map(len, labels.values()))
    chart = scales | {"labels": f"{json.dumps(labels)}[datum.label]", "step": step}
    units = ["runs"] * bool(of_runs.any()) + ["queries"] * (not of_runs.all())
    values: dict[str, Any] = {"of": "scores-by-method", "units": units, "confidence": f"{statistics.CONFIDENCE:.0%}"}
    return PAGE.figure(f"figure-{name}", rows, {"metric": metric, "n_bits": n_bits}, chart=chart, **values)
