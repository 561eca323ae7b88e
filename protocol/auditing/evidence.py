"""What is known about the items of a dataset: copies under other ids, groups, codes, and judged pairs."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.items import Dataset, Split, numbers_of, read_table
from protocol.auditing.known_pairs import known_pairs_for
from protocol.checks import ProtocolError, counted
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.inputs.arrays import named, numbers_with_ids
from protocol.inputs.labels import check_order, order_of_vectors
from protocol.inputs.validation import blocks
from protocol.provenance import storage

_BLOCK_BYTES, _DIGEST_BYTES = 32 << 20, 16
Copies = Mapping[str, NDArray[np.int64]]
"""By the kind of similarity, for the reader: the first item with the same content as each item."""


def copies_of(a: NDArray[np.int64], b: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each item of a partition, another item of the ascending partition `b` with the same content, or -1.

    There is only one per item, because a group of n copies has n (n - 1) / 2 pairs. `first` as in `Copies`.
    """
    lowest, highest = np.full((2, len(first)), -1)
    lowest[first[b[::-1]]] = b[::-1]  # among items with identical content, the last assignment wins
    highest[first[b]] = b
    content = first[a]
    copies = np.where(lowest[content] == a, highest[content], lowest[content])
    return np.where(copies == a, -1, copies)  # an item is not a copy of itself


def stored_copies(content: str | Path, features: Iterable[str | Path], dataset: Dataset) -> Copies:
    """Return the copies in a dataset of the pipeline: identical images, or features if it has no images.

    Parameters
    ----------
    content, features : path
        ``content.h5`` and each ``features.h5``.
    dataset : Dataset
    """
    has_images = "images" in storage.read_provenance(content)["arrays"]
    files = {"equal images": (content, "images")} if has_images else {}
    for path in () if has_images else features:
        name = storage.read_provenance(path)["maker"].removeprefix("feature ")
        files[f"equal features, {name}"] = (path, "X")
    copies = {}
    for alike, (path, array) in files.items():
        with storage.streamed(path, array) as rows:
            if len(rows) == dataset.n_items:  # otherwise rows are local descriptors, many of which are equal by nature
                copies[alike] = first_equal(rows, str(path))
    return copies


def first_equal(rows: Any, name: str = "features") -> NDArray[np.int64]:
    """Return, for each row of an array, the index of the first row with the same values.

    The array is read in blocks, and rows are compared by digests of 128 bits.

    Raises
    ------
    ProtocolError
        If a row contains NaN or infinity.

    Examples
    --------
    >>> first_equal(np.array([[1, 2], [0, 0], [1, 2], [1, 2]]))
    array([0, 1, 0, 0])
    """
    digests = bytearray()
    for block in map(np.ascontiguousarray, blocks(rows, _BLOCK_BYTES)):
        if block.dtype.kind == "f":
            is_finite = np.isfinite(block).reshape(len(block), -1).all(axis=1)
            if not is_finite.all():
                wrong = len(digests) // _DIGEST_BYTES + int(is_finite.argmin())
                raise ProtocolError(f"{name}: NaN or infinity in row {wrong:,}.")
            block = block + 0.0  # -0.0 becomes 0.0
        for row in block.view(np.uint8).reshape(len(block), -1):
            digests += hashlib.blake2b(row.data, digest_size=_DIGEST_BYTES).digest()
    _, first, group = np.unique(np.frombuffer(digests, f"V{_DIGEST_BYTES}"), return_index=True, return_inverse=True)
    return first[group]


def features_from(values: Any, dataset: Dataset, n_listed: int) -> NDArray:
    """Return the features of a dataset, one row per item; an ``.npy`` file is memory-mapped.

    Parameters
    ----------
    values : path or array_like, shape (n_items, d)
        Text may have an id next to each row; the rows are then matched with the ids of the dataset.
    dataset : Dataset
    n_listed : int
        The largest item number of a split plus one, which is the minimum number of rows.

    Raises
    ------
    ProtocolError
        If they are not a matrix or have the wrong number of rows, or the order of the dataset's ids is not known.
    """
    name = named(values, "features")
    X, ids = numbers_with_ids(values, "features")
    if ids is not None and dataset.ids is not None:
        return X[order_of_vectors(dataset.ids, ids, name, are_all=not dataset.has_listed_ids)]
    if ids is not None:
        remedy = "Give the ids of the dataset in the order of the row numbers (ids), or remove those of the features"
        check_order(name, ids, "row numbers", remedy)
    if dataset.has_listed_ids:
        raise ProtocolError(f"{name}: the lists contain ids, so the ids of its rows are needed (ids).")
    dataset.check_rows()
    n_items = dataset.n_rows(n_listed)
    if X.ndim != 2 or len(X) < n_items or (dataset.n_items is not None and len(X) != n_items):
        raise ProtocolError(f"{name}: expected features of shape ({n_items}, d), a row per item, got shape {X.shape}.")
    return X


