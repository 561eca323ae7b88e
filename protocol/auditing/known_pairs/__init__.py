"""Judged pairs of (near-)duplicates, shipped for a dataset or in a file, and the queries of a split that have one.

``cifar10.csv`` and ``cifar100.csv`` are unchanged copies of the pairs of a test and a training image that Barz and
Denzler judged (Do We Train on Test Data? Purging CIFAR of Near-Duplicates, Journal of Imaging 6(6), 2020;
https://github.com/cvjena/cifair, commit 4c27642, folder ``meta``). ``TestID`` and ``TrainID`` count from 0 in the
official order (the training batches 1 to 5 one after the other), ``Distance`` is the distance in the authors' CNN
features, and ``Judgment`` is 0 for an exact copy, 1 for a near-duplicate and 2 for a very similar image. Pairs within
the test set and within the training set were not judged, so a split drawn from all images may have further duplicates.

The file of the key `exclude_queries` has pairs too, or items, for which an experiment leaves out queries. A table of
pairs has the columns ``query`` and ``database``, as `protocol find-duplicates` and its contact sheet write it; with the
column ``judgement``, only exact copies and near-duplicates count. A list of items has the header ``id``. Items are the
dataset's ids, or its row numbers. Positions in the list of one split, as `protocol audit` writes them, are refused,
because they are other items in every run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.items import Dataset, Split, numbers_by_id, numbers_of, read_table
from protocol.checks import ProtocolError, counted, one_of
from protocol.inputs.arrays import is_file
from protocol.provenance.storage import file_sha256

PACKAGE_DATA = "*.csv"
EXACT, NEAR, SIMILAR, DIFFERENT = range(4)
"""The judgements: an exact copy, a near-duplicate, and a very similar or different item, which is no duplicate."""
JUDGEMENTS = ("exact copy", "near-duplicate", "very similar", "different")
"""Their names; as numbers, they are those in the lists of ciFAIR."""
VALUES = ", ".join(f"{number} ({name})" for number, name in enumerate(JUDGEMENTS))
_PAIR = ("query", "database")
_TEST = 50_000
"""The row of the first test image in CIFAR-10 and CIFAR-100: `protocol.datasets` puts the training images first."""
_SIZE = 60_000
_LARGEST = 2**62
_NOT_JUDGED = "only pairs of an official test and an official training image were judged"
_Rows = Sequence[tuple[int, dict[str, str]]]
_ASSUMED = f"row numbers are assumed to count the {_TEST:,} training images, then the {_SIZE - _TEST:,} test images"


_IDS: dict[str, Callable[[int], str]] = {
    "cifar10": lambda row: f"{f'data_batch_{row // 10_000 + 1}' if row < _TEST else 'test_batch'}/{row % 10_000:05d}",
    "cifar100": lambda row: f"train/{row:05d}" if row < _TEST else f"test/{row - _TEST:05d}",
}
SHIPPED = tuple(_IDS)
"""The datasets for which judged pairs are shipped."""


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """Manually judged pairs of items of a dataset.

    Parameters
    ----------
    source : str
        Their origin, for the reader: a publication or a file.
    pairs : ndarray of int64, shape (n_pairs, 2)
        Item numbers, -1 for items that are not in the dataset; a pair has no direction.
    judgement : ndarray of int64, shape (n_pairs,)
        `EXACT`, `NEAR` or `SIMILAR`.
    note : str
        What was not judged, and what row numbers are assumed to count if nothing records it, or "".
    """

    source: str
    pairs: NDArray[np.int64]
    judgement: NDArray[np.int64]
    note: str = ""

    def best(self, split: Split, *parts: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the queries of a split that have a judged pair in the given partitions, ascending.

        Returns
        -------
        queries : ndarray of int64, shape (n,)
            Item numbers, each once.
        partners : ndarray of int64, shape (n,)
            The partner of each query's closest pair; if there are several, the lowest of their numbers.
        judgement : ndarray of int64, shape (n,)
            The judgement of that pair.
        """
        both = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        judgement = np.concatenate([self.judgement, self.judgement])
        inside = np.isin(both[:, 1], np.concatenate([split[part] for part in parts]))
        inside &= np.isin(both[:, 0], split["query"]) & (both[:, 0] != both[:, 1])
        (queries, partners), judged = both[inside].T, judgement[inside]
        order = np.lexsort((partners, judged, queries))
        _, first = np.unique(queries[order], return_index=True)
        return queries[order][first], partners[order][first], judged[order][first]

    def queries(self, split: Split) -> NDArray[np.int64]:
        """Return the positions, from 0, of the queries with a (near-)duplicate in the database or the training set.

        They are positions in the original list of queries, ascending; this is also the order of their codes.
        """
        queries, _, judgement = self.best(split, "database", "train")
        return np.flatnonzero(np.isin(split.entries["query"], queries[judgement < SIMILAR]))

    def about(self, split: Split) -> str:
        """Return a sentence about the origin of the pairs and how many of them are inside the split."""
        n_inside, note = int(np.isin(self.pairs, split.listed).all(axis=1).sum()), self.note and f"; {self.note}"
        return f"Judged pairs ({self.source}): {n_inside:,} of {len(self.pairs):,} are inside this split{note}."


