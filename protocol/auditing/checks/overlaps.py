"""Find items in two partitions that must be disjoint, in no partition, twice in a list, or with two labels or forms.

The same is checked for what is known about items: copies, judged pairs, modalities and groups.
"""

import itertools
import re

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal, findings_of
from protocol.auditing.items import Split, alike, form_keys, names_repeat
from protocol.auditing.known_pairs import EXACT, SIMILAR
from protocol.auditing.runs import Run
from protocol.checks import counted
from protocol.splits import PARTITIONS, VALIDATION, SplitProtocol


def audit_overlaps(run: Run) -> list[Finding]:
    """Return findings on items that partitions share; an error if the declared protocol keeps them disjoint."""
    split, protocol = run.split, run.protocol

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
    """Return a finding for items in no partition, unless the protocol leaves some out, or a partition is missing."""
    if split.dataset.n_items is None or not is_complete(split, protocol) or protocol.divides_classes:
        return []
    unused = np.ones(split.dataset.n_items, dtype=bool)
    unused[split.listed] = False
    return split.findings("unused-items", "warning", np.flatnonzero(unused))


def audit_entries(run: Run) -> list[Finding]:
    """Return findings on the original lists."""
    split, findings = run.split, list[Finding]()
    for name, entries in split.entries.items():
        if len(entries) == 1 and _may_be_a_list(split.dataset.names(entries)[0]):
            findings += split.findings("single-item", "warning", entries, part=name)
        if len(entries) > len(split[name]):
            distinct, counts = np.unique(entries, return_counts=True)
            repeated = distinct[counts > 1]
            removals = [Removal(name, repeated, keeps_first=True)]
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


def audit_forms(run: Run) -> list[Finding]:
    """Return findings on lists with ids that differ but are alike, or that have equal file names in other folders.

    Row numbers in arrays have only one form, and if the ids of the dataset are given, distinct ids are distinct items.
    Equal names are compared for partitions that should be disjoint, unless names repeat within a list; see
    `protocol.auditing.items`.
    """
    split, ids = run.split, run.split.dataset.ids
    if ids is None or split.dataset.n_items is not None:
        return []
    keys, findings = form_keys(ids), list[Finding]()
    compares_names = not names_repeat(keys[items] for items in split.parts.values())
    for a, b in itertools.combinations(PARTITIONS, 2):
        only_a, only_b = (np.setdiff1d(split[x], split[y], assume_unique=True) for x, y in ((a, b), (b, a)))
        only_a = only_a[np.isin(keys[only_a], keys[only_b])]
        if only_a.size:
            only_b = only_b[np.isin(keys[only_b], keys[only_a])]
            items, partners = alike(only_a, only_b, ids)
            findings += split.findings("ids-differ-in-form", "warning", items, partners=partners, a=a, b=b)
            if compares_names and must_be_disjoint(split, run.protocol, a, b):
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


# What is known about items

GROUP_PAIRS = (
    ("query", "train", "error"),
    ("query", "database", "warning"),
    ("query", "validation_query", "warning"),
    ("query", "validation_database", "warning"),
    ("validation_query", "train", "warning"),
    ("validation_query", "validation_database", "warning"),
)
"""Pairs of partitions between which a group should not be divided, and the severity.

If a hasher was trained on items of a query's group, it has seen what the query shows, which is an error. In the
database, items of its group may be what the query should retrieve (another photograph of the same product) or an
accident of sampling (the next frame of the same video). Only the reader can decide, so this is a warning. Groups
divided between partitions that are used to choose options are also warnings, because the test is not affected. The
training set and the database are not compared, because the standard protocol draws one from the other.
"""


def audit_copies(run: Run) -> list[Finding]:
    """Return a finding for each pair of partitions that should be disjoint but contain copies of each other's items.

    A query with an identical copy in the training set is an error: the hasher was trained on it, whatever its id. All
    other copies are warnings: those in the database are ranked but not used for training, and are inherent in many
    datasets; copies of validation items affect the selection, not the test; and items within a distance of each other
    may be different items.
    """
    split, findings = run.split, list[Finding]()
    present = [part for part in PARTITIONS if len(split[part])]
    pairs = [pair for pair in itertools.combinations(present, 2) if must_be_disjoint(split, run.protocol, *pair)]
    for (kind, copies), (a, b) in itertools.product(run.copies.items(), pairs):
        of_a, of_b = copies.partners(split[a], split[b])
        findings += split.findings(
            "near-duplicate",
            "error" if copies.is_equal and (a, b) == ("query", "train") else "warning",
            split[a][of_a >= 0],
            partners=of_a[of_a >= 0],
            removals=[Removal(b, split[b][of_b >= 0])],
            a=a,
            b=b,
            alike=kind,
        )
    return findings


