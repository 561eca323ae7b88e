"""The file of the key `exclude_queries`: pairs of items, or items, for which an experiment leaves out queries.

A table of pairs has the columns ``query`` and ``database``, as `protocol find-duplicates` and its contact sheet write
it; with the column ``judgement``, only exact copies and near-duplicates count. A list of items has the header ``id``.
Items are the dataset's ids, or its row numbers. Positions in the list of one split, as `protocol audit` writes them,
are refused, because they are other items in every run.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.items import numbers_of, read_rows
from protocol.auditing.inputs.known_pairs import EXACT, NEAR, KnownPairs
from protocol.auditing.inputs.split import Split
from protocol.checks import ProtocolError, counted
from protocol.inputs.text import unsafe

_PAIR = ("query", "database")
_COUNTED = {str(EXACT), str(NEAR)}


@dataclass(frozen=True)
class Excluded:
    """The items in a file of the key `exclude_queries`.

    Parameters
    ----------
    path : Path
    items : list of str
        Ids or row numbers; those of pairs one pair after another.
    are_pairs : bool
    """

    path: Path
    items: list[str]
    are_pairs: bool

    @property
    def about(self) -> str:
        """How many pairs or items the file has."""
        return counted(len(self.items) // 2, "pair") if self.are_pairs else counted(len(self.items), "item")

    def queries(self, split: Split) -> NDArray[np.int64]:
        """Return the positions, from 0, of the queries to exclude, in the original list of queries, ascending.

        A query of a pair is excluded if the other item is in the database or the training set; a listed item always.

        Raises
        ------
        ProtocolError
            If an item is not in the dataset, or no query would remain.
        """
        dataset = split.dataset
        numbers = numbers_of(self.items, dataset, dataset.n_items or 0, str(self.path))
        unknown = [item for item, number in zip(self.items, numbers.tolist(), strict=True) if number < 0]
        if unknown:
            known = "" if dataset.ids is None else f", whose ids are like {str(dataset.ids[0])!r}"
            raise ProtocolError(f"{self.path}: {unknown[0]!r} is not an item of the dataset{known}.")
        if self.are_pairs:
            pairs = numbers.reshape(-1, 2)
            positions = KnownPairs(str(self.path), pairs, np.full(len(pairs), NEAR)).queries(split)
        else:
            positions = np.flatnonzero(np.isin(split.entries["query"], numbers))
        if len(positions) == len(split.entries["query"]):
            raise ProtocolError(f"{self.path}: excludes all {len(positions):,} queries.")
        return positions


def read_excluded(path: str | Path) -> Excluded:
    """Read a file of the key `exclude_queries`.

    Raises
    ------
    ProtocolError
        If it can't be read, or has neither the columns ``query`` and ``database`` nor ``id``.
    """
    path = Path(path)
    (_, header), *rows = read_rows(path, "a table of pairs or items")
    names = [unsafe(name).lower() for name in header]
    columns = _PAIR if set(_PAIR) <= set(names) else ("id",)
    if not set(columns) <= set(names):
        raise ProtocolError(
            f"{path}: needs the columns query,database, as `protocol find-duplicates --csv` writes them, or the column "
            f"id; its header is {','.join(header)[:80]!r}. (Positions would mean different queries in every run.)"
        )
    judged = names.index("judgement") if "judgement" in names and columns == _PAIR else None
    for line, fields in rows:
        if judged is not None and fields[judged] not in ("0", "1", "2", "3", ""):
            raise ProtocolError(f"{path}: line {line}: expected a judgement from 0 to 3, got {fields[judged][:80]!r}.")
    counting = [fields for _, fields in rows if judged is None or fields[judged] in _COUNTED]
    return Excluded(path, [unsafe(row[names.index(name)]) for row in counting for name in columns], columns == _PAIR)
