"""Proposed pairs of near-duplicates, the most similar first, and their output as text, CSV and JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import counted, need, printable
from protocol.duplicates import measured
from protocol.scores.tables import text, write_csv

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("query", "database", "score", "rank", "choice", "cosine", "correlation", "mirrored")
"""Columns of the CSV file; the last three exist for images only."""
FURTHER = 4
"""Maximum number of further partners of a query in a proposal."""
GAP = 0.05
"""Maximum difference between the scores of further partners and that of the first one."""
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a query and a database item, by their row numbers, in any order; one entry for each measurement.

    Parameters
    ----------
    query, database : ndarray of int64, shape (n,)
    score : ndarray of float64, shape (n,)
        1 for identical items; pairs are ordered by it.
    cosine, correlation : ndarray of float64, shape (n,)
        For images: the cosine of the block means, and the correlation of local contrast. Empty for vectors.
    mirrored : ndarray of bool, shape (n,)
        For images: whether the score is that of the pair with one image mirrored. Empty for vectors.
    """

    query: NDArray[np.int64]
    database: NDArray[np.int64]
    score: NDArray[np.float64]
    cosine: NDArray[np.float64]
    correlation: NDArray[np.float64]
    mirrored: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.query)

    def where(self, selected: NDArray) -> "Pairs":
        """Return a subset of the pairs, by mask or position."""
        columns = self.query[selected], self.database[selected], self.score[selected]
        if not len(self.mirrored):
            return Pairs(*columns, self.cosine, self.correlation, self.mirrored)
        return Pairs(*columns, self.cosine[selected], self.correlation[selected], self.mirrored[selected])

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
            pairs = Pairs(low, high, self.score, self.cosine, self.correlation, self.mirrored)
        order = np.lexsort((-pairs.score, pairs.database, pairs.query))
        query, database = pairs.query[order], pairs.database[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (query[1:] != query[:-1]) | (database[1:] != database[:-1])
        return pairs.where(order[first])


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
    query_ids, database_ids : ndarray of str, or None
        The names of all items; None if they are named by row numbers.
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
        columns: list[Sequence[Any]] = [
            self.query,
            self.database,
            np.round(pairs.score, 6).tolist(),
            self.rank.tolist(),
            self.choice.tolist(),
        ]
        if self.kind == "images":
            columns += [np.round(values, 6).tolist() for values in (pairs.cosine, pairs.correlation)]
            columns.append(pairs.mirrored.astype(int).tolist())
        return [dict(zip(COLUMNS, row, strict=False)) for row in zip(*columns, strict=True)]

    def to_csv(self, path: str | Path) -> None:
        """Write the pairs as CSV with the columns `COLUMNS`; the file is created only when it is complete."""
        header = COLUMNS if self.kind == "images" else COLUMNS[:5]
        write_csv(path, header, ([row[name] for name in header] for row in self.records()))

    def to_json(self) -> str:
        """Return the pairs as a JSON list of objects."""
        return json.dumps(self.records(), indent=2, ensure_ascii=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the pairs as a data frame."""
        header = COLUMNS if self.kind == "images" else COLUMNS[:5]
        return need("pandas", "report").DataFrame(self.records(), columns=list(header))

    def to_text(self) -> str:
        """Return the inputs and the method, the first proposals, and the measured precision and recall."""
        n_pairs, n = len(self.pairs), len(self)
        count = f"{counted(n, 'proposal')}, {counted(n_pairs, 'pair')} with the further partners of their queries"
        lines = [*self.about, count]
        if n:
            lines += ["", *self._table()]
        return printable("\n".join([*lines, "", *measured.text(self.kind)]), keep="\n")

    def _table(self) -> list[str]:
        first = np.flatnonzero(self.choice == 1)[:_SHOWN]
        query, database = self.query, self.database
        further = np.bincount(self.rank, minlength=len(self) + 1) - 1
        rows = [
            [
                str(self.rank[i]),
                query[i],
                database[i] + (" (mirrored)" if len(self.pairs.mirrored) and self.pairs.mirrored[i] else ""),
                f"{self.pairs.score[i]:.4f}",
                str(further[self.rank[i]]),
            ]
            for i in first.tolist()
        ]
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
    pairs = _of_either_item(pairs) if same else pairs.where(_among_best(pairs.query, pairs.database, pairs.score))
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
    is_best = _among_best(np.concatenate([low, high]), np.concatenate([high, low]), np.tile(pairs.score, 2))
    of_low, of_high = np.split(is_best, 2)
    query, database = np.where(of_low, low, high), np.where(of_low, high, low)
    oriented = Pairs(query, database, pairs.score, pairs.cosine, pairs.correlation, pairs.mirrored)
    return oriented.where(of_low | of_high)


def _among_best(items: NDArray[np.int64], partners: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the best partner of each item and of the next `FURTHER` that score at most `GAP` below it."""
    order = np.lexsort((partners, -score, items))
    starts, sizes = _groups(items[order])
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    near = score[order] >= np.repeat(score[order][starts], sizes) - GAP
    is_best = np.empty(len(order), dtype=np.bool_)
    is_best[order] = near & (place <= FURTHER)
    return is_best


def _groups(ascending: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and the size of each group of equal numbers."""
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    return starts, np.diff(np.append(starts, len(ascending)))
