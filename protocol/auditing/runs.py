"""Read splits from files or arrays as runs to audit, and what is known about their items."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.auditing.evidence import Copies, Groups
from protocol.auditing.items import Dataset, Split
from protocol.auditing.known_pairs import KnownPairs
from protocol.checks import ProtocolError, integer, one_of
from protocol.evaluation.code_pairs import CodePair
from protocol.inputs.arrays import is_file, items_from, named
from protocol.inputs.lists import Listing
from protocol.inputs.text import advice_on_rows
from protocol.inputs.validation import class_labels, rows
from protocol.provenance import storage
from protocol.splits import PARTITIONS, SplitProtocol, items_of, official_parts, places_of, read_parts

_LARGEST = 2**63 - 1
UNDECLARED = "from_lists"
"""The protocol that declares nothing: partitions may overlap in any way."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One split to audit, with its declared protocol, seed and sizes, and what is known about its items.

    What was not given is empty or None.

    Parameters
    ----------
    file : str
        Its name, such as its file.
    split : Split
    name : str
        Name of its protocol.
    seed : int or None
        None if it is not known, or nothing is drawn.
    sizes : mapping of str to int
        Known sizes of the partitions that the protocol leaves open.
    items : path or None
        The ``items.h5`` of the pipeline from which the split was drawn, if it is known.
    copies : Copies
    judged : KnownPairs
        Manually judged pairs of (near-)duplicates.
    groups : Groups
    options : mapping of str to object
        Known values of the options of its protocol (`protocol.splits.OPTIONS`).
    against : Run
        The split with which it is compared.
    codes : CodePair
        The codes of the queries and the database, in the order of their lists.
    """

    file: str
    split: Split
    name: str = UNDECLARED
    seed: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    items: Path | None = None
    copies: Copies = field(default_factory=dict)
    judged: KnownPairs | None = None
    groups: Groups | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    against: "Run | None" = None
    codes: CodePair | None = None

    @property
    def protocol(self) -> SplitProtocol:
        """The declared protocol, with its options."""
        protocol: SplitProtocol = registry.get("split", self.name)
        return protocol.with_options(self.options)

    @property
    def n_listed(self) -> int:
        """The largest item number plus one."""
        return int(self.split.listed.max()) + 1


def read_dataset(path: str | Path) -> Dataset:
    """Read the properties of a dataset from its ``items.h5``."""
    items, record = storage.read(path), storage.read_provenance(path)
    y, ids = items.get("labels"), storage.decoded(items["ids"])
    return Dataset(
        n_items=len(ids),
        ids=ids,
        y=None if y is None else class_labels(y, len(ids), f"{path}: labels"),
        class_names=storage.decoded(items["class_names"]).tolist(),
        official=official_parts(items),
        digest=record["digest"],
        name=str(record["maker"]).removeprefix("dataset").strip() or None,
    )


def read_runs(splits: Sequence[Any], dataset: Dataset, *, protocol: str | None = None) -> list[Run]:
    """Read complete splits, each as a run.

    Parameters
    ----------
    splits : sequence of path, or of mapping of str to array_like
        Files for `protocol.splits.read_parts`, or row numbers or ids by partition. A file of the pipeline records the
        protocol, the sizes and the seed of its sample. Unless the dataset is known, its ``items.h5`` is searched for in
        the parent folders.
    dataset : Dataset
        The known properties of the dataset.
    protocol : str or None
        The intended protocol; None for the one that a file records, if any.

    Raises
    ------
    ProtocolError
        If a file can't be read, a split has no queries or no database, or an item is not in the dataset.
    """
    read, empty = functools.cache(read_dataset), np.empty(0, dtype=np.int64)
    runs: dict[str, Run] = {}  # a file given twice is a single run
    for number, split in enumerate(splits, start=1):
        name = named(split, "split" + f" {number}" * (len(splits) > 1))
        parts, record = _read(split, name)
        lists = {part: Listing(name, items_from(items, f"{name}: {part}"), None, "") for part, items in parts.items()}
        items = items_of(split, record["inputs"].get("labels")) if record and dataset.n_items is None else None
        declared = str(record.get("maker", "")).removeprefix("split").strip() or UNDECLARED
        run = run_of(name, lists, read(items) if items else dataset, protocol or declared)
        complete = Split({**dict.fromkeys(PARTITIONS, empty), **run.split.entries}, run.split.dataset)
        drawn = _drawn(record, complete.dataset) if record and run.name == declared else {}
        runs[name] = dataclasses.replace(run, split=complete, items=items, **drawn)
    return list(runs.values())


def _drawn(record: Mapping[str, Any], dataset: Dataset) -> dict[str, Any]:
    """Return the options of a protocol that a file records, and the seed if it was drawn from this dataset."""
    is_drawn_from_it = dataset.digest is not None and dataset.digest == record["inputs"].get("labels")
    parameters, seed = record["parameters"], record.get("seed") if is_drawn_from_it else None
    return {"seed": seed, "sizes": parameters.get("sizes", {}), "options": parameters}


def _read(split: Any, name: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the partitions of a split, and the provenance record of a file of the pipeline."""
    if is_file(split):
        return read_parts(split), _provenance(split)
    if not isinstance(split, Mapping):
        got = f"{type(split).__name__}. Pass the lists of one split by name: audit(query=..., database=...)"
        raise ProtocolError(f"{name} must be a file, or a mapping of partition names to row numbers or ids, got {got}.")
    for part in split:
        one_of(part, PARTITIONS, f"{name}: partition")
    return {part: items for part, items in split.items() if items is not None}, {}


