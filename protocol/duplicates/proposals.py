"""Proposed pairs of near-duplicates: their order and their table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import counted, printable
from protocol.scores.tables import text, write_csv

FURTHER = 4
"""Maximum number of other matches for a query in a proposal."""
GAP = 0.05
"""Maximum difference between the score of the first match and those of the other matches."""
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a query and a database item, by their row numbers, in any order; one entry for each measurement.

    Parameters
    ----------
    query : ndarray of int64, shape (n,)
        The number of the query in each pair.
    database : ndarray of int64, shape (n,)
        The number of the database item in each pair.
    score : ndarray of float64, shape (n,)
        1 for identical items; pairs are ordered by it.
    details : mapping of str to ndarray, shape (n,)
        For images: the ``cosine`` of the block means, the ``correlation`` of local contrast, and whether the score is
        that of the pair with one image ``mirrored``. Empty for vectors.
    """

    query: NDArray[np.int64]
    database: NDArray[np.int64]
    score: NDArray[np.float64]
    details: Mapping[str, NDArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.query)

    def where(self, selected: NDArray) -> "Pairs":
        """Return a subset of the pairs, by mask or position."""
        details = {name: values[selected] for name, values in self.details.items()}
        return Pairs(self.query[selected], self.database[selected], self.score[selected], details)


@dataclass(frozen=True, eq=False, repr=False)
class Proposals:
    """Possible near-duplicates, the most similar first; each query is proposed once.

    Parameters
    ----------
    pairs : Pairs
        Ordered by `rank`, then by `choice`.
    rank : ndarray of int64, shape (n,)
        1 for the query with the most similar partner, 2 for the next one, and so on.
    choice : ndarray of int64, shape (n,)
        1 for the best partner of the query, 2 and more for partners that are about as similar. If a set is compared
        with itself, each pair is listed once, so the best partner of an item may be listed as the query instead.
    query_ids : ndarray of str, or None
        The names of all queries; None if they are named by row numbers.
    database_ids : ndarray of str, or None
        The names of all database items, likewise.
    about : tuple of str
        Sentences on the inputs and the method.
    """

    pairs: Pairs
    rank: NDArray[np.int64]
    choice: NDArray[np.int64]
    query_ids: NDArray[np.str_] | None
    database_ids: NDArray[np.str_] | None
    about: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of proposals, that is of queries, not of pairs."""
        return int(self.rank[-1]) if len(self.rank) else 0

    def _columns(self) -> dict[str, list[Any]]:
        pairs = self.pairs
        names = (
            [str(row) for row in (rows if ids is None else ids[rows]).tolist()]
            for rows, ids in ((pairs.query, self.query_ids), (pairs.database, self.database_ids))
        )
        columns = dict(zip(("query", "database"), names, strict=True))
        for name, values in {"score": pairs.score, "rank": self.rank, "choice": self.choice, **pairs.details}.items():
            columns[name] = (np.round(values, 6) if values.dtype.kind == "f" else values.astype(int)).tolist()
        return columns

    def records(self) -> list[dict[str, Any]]:
        """Return each pair as a dictionary: its ``query`` and ``database`` item, score, rank, choice and details."""
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_csv(self, path: str | Path) -> None:
        """Write the pairs as CSV with the keys of `records`; the file is created only when it is complete."""
        columns = self._columns()
        write_csv(path, list(columns), map(list, zip(*columns.values(), strict=True)))

    def to_text(self) -> str:
        """Return the inputs, the method and the first proposals."""
        count = f"{counted(len(self), 'proposal')}, {counted(len(self.pairs), 'pair')} including other matches for the"
        lines, rows = [*self.about, f"{count} same queries"], []
        further, records = np.bincount(self.rank, minlength=len(self) + 1) - 1, self.records()
        for record in [record for record in records if record["choice"] == 1][:_SHOWN]:
            partner = record["database"] + " (mirrored)" * record.get("mirrored", 0)
            rank = record["rank"]
            rows.append([str(rank), record["query"], partner, f"{record['score']:.4f}", str(further[rank])])
        table = ["", text(("rank", "query", "database", "score", "further"), rows)] if rows else []
        return printable("\n".join(lines + table), keep="\n")

    __repr__ = to_text


def proposed(pairs: Pairs, most: int, *, same: bool) -> tuple[Pairs, NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of the queries with the most similar partners, in order, with their ranks and choices.

    Parameters
    ----------
    pairs : Pairs
        A pair may occur more than once; its largest score counts.
    most : int
        The number of queries.
    same : bool
        Whether queries and database are the same items; the order of a pair is then ignored.

    Notes
    -----
    A query has up to `FURTHER` more partners whose scores are at most `GAP` below that of the first. If both sides are
    the same items, a pair is kept if one of its items is among these partners of the other. So every item with a
    partner is in a pair, and the pairs do not depend on the order of the items. The query is the item with the lower
    row number, provided that the other one is among its partners. Ties are ordered by row number.
    """
    query, database = pairs.query, pairs.database
    if same:
        query, database = np.minimum(query, database), np.maximum(query, database)
    order = np.lexsort((-pairs.score, database, query))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(query[order]) != 0) | (np.diff(database[order]) != 0)
    once = order[first]
    query, database, pairs = query[once], database[once], pairs.where(once)
    if same:
        sides = np.concatenate([query, database]), np.concatenate([database, query])
        of_low, of_high = np.split(_among_best(*sides, np.tile(pairs.score, 2)), 2)
        query, database = np.where(of_low, query, database), np.where(of_low, database, query)
        selected = of_low | of_high
    else:
        selected = _among_best(query, database, pairs.score)
    pairs = Pairs(query, database, pairs.score, pairs.details).where(selected)
    pairs = pairs.where(np.lexsort((pairs.database, -pairs.score, pairs.query)))
    starts, sizes = _groups(pairs.query)
    choice = np.arange(len(pairs)) - np.repeat(starts, sizes) + 1
    rank = np.empty(len(starts), dtype=np.int64)
    rank[np.lexsort((pairs.query[starts], -pairs.score[starts]))] = np.arange(1, len(starts) + 1)
    ranks = np.repeat(rank, sizes)
    order = np.flatnonzero(ranks <= most)
    order = order[np.lexsort((choice[order], ranks[order]))]
    return pairs.where(order), ranks[order], choice[order]


def _among_best(items: NDArray[np.int64], partners: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the best partner of each item and of the next `FURTHER` that score at most `GAP` below it."""
    order = np.lexsort((partners, -score, items))
    starts, sizes = _groups(items[order])
    position = np.arange(len(order)) - np.repeat(starts, sizes)
    near = score[order] >= np.repeat(score[order][starts], sizes) - GAP
    is_best = np.empty(len(order), dtype=np.bool_)
    is_best[order] = near & (position <= FURTHER)
    return is_best


def _groups(ascending: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and the size of each group of equal numbers."""
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    return starts, np.diff(np.append(starts, len(ascending)))
