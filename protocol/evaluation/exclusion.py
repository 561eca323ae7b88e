"""Scores without some queries, for example those that have a near-duplicate in the database, and lists of these."""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import metrics
from protocol.checks import ProtocolError, rounded
from protocol.evaluation.conventions import find
from protocol.evaluation.printed import Printed
from protocol.evaluation.result import Evaluation
from protocol.evaluation.scoring import undefined_queries
from protocol.inputs.arrays import named
from protocol.inputs.lists import read_listings
from protocol.inputs.validation import rows as row_numbers
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


def excluded_rows(values: Any, n_queries: int | None = None, name: str = "exclude_queries") -> NDArray[np.int64]:
    """Return the row numbers of the queries to exclude, ascending.

    Parameters
    ----------
    values : array_like of int, shape (n,), str or Path
        Row numbers, from 0, in any order; or a list of them in any form of `protocol.inputs.lists`. The first column is
        read, so that pairs of a query and a database item will do.
    n_queries : int, optional
        If None, the values are only read, without a check of their range.
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
    name = named(values, name)
    items = read_listings({name: values}, has_ids=True, form="id")[name].items
    try:
        rows = np.unique(np.array(items.tolist(), dtype=np.int64))
    except (ValueError, OverflowError) as error:
        raise ProtocolError(f"{name}: expected row numbers of queries ({error}).") from None
    if n_queries is not None and rows.size:
        row_numbers(rows, n_queries, name)
    if rows.size == n_queries:
        raise ProtocolError(f"{name}: no query would remain: all {n_queries:,} are excluded.")
    return rows


def read_positions(paths: Iterable[str | Path]) -> dict[tuple[str, int], NDArray[np.int64]]:
    """Return the positions of excluded queries by split and run, from the file ``excluded.csv`` if there is one."""
    tables = (read_table(path).groupby(["split", "run"])["position"] for path in paths)
    return {(str(split), int(run)): rows.to_numpy(dtype=np.int64) for table in tables for (split, run), rows in table}


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
    labels = {}
    for place, of_place in itertools.groupby(sorted(runs), key=lambda run: f"{run[0]} {run[1]}"):
        rows = [positions.get((split, run), np.empty(0, dtype=np.int64)).tolist() for _, split, run in of_place]
        least, most = min(map(len, rows)), max(map(len, rows))
        label = excluded_label(most, excluded_sha256(itertools.chain.from_iterable(rows)))
        labels[place] = label if least == most else f"{least} to {label}"
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
    remaining : Evaluation
        The scores of the other queries; a metric of the pooled queries is computed from these.
    """

    evaluation: Evaluation
    excluded: NDArray[np.int64]
    remaining: Evaluation

    n_excluded = property(lambda self: len(self.excluded), doc="The number of excluded queries.")
    n_queries = property(lambda self: self.remaining.n_queries, doc="The number of remaining queries.")

    metrics = property(lambda self: self.remaining.metrics, doc="The mean of each metric over the remaining queries.")
    per_query = property(lambda self: self.remaining.per_query, doc="The values of the remaining queries, by metric.")

    @property
    def label(self) -> str:
        """The identifier of the excluded set in a comparison, see `excluded_label`."""
        return excluded_label(len(self.excluded), self.sha256)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the excluded row numbers, ascending, one per line."""
        return excluded_sha256(self.excluded.tolist())

    def parts(self) -> list[str | Table]:
        """Return the table of all metrics with and without the excluded queries; the title identifies these queries."""
        cells = []
        for name, mean in self.evaluation.metrics.items():
            difference = self.metrics[name] - mean
            moved = f"{difference:+.2g}" if difference else "0"
            cells.append((name, rounded(mean), rounded(self.metrics[name]), moved.replace("+nan", "undefined")))
        n, digest = self.evaluation.n_queries, self.sha256[:_DIGEST]
        title = f"without {self.n_excluded:,} of {n:,} queries (SHA-256 {digest})"
        return [Table("without queries", f"{title}:", ("metric", "all queries", "without them", "difference"), cells)]

    def content(self) -> dict[str, Any]:
        """Return the fields of the evaluation, and ``without_queries``: those of the remaining queries."""
        fields = {"excluded": self.excluded, "n_excluded": len(self.excluded), "sha256": self.sha256}
        fields |= {name: getattr(self.remaining, name) for name in ("n_queries", "metrics", "n_undefined")}
        return self.evaluation.content() | {"without_queries": fields}


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
    ids = evaluation.query_ids and tuple(evaluation.query_ids[row] for row in remain)
    scores = replace(evaluation, n_queries=remain.size, query_ids=ids, per_query=per_query, is_undefined=is_undefined)
    return WithoutQueries(evaluation, excluded, scores)
