"""The answer: the best hasher in a sentence, with the figure and the table that show it."""

import functools
import math
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.report.figure import ABSENT, PAGE, Section, between, cells, decimals, series_scales, spread
from protocol.report.results import Results, Selection
from protocol.scores.metadata import NONE_EXCLUDED
from protocol.scores.statistics import (
    CONFIDENCE,
    CORRECTED,
    ONE_DATASET,
    lead,
    paired_differences,
    shown_interval,
    why_not_shown,
)
from protocol.scores.summary import SETTING, at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 1 - CONFIDENCE


def answer_section(results: Results, selection: Selection) -> Section:
    """Return the answer, a figure of every metric by code length, and tables of the main metric."""
    scores = _scores(results)
    figure = PAGE.figure(
        "by-length",
        scores,
        {"metric": results.metric} | selection.setting,
        chart=series_scales(results.hashers) | {"lower": list(filter(_is_lower, results.config["metrics"]))},
        results=results,
        selection=selection,
        rows=scores,
    )
    finished = [results.display("hasher", name) for name in results.config.get("codes", {})]
    text = [sentence(results, selection), *([PAGE.text("finished", names=finished)] if finished else [])]
    return PAGE.section("answer", text, [figure], [_main_table(results, selection), *_differences(results, selection)])


@functools.lru_cache(maxsize=1)
def _scores(results: Results) -> "pd.DataFrame":
    """Return every score of plain codes, by metric."""
    return results.by_metric(results.plain)[["metric", *SETTING, "hasher", "n_bits", "mean", "std", "n_runs"]]


def _is_lower(metric: str) -> bool:
    """Return whether a lower value of a metric is better."""
    return registry.METRICS.entry(metric).better == "lower"


def experiment_line(results: Results) -> str:
    """Return a one-line summary of what was run."""
    plain = results.plain
    splits = [results.splits[name] for name in plain["split"].unique()]
    excluded = [label for label in plain["excluded_queries"].unique() if label != NONE_EXCLUDED]
    return PAGE.text(
        "experiment",
        results=results,
        features=list(plain["feature"].unique()),
        n_hashers=plain["hasher"].nunique(),
        n_by_feature=list(plain.groupby("feature")["hasher"].nunique()),
        n_bits=plain["n_bits"],
        n_queries=[len(parts["query"]) for parts in splits],
        left_out=[label.partition(" quer")[0] for label in excluded],
        n_database=[len(parts["database"]) for parts in splits],
        n_runs=list(plain["n_runs"]),
    )


def _by_run(scores: "pd.DataFrame") -> "pd.DataFrame":
    return scores.pivot_table(index="run", columns="hasher", values="value")


def sentence(results: Results, selection: Selection) -> str:
    """Return in words which hasher is best at the selected setting, and by how much."""
    shared, metric = results.shared(selection.setting["split"]), results.metric
    scores = results.ordered(at(results.run_scores, metric=metric, **selection.setting))
    better = registry.METRICS.entry(metric).better
    lengths_run = sorted(scores["n_bits"].unique().tolist())
    all_leads = {n: lead(_by_run(at(scores, n_bits=n)), shared=shared, better=better) for n in lengths_run}
    leads = {n: one for n, one in all_leads.items() if one is not None}
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
    interval = _interval(first.low, first.high, metric, first.n_runs)
    return PAGE.text(
        "best",
        results=results,
        selection=selection,
        lead=first,
        n_bits=n_bits,
        lengths=lengths,
        n_lengths=len(leads),
        difference=f"{first.difference:+.3f}{interval and ' '}{interval}",
        why="" if interval else why_not_shown([first.n_runs], shared),
    )


def _interval(low: float, high: float, metric: str, n_runs: int) -> str:
    """Return the interval of a difference in brackets; empty if there is none, or it is not shown."""
    low, high = map(float, shown_interval(low, high, n_runs, metric, difference=True))
    return f"[{low:.3f}, {high:.3f}]" if math.isfinite(low) else ""


def _main_table(results: Results, selection: Selection) -> Table:
    """Return the table of the selected setting, which on the page follows the metric of the figure.

    It has a row per hasher, the best first, and a column per code length.
    """
    rows = at(results.plain, metric=results.metric, **selection.setting)
    n_runs, in_order = rows["n_runs"], rows.sort_values("n_bits", kind="stable")
    texts, lengths, best = scores_by(in_order, "n_bits", results.metric)
    is_tested = selection.n_runs > 1 and len(texts) > 1 and not math.isinf(results.shared(selection.setting["split"]))
    return PAGE.table(
        "answer-table",
        texts,
        ["hasher", *(f"{n} bits" for n in lengths)],
        best,
        results=results,
        selection=selection,
        learned=results.trained_on(rows),
        over=f"mean ± sample standard deviation over {between(n_runs)} runs" if max(n_runs) > 1 else "one run",
        setting=selection.where(n_bits=False),
        test=CORRECTED if is_tested else "",
        confidence=CONFIDENCE,
        one_dataset=ONE_DATASET,
    )


def scores_by(
    rows: "pd.DataFrame", column: str, metric: str
) -> tuple[list[list[str]], list[Any], frozenset[tuple[int, int]]]:
    """Return means with their deviations, a row per hasher, the best first; the columns; and the cells of the best.

    The columns are the values of `column` in `rows`, in their order.
    """
    digits, is_lower = decimals(rows["std"]), _is_lower(metric)
    means = rows.pivot_table(index="hasher", columns=column, values="mean", sort=False, dropna=False)
    means = means.loc[means.mean(axis=1).sort_values(ascending=is_lower, kind="stable").index]
    texts = rows.assign(text=[spread(*pair, digits) for pair in zip(rows["mean"], rows["std"], strict=True)])
    texts = texts.pivot_table(index="hasher", columns=column, values="text", aggfunc="first")
    texts, best = texts.reindex_like(means).fillna(ABSENT), means.eq(means.min() if is_lower else means.max())
    return [[str(hasher), *row] for hasher, *row in texts.itertuples()], list(means), cells(best)


def _differences(results: Results, selection: Selection) -> list[Table]:
    """Return the paired differences of all hashers at the selection; [] if there is one hasher everywhere."""
    metric, every = results.metric, at(results.run_scores, metric=results.metric)
    if every.groupby([*SETTING, "n_bits"])["hasher"].nunique().max() < 2:
        return []
    scores = _by_run(at(every, **selection.combination)).dropna()
    scores = scores[scores.mean().sort_values(ascending=_is_lower(metric), kind="stable").index]
    shared, names, n_runs = results.shared(selection.setting["split"]), [*map(str, scores)], len(scores)
    pairs = paired_differences(scores, shared=shared)
    by_pair = {
        (below, above): "\n".join(filter(None, [f"{pair.mean:+.3f}", _interval(pair.low, pair.high, metric, n_runs)]))
        for (above, below), pair in pairs.items()
    }
    table = PAGE.table(
        "differences",
        [[one, *(by_pair.get((one, other), "") for other in names[:-1])] for one in names[1:]],
        ["hasher", *names[:-1]],
        frozenset((names.index(b) - 1, names.index(a) + 1) for (a, b), pair in pairs.items() if pair.p < _LEVEL),
        results=results,
        selection=selection,
        n_hashers=len(names),
        n_runs=n_runs,
        why=why_not_shown([n_runs], shared),
        is_tested=not math.isinf(shared),
        confidence=CONFIDENCE,
        level=_LEVEL,
    )
    return [table]
