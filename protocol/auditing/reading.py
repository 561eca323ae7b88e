"""Splits as users have them, read without judging them: that is for the audit."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry, storage
from protocol.auditing.split import Dataset, Split
from protocol.checks import ProtocolError, rows
from protocol.evaluation.labels import labels_from
from protocol.formats.arrays import read_array
from protocol.splits import PARTITIONS, SplitProtocol, places_of, read_list, read_parts

UNDECLARED = "from_lists"
"""The protocol that declares nothing: any partition may share items with any other."""


@dataclass(frozen=True)
class Run:
    """One split to audit, with what is said of its making.

    Parameters
    ----------
    file : str
        Where it came from.
    split : Split
    name : str
        Of its protocol.
    seed : int or None
        None: not known, or nothing is drawn.
    sizes : mapping of str to int
        Of the partitions that the protocol leaves open, as far as they are known.
    """

    file: str
    split: Split
    name: str = UNDECLARED
    seed: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def protocol(self) -> SplitProtocol:
        """What is declared."""
        return registry.get("split", self.name)


def read_dataset(path: str | Path) -> Dataset:
    """Read what the pipeline knows of a dataset: its ``items.h5``."""
    items = storage.read(path)
    ids = np.char.decode(items["ids"], "utf-8")
    return Dataset(
        n_items=len(ids),
        ids=ids,
        y=items.get("labels"),
        class_names=[name.decode() for name in items["class_names"]],
        official=storage.grouped(items).get("partitions", {}),
        digest=storage.read_passport(path)["digest"],
    )


def known_dataset(ids: str | Path | None = None, labels: str | Path | None = None) -> Dataset:
    """Return what a user says of a dataset.

    Parameters
    ----------
    ids : path or None
        A list with an id a line, in the order of the row numbers.
    labels : path or None
        Class labels in the same order: integers, or a 0/1 matrix.
    """
    names: NDArray | None = None
    y: NDArray | None = None
    if ids is not None:
        names, _ = read_list(ids)
        if names.dtype.kind in "iu" or len(np.unique(names)) < len(names):
            raise ProtocolError(f"{ids}: wanted the dataset's ids, each once, came row numbers or an id that repeats")
    if labels is not None:
        values = read_array(labels)
        own = values.size if 1 in values.shape else len(values)
        y = labels_from(values, str(labels), own if names is None else len(names))
    n_items = next((len(known) for known in (names, y) if known is not None), None)
    return Dataset(n_items=n_items, ids=names, y=y)


def read_runs(paths: Iterable[str | Path], dataset: Dataset, *, protocol: str | None = None) -> list[Run]:
    """Read whole splits, each a run.

    Parameters
    ----------
    paths : iterable of path
        As `protocol.splits.read_parts` reads them. What the pipeline left says itself by which protocol it was drawn,
        with which sizes and seed; and unless a dataset is given, its ``items.h5`` is looked for in the folders above.
    dataset : Dataset
        What is known of the dataset beside that.
    protocol : str or None
        The one to hold the splits to; None: the one that each was drawn by, if it says so.

    Raises
    ------
    ProtocolError
        If a file can't be read, has no query or no database, or an item is none of the dataset's.
    """
    read: dict[Path, Dataset] = {}
    runs = []
    for path in map(Path, paths):
        parts, made, items = read_parts(path), {}, None
        if path.suffix.lower() == ".h5":
            made = storage.read_passport(path)
            items = None if dataset.n_items is not None else _items_above(path, made)
            if items is not None and items not in read:
                read[items] = read_dataset(items)
        own = dataset if items is None else read[items]
        runs.append(_run(path, parts, own, made, protocol))
    return runs


def _run(
    path: Path, parts: Mapping[str, NDArray], dataset: Dataset, passport: Mapping[str, Any], asked: str | None
) -> Run:
    declared = str(passport.get("maker", "")).removeprefix("split").strip() or UNDECLARED
    name = asked or declared
    registry.get("split", name)
    split = _split({part: (items, None) for part, items in parts.items()}, dataset, dict.fromkeys(parts, str(path)))
    whole = {part: split.entries.get(part, np.empty(0, dtype=np.int64)) for part in PARTITIONS}
    split = _usable(Split(whole, split.dataset), str(path))
    if name != declared or not passport:
        return Run(str(path), split, name)
    drawn_from_it = dataset.digest is not None and dataset.digest == passport["inputs"].get("labels")
    sizes = passport["parameters"].get("sizes", {})
    return Run(str(path), split, name, passport["seed"] if drawn_from_it else None, sizes)


def read_lists(files: Mapping[str, str | Path], dataset: Dataset, *, protocol: str | None = None) -> Run:
    """Read a split from a list for each partition, as `protocol.splits.read_list` reads them.

    Parameters
    ----------
    files : mapping of str to path
        By partition; what is not in it is not judged.
    dataset : Dataset
        What is known of the dataset beside the lists.
    protocol : str or None
        The one to hold the split to.

    Raises
    ------
    ProtocolError
        If a list can't be read, the lists have labels for another number of classes, some have ids and some row
        numbers, or an item is none of the dataset's.
    """
    name = protocol or UNDECLARED
    registry.get("split", name)
    lists = {part: read_list(file) for part, file in files.items()}
    split = _split(lists, dataset, {part: str(file) for part, file in files.items()})
    file = " ".join(map(str, files.values()))
    return Run(file, _usable(split, file), name)


def _usable(split: Split, file: str) -> Split:
    for part in ("query", "database"):
        if not len(split[part]):
            raise ProtocolError(f"{file}: wanted a query and a database partition, came an empty {part}")
    return split


def _items_above(splits: Path, passport: Mapping[str, Any]) -> Path | None:
    """Return the ``items.h5`` that a split was drawn from, where a folder above or its ``datasets`` holds it."""
    for folder in splits.parents:
        for path in (folder / "items.h5", *sorted(folder.glob("datasets/*/items.h5"))):
            if path.is_file() and storage.read_passport(path)["digest"] == passport["inputs"].get("labels"):
                return path
    return None


def _split(lists: Mapping[str, tuple[NDArray, NDArray | None]], dataset: Dataset, files: Mapping[str, str]) -> Split:
    """Return lists of ids, or of row numbers, as item numbers of one dataset."""
    arrays = {part: items for part, (items, _) in lists.items()}
    flags = {part: own for part, (_, own) in lists.items() if own is not None}
    widths = {files[part]: own.shape[1] for part, own in flags.items()}
    if dataset.y is not None and dataset.y.ndim == 2:
        widths = {"the labels": dataset.y.shape[1], **widths}
    if len(set(widths.values())) > 1:
        came = ", ".join(f"{width} in {file}" for file, width in widths.items())
        raise ProtocolError(f"wanted labels for the same classes in every list, came {came}")
    numbers = {part for part, items in arrays.items() if items.dtype.kind in "iu"}
    if dataset.ids is not None:
        parts = {part: places_of(items, dataset.ids, files[part]) for part, items in arrays.items() if len(items)}
        return Split(parts, dataset if dataset.y is not None else _labelled(dataset, parts, flags), flags)
    if len(numbers) == len(arrays):
        largest = dataset.n_items or max(int(items.max(initial=0)) for items in arrays.values()) + 1
        return Split({part: rows(items, largest, files[part]) for part, items in arrays.items() if len(items)}, dataset)
    if dataset.n_items is not None:
        raise ProtocolError("labels and features are by row number, the lists by id: name the ids in that order, --ids")
    if numbers:
        raise ProtocolError("wanted ids in every list, or row numbers in every list, came both: name the ids, --ids")
    import pandas as pd

    codes, ids = pd.factorize(np.concatenate(list(arrays.values())))
    bounds = np.cumsum([len(items) for items in arrays.values()])[:-1]
    parts = dict(zip(arrays, np.split(codes, bounds), strict=True))
    return Split(parts, _labelled(Dataset(ids=np.asarray(ids)), parts, flags), flags)


def _labelled(dataset: Dataset, parts: Mapping[str, NDArray], flags: Mapping[str, NDArray[np.bool_]]) -> Dataset:
    """Return the dataset with the labels that lists have: of an item with several, the first."""
    if not flags or dataset.ids is None:
        return dataset
    n_items = len(dataset.ids)
    matrix = np.zeros((n_items, next(iter(flags.values())).shape[1]), dtype=np.bool_)
    labelled = np.zeros(n_items, dtype=np.bool_)
    for part in list(flags)[::-1]:
        matrix[parts[part][::-1]] = flags[part][::-1]  # of an item that stands twice the last assignment stays
        labelled[parts[part]] = True
    one_each = all((own.sum(axis=1) == 1).all() for own in flags.values())
    y = matrix.argmax(axis=1) if one_each else matrix
    return dataclasses.replace(dataset, y=y, labelled=None if labelled.all() else labelled)
