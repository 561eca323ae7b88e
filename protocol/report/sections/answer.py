"""The answer: the best hasher in a sentence, with the figure and the table that show it."""

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import altair as alt

from protocol import registry
from protocol.checks import counted
from protocol.report.figure import (
    ABSENT,
    Figure,
    Section,
    between,
    hasher_colour,
    hasher_lines,
    listed,
    rows_chart,
    spread,
    tooltips,
)
from protocol.report.naming import named
from protocol.report.results import Results
from protocol.scores.statistics import CONFIDENCE, CORRECTED, ONE_DATASET, Lead
from protocol.scores.summary import PLACE, at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {"feature": "feature", "ground_truth": "ground truth", "split": "split", "n_bits": "code length"}


def answer_section(results: Results) -> Section:
    """Return the answer, a figure of every metric by code length, and tables of the main metric."""
    rows = at(results.plain, metric=results.metric)
    text = [*sentences(results), *_without_relevant(results), *_finished(results)]
    tables = [_main_table(results)]
    if len(rows[[*PLACE]].drop_duplicates()) > 1:
        groups = rows.groupby(["ground_truth", "split"], sort=False)
        tables += [_table(results, truth, split, own) for (truth, split), own in groups]
    return Section("answer", "Result", text, [_figure(results)], tables)


def experiment_line(results: Results) -> str:
    """Return a one-line summary of what was run."""
    results = named(results)
    plain = results.plain
    classes = f" in {len(results.class_names)} classes" if results.class_names else ""
    splits = [results.splits[name] for name in dict.fromkeys(plain["split"])]
    parts = [
        f"{counted(len(results.items['ids']), 'item')}{classes}",
        listed(list(dict.fromkeys(plain["feature"]))),
        counted(plain["hasher"].nunique(), "hasher"),
        f"{between(plain['n_bits'])} bits",
        f"{between([len(parts['query']) for parts in splits])} queries",
        f"database of {between([len(parts['database']) for parts in splits])}",
        f"{between(plain['n_runs'])} run{'s' if max(plain['n_runs']) > 1 else ''}",
        f"seed {results.config['seed']}",
    ]
    return " · ".join(parts)


def sentences(results: Results) -> list[str]:
    """Return in words which hasher is best at the selected place, by how much, and how often it is best elsewhere."""
    leads = results.leads
    here = {n_bits: own for (*place, n_bits), own in leads.items() if place == list(results.place.values())}
    if not here:
        return [f"{results.metric} is undefined for every hasher ({results.where(n_bits=False)})."]
    chosen = results.n_bits if results.n_bits in here else min(here)
    return [_answer(results.metric, here, chosen), *_elsewhere(results, leads, chosen)]


def _answer(metric: str, leads: dict[int, Lead], chosen: int) -> str:
    """Return in words which hasher is best at each code length, and by how much at one of them."""
    lengths: dict[str, list[str]] = {}
    for n_bits in sorted(leads):
        lengths.setdefault(leads[n_bits].best, []).append(str(n_bits))
    own = leads[chosen]
    if own.second is None:
        ends = [f"{metric} {leads[n_bits].mean:.3f} at {n_bits} bits" for n_bits in sorted({min(leads), max(leads)})]
        return f"{own.best}: {listed(ends)} ({_runs(own)})."
    value = f"{metric} {own.mean:.3f} at {chosen} bits, {_difference(own)}."
    if len(lengths) == 1:
        everywhere = " at every code length" if len(leads) > 1 else ""
        return f"{own.best} is best{everywhere}: {value}"
    parts = [f"{hasher} at {listed(own_lengths)} bits" for hasher, own_lengths in lengths.items()]
    return f"The best hasher depends on the code length: {', '.join(parts)}. {own.best} has {value}"


