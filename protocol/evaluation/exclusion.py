"""Scores without some queries, for example those that have a near-duplicate in the database, and lists of these."""

import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import metrics
from protocol.checks import ProtocolError, rounded
from protocol.evaluation.conventions import find
from protocol.evaluation.printed import Printed
from protocol.evaluation.result import Evaluation
from protocol.evaluation.scoring import n_undefined, undefined_queries
from protocol.inputs.arrays import named
from protocol.inputs.lists import read_listings
from protocol.scores.metadata import NONE_EXCLUDED
from protocol.scores.tables import Table, read_table

_DIGEST = 12
COLUMNS = ("split", "run", "position", "item", "id")
"""The columns of ``excluded.csv``: the position of an excluded query in the list of queries, its row number and id."""


def excluded_label(n_excluded: int, sha256: str) -> str:
    """Return the identifier of a set of excluded queries: their number, and the start of their digest.

    Examples
    --------
    >>> excluded_label(8, "1a2b3c4d5e6f7a8b"), excluded_label(0, "e3b0c44298fc1c14")
    ('8 queries (1a2b3c4d5e6f)', 'none')
    """
    queries = "1 query" if n_excluded == 1 else f"{n_excluded} queries"
    return f"{queries} ({sha256[:_DIGEST]})" if n_excluded else NONE_EXCLUDED


def excluded_sha256(rows: Iterable[int]) -> str:
    """Return the SHA-256 of row numbers, one per line, which ``sha256sum`` also prints for a file of these lines."""
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


def excluded_rows(values: Any, n_queries: int, name: str = "exclude_queries") -> NDArray[np.int64]:
    """Return the row numbers of the queries to exclude, ascending.

    Parameters
    ----------
    values : array_like of int, shape (n,), str or Path
        Row numbers, from 0, in any order; or a list of them in any form of `protocol.inputs.lists`. The first column is
        read, so that pairs of a query and a database item will do.
    n_queries : int
    name : str
        The name in error messages.

    Raises
    ------
    ProtocolError
        If the file can't be read, a value is not an integer or out of range, or no query would remain.

    Examples
    --------
    >>> excluded_rows([7, 2, 7], 10)
    array([2, 7])
    """
    rows, name = rows_from(values, name, log=True), named(values, name)
    outside = rows[(rows < 0) | (rows >= n_queries)]
    if outside.size:
        raise ProtocolError(f"{name}: expected row numbers from 0 to {n_queries - 1:,}, got {outside[0]:,}.")
    if rows.size == n_queries:
        raise ProtocolError(f"{name}: no query would remain: all {n_queries:,} are excluded.")
    return rows


def rows_from(values: Any, name: str = "exclude_queries", *, log: bool = False) -> NDArray[np.int64]:
    """Return distinct row numbers, ascending, as for `excluded_rows`."""
    items = read_listings({name: values}, has_ids=True, form="id", log=log)[name].items
    try:
        return np.unique(np.array(items.tolist(), dtype=np.int64))
    except (ValueError, OverflowError) as error:
        raise ProtocolError(f"{named(values, name)}: expected row numbers of queries ({error}).") from None


def read_positions(paths: Iterable[str | Path]) -> dict[tuple[str, int], NDArray[np.int64]]:
    """Return the positions of excluded queries by split and run, from the file ``excluded.csv`` if there is one."""
    return {
        (str(split), int(run)): rows.to_numpy(dtype=np.int64)
        for table in map(read_table, paths)
        for (split, run), rows in table.groupby(["split", "run"])["position"]
    }


