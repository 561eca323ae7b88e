"""Entries of lists: ids that stand twice, ids with two label vectors."""

import numpy as np
from numpy.typing import NDArray

from protocol.audit.findings import Finding
from protocol.audit.split import Split


def audit_entries(split: Split) -> list[Finding]:
    """Return what is wrong with the lists as they came."""
    made = []
    for name, entries in split.entries.items():
        if len(entries) > len(split[name]):
            distinct, counts = np.unique(entries, return_counts=True)
            made += split.found("duplicate-id", "error", distinct[counts > 1], part=name)
    return made + split.found("label-conflict", "error", _in_conflict(split))


def _in_conflict(split: Split) -> NDArray[np.int64]:
    """Return the items that have other labels in some list than the dataset has, which are those they had first."""
    y, labelled = split.dataset.y, split.dataset.labelled
    if y is None or not split.flags:
        return np.empty(0, dtype=np.int64)
    found = []
    for name, flags in split.flags.items():
        items = split.entries[name]
        own = y[items] if y.ndim == 2 else y[items][:, None] == np.arange(flags.shape[1])
        differ = (own != flags).any(axis=1)
        found.append(items[differ if labelled is None else differ & labelled[items]])
    return np.unique(np.concatenate(found))
