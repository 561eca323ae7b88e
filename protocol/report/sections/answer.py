"""The answer: the best hasher in a sentence, with the figure and the table that show it."""

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from protocol import registry
from protocol.report.figure import ABSENT, PAGE, DataFrame, Figure, Section, brackets, decimals, series_scales, spreads
from protocol.report.results import N_FIRST, Results, Selection
from protocol.report.sections.curves import top_rows
from protocol.scores import statistics
from protocol.scores.metadata import FEW_QUERIES, NONE_EXCLUDED, UNHASHED, is_bound
from protocol.scores.summary import SETTING, at
from protocol.scores.tables import Table

_NEAR_CHANCE = 0.1
"""A mAP is noted that exceeds that of a random order by at most this share of it, and of what it lacks to 1."""


def answer_section(results: Results, selection: Selection) -> Section:
    """Return the answer, a figure of every metric by code length, and tables of the main metric."""
    precomputed = [shown for shown, name in results.hashers.items() if name in results.config["codes"]]
    text = [sentence(results, selection)]
    if (n_queries := len(results.splits[selection.split]["query"])) < FEW_QUERIES:
        text.append(PAGE.text("few-queries", n=n_queries, least=FEW_QUERIES))
    text += [PAGE.text("precomputed", names=precomputed)] if precomputed else []
    chance = at(top_rows(results, "precision"), **selection.setting)["chance"].mean()
    best, losses = at(results.plain, metric="mAP", **selection.setting)["mean"].max(), _losses(results, selection)
    if best - chance <= _NEAR_CHANCE * min(chance, 1 - chance):
        text.append(PAGE.text("near-chance", best=best, chance=chance))
    learned = [name for name in results.hashers if results.trained_on(at(results.plain, hasher=name))]
    about = {"metric": results.metric, "others": [*precomputed, *learned]}
    text += [PAGE.text("losses", table=table, **about) for table in losses if len(table.rows) > 1]
    tables = [_main_table(results, selection), *losses, *_differences(results, selection)]
    return PAGE.section("answer", text, [_by_length(results)], tables)


@functools.lru_cache(maxsize=1)
def _by_length(results: Results) -> Figure:
    """Return the figure of every score of plain codes, by metric."""
    scores = results.by_metric(results.plain)[["metric", *SETTING, "hasher", "n_bits", "mean", "std", "n_runs"]]
    scores = results.with_unhashed(scores)
    ranges = f"{json.dumps({metric: statistics.finite_range(metric) for metric in results.metrics})}[datum.metric]"
    spec = series_scales(results.hashers) | {"zero": not scores.duplicated(["metric", *SETTING]).any(), "range": ranges}
    choices = {"metric": results.metric} | results.selections[0].setting
    of = UNHASHED if UNHASHED in scores else ""
    return PAGE.figure("by-length", scores, choices, of=of, chart=spec, trained=results.trained_on(scores))


def _is_lower(metric: str) -> bool:
    """Return whether a lower value of a metric is better."""
    return registry.METRICS.entry(metric).better == "lower"


def experiment_line(results: Results) -> str:
    """Return a one-line summary of what was run."""
    excluded = [label for label in results.plain["excluded_queries"].unique() if label != NONE_EXCLUDED]
    return PAGE.text("experiment", results=results, left_out=[label.partition(" quer")[0] for label in excluded])


def _by_run(scores: DataFrame) -> DataFrame:
    return scores.pivot(index="run", columns="hasher", values="value")


def sentence(results: Results, selection: Selection) -> str:
    """Return in words which hasher is best at the selected setting, and by how much."""
    shared, metric = results.shared[selection.setting["split"]], results.metric
    by_length = results.ordered(at(results.run_scores, metric=metric, **selection.setting)).groupby("n_bits")
    found = {int(n): statistics.lead(_by_run(rows), shared=shared, metric=metric) for n, rows in by_length}
    leads = {n: one for n, one in found.items() if one is not None}
    if not leads:
        return PAGE.text("undefined", results=results, selection=selection)
    n_bits = selection.n_bits if selection.n_bits in leads else min(leads)
    first = leads[n_bits]
    if first.second is None:
        ends = [f"{metric} {leads[n].mean:.3f} at {n} bits" for n in sorted({min(leads), max(leads)})]
        return PAGE.text("alone", ends=ends, lead=first)
    lengths: dict[str, list[str]] = {}
    for n, one in leads.items():
        lengths.setdefault(one.best, []).append(str(n))
    interval = brackets(*statistics.shown_interval(first.of.low, first.of.high, first.n_runs, metric, difference=True))
    values = {"results": results, "selection": selection, "lead": first, "n_bits": n_bits, "lengths": lengths}
    values["leads"] = leads
    values["is_same"] = not math.isfinite(first.of.low) and math.isfinite(shared)  # the difference of all runs
    values["difference"] = f"{first.of.mean:+.3f} {interval}".rstrip()
    return PAGE.text("best", why="" if interval else statistics.why_not_shown([first.n_runs], shared), **values)