def known_pairs_for(values: Any, dataset: Dataset, n_listed: int = 0) -> KnownPairs | None:
    """Return judged pairs as item numbers; by default those that are shipped for the dataset, None if there are none.

    Parameters
    ----------
    values : str, Path or None
        A name in `SHIPPED`; or a CSV file whose header has the columns ``query``, ``database`` and ``judgement`` (ids
        or row numbers), and possibly others, which are ignored. A judgement is 0 (exact copy), 1 (near-duplicate) or
        2 (very similar), or its name. Rows with judgement 3 (different) or none are skipped.
    dataset : Dataset
    n_listed : int, default=0
        The largest row number in the lists plus one, to check that they fit the dataset.

    Raises
    ------
    ProtocolError
        If the file can't be read or has other columns, a line is not a judged pair, a pair is judged in two ways, all
        judgements are 0 or 1, which may mean no, next to no score, or no pair belongs to the dataset; or if a name in
        `SHIPPED` does not match the name, ids or size of the dataset.
    """
    if values is None:
        if dataset.name not in SHIPPED:
            return None
        values = dataset.name
    if isinstance(values, str) and values in SHIPPED:
        known, first = _shipped(values, dataset, n_listed)
    elif not is_file(values) or not (Path(values).suffix or Path(values).is_file()):
        expected = f"{' or '.join(SHIPPED)}, or the path of a file"
        raise ProtocolError(f"known_pairs: expected {expected}, got {str(values)[:80]!r}.")
    else:
        items, judgement = _judged(Path(values), (*_PAIR, "judgement"))
        # Row numbers may be outside the split.
        pairs = numbers_of(items, dataset, dataset.n_rows(_LARGEST), str(values)).reshape(-1, 2)
        known, first = KnownPairs(str(values), pairs, judgement), items[0]
    if dataset.ids is not None and not (known.pairs >= 0).all(axis=1).any():
        ids = f"Its first id is {str(dataset.ids[0])!r}; the first pair has {first!r}"
        raise ProtocolError(f"{known.source}: no pair consists of items of the dataset. {ids}.")
    return known


def _shipped(name: str, dataset: Dataset, n_listed: int) -> tuple[KnownPairs, str]:
    """Return the pairs that are shipped for the dataset `name`, and the id of the first item.

    Items are found by the ids of `protocol.datasets`, or, if they are row numbers, by their order, with the 50,000
    training images first.
    """
    if dataset.name in SHIPPED and dataset.name != name:
        raise ProtocolError(f"known_pairs: {name!r} does not fit the dataset of the split, {dataset.name!r}.")
    items, judgement = _judged(_table(name), ("testid", "trainid", "judgment"))
    rows, note = np.array(items).astype(np.int64) + np.tile([_TEST, 0], len(judgement)), _NOT_JUDGED
    if dataset.ids is not None:
        numbers = numbers_by_id(map(_IDS[name], rows.tolist()), dataset.ids)
    else:
        n_items, numbers, note = max(dataset.n_items or _SIZE, n_listed), rows, f"{note}; {_ASSUMED}"
        if n_items != _SIZE:
            images = f"{_SIZE:,} images, the training images first, not of {n_items:,}"
            raise ProtocolError(f"{name}: row numbers must be those of {images}.")
    return KnownPairs("ciFAIR (Barz and Denzler 2020)", numbers.reshape(-1, 2), judgement, note), _IDS[name](rows[0])


def known_pairs_sha256(name: str) -> str:
    """Return the SHA-256 of the shipped table for a dataset."""
    return file_sha256(_table(name))


def _table(name: str) -> Path:
    return Path(__file__).with_name(f"{one_of(name, SHIPPED, 'known_pairs')}.csv")


def _judged(path: Path, columns: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the items of all judged pairs in a table in turn, and their judgements, in the last of the columns."""
    hint = f" `protocol find-duplicates --sheet` writes it for images; or add a column judgement: {VALUES}."
    _, rows = read_table(path, "judged pairs", columns, hint=hint)
    judged = [(judgement, row) for judgement, row in _judgements(rows, path, *columns) if judgement <= SIMILAR]
    if not judged:
        raise ProtocolError(f"{path}: no judged pairs.")
    items = [row[column] for _, row in judged for column in columns[:2]]
    return items, np.array([judgement for judgement, _ in judged], dtype=np.int64)


def _judgements(rows: _Rows, path: Path, query: str, database: str, column: str) -> list[tuple[int, dict[str, str]]]:
    """Return each row after its judgement as a number, `DIFFERENT` if there is none."""
    values = {"": DIFFERENT, **{form: n for n, name in enumerate(JUDGEMENTS) for form in (str(n), name)}}
    of_pair, judged = dict[frozenset[str], int](), list[tuple[int, dict[str, str]]]()
    for line, row in rows:
        if (judgement := values.get(row[column].lower())) is None:
            raise ProtocolError(f"{path}, line {line}: expected the judgement {VALUES}, got {row[column][:80]!r}.")
        if of_pair.setdefault(frozenset([row[query], row[database]]), judgement) != judgement:
            raise ProtocolError(f"{path}, line {line}: the pair has another judgement above. Keep one of them.")
        judged.append((judgement, row))
    if {row[column] for _, row in rows} == {"0", "1"} and not {"distance", "score"} & rows[0][1].keys():
        unclear = f"{path}: all judgements are 0 or 1, and 0 may mean {JUDGEMENTS[EXACT]} or no"
        raise ProtocolError(f"{unclear}. Write one of the words {', '.join(JUDGEMENTS)} in place of each number.")
    return judged


# Queries to exclude


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
        if (numbers < 0).any():
            unknown, first = self.items[int(np.argmin(numbers))], dataset.names(np.arange(1))[0]
            raise ProtocolError(f"{self.path}: {unknown!r} is not an item of the dataset; its first one is {first!r}.")
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
    columns, rows = read_table(path, "pairs or items", _PAIR, ("id",))
    judged = [row for _, row in rows]
    if "judgement" in rows[0][1] and columns is _PAIR:
        judged = [row for judgement, row in _judgements(rows, path, *_PAIR, "judgement") if judgement <= NEAR]
    return Excluded(path, [row[column] for row in judged for column in columns], columns is _PAIR)
