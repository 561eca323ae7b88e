"""Relevance: the relevant database items of each query and their levels, one query at a time and never as a matrix."""

import copy
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import ProtocolError
from protocol.inputs.validation import blocks, class_labels, rows
from protocol.scores.metadata import OF_LABELS

_BLOCK_BYTES = 32 << 20


class LabelRelevance:
    """Relevance by labels: items that share a label with the query are relevant; the level is the number of these.

    Parameters
    ----------
    query_labels : array_like of int, shape (n,), or of bool or 0/1, shape (n, n_classes)
        One class per query, or any number of labels per query.
    database_labels : array_like of int, shape (n,), or of bool or 0/1, shape (n, n_classes)
        The labels of the database, of the same kind. An item without labels is not relevant to any query. They may be
        memory-mapped: they are read in blocks, and sorted by class only when a method requires it.

    Raises
    ------
    ProtocolError
        If the labels are of another kind, or differ in kind between queries and database.

    Examples
    --------
    >>> LabelRelevance([7, 8], [7, 7, 9]).row(0)
    (array([0, 1]), array([1, 1]))
    >>> LabelRelevance([[1, 1, 0]], [[1, 0, 1], [0, 0, 1], [1, 1, 1]]).row(0)
    (array([0, 2]), array([1, 2]))
    """

    def __init__(self, query_labels: ArrayLike, database_labels: ArrayLike) -> None:
        query, database = _comparable(np.asarray(query_labels), np.asarray(database_labels))
        query = class_labels(query, query.shape[0] if query.ndim else 0, "query labels")
        database = class_labels(database, database.shape[0] if database.ndim else 0, "database labels")
        if query.shape[1:] != database.shape[1:]:
            raise ProtocolError(f"labels of queries and database differ: shapes {query.shape}, {database.shape}.")
        self.n_queries, self.n_database = len(query), len(database)
        self.kind = OF_LABELS[query.ndim - 1]
        self._query, self._database = query, database
        self.groups, group = np.unique(query, axis=0, return_inverse=True)
        """The distinct labels of the queries, (n_groups,) or (n_groups, n_classes), ascending."""
        self.n_groups, self.group = len(self.groups), group.reshape(-1)
        """The group of each query, (n_queries,); the queries of a group have the same labels."""
        self.levels = np.ones(1, dtype=np.int64)
        if query.ndim == 2:
            parts = blocks(query, _BLOCK_BYTES), blocks(database, _BLOCK_BYTES)
            most = min(max(int(part.sum(axis=1).max()) for part in side) for side in parts)
            self.levels = np.arange(1, max(most, 1) + 1)

    @property
    def labels(self) -> tuple[NDArray, NDArray]:
        """The labels of the queries and of the database, as they were given."""
        return self._query, self._database

    def class_numbers(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Return the classes, ascending, and the index of each item's class among them, (n_database,)."""
        low, high = (int(end) for end in (self._database.min(), self._database.max())) if self.n_database else (0, -1)
        if high - low < 1 << 16:  # NumPy uses radix sort for short integers
            wide = self._database.astype(np.int16) if self._database.itemsize == 1 else self._database
            return np.arange(high - low + 1).astype(wide.dtype) + wide.dtype.type(low), (wide - low).astype(np.uint16)
        return np.unique(self._database, return_inverse=True)

    @cached_property
    def _by_class(self) -> NDArray[np.uint8]:
        """The items that have each label, (n_classes, n_bytes); packed, because 1,000 classes take 1 GB unpacked."""
        return np.ascontiguousarray(np.packbits(self._database, axis=0).T)

    def first(self, n_queries: int) -> "LabelRelevance":
        """Return the relevance to the first queries."""
        return LabelRelevance(self._query[:n_queries], self._database)

    def part(self, start: int, stop: int) -> Self:
        """Return the relevance of the database items from `start` to `stop` (exclusive), with the same levels."""
        part = copy.copy(self)
        part._database, part.n_database = self._database[start:stop], stop - start
        part.__dict__.pop("_by_class", None)
        return part

    def row(self, query: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the database positions of the items relevant to a query, ascending, and their levels."""
        levels = self.level_numbers(int(self.group[query]))
        positions = np.flatnonzero(levels)
        return positions, levels[positions].astype(np.int64)

    def canonical(self) -> Iterator[tuple[str, tuple[int, ...], Iterable[NDArray]]]:
        """Yield the labels of the queries and of the database, numbered or sorted independently of their names.

        Each is given as the dtype and shape of an array, and its rows in blocks. A class that no query has is -1 in the
        database. A column of the label matrix that is empty for the queries or the database is omitted.
        """
        if self._query.ndim == 1:
            classes, first, query = np.unique(self._query, return_index=True, return_inverse=True)
            number = np.argsort(np.argsort(first))  # of each class, in the order of first occurrence in the queries
            yield "<i8", query.shape, [number[query].astype("<i8")]
            yield "<i8", (self.n_database,), self._numbered(classes, number)
            return
        used = np.flatnonzero(self._query.any(axis=0) & self._by_class.any(axis=1)).tolist()

        def bits(label: int) -> bytes:
            """Return the bits of a column, the queries' first, packed in bytes; the last byte counts most."""
            return np.packbits(np.concatenate([self._query[:, label], self._of_class(label)]))[::-1].tobytes()

        columns = np.array(sorted(used, key=bits), dtype=np.int64)
        yield "|b1", (self.n_queries, len(columns)), [self._query[:, columns]]
        yield "|b1", (self.n_database, len(columns)), self._rows(columns)

    def _numbered(self, classes: NDArray, number: NDArray[np.int64]) -> Iterator[NDArray]:
        """Yield, in blocks, the class numbers of the database items; -1 for a class that is not in `classes`."""
        for block in blocks(self._database, _BLOCK_BYTES):
            position = np.minimum(np.searchsorted(classes, block), len(classes) - 1)
            yield np.where(classes[position] == block, number[position], -1).astype("<i8")

    def _rows(self, columns: NDArray[np.int64]) -> Iterator[NDArray]:
        """Yield the label matrix of the database with sorted columns, in blocks of rows."""
        step = max(1, _BLOCK_BYTES // (8 * max(1, len(columns))))
        packed = self._by_class[columns]
        for start in range(0, packed.shape[1], step):
            count = min(8 * step, self.n_database - 8 * start)
            yield np.unpackbits(packed[:, start : start + step], axis=1, count=count).T.view(bool)

    def level_numbers(self, group: int) -> NDArray[np.unsignedinteger]:
        """Return the level of each database item for the queries of a group, 0 if it is not relevant, (n_database,)."""
        if self._query.ndim == 1:
            return (self._database == self.groups[group]).view(np.uint8)
        shared = np.zeros(self.n_database, dtype=np.min_scalar_type(self.groups.shape[1]))
        for label in np.flatnonzero(self.groups[group]).tolist():
            shared += self._of_class(label)
        return shared

    def _of_class(self, label: int) -> NDArray[np.uint8]:
        """Return 1 for each database item that has a label, else 0, (n_database,)."""
        return np.unpackbits(self._by_class[label], count=self.n_database)


def _comparable(query: NDArray, database: NDArray) -> tuple[NDArray, NDArray]:
    """Return labels that NumPy compares exactly: it compares uint64 with signed integers as float64."""
    sides = [
        side.astype(np.int64) if side.dtype == np.uint64 and side.max(initial=0) < 1 << 63 else side
        for side in (query, database)
    ]
    if any(side.dtype.kind not in "iuO" for side in sides) or np.result_type(*sides).kind in "iu":
        return query, database
    _, numbers = np.unique(np.concatenate([side.astype(object) for side in sides]), return_inverse=True)
    return numbers[: len(query)], numbers[len(query) :]


class NeighbourRelevance:
    """Relevance by lists: the relevant items of each query, as compressed sparse rows.

    Parameters
    ----------
    indptr : array_like of int, shape (n_queries + 1,)
        Query i has ``indices[indptr[i]:indptr[i + 1]]``.
    indices : array_like of int, shape (n_pairs,)
        Database positions, ascending for each query.
    n_database : int
    levels : array_like of int, shape (n_pairs,), optional
        The relevance level of each pair, at least 1; all levels are 1 if None.

    Raises
    ------
    ProtocolError
        If the arrays do not fit together, contain positions outside the database or list an item twice.

    Examples
    --------
    >>> NeighbourRelevance([0, 2, 2], [1, 4], n_database=5).row(0)
    (array([1, 4]), array([1, 1]))
    """

    def __init__(self, indptr: ArrayLike, indices: ArrayLike, n_database: int, levels: ArrayLike | None = None) -> None:
        ends, positions = np.asarray(indptr), np.asarray(indices)
        n_pairs = positions.size
        _check_ends(ends, n_pairs)
        self._indptr = ends.astype(np.int64, copy=False)
        self._indices = rows(positions, n_database, "indices") if n_pairs else np.empty(0, dtype=np.int64)
        starts_row = np.zeros(n_pairs + 1, dtype=bool)
        starts_row[self._indptr] = True
        if not ((self._indices[1:] > self._indices[:-1]) | starts_row[1:-1]).all():
            raise ProtocolError("indices must be distinct database positions in ascending order for each query.")
        given = np.ones(n_pairs, dtype=np.int64) if levels is None else np.asarray(levels)
        if given.shape != (n_pairs,) or given.dtype.kind not in "iu" or (given < 1).any():
            raise ProtocolError(f"levels must be {n_pairs:,} integers >= 1, got shape {given.shape} of {given.dtype}.")
        self._levels = given.astype(np.int64, copy=False)
        self.n_queries, self.n_database = ends.size - 1, n_database
        self.levels = np.unique(self._levels) if n_pairs else np.ones(1, dtype=np.int64)
        self.kind = "neighbours" if self.levels.max() == 1 else "graded neighbours"

    def row(self, query: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the database positions of the items relevant to a query, ascending, and their levels."""
        listed = slice(self._indptr[query], self._indptr[query + 1])
        return self._indices[listed], self._levels[listed]

    def first(self, n_queries: int) -> "NeighbourRelevance":
        """Return the relevance to the first queries."""
        indptr, end = self._indptr[: n_queries + 1], self._indptr[n_queries]
        return NeighbourRelevance(indptr, self._indices[:end], self.n_database, self._levels[:end])

    def part(self, start: int, stop: int) -> Self:
        """Return the relevance of the database items from `start` to `stop` (exclusive), with the same levels."""
        inside = (self._indices >= start) & (self._indices < stop)
        part = copy.copy(self)
        part._indptr = np.append(0, np.cumsum(inside))[self._indptr]
        part._indices, part._levels = self._indices[inside] - start, self._levels[inside]
        part.n_database = stop - start
        return part

    def canonical(self) -> Iterator[tuple[str, tuple[int, ...], Iterable[NDArray]]]:
        """Yield the positions and the levels of each query, like `LabelRelevance.canonical`."""
        for query in range(self.n_queries):
            for array in self.row(query):
                yield "<i8", array.shape, [array.astype("<i8", copy=False)]


def _check_ends(ends: NDArray, n_pairs: int) -> None:
    if ends.ndim != 1 or ends.size < 2 or ends.dtype.kind not in "iu":
        raise ProtocolError(f"indptr must be integers (n_queries + 1,), got shape {ends.shape} of {ends.dtype}.")
    if ends[0] != 0 or ends[-1] != n_pairs or (ends[1:] < ends[:-1]).any():
        raise ProtocolError(f"indptr must ascend from 0 to {n_pairs:,}, got values from {ends[0]:,} to {ends[-1]:,}.")


Relevance = LabelRelevance | NeighbourRelevance
"""A ground truth: its `n_queries` and `n_database`; its `kind`, as in `protocol.scores.metadata`; the `levels` that may
occur, positive and ascending; and the relevant items of each query, with `row`. Items at level 0 are never listed."""


def relevance_from_arrays(arrays: Mapping[str, NDArray], n_database: int) -> Relevance:
    """Return the relevance from the arrays of a ground truth.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        ``query_labels`` and ``database_labels``, or ``indptr`` and ``indices`` (and ``levels``); others are ignored.
    n_database : int

    Raises
    ------
    ProtocolError
        If neither pair of arrays is given, and as for `LabelRelevance` and `NeighbourRelevance`.
    """
    relevance: Relevance
    if {"query_labels", "database_labels"} <= arrays.keys():
        relevance = LabelRelevance(arrays["query_labels"], arrays["database_labels"])
    elif {"indptr", "indices"} <= arrays.keys():
        relevance = NeighbourRelevance(arrays["indptr"], arrays["indices"], n_database, arrays.get("levels"))
    else:
        names = ", ".join(sorted(arrays)) or "none"
        raise ProtocolError(f"relevance needs query_labels and database_labels, or indptr and indices, got {names}.")
    if relevance.n_database != n_database:
        raise ProtocolError(f"the ground truth has {relevance.n_database:,} database items, expected {n_database:,}.")
    return relevance


def relevance_of_part(arrays: Mapping[str, NDArray], n_database: int, part: slice) -> Relevance:
    """Return the relevance of a part of the database, reading only the labels of its items.

    The levels are those of the part: with a label matrix, items of other parts may share more labels with a query.
    `HammingCounts` of several parts can be added up nevertheless.

    Parameters
    ----------
    arrays : mapping of str to array
        As for `relevance_from_arrays`: arrays in memory or in a file, which are read by slices of rows.
    n_database : int
        The number of items of the complete database.
    part : slice

    Raises
    ------
    ProtocolError
        As for `relevance_from_arrays`.
    """
    labels = arrays.get("database_labels")
    if labels is not None and len(labels) == n_database:
        of_part = {"query_labels": arrays["query_labels"][:], "database_labels": labels[part]}
        return relevance_from_arrays(of_part, part.stop - part.start)
    complete = relevance_from_arrays({name: array[:] for name, array in arrays.items()}, n_database)
    return complete.part(part.start, part.stop)


def check_relevance(relevance: Relevance, n_queries: int, n_database: int, name: str) -> None:
    """Raise ProtocolError unless a ground truth has the given numbers of queries and database items."""
    if (relevance.n_queries, relevance.n_database) != (n_queries, n_database):
        found = f"{relevance.n_queries:,} queries and {relevance.n_database:,} database items"
        raise ProtocolError(f"relevance {name!r} is of {found}, but the codes are of {n_queries:,} and {n_database:,}.")


def ground_truth_sha256(relevance: Relevance) -> str:
    """Return the SHA-256 of the relevance of items to queries, which does not depend on the names of labels.

    Labels are numbered in the order of their first occurrence, and the columns of a label matrix are sorted. The order
    of the queries and of the database matters, so values per query can be compared if the digests are equal.

    Examples
    --------
    >>> by_number, by_other_number = LabelRelevance([7, 8], [7, 7, 9]), LabelRelevance([1, 5], [1, 1, 0])
    >>> ground_truth_sha256(by_number) == ground_truth_sha256(by_other_number)
    True
    >>> ground_truth_sha256(by_number) == ground_truth_sha256(LabelRelevance([8, 8], [7, 7, 9]))
    False
    """
    digest = hashlib.sha256(f"{relevance.kind} {relevance.n_queries} {relevance.n_database}".encode())
    for dtype, shape, rows_of_array in relevance.canonical():
        digest.update(f" {dtype} {shape} ".encode())
        for block in rows_of_array:
            digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()


def labels_sha256(relevance: Relevance) -> dict[str, str]:
    """Return the digests of the labels of the queries and of the database; {} if the relevance is not by labels.

    Unlike `ground_truth_sha256`, they tell on which side a label differs.

    Examples
    --------
    >>> one, other = (labels_sha256(LabelRelevance([7, 8], of_database)) for of_database in ([7, 7, 9], [7, 9, 9]))
    >>> one["query"] == other["query"], one["database"] == other["database"]
    (True, False)
    """
    if not isinstance(relevance, LabelRelevance):
        return {}
    sides = zip(("query", "database"), relevance.labels, strict=True)
    return {side: ground_truth_sha256(LabelRelevance(labels, labels)) for side, labels in sides}