def _provenance(file: str | Path) -> dict[str, Any]:
    """Return the provenance record of a file of the pipeline, after checking it, because files may be forged."""
    if Path(file).suffix.lower() != ".h5":
        return {}
    record = storage.read_provenance(file)
    parameters = record.get("parameters")
    sizes = parameters.get("sizes", {}) if isinstance(parameters, dict) else None
    fields = (record.get("maker"), record.get("inputs"), sizes)
    if not all(map(isinstance, fields, (str, dict, dict))):
        raise ProtocolError(f"{file}: the provenance record is not that of a split of the pipeline.")
    for name, number in ({"seed": record.get("seed"), **(sizes or {})}).items():
        if number is not None:
            integer(number, f"{file}: provenance record: {name}", minimum=0, maximum=_LARGEST)
    return record


def run_of(name: str, lists: Mapping[str, Listing], dataset: Dataset, protocol: str | None = None) -> Run:
    """Return a split that consists of a list for each partition.

    Parameters
    ----------
    name : str
        Its name in the audit.
    lists : mapping of str to Listing
        By partition, as `lists_from` returns them. Partitions that are not in the mapping are not checked.
    dataset : Dataset
        The known properties of the dataset, in addition to the lists.
    protocol : str or None
        The intended protocol.

    Raises
    ------
    ProtocolError
        If the lists have labels for different numbers of classes, some have ids and some row numbers, an item is not
        in the dataset, or there are no queries or no database.
    """
    registry.get("split", protocol or UNDECLARED)
    split = split_of(lists, dataset)
    for part in ("query", "database"):
        if not len(split[part]):
            raise ProtocolError(f"{name}: the {part} partition is empty.")
    return Run(name, split, protocol or UNDECLARED)


def split_of(lists: Mapping[str, Listing], dataset: Dataset) -> Split:
    """Return lists of ids, or of row numbers, as a split with item numbers of one dataset."""
    lists = {part: listing for part, listing in lists.items() if len(listing.items)}
    dataset, labels = _with_class_numbers(lists, dataset)
    by_name: dict[str, Any] = {"the labels": dataset.y} | {lists[part].name: y for part, y in labels.items()}
    widths = {name: y.shape[1] for name, y in by_name.items() if np.ndim(y) == 2}
    if len(set(widths.values())) > 1:
        counts = ", ".join(f"{width:,} in {name}" for name, width in widths.items())
        raise ProtocolError(f"lists: the numbers of classes of the labels differ: {counts}.")
    dataset = dataclasses.replace(dataset, ids=_ids_in(list(lists.values()), dataset))
    if dataset.ids is None:
        n_items = dataset.n_rows(max((int(listing.items.max()) for listing in lists.values()), default=0) + 1)
        parts = {part: rows(listing.items, n_items, listing.name) for part, listing in lists.items()}
    else:
        places = places_of([(one.name, one.items) for one in lists.values()], dataset.ids, dataset.ids_of)
        parts = dict(zip(lists, places, strict=True))
    return Split(parts, _labelled(dataset, parts, labels), labels)


