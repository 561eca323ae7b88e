"""Read splits: one file for a complete split, or one list for each partition, as published splits do.

A complete split is an HDF5 file as the pipeline writes it, an ``.npz`` file (both contain row numbers, by partition),
or a ``.csv`` file with a line ``partition,id``, or ``id,partition``, for each item. A list contains one partition, in
one of the forms of `protocol.inputs.lists`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, one_of
from protocol.inputs.arrays import as_integers, npz_keys, read_array
from protocol.inputs.fields import read_table
from protocol.inputs.forms import paired
from protocol.inputs.lists import Listing, read_listings
from protocol.inputs.text import advice_on_rows, check_regular, unsafe
from protocol.inputs.validation import n_classes as n_distinct
from protocol.inputs.validation import rows
from protocol.provenance import storage
from protocol.splits._protocol import PARTITIONS

Rows = NDArray[np.int64]
_AS_LISTS = "Pass the list of a partition by its name, such as query=F and database=F."


def places_of(lists: Sequence[tuple[str, NDArray]], ids: Any, source: str | None = None) -> list[Rows]:
    """Return, for each list, the row of each item in a dataset, in the order of the items; an item may occur twice.

    Parameters
    ----------
    lists : sequence of (str, ndarray of str or of int, shape (n,))
        The name of each list, for error messages, and its ids or row numbers. An id matches the complete id of an item,
        or the part after its last slash if only one item has that part, because published lists often contain the paths
        of another machine; or the only id that is alike (`protocol.inputs.forms`), unless its last part alone is an id.
    ids : array of str or of UTF-8 bytes, shape (n_items,)
        The ids of the dataset, in memory or in a file; they are read only if the items are ids.
    source : str or None
        The file that has these ids, for error messages; None for the dataset.

    Raises
    ------
    ProtocolError
        If items are not in the dataset; it counts them in all lists.
    """
    names = storage.decoded(ids[:]).tolist() if any(items.dtype.kind not in "iu" for _, items in lists) else []
    places = [rows(of, len(ids), name) if of.dtype.kind in "iu" else _places(of, names) for name, of in lists]
    unknown = [items[at < 0] for (_, items), at in zip(lists, places, strict=True)]
    problems = [
        f"{name}: {counted(of.size, 'unknown id')} among {len(items):,}, the first {str(of[0])!r}"
        for (name, items), of in zip(lists, unknown, strict=True)
        if of.size
    ]
    if problems:
        known = f"{source} lacks them: add them, or remove them from the lists. It" if source else "The dataset"
        advice = advice_on_rows(np.concatenate(unknown))
        raise ProtocolError(f"{'; '.join(problems)}. {known} has ids such as {names[0]!r}.{advice}")
    return places


def _places(items: NDArray, names: Sequence[str]) -> Rows:
    """Return the position of each id among the names of all items; -1 if it is unknown."""
    by_id = {name_of_item: row for row, name_of_item in enumerate(names)}
    n_with = Counter(map(_tail, names))
    by_tail = {_tail(name_of_item): row for name_of_item, row in by_id.items() if n_with[_tail(name_of_item)] == 1}
    positions = np.array([by_id.get(item, by_tail.get(_tail(item), -1)) for item in items.tolist()], dtype=np.int64)
    if others := {item for item in items[positions < 0].tolist() if _tail(item) not in by_id}:
        listed_as = paired(sorted(others), names)
        rows_of_others = [by_id.get(listed_as.get(item, item), -1) for item in items.tolist()]
        positions = np.where(positions < 0, rows_of_others, positions)
    return positions


def rows_of(items: NDArray, ids: Any, name: str) -> NDArray[np.int64]:
    """Return the rows of items in a dataset, ascending: `places_of` for items that must be unique.

    Raises
    ------
    ProtocolError
        If an item is not in the dataset, or occurs twice.
    """
    distinct, counts = np.unique(places_of([(name, items)], ids)[0], return_counts=True)
    if len(distinct) < len(items):
        twice = storage.decoded(ids[distinct[counts > 1]]).tolist()
        raise ProtocolError(f"{name}: {counted(len(twice), 'item')} listed more than once, the first {twice[0]!r}.")
    return distinct


def _tail(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def read_lists(files: Mapping[str, str | Path], ids: Any, n_classes: int | None = None) -> dict[str, NDArray[np.int64]]:
    """Read a split from a list for each partition.

    Parameters
    ----------
    files : mapping of str to path
        A list in any form of `protocol.inputs.lists`, by partition; an item may not be listed twice.
    ids : array of str or of UTF-8 bytes, shape (n_items,), or None
        The ids of the dataset, as for `places_of`; None if unknown, and then the result is {}.
    n_classes : int or None
        Number of classes of the dataset, which the labels in a list must match. None if unknown.

    Returns
    -------
    dict of str to ndarray of int64
        Row numbers, ascending.

    Raises
    ------
    ProtocolError
        If a list can't be read (`protocol.inputs.lists.read_listings`) or does not fit (`rows_of`), or has labels for
        another number of classes.
    """
    listings = read_listings(files, has_ids=True)
    for listing in listings.values():
        _check_classes(listing, n_classes)
    known = {} if ids is None else listings
    return {name: rows_of(listing.items, ids, listing.name) for name, listing in known.items()}


def _check_classes(listing: Listing, n_classes: int | None) -> None:
    """Raise ProtocolError if a list has more classes than the dataset, or unnamed ones of another number."""
    if listing.labels is None or n_classes is None:
        return
    n_listed, is_unnamed = n_distinct(listing.labels) or 0, listing.labels.ndim == 2 and not listing.classes
    if n_listed > n_classes or (is_unnamed and n_listed != n_classes):
        raise ProtocolError(f"{listing.name}: labels for {n_listed:,} classes, but the dataset has {n_classes:,}.")


def read_parts(path: str | Path) -> dict[str, NDArray]:
    """Read a complete split from ``.h5``, ``.npz`` or ``.csv`` without checking its items against a dataset.

    Returns
    -------
    dict of str to ndarray
        Row numbers (int64), or ids (str) from ``.csv``, by partition; an item may occur twice.

    Raises
    ------
    ProtocolError
        If the file is missing, damaged or of another kind, or a partition is unknown.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".h5":
            check_regular(path, "a split")
            parts = storage.read(path)
        case ".npz":
            parts = {name: as_integers(read_array(f"{path}:{name}"), f"{path}: {name}") for name in npz_keys(path)}
        case ".csv":
            parts = _table(path)
        case _:
            raise ProtocolError(f"{path}: expected a split as .h5, .npz or .csv. {_AS_LISTS}")
    for name in parts:
        one_of(name, PARTITIONS, f"{path}: partition")
    return parts


