"""Judged pairs of (near-)duplicates, shipped for a dataset or in a file, and the queries of a split that have one.

``cifar10.csv`` and ``cifar100.csv`` are unchanged copies of the pairs of a test and a training image that Barz and
Denzler judged (Do We Train on Test Data? Purging CIFAR of Near-Duplicates, Journal of Imaging 6(6), 2020;
https://github.com/cvjena/cifair, commit 4c27642, folder ``meta``). ``TestID`` and ``TrainID`` count from 0 in the
official order (the training batches 1 to 5 one after the other), ``Distance`` is the distance in the authors' CNN
features, and ``Judgment`` is 0 for an exact copy, 1 for a near-duplicate and 2 for a very similar image. Pairs within
the test set and within the training set were not judged, so a split drawn from all images may have further duplicates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.items import is_row, numbers_by_id, numbers_of, read_rows
from protocol.auditing.inputs.split import Dataset, Split
from protocol.checks import ProtocolError, one_of
from protocol.inputs.arrays import as_integers
from protocol.inputs.conversion import as_numpy, is_file
from protocol.inputs.text import unsafe
from protocol.provenance.storage import file_sha256

PACKAGE_DATA = "*.csv"
EXACT, NEAR, SIMILAR = range(3)
"""The judgements: an exact copy, a near-duplicate, and a very similar item, which does not count as a duplicate."""
_CIFAIR = ("testid", "trainid", "judgment")
_COLUMNS = ("query", "database", "judgement")
_TEST = 50_000
"""The row of the first test image in CIFAR-10 and CIFAR-100: `protocol.datasets` puts the training images first."""
_SIZE = 60_000
_PARTS = {"train": np.arange(_TEST), "test": np.arange(_TEST, _SIZE)}
_LARGEST = 2**62
_NOT_JUDGED = ("", "3")
_ASSUMED = f"row numbers are assumed to count the {_TEST:,} training images, then the {_SIZE - _TEST:,} test images"
_HEADERS = "query,database[,distance],judgement or TestID,TrainID,Distance,Judgment"


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
        Item numbers; a pair has no direction.
    judgement : ndarray of int64, shape (n_pairs,)
        `EXACT`, `NEAR` or `SIMILAR`.
    limits : str
        A statement of what was not judged, or "".
    n_unlisted : int
        Number of additional judged pairs with an item that is not in the dataset.
    assumed : str
        The assumed meaning of row numbers, if nothing records it, or "".
    """

    source: str
    pairs: NDArray[np.int64]
    judgement: NDArray[np.int64]
    limits: str = ""
    n_unlisted: int = 0
    assumed: str = ""

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
        n_inside = int(np.isin(self.pairs, split.listed).all(axis=1).sum())
        n_pairs = len(self.pairs) + self.n_unlisted
        assumed = f"{self.assumed}; " if self.assumed else ""
        have = "pair has" if n_pairs == 1 else "pairs has" if n_inside == 1 else "pairs have"
        return f"Judged pairs ({self.source}): {assumed}{n_inside:,} of {n_pairs:,} {have} both items in this split."


def known_pairs_for(values: Any, dataset: Dataset, n_listed: int = 0) -> KnownPairs | None:
    """Return judged pairs as item numbers; by default those that are shipped for the dataset, None if there are none.

    Parameters
    ----------
    values : str, Path, array_like of int, shape (n_pairs, 3), or None
        A name in `SHIPPED`; or a CSV file whose header has the columns ``query``, ``database`` and ``judgement`` (ids
        or row numbers), or ``TestID``, ``TrainID`` and ``Judgment`` (numbers within the official splits), and possibly
        others, which are ignored; or an array with the columns row number, row number and judgement. A judgement is 0
        (exact copy), 1 (near-duplicate) or 2 (very similar). Rows with judgement 3 (different) or none are skipped.
    dataset : Dataset
    n_listed : int, default=0
        The largest row number in the lists plus one, to check that they fit the dataset.

    Raises
    ------
    ProtocolError
        If the file can't be read or has other columns, a line is not a judged pair, or no pair belongs to the dataset;
        or if a name in `SHIPPED` does not match the name, ids or size of the dataset.
    """
    values = dataset.name if values is None and dataset.name in SHIPPED else values
    if values is None:
        return None
    if not is_file(values):
        return _of_array(values, dataset)
    if values not in SHIPPED:
        path = Path(values)
        if not str(values) or (not path.suffix and not path.exists()):
            shipped = " or ".join(SHIPPED)
            raise ProtocolError(f"known_pairs: expected {shipped}, or the path of a file, got {str(values)[:80]!r}.")
        return _of_file(path, dataset, n_listed=n_listed)
    if dataset.name in SHIPPED and dataset.name != values:
        raise ProtocolError(f"known_pairs: {values!r} does not fit the dataset of the split, {dataset.name!r}.")
    known = _of_file(_table(values), dataset, name=values, n_listed=n_listed)
    limits = "only pairs of an official test and an official training image were judged"
    return replace(known, source="ciFAIR (Barz and Denzler 2020)", limits=limits)


def known_pairs_sha256(name: str) -> str:
    """Return the SHA-256 of the shipped table for a dataset."""
    return file_sha256(_table(name))


def _table(name: str) -> Path:
    return Path(__file__).with_name(f"{one_of(name, SHIPPED, 'known_pairs')}.csv")