def audit_known_pairs(run: Run) -> list[Finding]:
    """Return a finding for the database, and one for the training set, if a query has a judged (near-)duplicate there.

    Very similar items are only mentioned. An exact copy in the training set is an error, as in `audit_copies`;
    near-duplicates are a warning, because they are a property of the dataset, and every split of it has some.
    """
    split, known, findings = run.split, run.judged, list[Finding]()
    if known is None:
        return []
    for part in ("database", "train"):
        queries, partners, judgement = known.best(split, part)
        counts = np.bincount(judgement, minlength=SIMILAR + 1)
        queries, partners = queries[judgement < SIMILAR], partners[judgement < SIMILAR]
        n, n_similar = len(queries), int(counts[SIMILAR])
        have = "has" if n_similar == 1 else "have"
        findings += split.findings(
            "known-near-duplicate",
            "error" if part == "train" and counts[EXACT] else "warning",
            queries,
            partners=partners,
            removals=[Removal(part, partners)],
            source=known.source,
            judged=f"{n:,} of {len(split['query']):,} queries {'has' if n == 1 else 'have'} a near-duplicate",
            exact=f"{counts[EXACT]:,} of them an exact copy",
            part="training set" if part == "train" else part,
            similar=f"; {n_similar:,} more {have} a very similar item, which does not count" if n_similar else "",
            limits=f"; {known.limits}" if known.limits else "",
        )
    return findings


def divided_pairs(split: Split, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs (n, 2) whose halves are in different partitions.

    A half that is in no partition does not count, because lists of queries may contain only one modality.

    Examples
    --------
    The text of image 1 is in the training set, and image 1 is a query.

    >>> from protocol.auditing.items import Dataset
    >>> split = Split({"query": np.array([1]), "train": np.array([0, 10, 11])}, Dataset())
    >>> divided_pairs(split, np.array([[0, 10], [1, 11], [2, 12]]))
    array([[ 1, 11]])
    """
    first, second = (np.stack([np.isin(half, part) for part in split.parts.values()]) for half in pairs.T)
    return pairs[first.any(axis=0) & second.any(axis=0) & (first != second).any(axis=0)]


def audit_modalities(run: Run) -> list[Finding]:
    """Return a finding for items whose modalities are in different partitions, listed under the first of these."""
    if run.modalities is None:
        return []
    divided = divided_pairs(run.split, run.modalities)
    return run.split.findings("pair-split", "error", divided[:, 0], partners=divided[:, 1])


def audit_groups(run: Run) -> list[Finding]:
    """Return a finding for each pair of partitions between which groups are divided; see `GROUP_PAIRS`.

    Items that are in both partitions do not count, because they are a separate finding; nor do training items in the
    database. ``count`` is the number of divided groups; ``items`` lists them with their numbers of items in both
    partitions.
    """
    split, groups, findings = run.split, run.groups, list[Finding]()
    if groups is None:
        return []
    for a, b, severity in GROUP_PAIRS:
        in_a, in_b = (groups.sizes(split[part]) for part in (a, b))
        alone = (in_a == 1) & (in_b == 1) & (groups.sizes(split.shared(a, b)) == 1)
        apart = (in_a == 0) | (in_b == 0) | alone
        if b == "database":  # training items in the database are a separate finding
            apart |= groups.sizes(np.setdiff1d(split[b], split["train"], assume_unique=True)) == 0
        divided = np.flatnonzero(~apart).tolist()
        findings += findings_of(
            "group-split",
            severity,
            len(divided),
            [f"{groups.names[code]} ({a} {in_a[code]:,}, {b} {in_b[code]:,})" for code in divided],
            removals=[Removal(b, split[b][np.isin(groups.codes[split[b]], divided)])],
            a=a,
            b=b,
            n_a=counted(int(in_a[divided].sum()), "item"),
            n_b=counted(int(in_b[divided].sum()), "item"),
            source=groups.source,
        )
    return findings