def _table(path: Path) -> dict[str, NDArray[np.str_]]:
    items: dict[str, list[str]] = {}
    table = read_table(path, str(path))
    first, last = ({fields[at] for fields in table.rows} for at in (0, -1))
    is_reversed = last <= {*PARTITIONS} and not first <= {*PARTITIONS}
    if not is_reversed and first.isdisjoint(PARTITIONS) and "partition" not in table.header:
        raise ProtocolError(f"{path}: no line has a partition, as in `query,a.jpg`. {_AS_LISTS}")
    for line, fields in zip(table.numbers, table.rows, strict=True):
        if len(fields) != 2:
            raise ProtocolError(f"{path}, line {line}: {','.join(fields)[:80]!r} must be a partition and an id.")
        partition, name = reversed(fields) if is_reversed else fields
        items.setdefault(partition, []).append(unsafe(name))
    return {name: np.array(ids, dtype=np.str_) for name, ids in items.items()}


# Splits of the pipeline


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """One run of a split: the row numbers of the items in each partition, ascending.

    Row numbers are indices into `ids`, `labels` and the arrays in the dataset's content.h5. Partitions that the split
    protocol does not define are empty. Precomputed codes (the key `codes` of a config file) must have their rows in
    the order of `query` and `database`.

    Parameters
    ----------
    query : ndarray of int64, shape (n,)
        Row numbers of the queries.
    database : ndarray of int64, shape (n,)
        Row numbers of the database.
    train : ndarray of int64, shape (n,)
        Row numbers of the training set.
    validation_query : ndarray of int64, shape (n,)
        Row numbers of the validation queries.
    validation_database : ndarray of int64, shape (n,)
        Row numbers of the database that the validation queries rank.
    path : Path
        The file of the split.
    items : Path or None
        The file with the dataset's ids and labels, results/datasets/DATASET/items.h5; None if it was not found.
    """

    query: Rows
    database: Rows
    train: Rows
    validation_query: Rows
    validation_database: Rows
    path: Path
    items: Path | None = None

    @cached_property
    def ids(self) -> NDArray[np.str_]:
        """The ids of all items of the dataset, shape (n_items,)."""
        return storage.decoded(self._stored["ids"])

    @cached_property
    def labels(self) -> NDArray | None:
        """The class labels of all items of the dataset; None for a dataset without labels.

        int64, shape (n_items,), or bool, shape (n_items, n_classes), if an item may have several.
        """
        return self._stored.get("labels")

    @cached_property
    def class_names(self) -> list[str]:
        """The names of the classes 0, 1, ...; [] for a dataset without labels."""
        return [name.decode() for name in self._stored["class_names"].tolist()]

    @cached_property
    def _stored(self) -> dict[str, NDArray]:
        if self.items is None:
            problem = "is not in the folder results/datasets next to the experiment"
            advice = "Pass its path: load_split(path, items=FILE)."
            raise ProtocolError(f"{self.path}: the items.h5 from which the split was drawn {problem}. {advice}")
        return storage.read(self.items)