def _of_array(values: Any, dataset: Dataset) -> KnownPairs:
    name = "known_pairs"
    array = as_numpy(values, name)
    if array.ndim != 2 or array.shape[1] != len(_COLUMNS) or array.dtype.kind not in "iuf":
        raise ProtocolError(
            f"{name}: expected two row numbers and a judgement per row, shape (n, 3), got shape {array.shape} of "
            f"{array.dtype}."
        )
    rows = as_integers(array, name)
    if not len(rows):
        raise ProtocolError(f"{name}: no judged pairs.")
    wrong = rows[~np.isin(rows[:, 2], (EXACT, NEAR, SIMILAR)), 2]
    if len(wrong):
        raise ProtocolError(f"{name}: expected the judgement 0, 1 or 2, got {wrong[0]}.")
    return KnownPairs(name, _numbers(rows[:, :2].ravel().tolist(), replace(dataset, ids=None), name), rows[:, 2])


def _of_file(path: Path, dataset: Dataset, *, name: str | None = None, n_listed: int) -> KnownPairs:
    """Return the pairs in a file; `name` is the name of the dataset, if known."""
    is_official, items, judgement = _read(path, has_ids=dataset.ids is not None)
    has_parts = {"test", "train"} <= set(dataset.official)
    if not is_official:
        pairs = _numbers(items, dataset, str(path))
    else:
        sides = []
        for part, numbers in zip(("test", "train"), np.array(items).astype(np.int64).reshape(-1, 2).T, strict=True):
            rows = (dataset.official if has_parts else _PARTS)[part]
            if numbers.max() >= len(rows):
                raise ProtocolError(
                    f"{path}: there is no {part} image {numbers.max():,}; the last one is {len(rows) - 1:,}."
                )
            sides.append(rows[numbers])
        pairs = np.stack(sides, axis=1)
        if not has_parts:
            pairs = _cifar_numbers(dataset, name, path, n_listed)[pairs]
    listed = (pairs >= 0).all(axis=1)
    if not listed.any() and dataset.ids is not None:
        first = f"test image {items[0]}" if is_official else items[0]
        raise ProtocolError(
            f"{path}: no pair consists of items of the dataset. Its first id is {str(dataset.ids[0])!r}; the first "
            f"pair has {first!r}."
        )
    assumed = _ASSUMED if is_official and not has_parts and dataset.ids is None else ""
    return KnownPairs(str(path), pairs[listed], judgement[listed], n_unlisted=int((~listed).sum()), assumed=assumed)


def _numbers(items: Sequence[Any], dataset: Dataset, name: str) -> NDArray[np.int64]:
    """Return the item numbers of pairs, one pair after another; row numbers may be outside the split."""
    n_items = _LARGEST if dataset.n_items is None else dataset.n_items
    return numbers_of(items, dataset, n_items, name).reshape(-1, 2)


def _cifar_numbers(dataset: Dataset, name: str | None, path: Path, n_listed: int) -> NDArray[np.int64]:
    """Return the item number of each of CIFAR's images in the order of `protocol.datasets`, -1 for unlisted ones.

    Items are found by the ids of `protocol.datasets`, or, if they are row numbers, by their order, with the 50,000
    training images first.
    """
    if dataset.ids is None:
        n_items = max(dataset.n_items or _SIZE, n_listed)
        if n_items != _SIZE:
            raise ProtocolError(
                f"{name or path}: row numbers must be those of {_SIZE:,} images, the training images first, not of "
                f"{n_items:,}."
            )
        return np.arange(_SIZE)
    names = [name] if name else list(_IDS)
    for dataset_name in names:
        numbers = numbers_by_id(map(_IDS[dataset_name], range(_SIZE)), dataset.ids)
        if (numbers >= 0).any():
            return numbers
    examples = " or ".join(repr(_IDS[one](_TEST)) for one in names)
    raise ProtocolError(
        f"{name or path}: these pairs have ids such as {examples}, but the lists have ids such as "
        f"{str(dataset.ids[0])!r}. Give a file with the columns query,database,judgement and your ids."
    )


def _read(path: Path, *, has_ids: bool) -> tuple[bool, list[str], NDArray[np.int64]]:
    """Return whether a file has the columns of ciFAIR, the items of all judged pairs in turn, and their judgements.

    Items are numbers in the columns of ciFAIR, and unless the dataset has ids.
    """
    (_, header), *rows = read_rows(path, "a table of judged pairs")
    names = [unsafe(name).lower() for name in header]
    columns = next((known for known in (_COLUMNS, _CIFAIR) if set(known) <= set(names)), None)
    if columns is None:
        raise ProtocolError(f"{path}: the columns must be {_HEADERS}, got {','.join(header)[:80]!r}.")
    items, judgements = [], []
    for line, fields in rows:
        *pair, judgement = (unsafe(fields[names.index(column)]) for column in columns)
        if judgement in _NOT_JUDGED:
            continue
        if judgement not in ("0", "1", "2"):
            raise ProtocolError(
                f"{path}: line {line}: expected the judgement 0 (exact copy), 1 (near-duplicate), 2 (very similar) or "
                f"3 (different), got {judgement[:80]!r}."
            )
        wrong = [item for item in pair if not is_row(item)]
        if wrong and (columns == _CIFAIR or not has_ids):
            raise ProtocolError(f"{path}: line {line}: expected two item numbers, got {wrong[0][:80]!r}.")
        items += pair
        judgements.append(int(judgement))
    if not items:
        raise ProtocolError(f"{path}: no judged pairs.")
    return columns == _CIFAIR, items, np.array(judgements, dtype=np.int64)
