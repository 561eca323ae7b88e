"""The answer: the best hasher in a sentence, with the figure and the table that show it."""

import math
from typing import TYPE_CHECKING

from protocol import registry
from protocol.report.description import PAGE, series_scales
from protocol.report.figure import ABSENT, Section, between, decimals, spread
from protocol.report.results import Results, named
from protocol.scores.metadata import NONE_EXCLUDED
from protocol.scores.statistics import (
    CONFIDENCE,
    CORRECTED,
    ONE_DATASET,
    Lead,
    PairedDifference,
    lead,
    paired_differences,
    shown_interval,
    why_not_shown,
)
from protocol.scores.summary import PLACE, at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 1 - CONFIDENCE


def answer_section(results: Results) -> Section:
    """Return the answer, a figure of every metric by code length, and tables of the main metric."""
    tables, scores = [_main_table(results), *_differences(results)], results.once(_scores)
    lower = [name for name in results.config["metrics"] if registry.METRICS.entry(name).better == "lower"]
    figure = PAGE.figure(
        "by-length",
        scores,
        {"metric": results.metric} | results.place,
        chart=series_scales(results.hashers) | {"lower": lower},
        results=results,
        rows=scores,
    )
    text = [sentence(results)]
    finished = [results.shown("hasher", name) for name in results.config.get("codes", {})]
    text += [PAGE.text("finished", names=finished)] if finished else []
    return PAGE.section("answer", text, [figure], tables)


def experiment_line(results: Results) -> str:
    """Return a one-line summary of what was run."""
    results = named(results)
    plain = results.plain
    splits = [results.splits[name] for name in dict.fromkeys(plain["split"])]
    return PAGE.text(
        "experiment",
        results=results,
        features=list(dict.fromkeys(plain["feature"])),
        n_hashers=plain["hasher"].nunique(),
        n_by_feature=list(plain.groupby("feature")["hasher"].nunique()),
        n_bits=plain["n_bits"],
        n_queries=[len(parts["query"]) for parts in splits],
        left_out=[
            label.partition(" quer")[0] for label in plain["excluded_queries"].unique() if label != NONE_EXCLUDED
        ],
        n_database=[len(parts["database"]) for parts in splits],
        n_runs=list(plain["n_runs"]),
    )


def sentence(results: Results) -> str:
    """Return in words which hasher is best at the selected place, and by how much."""
    shared, metric = results.shared(results.place["split"]), results.metric
    scores = results.ordered(at(results.run_scores, metric=metric, **results.place))
    leads = {
        int(n_bits): lead(
            own.pivot_table(index="run", columns="hasher", values="value"),
            shared=shared,
            better=registry.METRICS.entry(metric).better,
        )
        for n_bits, own in scores.groupby("n_bits")
    }
    here = {n_bits: own for n_bits, own in leads.items() if own is not None}
    if not here:
        return PAGE.text("undefined", results=results)
    n_bits = results.n_bits if results.n_bits in here else min(here)
    first = here[n_bits]
    if first.second is None:
        ends = [f"{metric} {here[n].mean:.3f} at {n} bits" for n in sorted({min(here), max(here)})]
        return PAGE.text("alone", ends=ends, lead=first)
    lengths: dict[str, list[str]] = {}
    for n, own in here.items():
        lengths.setdefault(own.best, []).append(str(n))
    interval = _interval(first, metric, first.n_runs)
    values = {"lengths": lengths, "n_lengths": len(here), "difference": f"{first.difference:+.3f}{interval}"}
    values["why"] = "" if interval else why_not_shown([first.n_runs], shared)
    return PAGE.text("best", results=results, lead=first, n_bits=n_bits, **values)


def _interval(own: Lead | PairedDifference, metric: str, n_runs: int, before: str = " ") -> str:
    """Return the interval of a difference in brackets; empty if there is none, or it is not shown."""
    low, high = map(float, shown_interval(own.low, own.high, n_runs, metric, difference=True))
    return f"{before}[{low:.3f}, {high:.3f}]" if math.isfinite(low) else ""


def _main_table(results: Results) -> Table:
    """Return the table of the selected place, which on the page follows the metric of the figure.

    It has a row per hasher, the best first, and a column per code length.
    """
    rows = at(results.plain, metric=results.metric, **results.place)
    lengths, digits, n_runs = sorted(rows["n_bits"].unique()), decimals(rows["std"]), rows["n_runs"]
    is_tested = results.n_runs > 1 and len(rows) > len(lengths)
    is_tested &= not math.isinf(results.shared(results.place["split"]))
    lower = registry.METRICS.entry(results.metric).better == "lower"
    rows = rows.assign(best=rows.groupby("n_bits")["mean"].transform("min" if lower else "max"))
    order = rows.groupby("hasher", sort=False)["mean"].mean().sort_values(ascending=lower, kind="stable").index
    cells, strong = [], set()
    for down, hasher in enumerate(order):
        of_length = {row.n_bits: row for row in at(rows, hasher=hasher).itertuples()}
        means = [spread(of_length[n].mean, of_length[n].std, digits) if n in of_length else ABSENT for n in lengths]
        cells.append([hasher, *means])
        strong |= {(down, 1 + lengths.index(n)) for n, row in of_length.items() if row.mean == row.best}
    return PAGE.table(
        "answer-table",
        cells,
        header=["hasher", *(f"{n} bits" for n in lengths)],
        strong=frozenset(strong),
        results=results,
        learned=results.trained_on(rows),
        over=f"mean ± sample standard deviation over {between(n_runs)} runs" if max(n_runs) > 1 else "one run",
        place=results.where(n_bits=False),
        test=CORRECTED if is_tested else "",
        confidence=CONFIDENCE,
        one_dataset=ONE_DATASET,
    )


def _differences(results: Results) -> list[Table]:
    """Return the paired differences of all hashers at the selection; [] if there is one hasher everywhere."""
    own = at(results.run_scores, metric=results.metric, **results.combination)
    scores = own.pivot_table(index="run", columns="hasher", values="value").dropna()
    lower = registry.METRICS.entry(results.metric).better == "lower"
    scores = scores[scores.mean().sort_values(ascending=lower, kind="stable").index]
    shared = results.shared(results.place["split"])
    pairs = paired_differences(scores, shared=shared)
    names, n_runs = [str(name) for name in scores], len(scores)
    table = PAGE.table(
        "differences",
        [[one, *(_cell(pairs.get((other, one)), results.metric, n_runs) for other in names[:-1])] for one in names[1:]],
        header=["hasher", *names[:-1]],
        strong=frozenset((names.index(b) - 1, names.index(a) + 1) for (a, b), own in pairs.items() if own.p < _LEVEL),
        results=results,
        n_hashers=len(names),
        n_runs=n_runs,
        why=why_not_shown([n_runs], shared),
        is_tested=not math.isinf(shared),
        confidence=CONFIDENCE,
        level=_LEVEL,
    )
    every = at(results.run_scores, metric=results.metric)
    return [table] if every.groupby([*PLACE, "n_bits"])["hasher"].nunique().max() > 1 else []


def _cell(pair: PairedDifference | None, metric: str, n_runs: int) -> str:
    """Return a difference, with its interval below it, if there is a finite one that is shown."""
    return "" if pair is None else f"{pair.mean:+.3f}" + _interval(pair, metric, n_runs, "\n")


def _scores(results: Results) -> "pd.DataFrame":
    """Return every score of plain codes, by metric."""
    return results.by_metric(results.plain)[["metric", *PLACE, "hasher", "n_bits", "mean", "std"]]