class _Cells(NamedTuple):
    """The cells of a table for one metric: the header, the rows, and for each row the columns of its bold cells."""

    header: list[str]
    rows: list[list[str]]
    strong: list[list[int]]


def _main_table(results: Results, selection: Selection) -> Table:
    """Return the table of the selected setting, which on the page follows the metric of the figure.

    It has a row per hasher, the best first, and a column per code length.
    """
    n_runs = at(results.plain, metric=results.metric, **selection.setting)["n_runs"]
    by_metric = _scores_by_metric(results)[tuple(selection.setting.values())]
    n_hashers = len(by_metric[results.metric].rows)
    is_tested = selection.n_runs > 1 and n_hashers > 1 and not math.isinf(results.shared[selection.split])
    values = {"n_runs": list(n_runs), "n_hashers": n_hashers, "is_tested": is_tested, "selection": selection}
    return _following("answer-table", by_metric, results=results, **values)


def _following(name: str, by_metric: Mapping[str, _Cells], *, results: Results, **values: Any) -> Table:
    """Return the table of the main metric, with the cells of every metric for the page's script."""
    header, rows, strong = by_metric.get(results.metric, _Cells(["hasher"], [], []))
    bold = frozenset((down, across) for down, columns in enumerate(strong) for across in columns)
    return dataclasses.replace(PAGE.table(name, rows, header, bold, results=results, **values), by_metric=by_metric)


@functools.lru_cache(maxsize=1)
def _scores_by_metric(results: Results) -> dict[tuple[str, ...], dict[str, _Cells]]:
    """Return the scores of every metric by setting, with a column for each code length."""
    tables: dict[tuple[str, ...], dict[str, _Cells]] = {}
    in_order = results.plain.sort_values("n_bits", kind="stable")
    has_one_value = in_order["split"].isin(results.fixed) & (in_order["std"] == 0)  # a method without randomness
    in_order = in_order.assign(std=in_order["std"].mask(has_one_value))
    for (*setting, metric), rows in in_order.groupby([*SETTING, "metric"], sort=False):
        (down, hashers), (across, lengths) = rows["hasher"].factorize(), rows["n_bits"].factorize()
        losses = np.full((len(hashers), len(lengths)), np.nan)  # the means, negative if higher ones are better
        texts, means, stds = np.full(losses.shape, ABSENT, object), rows["mean"].to_numpy(), rows["std"].to_numpy()
        losses[down, across] = means if _is_lower(metric) else -means
        for column in range(len(lengths)):
            own = across == column
            texts[down[own], column] = spreads(means[own], stds[own])
        with np.errstate(invalid="ignore"):  # 0/0 of a hasher without a score
            order = np.argsort(np.nansum(losses, axis=1) / np.isfinite(losses).sum(axis=1), kind="stable")  # NaN last
        cells = [[str(hashers[row]), *texts[row]] for row in order.tolist()]
        best = losses[order] == np.fmin.reduce(losses)
        strong = [(np.flatnonzero(row) + 1).tolist() if len(hashers) > 1 else [] for row in best]
        shown = _Cells(["hasher", *(f"{n_bits} bits" for n_bits in lengths)], cells, strong)
        tables.setdefault(tuple(setting), {})[metric] = shown
    return tables


def _pairs(results: Results, selection: Selection) -> dict[str, _Cells]:
    """Return the paired differences of all hashers at the selection by metric, for the first metrics.

    Rows and columns are the hashers, the best first, and a row has the differences from those above it, the significant
    ones in bold. Another metric than the main one is left out if it has no differences.
    """
    shared, pairs = results.shared[selection.split], {}
    scores = at(results.run_scores, **selection.combination)
    for metric, own in scores[scores["metric"].isin(results.metrics[:N_FIRST])].groupby("metric"):
        cells = _of_metric(str(metric), statistics.in_common(_by_run(own)), shared)
        if metric == results.metric or (cells.rows and not is_bound(str(metric))):
            pairs[str(metric)] = cells
    return pairs


