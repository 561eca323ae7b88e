"""Read what is known about the items of a dataset: ids, labels, features, and tables by id or by row number."""

import csv
import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.split import Dataset
from protocol.checks import ProtocolError, counted
from protocol.inputs import conversion
from protocol.inputs.arrays import path_of
from protocol.inputs.conversion import as_numpy, is_file, named, numbers_from
from protocol.inputs.labels import Labelled, labels_from
from protocol.inputs.lists import Listing, read_listings
from protocol.inputs.text import lines

_DIGITS = 18  # maximum number of digits of a row number
_PATTERN, _NUMBER = re.compile(r"[*?\[]"), re.compile(r"(\d+)")


class Files(tuple[str, ...]):
    """The files of one list, in their order."""

    def __str__(self) -> str:
        return f"{self[0]} to {Path(self[-1]).name} ({len(self)} files)"


def files_of(values: Any) -> Any:
    """Return the files that a pattern or a sequence of Path stands for, or else the argument itself.

    Raises
    ------
    ProtocolError
        If no file matches the pattern.
    """
    if is_file(values) and _PATTERN.search(str(values)) and not path_of(values).exists():
        matching = glob.glob(str(values))
        if not matching:
            raise ProtocolError(f"{values}: no file matches this pattern.")
        files = sorted(matching, key=lambda name: [int(p) if p.isdecimal() else p for p in _NUMBER.split(name)])
    elif isinstance(values, (list, tuple)) and values and all(isinstance(value, PathLike) for value in values):
        files = list(map(str, values))
    else:
        return values
    return files[0] if len(files) == 1 else Files(files)


def name_of(values: Any, role: str) -> str:
    """Return the name of an argument in texts: the file, or for an array its role, such as ``query``."""
    return str(values) if is_file(values) or isinstance(values, Files) else role


def items_from(values: Any, role: str) -> Listing:
    """Return the items of one list that has been read before; see `lists_from`."""
    return lists_from({role: values}, log=False)[role]


def lists_from(lists: Mapping[str, Any], form: str = "", *, log: bool = True) -> dict[str, Listing]:
    """Return the items of lists, and their labels if the lists contain them.

    Parameters
    ----------
    lists : mapping of str to path, Files or array_like, shape (n,)
        By partition: a file for `protocol.inputs.lists.read_listings`, several of them, or row numbers, or ids (str).
    form : str, optional
        One of `protocol.inputs.arrays.FORMS`, if the files don't name one.
    log : bool, default=True

    Raises
    ------
    ProtocolError
        If a file can't be read, the files of a list differ in their kind or in the number of classes, or an array is
        neither of integers nor of strings.
    """
    sources: dict[str, Any] = {}
    for part, values in lists.items():
        if isinstance(values, Files):
            sources |= {f"{part} {number}": file for number, file in enumerate(values)}
        else:
            sources[part] = values if is_file(values) else conversion.items_from(values, part)
    read = read_listings(
        {name: items for name, items in sources.items() if is_file(items) or len(items)},
        has_ids=True,
        form=form,
        log=log,
    )
    return {
        part: _joined([read[f"{part} {number}"] for number in range(len(values))], str(values))
        if isinstance(values, Files)
        else read.get(part, Listing(part, sources[part], None, "no items"))
        for part, values in lists.items()
    }


def _joined(listings: Sequence[Listing], name: str) -> Listing:
    """Return the list that several files contain together."""
    kinds = [_kind(listing) for listing in listings]
    for listing, kind in zip(listings, kinds, strict=True):
        if kind != kinds[0]:
            raise ProtocolError(f"{listing.name}: contains {kind}, but {listings[0].name} contains {kinds[0]}.")
    labels = [listing.labels for listing in listings if listing.labels is not None]
    ids = np.concatenate([listing.ids for listing in listings if listing.ids is not None])
    return Listing(name, ids, np.concatenate(labels) if labels else None, listings[0].form, listings[0].classes)


