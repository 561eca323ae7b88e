"""Proposed pairs of near-duplicates, the most similar first, and their output as text, CSV and JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import counted, need, printable
from protocol.scores.tables import text, write_csv

if TYPE_CHECKING:
    import pandas as pd

DETAILS = ("cosine", "correlation", "mirrored")
COLUMNS = ("query", "database", "score", "rank", "choice", *DETAILS)
"""Columns of the CSV file; the details exist for images only."""
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
    score : ndarray of float64, or of float32 for candidates, shape (n,)
        1 for identical items; pairs are ordered by it.
    details : mapping of str to ndarray, shape (n,)
        For images: the ``cosine`` of the block means, the ``correlation`` of local contrast, and whether the score is
        that of the pair with one image ``mirrored``. Empty for vectors.
    """

    query: NDArray[np.int64]
    database: NDArray[np.int64]
    score: NDArray[np.floating]
    details: Mapping[str, NDArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.query)

    def where(self, selected: NDArray) -> "Pairs":
        """Return a subset of the pairs, by mask or position."""
        details = {name: values[selected] for name, values in self.details.items()}
        return Pairs(self.query[selected], self.database[selected], self.score[selected], details)

    @classmethod
    def joined(cls, parts: Sequence["Pairs"]) -> "Pairs":
        """Return the pairs of several parts, without their details."""
        columns = zip(*((part.query, part.database, part.score) for part in parts), strict=True)
        query, database, score = map(np.concatenate, columns)
        return cls(query, database, score)

    def once(self, *, same: bool) -> "Pairs":
        """Return each pair once, with its largest score.

        Parameters
        ----------
        same : bool
            Whether queries and database are the same items; the order of a pair is then ignored, and the item with the
            lower row number becomes the query.
        """
        pairs = self
        if same:
            low, high = np.minimum(self.query, self.database), np.maximum(self.query, self.database)
            pairs = replace(self, query=low, database=high)
        pairs = pairs.where(np.lexsort((-pairs.score, pairs.database, pairs.query)))
        first = np.ones(len(pairs), dtype=bool)
        first[1:] = (np.diff(pairs.query) != 0) | (np.diff(pairs.database) != 0)
        return pairs.where(first)

    def best(self, gap: float = np.inf) -> "Pairs":
        """Return the pairs of each query with its best partner and the next `FURTHER` that score at most `gap` less."""
        return self.where(_among_best(self.query, self.database, self.score, gap))


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
    kind : {"images", "vectors"}
    """

    pairs: Pairs
    rank: NDArray[np.int64]
    choice: NDArray[np.int64]
    query_ids: NDArray[np.str_] | None
    database_ids: NDArray[np.str_] | None
    about: tuple[str, ...]
    kind: str

    def __len__(self) -> int:
        """Return the number of proposals, that is of queries, not of pairs."""
        return int(self.rank[-1]) if len(self.rank) else 0

    @property
    def query(self) -> list[str]:
        """The name or row number of each pair's query."""
        return _named(self.pairs.query, self.query_ids)

    @property
    def database(self) -> list[str]:
        """The name or row number of each pair's database item."""
        return _named(self.pairs.database, self.database_ids)

    def records(self) -> list[dict[str, Any]]:
        """Return each pair as a dictionary with the keys `COLUMNS`."""
        pairs = self.pairs
        columns: dict[str, Sequence[Any]] = {
            "query": self.query,
            "database": self.database,
            "score": np.round(pairs.score, 6).tolist(),
            "rank": self.rank.tolist(),
            "choice": self.choice.tolist(),
        }
        for name, values in pairs.details.items():
            columns[name] = values.astype(int).tolist() if values.dtype == bool else np.round(values, 6).tolist()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def _header(self) -> list[str]:
        return [name for name in COLUMNS if name not in DETAILS or name in self.pairs.details]

    def to_csv(self, path: str | Path) -> None:
        """Write the pairs as CSV with the columns `COLUMNS`; the file is created only when it is complete."""
        write_csv(path, self._header, (list(row.values()) for row in self.records()))

    def to_json(self) -> str:
        """Return the pairs as a JSON list of objects."""
        return json.dumps(self.records(), indent=2, ensure_ascii=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the pairs as a data frame."""
        return need("pandas", "report").DataFrame(self.records(), columns=self._header)

    def to_text(self) -> str:
        """Return the inputs, the method and the first proposals."""
        n_pairs, n = len(self.pairs), len(self)
        count = f"{counted(n, 'proposal')}, {counted(n_pairs, 'pair')} including other matches for the same queries"
        lines = [*self.about, count]
        if n:
            lines += ["", *self._table()]
        return printable("\n".join(lines), keep="\n")

    def _table(self) -> list[str]:
        further, records = np.bincount(self.rank, minlength=len(self) + 1) - 1, self.records()
        rows = []
        for i in np.flatnonzero(self.choice == 1)[:_SHOWN].tolist():
            rank, partner = self.rank[i], records[i]["database"] + (" (mirrored)" * records[i].get("mirrored", 0))
            rows.append([str(rank), records[i]["query"], partner, f"{self.pairs.score[i]:.4f}", str(further[rank])])
        return text(("rank", "query", "database", "score", "further"), rows).split("\n")

    def __repr__(self) -> str:
        return self.to_text()


def _named(rows: NDArray[np.int64], ids: NDArray[np.str_] | None) -> list[str]:
    """Return the names of items."""
    return [str(row) for row in (rows if ids is None else ids[rows]).tolist()]


def ordered(pairs: Pairs, most: int, *, same: bool = False) -> tuple[Pairs, NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of the queries with the most similar partners, in order, with their ranks and choices.

    Parameters
    ----------
    pairs : Pairs
        Each pair once.
    most : int
        The number of queries.
    same : bool, default=False
        Whether queries and database are the same items.

    Notes
    -----
    A query has up to `FURTHER` more partners whose scores are at most `GAP` below that of the first. If both sides are
    the same items, a pair is kept if one of its items is among these partners of the other. So every item with a
    partner is in a pair, and the pairs do not depend on the order of the items. The query is the item with the lower
    row number, provided that the other one is among its partners. Ties are ordered by row number.
    """
    pairs = _of_either_item(pairs) if same else pairs.best(GAP)
    pairs = pairs.where(np.lexsort((pairs.database, -pairs.score, pairs.query)))
    starts, sizes = _groups(pairs.query)
    choice = np.arange(len(pairs)) - np.repeat(starts, sizes) + 1
    rank = np.empty(len(starts), dtype=np.int64)
    rank[np.lexsort((pairs.query[starts], -pairs.score[starts]))] = np.arange(1, len(starts) + 1)
    ranks = np.repeat(rank, sizes)
    order = np.flatnonzero(ranks <= most)
    order = order[np.lexsort((choice[order], ranks[order]))]
    return pairs.where(order), ranks[order], choice[order]


def _of_either_item(pairs: Pairs) -> Pairs:
    """Return the pairs in which one item is among the best partners of the other, which becomes the query."""
    low, high = pairs.query, pairs.database
    is_best = _among_best(np.concatenate([low, high]), np.concatenate([high, low]), np.tile(pairs.score, 2), GAP)
    of_low, of_high = np.split(is_best, 2)
    query, database = np.where(of_low, low, high), np.where(of_low, high, low)
    return replace(pairs, query=query, database=database).where(of_low | of_high)


def _among_best(
    items: NDArray[np.int64], partners: NDArray[np.int64], score: NDArray[np.floating], gap: float
) -> NDArray[np.bool_]:
    """Return a mask of the best partner of each item and of the next `FURTHER` that score at most `gap` below it."""
    order = np.lexsort((partners, -score, items))
    starts, sizes = _groups(items[order])
    position = np.arange(len(order)) - np.repeat(starts, sizes)
    near = score[order] >= np.repeat(score[order][starts], sizes) - gap
    is_best = np.empty(len(order), dtype=np.bool_)
    is_best[order] = near & (position <= FURTHER)
    return is_best


def _groups(ascending: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and the size of each group of equal numbers."""
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    return starts, np.diff(np.append(starts, len(ascending)))