def _with_class_numbers(lists: Mapping[str, Listing], dataset: Dataset) -> tuple[Dataset, dict[str, NDArray]]:
    """Return the labels in lists with the class numbers of the dataset, or with those of all names in the lists."""
    labels = {part: listing.labels for part, listing in lists.items() if listing.labels is not None}
    columns = next((listing.classes for listing in lists.values() if listing.classes), ())
    if not columns and all(array.dtype.kind != "U" for array in labels.values()):
        return dataset, labels
    if dataset.y is not None and not dataset.class_names:
        raise ProtocolError("labels: the lists name their classes, but the labels have numbers. Give both in one form.")
    names = dataset.class_names or columns or np.unique(np.concatenate(list(labels.values()))).tolist()
    numbers = dict(zip(names, itertools.count()))
    labels = {part: _in_numbers(array, columns, numbers) for part, array in labels.items()}
    return dataclasses.replace(dataset, class_names=list(names)), labels


def _in_numbers(labels: NDArray, columns: Sequence[str], numbers: Mapping[str, int]) -> NDArray:
    """Return names of classes as their numbers, -1 if they are unknown; or columns with names in the same order."""
    if not columns:
        return np.array([numbers.get(name, -1) for name in labels.tolist()])
    ordered = np.zeros((len(labels), len(numbers)), dtype=np.bool_)
    ordered[:, [numbers[name] for name in columns if name in numbers]] = labels[
        :, [name in numbers for name in columns]
    ]
    return ordered


def _ids_in(lists: Sequence[Listing], dataset: Dataset) -> NDArray | None:
    """Return the known ids, or those in lists in the order of their first occurrence; None for row numbers."""
    of_rows = [listing.items.dtype.kind in "iu" for listing in lists]
    if any(of_rows):
        dataset.check_rows()
    if dataset.ids is not None or all(of_rows):
        return dataset.ids
    ids, items = lists[of_rows.index(False)].name, lists[of_rows.index(False)].items
    order = f"{advice_on_rows(items)} Give the ids of the dataset in the order of"
    if dataset.n_items is not None:
        raise ProtocolError(f"{ids}: contains ids, so the order of the labels is unknown.{order} the labels (ids).")
    if any(of_rows):
        rows_in = lists[of_rows.index(True)].name
        raise ProtocolError(f"lists: {ids} contains ids and {rows_in} row numbers.{order} its rows (ids).")
    return np.array(list(dict.fromkeys(np.concatenate([listing.items for listing in lists]).tolist())))


def _labelled(dataset: Dataset, parts: Mapping[str, NDArray], labels: Mapping[str, NDArray]) -> Dataset:
    """Return the dataset with the labels in the lists; for an item with several, the first one."""
    if not labels or dataset.ids is None or dataset.y is not None:
        return dataset
    first = next(iter(labels.values()))
    y = np.zeros((len(dataset.ids), *first.shape[1:]), dtype=first.dtype)
    labelled = np.zeros(len(dataset.ids), dtype=np.bool_)
    for part in list(labels)[::-1]:
        y[parts[part][::-1]] = labels[part][::-1]  # for an item that occurs twice, the last assignment wins
        labelled[parts[part]] = True
    if y.ndim == 2 and all((matrix.sum(axis=1) == 1).all() for matrix in labels.values()):
        y = y.argmax(axis=1)
    return dataclasses.replace(dataset, y=y, labelled=None if labelled.all() else labelled)