def _kind(listing: Listing) -> str:
    kind = "row numbers" if listing.ids is not None and listing.ids.dtype.kind in "iu" else "ids"
    if listing.labels is None:
        return kind
    return f"{kind} with labels" + (f" for {listing.labels.shape[1]} classes" if listing.labels.ndim == 2 else "")


def known_dataset(ids: Any = None, labels: Any = None) -> Dataset:
    """Return a dataset with the ids and labels that the caller gives.

    Parameters
    ----------
    ids : path, array_like of str, or None
        In the order of the row numbers; a file has one id per line.
    labels : path, array_like, or None
        Class labels in the same order, in a form of `protocol.inputs.labels.labels_from`. Labels that have ids are
        matched with `ids`.

    Raises
    ------
    ProtocolError
        If they can't be read or differ in number, or the ids are not distinct strings.
    """
    names, listed = None, None
    if ids is not None:
        listed = lists_from({"ids": ids}, "id")["ids"]
        names = listed.ids
        if names is None or names.dtype.kind in "iu":
            raise ProtocolError(f"{named(ids, 'ids')}: contains row numbers, not the ids of the dataset.")
        _check_distinct(names, named(ids, "ids"))
    known: Labelled | None = None
    if labels is not None:
        known = labels_from(labels, "labels", ids=names)
        if names is None and known.ids is not None:
            names = known.ids
            _check_distinct(names, named(labels, "labels"))
    elif listed is not None and listed.labels is not None:
        known = labels_from(listed.labels, listed.name)
    if known is None:
        return Dataset(n_items=None if names is None else len(names), ids=names)
    if names is not None and len(names) != len(known.labels):
        n_labels = counted(len(known.labels), "label")
        raise ProtocolError(f"{named(labels, 'labels')}: {n_labels} for {counted(len(names), 'item')}.")
    return Dataset(n_items=len(known.labels), ids=names, y=known.labels, class_names=known.class_names)


def _check_distinct(ids: NDArray, name: str) -> None:
    distinct, counts = np.unique(ids, return_counts=True)
    if len(distinct) < len(ids):
        raise ProtocolError(f"{name}: the id {str(distinct[counts > 1][0])!r} occurs more than once.")


