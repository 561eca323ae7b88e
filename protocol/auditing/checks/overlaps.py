"""Find items in two partitions that must be disjoint, in no partition, twice in a list, or with two labels or forms."""

import itertools
import re

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal
from protocol.auditing.items import Split, alike, form_keys, names_repeat
from protocol.splits import PARTITIONS, VALIDATION, SplitProtocol


def audit_overlaps(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return findings on items that partitions share; an error if the declared protocol keeps them disjoint."""

    def severity(a: str, b: str) -> str:
        return "warning" if protocol.overlaps(a, b) else "error"

    findings = split.overlap("query-in-database", "error", "query", "database")
    findings += split.overlap("query-in-train", "error", "query", "train")
    for part in VALIDATION:
        findings += split.overlap("validation-in-test", "error", "query", part, part=part)
    for a, b in itertools.combinations((*VALIDATION, "train"), 2):
        findings += split.overlap("validation-overlap", severity(a, b), a, b, a=a, b=b)
    findings += split.overlap("train-in-database", severity("train", "database"), "train", "database")
    for part in VALIDATION:
        findings += split.overlap("validation-in-database", severity(part, "database"), part, "database", part=part)
    return findings + _train_outside(split, protocol) + _unused(split, protocol)


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
    return split.findings("train-not-in-database", severity, outside[~np.isin(outside, reported)])


def is_complete(split: Split, protocol: SplitProtocol) -> bool:
    """Return whether all partitions of a protocol were given, or the protocol defines none."""
    return bool(protocol.listed) or set(protocol.partitions) <= set(split.parts)


def _unused(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return a finding for items of the dataset in no partition, unless a partition of the protocol is missing."""
    if split.dataset.n_items is None or not is_complete(split, protocol):
        return []
    unused = np.ones(split.dataset.n_items, dtype=bool)
    unused[split.listed] = False
    return split.findings("unused-items", "warning", np.flatnonzero(unused))


def audit_entries(split: Split) -> list[Finding]:
    """Return findings on the original lists."""
    findings = []
    for name, entries in split.entries.items():
        if len(entries) == 1 and _may_be_a_list(split.dataset.names(entries)[0]):
            findings += split.findings("single-item", "warning", entries, part=name)
        if len(entries) > len(split[name]):
            distinct, counts = np.unique(entries, return_counts=True)
            repeated = distinct[counts > 1]
            removals = [Removal(name, repeated, name)]
            findings += split.findings("duplicate-id", "error", repeated, removals=removals, part=name)
    return findings + split.findings("label-conflict", "error", _in_conflict(split))


def _may_be_a_list(name: str) -> bool:
    """Return whether an id may be the ids of many items in one line."""
    words = re.split(r"[\s,;|]+", name.strip())
    files = [word for word in words if re.search(r"\.[A-Za-z]\w{1,4}$", word)]
    return len(files or words) > 1


def _in_conflict(split: Split) -> NDArray[np.int64]:
    """Return the items with labels in some list that differ from those of the dataset, or from earlier lists."""
    y, labelled = split.dataset.y, split.dataset.labelled
    items_in_conflict = [np.empty(0, dtype=np.int64)]
    for name, flags in split.flags.items():
        items = split.entries[name]
        if y is None:
            continue
        differ = _as_matrix(y[items], flags) != _as_matrix(flags, y)
        differ = differ.any(axis=1) if differ.ndim == 2 else differ
        items_in_conflict.append(items[differ if labelled is None else differ & labelled[items]])
    return np.unique(np.concatenate(items_in_conflict))


def _as_matrix(labels: NDArray, other: NDArray) -> NDArray:
    """Return labels in the form of others that they are compared with: as 0/1 columns if those are."""
    return labels[:, None] == np.arange(other.shape[1]) if labels.ndim < other.ndim else labels


def must_be_disjoint(split: Split, protocol: SplitProtocol, a: str, b: str) -> bool:
    """Return whether two partitions, `a` before `b` in `PARTITIONS`, should have no item in common.

    If no protocol is declared, partitions without shared items are expected to be disjoint.
    """
    return a == "query" or not protocol.overlaps(a, b) or bool(protocol.listed and not split.shared(a, b).size)


def audit_forms(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return findings on lists with ids that differ but are alike, or that have equal file names in other folders.

    Row numbers in arrays have only one form, and if the ids of the dataset are given, distinct ids are distinct items.
    Equal names are compared for partitions that should be disjoint, unless names repeat within a list; see
    `protocol.auditing.items`.
    """
    ids = split.dataset.ids
    if ids is None or split.dataset.n_items is not None:
        return []
    keys, findings = form_keys(ids), []
    compares_names = not names_repeat(keys[items] for items in split.parts.values())
    for a, b in itertools.combinations(PARTITIONS, 2):
        only_a, only_b = (np.setdiff1d(split[x], split[y], assume_unique=True) for x, y in ((a, b), (b, a)))
        only_a = only_a[np.isin(keys[only_a], keys[only_b])]
        if only_a.size:
            only_b = only_b[np.isin(keys[only_b], keys[only_a])]
            items, partners = alike(only_a, only_b, ids)
            findings += split.findings("ids-differ-in-form", "warning", items, partners=partners, a=a, b=b)
            if compares_names and must_be_disjoint(split, protocol, a, b):
                others = np.setdiff1d(only_a, items, assume_unique=True)
                others, partners = alike(others, only_b, ids, by_name=True)
                lists = f"the lists of {a} and {b}"
                findings += split.findings("equal-file-names", "warning", others, partners=partners, lists=lists)
    return findings


def names_not_compared(split: Split) -> bool:
    """Return whether equal file names in different folders were not compared, because names repeat within a list."""
    ids = split.dataset.ids
    if ids is None or split.dataset.n_items is not None or not any("/" in one or "\\" in one for one in ids.tolist()):
        return False
    keys = form_keys(ids)
    return names_repeat(keys[items] for items in split.parts.values())
