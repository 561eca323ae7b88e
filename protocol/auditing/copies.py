"""Copies of an item under another id: equal content, or features within a distance."""

import hashlib
import itertools
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.auditing.findings import Finding, Removal
from protocol.auditing.split import Dataset, Split
from protocol.checks import ProtocolError
from protocol.groundtruth import neighbours_within
from protocol.splits import PARTITIONS, SplitProtocol

Copied = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
"""Which items of the first partition have a copy, under another number, in the second."""

_BLOCK_BYTES = 32 << 20
_QUERIES = 4096  # at a time: bounds the pairs that are held, however wide the distance


def audit_copies(split: Split, protocol: SplitProtocol, copied: Copied, alike: str) -> list[Finding]:
    """Return a finding for each two partitions, declared disjoint, of which one has copies of the other's items.

    Parameters
    ----------
    split : Split
    protocol : SplitProtocol
    copied : callable
        `equal_content` or `within_distance`.
    alike : str
        In which way they are copies, for the reader.
    """
    made = []
    for a, b in itertools.combinations(PARTITIONS, 2):
        apart = a == "query" or not protocol.overlaps(a, b)
        # Where nothing is declared, what shares no item was meant to be apart.
        apart |= bool(protocol.listed) and not split.shared(a, b).size
        if len(split[a]) and len(split[b]) and apart:
            items = split[a][copied(split[a], split[b])]
            removals = partial(_without_copies, split, copied, a, b)
            made += split.found("near-duplicate", "warning", items, removals=removals, a=a, b=b, alike=alike)
    return made


def _without_copies(split: Split, copied: Copied, a: str, b: str) -> list[Removal]:
    """Return what to remove from `b`: the items that have a copy in `a`."""
    return [Removal(b, split[b][copied(split[b], split[a])], a)]


def equal_content(first: NDArray[np.int64]) -> Copied:
    """Return what finds items of equal content, from the first item that each equals (`first_equal`)."""

    def copied(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        n_equal = np.bincount(first[b], minlength=len(first))
        return n_equal[first[a]] > np.isin(a, b)  # itself is no copy

    return copied


def within_distance(X: Any, distance: float) -> Copied:
    """Return what finds items within a Euclidean distance in features `X` (n_items, d): exact, by blocks."""

    def copied(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        found, database = np.zeros(len(a), dtype=bool), np.asarray(X[b], dtype=np.float32)
        for start in range(0, len(a), _QUERIES):
            items = a[start : start + _QUERIES]
            indptr, near = neighbours_within(np.asarray(X[items], dtype=np.float32), database, distance)
            others = b[near] != np.repeat(items, np.diff(indptr))
            found[start + np.repeat(np.arange(len(items)), np.diff(indptr))[others]] = True
        return found

    return copied


def stored_copies(content: str | Path, features: Iterable[str | Path], dataset: Dataset) -> dict[str, Copied]:
    """Return what finds copies in a dataset of the pipeline: equal images, or equal features where it has none.

    Parameters
    ----------
    content, features : path
        ``content.h5`` and each ``features.h5``.
    dataset : Dataset
    """
    has_images = "images" in storage.read_passport(content)["arrays"]
    files = {"equal images": (content, "images")} if has_images else {}
    for path in () if has_images else features:
        name = storage.read_passport(path)["maker"].removeprefix("feature ")
        files[f"equal features, {name}"] = (path, "X")
    found = {}
    for alike, (path, array) in files.items():
        with storage.streamed(path, array) as rows:
            if len(rows) == dataset.n_items:  # else an item has several local descriptors, and those may well be equal
                found[alike] = equal_content(first_equal(rows, str(path)))
    return found


def first_equal(rows: Any, name: str = "features") -> NDArray[np.int64]:
    """Return, for each row of an array that is read by blocks, the first row that has the same values.

    Rows are told apart by a digest of 128 bits.

    Raises
    ------
    ProtocolError
        If a row holds NaN or infinity.

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
                raise ProtocolError(f"{name}: wanted finite numbers, came NaN or infinity in rows from {start} on")
            block = block + 0.0  # one zero, not two
        for row in block.view(np.uint8).reshape(len(block), -1):
            digests += hashlib.blake2b(row.data, digest_size=16).digest()
    _, first, place = np.unique(np.frombuffer(digests, dtype="V16"), return_index=True, return_inverse=True)
    return first[place]
