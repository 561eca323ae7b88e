"""The effect on scores and ranks of queries that have a near-duplicate in the database or the training set."""

from typing import Any

from protocol.checks import counted
from protocol.report.figure import ABSENT, Section, Table, number
from protocol.report.results import Results
from protocol.scores.summary import PLACE

_TITLE = "Without the queries that have a near-duplicate"


def section(results: Results) -> Section | None:
    """Return the largest changes of scores and all changes of ranks; None if no judged pairs are known."""
    if results.duplicates is None:
        return None
    table = results.ordered(results.duplicates)
    own = table[table["metric"] == results.metric]
    if own.empty:
        return None
    groups = own.groupby(list(PLACE), sort=False)
    rows = [[*key, *_row(of_place)] for key, of_place in groups]
    header = [*(name.replace("_", " ") for name in PLACE), "queries left out", "largest change", "of", "ranks changed"]
    caption = (
        f"The largest change of {results.metric} (mean over the runs) among hashers and code lengths: the value "
        "without the queries that have a judged near-duplicate in the database or the training set, minus the value "
        "of all queries. Ranks compare the hashers at one code length."
    )
    return Section(
        "duplicates",
        _TITLE,
        [_answer(results.metric, own), _other_metrics(results.metric, table)],
        tables=[Table("duplicates", caption, header, rows, n_labels=len(PLACE))],
    )


def _row(own: Any) -> list[str]:
    largest = _largest(own)
    return [
        f"{own['n_affected'].mean():.4g} of {own['n_queries'].mean():,.4g}",
        ABSENT if largest is None else f"{largest['difference']:+.2g}",
        ABSENT if largest is None else f"{largest['hasher']}, {largest['n_bits']} bits",
        "; ".join(_moves(own)) or "none",
    ]


def _largest(own: Any) -> Any:
    """Return the row with the largest change; None if no change is defined."""
    sizes = own["difference"].abs()
    return None if sizes.isna().all() else own.loc[sizes.idxmax()]


def _changed(table: Any) -> Any:
    """Return the rows whose rank changes without these queries."""
    ranks = table[["rank_all", "rank_without"]].dropna()
    return table.loc[ranks.index[ranks["rank_all"] != ranks["rank_without"]]]


def _moves(own: Any) -> list[str]:
    return [
        f"{row.hasher}, {row.n_bits} bits: {int(row.rank_all)} to {int(row.rank_without)}"
        for row in _changed(own).itertuples()
    ]


def _answer(metric: str, own: Any) -> str:
    """Return in words whether any hasher's score or rank changes."""
    largest, n_moves = _largest(own), len(_changed(own))
    if largest is None:
        return f"{metric} is undefined for every hasher."
    place = ", ".join(str(largest[name]) for name in PLACE)
    ranks = (
        "no hasher changes its rank"
        if not n_moves
        else f"{counted(n_moves, 'rank')} of {len(own):,} change{'s' if n_moves == 1 else ''}"
    )
    return (
        "Some queries have a near-duplicate in the database or in the training set, according to pairs that people "
        f"judged (findings known-near-duplicate of the audit). Without them, {metric} changes by at most "
        f"{number(abs(largest['difference']))} ({largest['hasher']}, {largest['n_bits']} bits; {place}: from "
        f"{number(largest['all_queries'])} to {number(largest['without'])}), and {ranks}."
    )


def _other_metrics(metric: str, table: Any) -> str:
    others = table[table["metric"] != metric]
    if others.empty:
        return "Every number is in duplicates.csv."
    changed = _changed(others)
    names = ", ".join(dict.fromkeys(changed["metric"]))
    ranks = f"{len(changed):,} of {len(others):,} ranks change ({names})" if len(changed) else "no rank changes"
    return f"By the other metrics {ranks}. Every number is in duplicates.csv."