def _difference(own: Lead) -> str:
    """Return the difference from the second best, with its interval if there are several runs."""
    if own.n_runs < 2:
        return f"{own.difference:+.3f} over {own.second} (one run, so there is no interval)"
    if math.isinf(own.low):
        return f"{own.difference:+.3f} over {own.second} (equal in all {own.n_runs} runs, too few for a test)"
    paired = f"{own.difference:+.3f} [{own.low:.3f}, {own.high:.3f}] over {own.second} (paired over {own.n_runs} runs)"
    return f"{paired}, which is not significant" if own.low <= 0 <= own.high else paired


def _runs(own: Lead) -> str:
    return f"mean over {own.n_runs} runs" if own.n_runs > 1 else "one run"


def _elsewhere(results: Results, leads: dict[tuple[Any, ...], Lead], chosen: int) -> list[str]:
    """Return how often each hasher is best at other places, if there are any, apart for other hashers or runs."""
    here = (*results.place.values(), chosen)
    scores = results.ordered(at(results.run_scores, metric=results.metric))
    groups = scores.groupby([*PLACE, "n_bits"], sort=False)
    plans = {key: (tuple(own["hasher"].unique()), own["run"].nunique()) for key, own in groups}
    by_plan: dict[Any, list[tuple[Any, ...]]] = {plans[here]: []}
    for key, own in leads.items():
        if key[:3] != here[:3] and own.second is not None:
            by_plan.setdefault(plans[key], []).append(key)
    texts = []
    for (hashers, n_runs), keys in by_plan.items():
        n, names = counted(len(keys), "combination"), listed(hashers) if len(hashers) < 4 else f"{len(hashers)} hashers"
        where = f"{n} with other hashers or runs ({names}, {counted(n_runs, 'run')})"
        if (hashers, n_runs) == plans[here]:
            varies = [
                word for column, word in enumerate(_WORDS.values()) if len({key[column] for key in [*keys, here]}) > 1
            ]
            where = f"the other {n} of {listed(varies or ['code length'])} with the same hashers and runs"
        texts += [_wins(Counter(leads[key].best for key in keys), leads[here].best, where)] if keys else []
    return [" ".join([f"This result is for {results.where(n_bits=False)}.", *texts])] if texts else []


def _wins(wins: Counter[str], best: str, where: str) -> str:
    if set(wins) == {best}:
        return f"{best} is also best in {where}."
    first, *rest = [best, *(hasher for hasher, _ in wins.most_common() if hasher != best)]
    return (
        f"In {where}, {first} is best in {wins[first]}, {', '.join(f'{hasher} in {wins[hasher]}' for hasher in rest)}."
    )


def _without_relevant(results: Results) -> list[str]:
    """Return a sentence on the queries at the main place without relevant items, if there are any."""
    n_queries = len(results.splits[results.place["split"]]["query"])
    share = at(results.table["curves"], **results.place, metric="without_relevant")["value"].max()
    if not share > 0:
        return []
    effect = "lower every mean: they count 0" if results.config["empty"] == "zero" else "are left out of the means"
    return [f"{share * n_queries:.3g} of the {n_queries:,} queries have no relevant item and {effect}."]


def _finished(results: Results) -> list[str]:
    """Return a sentence about the methods with finished codes."""
    names = list(results.config.get("codes", {}))
    if not names:
        return []
    return [
        f"The codes of {listed(names)} were made outside this pipeline. The audit can't check how they were learned."
    ]


def _figure(results: Results) -> Figure:
    order = {metric: i for i, metric in enumerate(results.config["metrics"])}
    columns = ["metric", "feature", "ground_truth", "split", "hasher", "n_bits", "mean", "std"]
    rows = results.plain[columns]
    rows = rows.loc[rows["metric"].map(order).sort_values(kind="stable").index]
    where = results.where(n_bits=False)
    shows = (
        f"Means over the runs ({where}). Bars: one standard deviation." if results.n_runs > 1 else f"One run ({where})."
    )
    shows += results.trained_on(rows)
    choices = {"metric": results.metric} | results.place
    return Figure("by-length", "Score by code length", shows, lambda: _chart(results), rows, choices)