def read_rows(path: Path, what: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a table, at least one, as `csv_rows` does; all must have the same number of fields."""
    rows = list(csv_rows(path, what, strict=True))
    if not rows:
        raise ProtocolError(f"{path}: the file is empty. It should contain {what}.")
    for line, row in rows:
        if len(row) != len(rows[0][1]):
            raise ProtocolError(
                f"{path}: line {line}: {counted(len(row), 'field')}, but the first line has {len(rows[0][1])}: "
                f"{','.join(row)[:80]!r}."
            )
    return rows


def csv_rows(path: Path, what: str, **dialect: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row of a table, without surrounding blanks and empty lines.

    The csv module reads the table, since the audit of lists runs on NumPy alone; pandas is not installed with it.

    Parameters
    ----------
    path : Path
    what : str
        Description of the expected content, for error messages: "a table of judged pairs".
    **dialect
        Options of `csv.reader`.

    Raises
    ------
    ProtocolError
        If the file can't be read.
    """
    table = csv.reader(lines(path, what), **dialect)
    try:
        for row in table:
            if row:
                yield table.line_num, [field.strip() for field in row]
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as {what} ({error}).") from error


def numbers_of(items: Sequence[Any], dataset: Dataset, n_items: int, name: str) -> NDArray[np.int64]:
    """Return the item number of each id or row number in a table, -1 for items that are not in the split.

    Parameters
    ----------
    items : sequence of str or int
        Ids; or row numbers, if the dataset has no ids, or if it has ids in a known order but none of the items is one.
    dataset : Dataset
    n_items : int
        The number of rows; if it is unknown, the largest listed row number plus one.
    name : str
        Name of the table, for error messages.

    Raises
    ------
    ProtocolError
        If row numbers are expected and one is not an integer >= 0 or is not in the dataset.
    """
    not_a_row = next((item for item in items if not is_row(item)), None)
    if dataset.ids is not None:
        by_id = numbers_by_id(items, dataset.ids)
        if (by_id >= 0).any() or dataset.n_items is None or not_a_row is not None:
            return by_id
    if not_a_row is not None:
        raise ProtocolError(f"{name}: {str(not_a_row)[:80]!r} is not a row number, but the lists contain row numbers.")
    rows = np.array([int(item) for item in items], dtype=np.int64)
    if dataset.n_items is not None and rows.max(initial=0) >= n_items:
        raise ProtocolError(f"{name}: row number {rows.max()} is outside the {n_items:,} items of the dataset.")
    return np.where(rows < n_items, rows, -1)


def numbers_by_id(items: Iterable[Any], ids: NDArray) -> NDArray[np.int64]:
    """Return the item number of each id, -1 for ids that are not in the dataset."""
    numbers = {str(name_of_item): number for number, name_of_item in enumerate(ids.tolist())}
    return np.array([numbers.get(str(item), -1) for item in items], dtype=np.int64)


def is_row(item: Any) -> bool:
    """Return whether an entry in a table is a row number."""
    if isinstance(item, str):
        return item.isascii() and item.isdecimal() and len(item) <= _DIGITS
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < 10**_DIGITS


def features_from(values: Any, dataset: Dataset, n_listed: int) -> NDArray:
    """Return the features of a dataset, one row per item; an ``.npy`` file is memory-mapped.

    Parameters
    ----------
    values : path or array_like, shape (n_items, d)
    dataset : Dataset
    n_listed : int
        The largest item number of a split plus one, which is the minimum number of rows.

    Raises
    ------
    ProtocolError
        If they are not a matrix or have the wrong number of rows, or the order of the dataset's ids is not known.
    """
    X, name = numbers_from(values, "features"), named(values, "features")
    if dataset.n_items is None and dataset.ids is not None:
        raise ProtocolError(f"{name}: the lists contain ids, so the ids of its rows are needed (ids).")
    n_items = dataset.n_rows(n_listed)
    if X.ndim != 2 or len(X) < n_items or (dataset.n_items is not None and len(X) != n_items):
        raise ProtocolError(
            f"{name}: expected features of shape ({n_items}, d), one row per item, got shape {X.shape}."
        )
    return X


def modalities_from(values: Any, dataset: Dataset, n_listed: int) -> NDArray[np.int64]:
    """Return the items that are the two modalities of each pair, such as an image and its text.

    Parameters
    ----------
    values : path or array_like, shape (n_pairs, 2)
        Ids or row numbers; a file has two per line, separated by blanks or a comma.
    dataset : Dataset
    n_listed : int
        The largest item number of a split plus one.

    Returns
    -------
    ndarray of int64, shape (n_pairs, 2)
        Item numbers, without the pairs of which an item is not in the dataset.

    Raises
    ------
    ProtocolError
        If the file can't be read, a line or a row is not a pair, or no pair belongs to the dataset.
    """
    name, expected = name_of(values, "pairs"), "row numbers" if dataset.ids is None else "ids"
    items = _read_modalities(Path(values), expected) if is_file(values) else _modalities(values, name, expected)
    numbers = numbers_of(items, dataset, dataset.n_rows(n_listed), name).reshape(-1, 2)
    known = numbers[(numbers >= 0).all(axis=1)]
    if not len(numbers) or (dataset.ids is not None and not len(known)):
        raise ProtocolError(f"{name}: no pair consists of listed {expected}.")
    return known


def _read_modalities(path: Path, expected: str) -> list[str]:
    """Return the items of all pairs in a file, one pair after another."""
    items = []
    for number, line in enumerate(lines(path, f"two {expected} per line"), start=1):
        pair = line.replace(",", " ").split()
        if len(pair) != 2:
            raise ProtocolError(f"{path}: line {number}: expected two {expected}, got {line.rstrip()[:80]!r}.")
        items += pair
    return items


def _modalities(values: Any, name: str, expected: str) -> list[Any]:
    array = as_numpy(values, name)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ProtocolError(f"{name}: expected pairs of {expected}, shape (n, 2), got shape {array.shape}.")
    return conversion.items_from(array.ravel(), name).tolist()
