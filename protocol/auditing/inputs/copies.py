"""Find copies of items under other ids: identical content, or features within a distance."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.split import Dataset
from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.truth import neighbours_within

_BLOCK_BYTES = 32 << 20
_QUERIES = 4096  # per block, which bounds the number of pairs in memory for any distance

Partners = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class EqualContent:
    """A search for items with identical content.

    Parameters
    ----------
    first : ndarray of int64, shape (n_items,)
        The first item with the same content as each item, as `first_equal` returns it.
    """

    first: NDArray[np.int64]
    is_equal: ClassVar[bool] = True

    def partners(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Partners:
        """Return, for each item of two partitions in ascending order, its copy in the other one, or -1.

        There is only one partner per item, the first of its copies, because a group of n copies has n (n - 1) / 2
        pairs.
        """
        return self._in(a, b), self._in(b, a)

    def _in(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        lowest, highest = np.full((2, len(self.first)), -1)
        lowest[self.first[b[::-1]]] = b[::-1]  # among items with identical content, the last assignment wins
        highest[self.first[b]] = b
        content = self.first[a]
        copies = np.where(lowest[content] == a, highest[content], lowest[content])
        return np.where(copies == a, -1, copies)  # an item is not a copy of itself


@dataclass(frozen=True, eq=False)
class WithinDistance:
    """An exact search for items within a Euclidean distance, which may be different items.

    Parameters
    ----------
    X : array, shape (n_items, d)
        Features.
    distance : float
    """

    X: Any
    distance: float
    is_equal: ClassVar[bool] = False

    def partners(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Partners:
        """Return the partners as `EqualContent` does: the first item within the distance, not the nearest."""
        of_a, of_b = np.full(len(a), -1), np.full(len(b), -1)
        database = np.asarray(self.X[b])
        for start in range(0, len(a), _QUERIES):
            items = a[start : start + _QUERIES]
            indptr, near = neighbours_within(np.asarray(self.X[items]), database, self.distance)
            rows = np.repeat(np.arange(len(items)), np.diff(indptr))
            others = b[near] != items[rows]
            rows, near = rows[others], near[others]
            with_copy, first = np.unique(rows, return_index=True)
            of_a[start + with_copy] = b[near[first]]
            with_copy, first = np.unique(near, return_index=True)
            of_b[with_copy] = np.where(of_b[with_copy] < 0, items[rows[first]], of_b[with_copy])
        return of_a, of_b


Copies = EqualContent | WithinDistance


def stored_copies(content: str | Path, features: Iterable[str | Path], dataset: Dataset) -> dict[str, Copies]:
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
    copies: dict[str, Copies] = {}
    for alike, (path, array) in files.items():
        with storage.streamed(path, array) as rows:
            if len(rows) == dataset.n_items:  # otherwise rows are local descriptors, many of which are equal by nature
                copies[alike] = EqualContent(first_equal(rows, str(path)))
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
    n_rows = max(1, _BLOCK_BYTES // max(1, rows.dtype.itemsize * int(np.prod(rows.shape[1:]))))
    digests = bytearray()
    for start in range(0, len(rows), n_rows):
        block = np.ascontiguousarray(rows[start : start + n_rows])
        if block.dtype.kind == "f":
            if not np.isfinite(block).all():
                raise ProtocolError(f"{name}: NaN or infinity in or after row {start:,}.")
            block = block + 0.0  # -0.0 becomes 0.0
        of_rows: Any = block.view(np.uint8).reshape(len(block), -1)
        for row in of_rows:
            digests += hashlib.blake2b(row, digest_size=16).digest()
    _, first, group = np.unique(np.frombuffer(digests, dtype="V16"), return_index=True, return_inverse=True)
    return first[group]
