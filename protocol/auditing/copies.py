"""Find copies of items under other ids: identical content, or features within a distance."""

import hashlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal
from protocol.auditing.split import Dataset, Split
from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.splits import PARTITIONS, SplitProtocol
from protocol.truth import neighbours_within


@dataclass(frozen=True)
class Copied:
    """A search for copies of items among other items.

    Parameters
    ----------
    partners : callable
        Takes two partitions in ascending order and returns, for each item of the first, the number of an item of the
        second that is its copy under another number, or -1. There is only one partner per item, because a group of n
        copies has n (n - 1) / 2 pairs.
    is_equal : bool
        Whether copies have identical content. Items within a distance of each other may be different items.
    """

    partners: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
    is_equal: bool


_BLOCK_BYTES = 32 << 20
_QUERIES = 4096  # per block, which bounds the number of pairs in memory for any distance


def audit_copies(split: Split, protocol: SplitProtocol, copied: Copied, alike: str) -> list[Finding]:
    """Return a finding for each pair of partitions that should be disjoint but contain copies of each other's items.

    A query with an identical copy in the training set is an error: the hasher was trained on it, whatever its id. All
    other copies are warnings: those in the database are ranked but not used for training, and are inherent in many
    datasets; copies of validation items affect the selection, not the test; and items within a distance of each other
    may be different items.

    Parameters
    ----------
    split : Split
    protocol : SplitProtocol
    copied : Copied
        The result of `equal_content` or `within_distance`.
    alike : str
        Description of the kind of similarity, for the reader.
    """
    made = []
    for a, b in itertools.combinations(PARTITIONS, 2):
        apart = a == "query" or not protocol.overlaps(a, b)
        # If no protocol is declared, partitions without shared items are expected to be disjoint.
        apart |= bool(protocol.listed) and not split.shared(a, b).size
        if len(split[a]) and len(split[b]) and apart:
            partners = copied.partners(split[a], split[b])
            has_copy = partners >= 0
            severity = "error" if copied.is_equal and (a, b) == ("query", "train") else "warning"
            items, others = split[a][has_copy], partners[has_copy]
            removals = partial(_without_copies, split, copied, a, b)
            words = {"a": a, "b": b, "alike": alike}
            made += split.found("near-duplicate", severity, items, partners=others, removals=removals, **words)
    return made


def _without_copies(split: Split, copied: Copied, a: str, b: str) -> list[Removal]:
    """Return the items to remove from `b`: those with a copy in `a`."""
    partners = copied.partners(split[b], split[a])
    has_copy = partners >= 0
    return [Removal(b, split[b][has_copy], a, partners[has_copy])]


def equal_content(first: NDArray[np.int64]) -> Copied:
    """Return a search for items with identical content, given the result of `first_equal`.

    The partner of an item is the first of its copies.
    """

    def partners(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        lowest, highest = np.full((2, len(first)), -1)
        lowest[first[b[::-1]]] = b[::-1]  # among items with identical content, the last assignment wins
        highest[first[b]] = b
        found = np.where(lowest[first[a]] == a, highest[first[a]], lowest[first[a]])
        return np.where(found == a, -1, found)  # an item is not a copy of itself

    return Copied(partners, is_equal=True)


def within_distance(X: Any, distance: float) -> Copied:
    """Return an exact search, in blocks, for items within a Euclidean distance in features `X` (n_items, d).

    The partner of an item is the first within the distance, not the nearest.
    """

    def partners(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        found, database = np.full(len(a), -1), np.asarray(X[b], dtype=np.float32)
        for start in range(0, len(a), _QUERIES):
            items = a[start : start + _QUERIES]
            indptr, near = neighbours_within(np.asarray(X[items], dtype=np.float32), database, distance)
            rows = np.repeat(np.arange(len(items)), np.diff(indptr))
            others = b[near] != items[rows]
            has_copy, first = np.unique(rows[others], return_index=True)
            found[start + has_copy] = b[near[others][first]]
        return found

    return Copied(partners, is_equal=False)


def stored_copies(content: str | Path, features: Iterable[str | Path], dataset: Dataset) -> dict[str, Copied]:
    """Return searches for copies in a dataset of the pipeline: identical images, or features if it has no images.

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
    found = {}
    for alike, (path, array) in files.items():
        with storage.streamed(path, array) as rows:
            if len(rows) == dataset.n_items:  # otherwise rows are local descriptors, many of which are equal by nature
                found[alike] = equal_content(first_equal(rows, str(path)))
    return found


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
    n_rows = max(1, _BLOCK_BYTES // max(1, rows.dtype.itemsize * int(np.prod(rows.shape[1:]))))
    digests = bytearray()
    for start in range(0, len(rows), n_rows):
        block = np.ascontiguousarray(rows[start : start + n_rows])
        if block.dtype.kind == "f":
            if not np.isfinite(block).all():
                raise ProtocolError(f"{name}: expected finite numbers, got NaN or infinity in or after row {start}.")
            block = block + 0.0  # -0.0 becomes 0.0
        for row in block.view(np.uint8).reshape(len(block), -1):
            digests += hashlib.blake2b(row.data, digest_size=16).digest()
    _, first, place = np.unique(np.frombuffer(digests, dtype="V16"), return_index=True, return_inverse=True)
    return first[place]