@dataclass(frozen=True)
class Groups:
    """The group of each item of a dataset.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_items,)
        The number of each item's group; -1 for items without a group.
    names : sequence of str
        The names of the groups, by number.
    source : str
        The origin of the groups, for the reader.
    """

    codes: NDArray[np.int64]
    names: Sequence[str]
    source: str

    def sizes(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the given items in each group."""
        codes = self.codes[items]
        return np.bincount(codes[codes >= 0], minlength=len(self.names))

    def about(self, split: Split) -> str:
        """Return a sentence about the origin of the groups and the number of items without a group."""
        items = np.unique(split.listed)
        sizes = self.sizes(items)
        n_without = len(items) - int(sizes.sum())
        without = f"; {n_without:,} have none, so they are not checked" * bool(n_without)
        n_groups = counted(int((sizes > 0).sum()), "group")
        return f"Groups ({self.source}): {n_groups} of {counted(len(items), 'item')}{without}."


def groups_from(values: Any, dataset: Dataset, n_listed: int) -> Groups:
    """Return the group of each item.

    Parameters
    ----------
    values : str or Path
        A table with the columns ``id`` (an id or a row number) and ``group``. An empty string means no group.
    dataset : Dataset
    n_listed : int
        The largest item number of the split plus one.

    Raises
    ------
    ProtocolError
        If the groups can't be read or do not match the items.
    """
    _, rows = read_table(values, "groups", ("id", "group"))
    name, n_items, items = str(values), dataset.n_rows(n_listed), [row["id"] for _, row in rows]
    code_of = {"": -1}  # -1 for no group, then in order of first occurrence
    of_rows = np.array([code_of.setdefault(row["group"], len(code_of) - 1) for _, row in rows])
    numbers = numbers_of(items, dataset, n_items, name)
    listed = np.flatnonzero(numbers >= 0)
    codes = np.full(n_items if dataset.ids is None else len(dataset.ids), -1, dtype=np.int64)
    codes[numbers[listed]] = of_rows[listed]
    different = listed[codes[numbers[listed]] != of_rows[listed]]
    if different.size:
        raise ProtocolError(f"{name}: {items[different[0]]!r} is in two groups.")
    if not (codes >= 0).any():
        raise ProtocolError(f"{name}: no item of the split has a group.")
    return Groups(codes, list(code_of)[1:], name)


def codes_from(split: Split, query: Any, database: Any) -> CodePair:
    """Return the codes of a split, in the order of the lists of its queries and its database.

    Raises
    ------
    ProtocolError
        If codes can't be read or are not one for each item, or labels are missing.
    """
    codes = read_codes(query, database)
    for side, n_codes, values in zip(("query", "database"), codes.sizes, (query, database), strict=True):
        n_items, labels = len(split.entries[side]), split.dataset.class_labels(split.entries[side])
        if n_codes != n_items:
            name = named(getattr(values, "values", values), f"{side} codes")
            raise ProtocolError(f"{name}: {n_codes:,} codes for {n_items:,} items of the {side} list.")
        if labels is None:
            raise ProtocolError(f"query_codes and database_codes need the labels of all {side} items as well.")
    return codes


@dataclass(frozen=True, eq=False)
class Evidence:
    """Additional information about the items of a dataset, for `audit`, as files or arrays.

    Parameters
    ----------
    features : path or array_like, shape (n_items, d), optional
        Features in the order of the row numbers; items with equal features count as copies of each other.
    known_pairs : str or path, optional
        Manually judged pairs of (near-)duplicates: ``cifar10`` or ``cifar100`` for the shipped ones, a CSV file with
        the columns ``query,database,judgement`` (ids or row numbers; 0 exact copy, 1 near-duplicate, 2 very similar).
        For splits of the pipeline on these datasets, the shipped pairs are the default. Without ids, row numbers are
        assumed to count CIFAR's training images, then its test images.
    groups : path, optional
        The group of each item (a video, patient, scene or product, or an image with its text): a table with the
        columns ``id`` and ``group``.
    query_codes : path, array_like or `protocol.Codes`, optional
        The codes of the queries of one split, in the order of its list; labels are required as well.
    database_codes : path, array_like or `protocol.Codes`, optional
        The codes of the database of the same split, in the order of its list.
    """

    features: Any = None
    known_pairs: Any = None
    groups: Any = None
    query_codes: Any = None
    database_codes: Any = None

    def __post_init__(self) -> None:
        if (self.query_codes is None) != (self.database_codes is None):
            raise ProtocolError("query_codes and database_codes are only used together.")

    def copies(self, items: Path | None, dataset: Dataset, n_listed: int) -> Copies:
        """Return the copies by the features, or by the content next to the `items` of the pipeline."""
        if self.features is not None:
            X = features_from(self.features, dataset, n_listed)
            return {"equal features": first_equal(X, named(self.features, "features"))}
        content = items and items.with_name("content.h5")
        if not (content and content.is_file()):
            return {}
        return stored_copies(content, sorted(content.parent.glob("*/features.h5")), dataset)

    def of_items(self, split: Split, n_listed: int) -> dict[str, Any]:
        """Return what is known about the items of a split, by the names of `Run`, without copies.

        Parameters
        ----------
        split : Split
        n_listed : int
            The largest item number plus one.
        """
        known: dict[str, Any] = {"judged": known_pairs_for(self.known_pairs, split.dataset, n_listed)}
        if self.groups is not None:
            known["groups"] = groups_from(self.groups, split.dataset, n_listed)
        if self.query_codes is not None:
            known["codes"] = codes_from(split, self.query_codes, self.database_codes)
        return known