def _chart(results: Results) -> Any:
    x = alt.X("n_bits:O", title="code length (bits)", axis=alt.Axis(labelAngle=0))
    y = alt.Y("mean:Q", title="{metric}", scale=alt.Scale(zero=False), axis=alt.Axis(format="~g"))
    ends = rows_chart().encode(x=x, color=hasher_colour(results.hashers))
    ends = ends.transform_calculate(low="datum.mean - datum.std", high="datum.mean + datum.std")
    bars = ends.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q", title="{metric}"), y2="high:Q")
    tooltip = tooltips("hasher:N", "n_bits:O", "mean:Q", "std:Q")
    layers = hasher_lines(results.hashers, x, y, tooltip, size=55, height=210, below=[bars])
    lower = [name for name in results.config["metrics"] if registry.METRICS.entry(name).better == "lower"]
    return layers.properties(usermeta={"lower": lower})


def _main_table(results: Results) -> Table:
    """Return the table of the selected place, which on the page follows the metric of the figure."""
    rows = at(results.plain, metric=results.metric, **results.place)
    lead_note = (
        f" Brackets in the result: {CONFIDENCE:.0%} interval of the paired difference by a {CORRECTED}, also corrected "
        f"for all pairs of hashers at this code length (Bonferroni). {ONE_DATASET}"
        if results.n_runs > 1 and len(rows) > rows["n_bits"].nunique()
        else ""
    )
    place = ", ".join([results.place["feature"], results.place["ground_truth"], f"{results.place['split']} split"])
    caption = f"{results.metric} ({place}), {_over(rows['n_runs'])}. Bold: the best at each code length.{lead_note}"
    caption += results.trained_on(rows)
    return _cells("answer-table", caption, results, rows, n_labels=1)


def _table(results: Results, truth: str, split: str, rows: "pd.DataFrame") -> Table:
    features = list(dict.fromkeys(rows["feature"]))
    several = len(features) > 1
    place, column = (truth, "feature and code length") if several else (f"{features[0]}, {truth}", "code length")
    caption = f"{results.metric}: {place}, {split} split; {_over(rows['n_runs'])}. Bold: the best for each {column}."
    caption += results.trained_on(rows)
    return _cells(_name(results, truth, split), caption, results, rows, n_labels=1 + several)


def _name(results: Results, truth: str, split: str) -> str:
    """Return the name of a table's files."""
    names = (results.config_name("ground_truth", truth), results.config_name("split", split))
    return "-".join(("headline", *names)).replace("_", "-")


def _cells(name: str, caption: str, results: Results, rows: "pd.DataFrame", *, n_labels: int) -> Table:
    """Return a table with a row per hasher, or feature and hasher, and a column per code length."""
    lengths = sorted(rows["n_bits"].unique())
    lower = registry.METRICS.entry(results.metric).better == "lower"
    best = rows.groupby(["feature", "n_bits"])["mean"].transform("min" if lower else "max")
    cells, strong = [], set()
    for down, (names, own) in enumerate(rows.assign(best=best).groupby(["feature", "hasher"], sort=False)):
        of_length = {row.n_bits: row for row in own.itertuples()}
        means = [spread(of_length[n].mean, of_length[n].std) if n in of_length else ABSENT for n in lengths]
        cells.append([*names[-n_labels:], *means])
        strong |= {(down, n_labels + lengths.index(n)) for n, row in of_length.items() if row.mean == row.best}
    header = [*("feature", "hasher")[-n_labels:], *(f"{n} bits" for n in lengths)]
    return Table(name, caption, header, cells, n_labels, frozenset(strong), folded=name != "answer-table")


def _over(n_runs: Any) -> str:
    return f"mean ± sample standard deviation over {between(n_runs)} runs" if max(n_runs) > 1 else "one run"
