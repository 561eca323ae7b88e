"""The tables of a paper: a metric of every hasher by code length, the best value bold and the second underlined."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from protocol import registry
from protocol.report.figure import ABSENT, between
from protocol.report.manuscript.content import Content
from protocol.report.manuscript.files import file_name
from protocol.scores.statistics import CONFIDENCE, CORRECTED, NO_TEST, ONE_DATASET, lead
from protocol.scores.summary import at
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

MARK = "†"
"""The mark of best values whose lead over the second best is significant."""


class _Column(NamedTuple):
    """A column of numbers: its code length, the means by hasher, and the scores of each run, a column per hasher.

    ``shared`` is `protocol.scores.statistics.shared_variance` of the runs.
    """

    n_bits: int
    means: "pd.Series"
    runs: "pd.DataFrame"
    shared: float


def paper_tables(content: Content) -> list[Table]:
    """Return a table of each metric for each feature and split, with the ground truths side by side.

    A table that compares nothing, because it has a single hasher or only undefined values, is left out.
    """
    tables = []
    for metric in content.metrics:
        for feature, split in dict.fromkeys((place["feature"], place["split"]) for place in content.places):
            places = [place for place in content.places if (place["feature"], place["split"]) == (feature, split)]
            blocks = {place["ground_truth"]: _columns(content, metric, place) for place in places}
            filled = {truth: columns for truth, columns in blocks.items() if columns}
            if filled:
                tables.append(_table(content, metric, {"feature": feature, "split": split}, filled))
    return tables


def _columns(content: Content, metric: str, place: Mapping[str, str]) -> list[_Column]:
    """Return the columns of a place that compare at least two hashers."""
    summary, scores = content.summary(metric, place), at(content.scores, metric=metric, **place)
    columns = []
    for n_bits in sorted(summary["n_bits"].unique()):
        means = at(summary, n_bits=n_bits).set_index("hasher")["mean"]
        if len(means) > 1:
            columns.append(
                _Column(
                    int(n_bits),
                    means,
                    at(scores, n_bits=n_bits).pivot_table(index="run", columns="hasher", values="value"),
                    content.shared(place["split"]),
                )
            )
    return columns


def _table(content: Content, metric: str, place: dict[str, str], blocks: Mapping[str, list[_Column]]) -> Table:
    columns = [column for own in blocks.values() for column in own]
    hashers = [name for name in content.hashers if any(name in column.means for column in columns)]
    digits = _digits(max(column.means.abs().max() for column in columns))
    better = registry.METRICS.entry(metric).better
    rows = [[name] for name in content.names(hashers)]
    strong, second = set[tuple[int, int]](), set[tuple[int, int]]()
    significant, is_marked = [], False
    for across, column in enumerate(columns, 1):
        texts = _texts(column, hashers, digits)
        first, others = _leaders(texts, lower=better == "lower")
        strong |= {(down, across) for down in first}
        second |= {(down, across) for down in others}
        significant.append(_is_significant(column, better))
        marked = first if significant[-1] and len(first) == 1 else set()
        is_marked |= bool(marked)
        for down, text in enumerate(texts):
            rows[down].append(text + MARK * (down in marked))
    is_unknown = math.isinf(columns[0].shared)  # the same for all columns
    tested = _tested(significant, is_marked, is_unknown=is_unknown, n_pairs=math.comb(len(hashers), 2))
    truths = [(content.name("ground_truth", truth), len(own)) for truth, own in blocks.items()]
    return Table(
        file_name(metric, place["feature"], place["split"]),
        _caption(content, metric, place, blocks, tested),
        ["Method", *(f"{column.n_bits} bits" for column in columns)],
        rows,
        strong=frozenset(strong),
        second=frozenset(second),
        groups=[[("", 1), *truths]] if len(truths) > 1 else [],
    )


def _digits(largest: float) -> int:
    """Return how many decimals give the largest value three significant digits; at most four.

    Examples
    --------
    >>> _digits(0.66), _digits(0.0321), _digits(12.3), _digits(4512.0), _digits(0.0)
    (3, 4, 1, 0, 3)
    """
    return min(4, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 3


def _texts(column: _Column, hashers: Sequence[str], digits: int) -> list[str]:
    return [f"{column.means[name]:.{digits}f}" if name in column.means else ABSENT for name in hashers]


def _leaders(texts: Sequence[str], *, lower: bool) -> tuple[set[int], set[int]]:
    """Return the rows of the best and of the second best value, as they are printed; equal ones are together.

    Examples
    --------
    >>> _leaders(["0.51", "0.62", "0.62", "0.51", "0.40"], lower=False)
    ({1, 2}, {0, 3})
    """
    values = {down: float(text) for down, text in enumerate(texts) if text != ABSENT}
    ranked = sorted(set(values.values()), reverse=not lower)
    best, second = ({down for down, value in values.items() if [value] == ranked[i : i + 1]} for i in (0, 1))
    return best, second


def _is_significant(column: _Column, better: str) -> bool | None:
    """Return whether the interval of the best hasher's lead excludes zero; None where there is no interval."""
    best_lead = lead(column.runs, shared=column.shared, better=better)
    if best_lead is None or math.isnan(best_lead.low):
        return None
    return best_lead.low > 0 or best_lead.high < 0


def _tested(significant: Sequence[bool | None], is_marked: bool, *, is_unknown: bool, n_pairs: int) -> str:
    """Return a sentence on the meaning of the mark, or on the reason why there is none."""
    if is_unknown:
        return NO_TEST
    if all(own is None for own in significant):
        return "There are too few runs to test the lead of the best value."
    test = f"{CONFIDENCE:.0%} interval of the paired difference over the runs, {CORRECTED}"
    test += f", with Bonferroni's correction for {n_pairs} pairs of methods" if n_pairs > 1 else ""
    if is_marked:
        return f"{MARK}: the lead over the second best is significant ({test}). {ONE_DATASET}"
    return f"No lead over the second best is significant ({test}). {ONE_DATASET}"


def _caption(
    content: Content, metric: str, place: dict[str, str], blocks: Mapping[str, list[_Column]], tested: str
) -> str:
    """Return the caption: the numbers, the marks of the best values, and the conventions of the metric."""
    where = content.where(place | ({"ground_truth": next(iter(blocks))} if len(blocks) == 1 else {}))
    rows = [content.summary(metric, place | {"ground_truth": truth}) for truth in blocks]
    n_runs = between([int(n) for own in rows for n in own["n_runs"]])
    spread = max(float(own["std"].max()) for own in rows)
    mean = "one run" if n_runs == "1" else f"mean of {n_runs} runs (standard deviation at most {spread:.3f})"
    return (
        f"{content.name('metric', metric)} on {where}: {mean}. Best value of each column in bold, second best "
        f"underlined. {tested} {content.definition(metric)}"
        + content.trained_on((hasher for own in rows for hasher in own["hasher"]), place)
    )
