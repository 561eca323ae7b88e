"""Find items in two partitions that must be disjoint, in no partition, twice in a list, or with two labels."""

import itertools
from functools import partial

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal
from protocol.auditing.split import Split
from protocol.splits import VALIDATION, SplitProtocol


def audit_overlaps(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return findings on items that partitions share; an error if the declared protocol keeps them disjoint."""

    def severity(a: str, b: str) -> str:
        return "warning" if protocol.overlaps(a, b) else "error"

    made = split.found_shared("query-in-database", "error", "query", "database")
    made += split.found_shared("query-in-train", "error", "query", "train")
    for part in VALIDATION:
        made += split.found_shared("validation-in-test", "error", "query", part, part=part)
    for a, b in itertools.combinations((*VALIDATION, "train"), 2):
        made += split.found_shared("validation-overlap", severity(a, b), a, b, a=a, b=b)
    made += split.found_shared("train-in-database", severity("train", "database"), "train", "database")
    for part in VALIDATION:
        made += split.found_shared("validation-in-database", severity(part, "database"), part, "database", part=part)
    return made + _train_outside(split, protocol) + _unused(split, protocol)


def _train_outside(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return a finding if items of the training set are missing from the database although they should be in it.

    If no protocol is declared, a training set entirely outside the database, as in the improved protocol, is
    information; one that is partly inside is a warning, because no protocol has this. Items that are also in a
    partition from which the training set must be disjoint are omitted, because another finding lists them.
    """
    if not protocol.overlaps("train", "database"):
        return []
    outside = np.setdiff1d(split["train"], split["database"], assume_unique=True)
    reported = np.concatenate([split[part] for part in ("query", *VALIDATION)])
    severity = "error"
    if protocol.listed:
        severity = "warning" if len(outside) < len(split["train"]) else "information"
    return split.found("train-not-in-database", severity, outside[~np.isin(outside, reported)])


def is_complete(split: Split, protocol: SplitProtocol) -> bool:
    """Return whether all partitions of a protocol were given, or the protocol defines none."""
    return bool(protocol.listed) or set(protocol.partitions) <= set(split.parts)


def _unused(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return a finding for items of the dataset in no partition, unless a partition of the protocol is missing."""
    if split.dataset.n_items is None or not is_complete(split, protocol):
        return []
    unused = np.ones(split.dataset.n_items, dtype=bool)
    for part in split.parts.values():
        unused[part] = False
    return split.found("unused-items", "warning", np.flatnonzero(unused))


def audit_entries(split: Split) -> list[Finding]:
    """Return findings on the original lists."""
    made = []
    for name, entries in split.entries.items():
        if len(entries) == 1:
            made += split.found("single-item", "warning", entries, part=name)
        if len(entries) > len(split[name]):
            distinct, counts = np.unique(entries, return_counts=True)
            repeated = distinct[counts > 1]
            first_stays = [Removal(name, repeated, name)]
            made += split.found("duplicate-id", "error", repeated, removals=partial(list, first_stays), part=name)
    return made + split.found("label-conflict", "error", _in_conflict(split))


def _in_conflict(split: Split) -> NDArray[np.int64]:
    """Return the items with labels in some list that differ from those of the dataset, or from earlier lists."""
    y, labelled = split.dataset.y, split.dataset.labelled
    if y is None or not split.flags:
        return np.empty(0, dtype=np.int64)
    found = []
    for name, flags in split.flags.items():
        items = split.entries[name]
        known = y[items] if y.ndim == 2 else y[items][:, None] == np.arange(flags.shape[1])
        differ = (known != flags).any(axis=1)
        found.append(items[differ if labelled is None else differ & labelled[items]])
    return np.unique(np.concatenate(found))