def items_above(split: str | Path) -> Iterator[Path]:
    """Yield each ``items.h5`` in a parent folder of a split, or in the ``datasets`` of one."""
    for folder in Path(split).parents:
        yield from filter(Path.is_file, (folder / "items.h5", *sorted(folder.glob("datasets/*/items.h5"))))


def items_of(split: str | Path, digest: str | None) -> Path | None:
    """Return the file of `items_above` from which a split was drawn, by its digest; None if there is none."""
    return next((file for file in items_above(split) if storage.read_provenance(file)["digest"] == digest), None)


def load_split(path: str | Path, items: str | Path | None = None) -> Split:
    """Read one run of a split that the pipeline has written.

    Parameters
    ----------
    path : str or Path
        The file of the split, such as ``results/digits/splits/improved/run0/splits.h5``.
    items : str or Path, optional
        The dataset's ``items.h5``. By default, the file in ``results/datasets``, or in another folder above the split,
        whose digest the split records.

    Returns
    -------
    Split
        The row numbers of each partition, and the ids and labels of the dataset, which are read on first use.

    Raises
    ------
    ProtocolError
        If the file is missing, damaged or not a split, or `items` is not the file from which the split was drawn.
    """
    path = Path(path)
    if path.suffix.lower() != ".h5":
        raise ProtocolError(f"{path}: expected a splits.h5 that the pipeline has written.")
    made_from, parts = storage.read_provenance(path)["inputs"].get("labels"), read_parts(path)
    if items is None:
        items = items_of(path.resolve(), made_from)
    elif made_from not in (None, storage.read_provenance(Path(items))["digest"]):
        raise ProtocolError(f"items: {items} is not the items.h5 from which {path} was drawn.")
    rows_by_name = {name: parts.get(name, np.empty(0, dtype=np.int64)) for name in PARTITIONS}
    return Split(**rows_by_name, path=path, items=None if items is None else Path(items))