def _of_metric(metric: str, scores: DataFrame, shared: float) -> _Cells:
    """Return the paired differences of the hashers under one metric, and their intervals."""
    scores = scores[scores.mean().sort_values(ascending=_is_lower(metric), kind="stable").index]
    names, pairs = [*map(str, scores)], statistics.paired_differences(scores, shared=shared)
    texts = _of_pairs(pairs, len(scores), metric)
    above = [(below, names[:n]) for n, below in enumerate(names)][1:]
    rows = [[below, *(texts[one, below] for one in others)] for below, others in above]
    strong = [[n for n, one in enumerate(others, 1) if pairs[one, below].is_significant] for below, others in above]
    return _Cells(["hasher", *names[:-1]], rows, strong)


def _of_pairs(pairs: Mapping[Any, statistics.PairedDifference], n_runs: int, metric: str) -> dict[Any, str]:
    """Return the text of each difference: its mean, and below it the interval, if one is shown."""
    ends = ([pair.low for pair in pairs.values()], [pair.high for pair in pairs.values()])
    low, high = statistics.shown_interval(*ends, n_runs, metric, difference=True)
    digits = decimals((high - low) / 2) if (high > low).any() else 3
    return {
        test: "\n".join(filter(None, [f"{pair.mean:+z.{digits}f}", brackets(least, most, digits)]))
        for (test, pair), least, most in zip(pairs.items(), low, high, strict=True)
    }


def _differences(results: Results, selection: Selection) -> list[Table]:
    """Return the paired differences of the main metric as a table; [] if there is one hasher everywhere."""
    if results.run_scores.groupby([*SETTING, "n_bits"])["hasher"].nunique().max() < 2:
        return []
    pairs, shared = _pairs(results, selection), results.shared[selection.split]
    scores = statistics.in_common(_by_run(at(results.run_scores, metric=results.metric, **selection.combination)))
    n_runs = len(scores) or selection.n_runs
    values = {"metric": results.metric, "selection": selection, "n_hashers": len(scores.columns), "n_runs": n_runs}
    values |= {"why": statistics.why_not_shown([n_runs], shared), "is_tested": not math.isinf(shared)}
    return [_following("differences", pairs, results=results, **values)]


def _losses(results: Results, selection: Selection) -> list[Table]:
    """Return a table of the vectors' own scores, and what the codes lose; [] if the vectors were not scored."""
    by_metric = _losses_by_metric(results).get(tuple(selection.setting.values()))
    if by_metric is None:
        return []
    shared = results.shared[selection.split]
    about: dict[str, Any] = {"why": statistics.why_not_shown([selection.n_runs], shared)}
    about |= {"is_tested": math.isfinite(shared) and selection.n_runs > 1}
    return [_following("unhashed", by_metric, results=results, selection=selection, **about)]


@functools.lru_cache(maxsize=1)
def _losses_by_metric(results: Results) -> dict[tuple[str, ...], dict[str, _Cells]]:
    """Return the vectors' own scores and the differences of the codes from them, by setting and metric.

    The differences are paired over the runs; those of all hashers at one code length are one family of tests.
    """
    tables: dict[tuple[str, ...], dict[str, _Cells]] = {}
    for (*setting, metric), of_vectors in results.unhashed.groupby([*SETTING, "metric"], sort=False):
        where, own = dict(zip(SETTING, setting, strict=True)), of_vectors.set_index("run")["value"]
        columns = dict[str, tuple[dict[str, str], list[str]]]()
        for n_bits, of_length in at(results.run_scores, metric=metric, **where).groupby("n_bits"):
            runs = statistics.in_common(_by_run(of_length).assign(**{UNHASHED: own}))
            shared = results.shared[setting[-1]]
            means = {name: statistics.difference_of(runs[name], runs[UNHASHED], shared=shared) for name in [*runs][:-1]}
            pairs = statistics.corrected(means)
            significant = [name for name, pair in pairs.items() if pair.is_significant]
            columns[f"{n_bits} bits"] = _of_pairs(pairs, len(runs), metric), significant
        names = [name for name, *_ in _scores_by_metric(results)[tuple(setting)][metric].rows]
        first = [f"{UNHASHED} ({results.config[UNHASHED]})", *spreads([own.mean()], [own.std()]) * len(columns)]
        rows = [first, *([name, *(texts.get(name, ABSENT) for texts, _ in columns.values())] for name in names)]
        strong = [[n for n, (_, own) in enumerate(columns.values(), 1) if name in own] for name in ["", *names]]
        tables.setdefault(tuple(setting), {})[metric] = _Cells(["hasher", *columns], rows, strong)
    return tables