def excluded_labels(
    positions: Mapping[tuple[str, int], NDArray[np.int64]], runs: Iterable[tuple[str, str, int]]
) -> dict[str, str]:
    """Return the column ``excluded_queries`` of a summary by feature and split, separated by a space.

    It is as `excluded_label` writes it, with the positions of all runs one after another;
    numbers that differ between the runs are given as a range.

    Parameters
    ----------
    positions : mapping
        As `read_positions` returns them.
    runs : iterable of (str, str, int)
        The feature, split and run of all scores.
    """
    by_split: dict[str, list[list[int]]] = {}
    for feature, split, run in sorted(runs):
        by_split.setdefault(f"{feature} {split}", []).append(list(positions.get((split, run), ())))
    labels = {}
    for split, rows in by_split.items():
        least, most = min(map(len, rows)), max(map(len, rows))
        label = excluded_label(most, excluded_sha256(itertools.chain.from_iterable(rows)))
        labels[split] = label if least == most else f"{least} to {label}"
    return labels


@dataclass(frozen=True, eq=False, repr=False)
class WithoutQueries(Printed):
    """The scores of an evaluation without some of its queries.

    Parameters
    ----------
    evaluation : Evaluation
        The scores of all queries.
    excluded : ndarray of int64, shape (n_excluded,)
        Row numbers of the excluded queries, ascending.
    per_query : dict of str to ndarray of float64
        The values of the remaining queries, as in `Evaluation`; a metric of the pooled queries is computed from these.
    n_undefined : dict of str to int
        The number of remaining queries for which each metric is undefined.
    """

    evaluation: Evaluation
    excluded: NDArray[np.int64]
    per_query: dict[str, NDArray[np.float64]]
    n_undefined: dict[str, int]

    @property
    def n_excluded(self) -> int:
        """The number of excluded queries."""
        return len(self.excluded)

    @property
    def n_queries(self) -> int:
        """The number of remaining queries."""
        return self.evaluation.n_queries - self.n_excluded

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The mean of each metric over the remaining queries."""
        return {name: metrics.mean(values) for name, values in self.per_query.items()}

    @property
    def label(self) -> str:
        """The identifier of the excluded set in a comparison, see `excluded_label`."""
        return excluded_label(self.n_excluded, self.sha256)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the excluded row numbers, ascending, one per line."""
        return excluded_sha256(self.excluded.tolist())

    def parts(self) -> list[str | Table]:
        """Return the table of all metrics with and without the excluded queries; the title identifies these queries."""
        cells = []
        for name, mean in self.evaluation.metrics.items():
            without = self.metrics[name]
            difference = without - mean
            moved = "undefined" if math.isnan(difference) else f"{difference:+.2g}" if difference else "0"
            cells.append((name, rounded(mean), rounded(without), moved))
        n = self.evaluation.n_queries
        title = f"without {self.n_excluded:,} of {n:,} queries (SHA-256 {self.sha256[:_DIGEST]})"
        return [Table("without queries", f"{title}:", ("metric", "all queries", "without them", "difference"), cells)]

    def content(self) -> dict[str, Any]:
        """Return the fields of the evaluation, and ``without_queries``: those of the remaining queries."""
        names = ("excluded", "n_excluded", "sha256", "n_queries", "metrics", "n_undefined")
        return self.evaluation.content() | {"without_queries": {name: getattr(self, name) for name in names}}


def without(evaluation: Evaluation, queries: Any) -> WithoutQueries:
    """Return the scores of an evaluation without some queries, as `Evaluation.without`."""
    excluded = excluded_rows(queries, evaluation.n_queries)
    remain = np.delete(np.arange(evaluation.n_queries), excluded)
    counts = None if evaluation.counts is None else evaluation.counts.of_queries(remain)
    per_query, is_undefined = {}, {}
    for name, values in evaluation.per_query.items():
        if values.size == evaluation.n_queries:
            per_query[name], is_undefined[name] = values[remain], evaluation.is_undefined[name][remain]
        elif counts is not None:
            undefined = find(evaluation.convention).undefined(name)
            per_query[name] = metrics.evaluate(counts, [name], undefined=undefined)[name]
            is_undefined[name] = undefined_queries(counts, name, per_query[name])
    return WithoutQueries(evaluation, excluded, per_query, n_undefined(is_undefined, remain.size))
