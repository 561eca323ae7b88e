"""The objects that an audit checks: a split in its original form, and the known properties of its dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal, findings_of
from protocol.provenance import storage

_BLOCK = 1 << 20  # texts that are decoded at once


class StoredTexts:
    """Texts of a file, which are decoded when they are read, because an array of str takes four times the memory.

    Parameters
    ----------
    encoded : ndarray of bytes, shape (n,)
        UTF-8; raises UnicodeDecodeError for other bytes.
    """

    def __init__(self, encoded: NDArray[np.bytes_]) -> None:
        self._encoded = encoded
        for start in range(0, len(encoded), _BLOCK):
            self[start : start + _BLOCK]

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, index: Any) -> Any:
        return storage.decoded(self._encoded[index])

    def tolist(self) -> list[str]:
        """Return all texts."""
        return self[:].tolist()


@dataclass(frozen=True)
class Dataset:
    """The known properties of the dataset that a split divides.

    Parameters
    ----------
    n_items : int or None
        None if it is not known, as for lists without ids or labels of the dataset.
    ids : ndarray of str, shape (n,), or StoredTexts, or None
        By item number; None if items are named by their numbers, which are row numbers.
    y : ndarray of int, shape (n,), or of bool, shape (n, n_classes), or None
        Class labels by item number.
    labelled : ndarray of bool, shape (n,), or None
        Items with known labels; None if all labels are known.
    class_names : sequence of str
        Names of the classes 0, 1, ...; if empty, classes are named by their numbers.
    official : mapping of str to ndarray of int64
        Row numbers of the dataset's official splits.
    digest : str or None
        Digest of the file from which this was read; splits that were drawn from that file can be drawn again.
    name : str or None
        The registered dataset from which the file was created.
    """

    n_items: int | None = None
    ids: Any = None
    y: NDArray | None = None
    labelled: NDArray[np.bool_] | None = None
    class_names: Sequence[str] = ()
    official: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    digest: str | None = None
    name: str | None = None

    def n_rows(self, n_listed: int) -> int:
        """Return the number of items; if it is not known, `n_listed`, the largest listed item number plus one."""
        return n_listed if self.n_items is None else self.n_items

    def names(self, items: NDArray[np.int64]) -> list[str]:
        """Return the names of items."""
        return list(map(str, (items if self.ids is None else self.ids[items]).tolist()))

    def class_labels(self, items: NDArray[np.int64]) -> NDArray | None:
        """Return the labels of items; None if any of them is unknown."""
        if self.y is None or (self.labelled is not None and not self.labelled[items].all()):
            return None
        return self.y[items]


class Split:
    """One run of a split in its original form: partitions of item numbers, which may contain duplicates.

    Parameters
    ----------
    parts : mapping of str to ndarray of int64
        Item numbers by partition; partitions that were not given are missing.
    dataset : Dataset
    flags : mapping of str to ndarray of int, shape (n,), or of bool, shape (n, n_classes)
        By partition, the labels in its list, one row per entry.

    Attributes
    ----------
    parts : dict of str to ndarray of int64
        Ascending, each item once.
    entries : mapping of str to ndarray of int64
        In their original order, with duplicates.
    """

    def __init__(
        self,
        parts: Mapping[str, NDArray[np.int64]],
        dataset: Dataset,
        flags: Mapping[str, NDArray] | None = None,
    ) -> None:
        self.entries = parts
        self.parts = {name: distinct(part) for name, part in parts.items()}
        self.dataset = dataset
        self.flags = flags or {}

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        return self.parts.get(name, np.empty(0, dtype=np.int64))

    @property
    def listed(self) -> NDArray[np.int64]:
        """The items of all partitions, once for each partition."""
        return np.concatenate(list(self.parts.values()))

    def shared(self, a: str, b: str) -> NDArray[np.int64]:
        """Return the items that two partitions share."""
        return self[a][np.isin(self[a], self[b])]

    def findings(
        self,
        name: str,
        severity: str,
        items: NDArray[np.int64],
        *,
        partners: NDArray[np.int64] | None = None,
        removals: Sequence[Removal] = (),
        **words: str,
    ) -> list[Finding]:
        """Return a finding about items, or about pairs of them, or none if there are no items; see `Finding`."""
        others = [] if partners is None else self.dataset.names(partners)
        names = self.dataset.names(items)
        return findings_of(name, severity, len(items), names, partners=others, removals=removals, **words)

    def overlap(self, name: str, severity: str, kept_in: str, other: str, /, **words: str) -> list[Finding]:
        """Return a finding about the items that two partitions share; the fix is to remove them from `other`."""
        items = self.shared(kept_in, other)
        removals, names = [Removal(other, items, kept_in)], self.dataset.names(items)
        return findings_of(name, severity, len(items), names, removals=removals, **words)


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same as `numpy.unique`, which takes ten times as long for a million numbers."""
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]
