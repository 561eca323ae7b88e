"""Partitions that share what they must not share, or leave out what they must not leave out."""

import itertools

import numpy as np

from protocol.audit.findings import Finding
from protocol.audit.split import Split
from protocol.splits import VALIDATION, SplitProtocol


def audit_overlaps(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return what partitions share: an error where the declared protocol keeps them apart."""

    def severity(a: str, b: str) -> str:
        return "warning" if protocol.overlaps(a, b) else "error"

    made = split.found("query-in-database", "error", split.shared("query", "database"))
    made += split.found("query-in-train", "error", split.shared("query", "train"))
    for part in VALIDATION:
        made += split.found("validation-in-test", "error", split.shared(part, "query"), part=part)
    for a, b in itertools.combinations((*VALIDATION, "train"), 2):
        made += split.found("validation-overlap", severity(a, b), split.shared(a, b), a=a, b=b)
    made += split.found("train-in-database", severity("train", "database"), split.shared("train", "database"))
    for part in VALIDATION:
        inside = split.shared(part, "database")
        made += split.found("validation-in-database", severity(part, "database"), inside, part=part)
    return made + _train_outside(split, protocol) + _unused(split, protocol)


def _train_outside(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return a finding if items were trained on that the database should hold.

    Where nothing is declared, a training set that is wholly outside is as in the improved protocol; one that is partly
    inside is as in none.
    """
    if not protocol.overlaps("train", "database"):
        return []
    outside = np.setdiff1d(split["train"], split["database"], assume_unique=True)
    if protocol.listed:
        partly = len(outside) < len(split["train"])
        return split.found("train-not-in-database", "warning", outside) if partly else []
    return split.found("train-not-in-database", "error", outside)


def _unused(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return a finding for items of the dataset in no partition, unless a partition of the protocol was not given."""
    given = protocol.listed or set(protocol.partitions) <= set(split.parts)
    if split.dataset.n_items is None or not given:
        return []
    unused = np.ones(split.dataset.n_items, dtype=bool)
    for part in split.parts.values():
        unused[part] = False
    return split.found("unused-items", "warning", np.flatnonzero(unused))
