"""Compare the partitions of a split with each other, and each list with itself.

Between two partitions that must be disjoint, an item may be shared under one id, or under ids that differ in form; it
may have a copy or a judged near-duplicate; or belong to a group that is divided.
"""

import re

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.evidence import copies_of
from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Split, n_counters
from protocol.auditing.known_pairs import EXACT, SIMILAR
from protocol.auditing.runs import Run
from protocol.checks import counted
from protocol.inputs.forms import Form, alike
from protocol.splits import VALIDATION

PAIRS = (
    ("query-in-train", "query", "train"),
    ("query-in-database", "query", "database"),
    *(("validation-in-test", "query", part) for part in VALIDATION),
    ("validation-overlap", *VALIDATION),
    *(("validation-overlap", part, "train") for part in VALIDATION),
    ("train-in-database", "train", "database"),
    *(("validation-in-database", part, "database") for part in VALIDATION),
)
"""All pairs of partitions, with the finding on items that they share."""
_GROUPED = (("validation_query", "validation_database"), ("validation_query", "train"))
"""The pairs of partitions that must not divide groups, in addition to those with the test queries."""
_ENOUGH_NAMES = 10
"""The smallest number of equal file names in other folders that is not a coincidence."""
_OVERLAP = "may be the same files, which would be an overlap, or different files"
_SAME_FILES = "are taken for the same files, because they are most names of the first list, and more than counters"
_UNLESS = ", unless ids that differ in form, or only in their folders, are the same files"
_SEVERAL = re.compile(r"[,;|]|\.[A-Za-z]\w{1,4}\s|^[^.]*\S\s+\S[^.]*$")  # an id that may be many: not one file's name


def audit_pairs(run: Run) -> list[Finding]:
    """Return the findings on all pairs of partitions.

    Shared items are an error if the declared protocol keeps the partitions disjoint. Copies, and equal names in
    different folders, count where the partitions must be disjoint; if no protocol is declared, those without shared
    items are expected to be.
    """
    split, findings = run.split, list[Finding]()
    for name, a, b in PAIRS:
        shared, may_overlap = split.shared(a, b), run.protocol.overlaps(a, b)
        severity = "warning" if may_overlap and a != "query" else "error"
        findings += split.findings(name, severity, shared, part=b if a == "query" else a, a=a, b=b)
        is_disjoint = a == "query" or not may_overlap or bool(run.protocol.listed and not shared.size)
        findings += _forms(split, a, b, severity, is_disjoint)
        findings += _copies(run, a, b) if is_disjoint else []
        if a == "query" or (a, b) in _GROUPED:
            findings += _groups(run, a, b)
    return findings


def _forms(split: Split, a: str, b: str, severity: str, is_disjoint: bool) -> list[Finding]:
    """Return findings on ids that differ but are alike, or that have equal file names in other folders.

    Row numbers in arrays have only one form, and if the ids of the dataset are given, distinct ids are distinct items.
    See `protocol.auditing.items`. If more than half of the items of `a`, and at least `_ENOUGH_NAMES`, have equal names
    that do not merely count files, they are taken for the same files, and the finding has the severity of shared items.
    Otherwise it is undetermined, if shared items are an error.
    """
    if not split.dataset.has_listed_ids:
        return []
    items = [np.setdiff1d(split[x], split[y], assume_unique=True) for x, y in ((a, b), (b, a))]
    forms = [split.forms(part) for part in items]
    partners, n_parts = alike(*forms), split.name_parts * is_disjoint
    names, n_proper = _equal_names(forms[0], forms[1], partners, n_parts) if n_parts else ({}, 0)
    is_same = n_proper >= _ENOUGH_NAMES and 2 * n_proper > len(split[a])
    undetermined = "undetermined" if severity == "error" else severity
    findings, same = list[Finding](), _SAME_FILES if is_same else _OVERLAP
    level = severity if is_same else undetermined
    for kind, of_kind, found in (("ids-differ-in-form", undetermined, partners), ("equal-file-names", level, names)):
        findings += split.findings(kind, of_kind, items[0][[*found]], items[1][[*found.values()]], a=a, b=b, same=same)
    return findings


def _equal_names(a: list[Form], b: list[Form], partners: dict[int, int], n_parts: int) -> tuple[dict[int, int], int]:
    """Return the positions of equal file names of ids without partners, and how many of them don't just count files.

    A name has the last `n_parts` of a path.
    """
    by_name = alike([form[-n_parts:] for form in a], [form[-n_parts:] for form in b])
    found = {position: other for position, other in by_name.items() if position not in partners}
    names = ["/".join(map(str, form[-n_parts:])) for form in b]
    return found, len(found) - n_counters([names[other] for other in found.values()], names)


def _copies(run: Run, a: str, b: str) -> list[Finding]:
    """Return a finding for each kind of copies of items of one partition in another.

    A query with a copy in the training set is an error: the hasher was trained on it, whatever its id. All other copies
    are warnings: those in the database are ranked but not used for training, and are inherent in many datasets, and
    copies of validation items affect the selection, not the test.
    """
    split, findings = run.split, list[Finding]()
    severity = "error" if (a, b) == ("query", "train") else "warning"
    for alike_in, first in run.copies.items():
        copies = copies_of(split[a], split[b], first)
        items, partners = split[a][copies >= 0], copies[copies >= 0]
        findings += split.findings("near-duplicate", severity, items, partners, a=a, b=b, alike=alike_in)
    return findings


def _groups(run: Run, a: str, b: str) -> list[Finding]:
    """Return a finding if groups are divided between two partitions, with the number of their items in both.

    Items that are in both partitions do not count, because they are a separate finding; nor do training items in the
    database. If a hasher was trained on items of a query's group, it has seen what the query shows, which is an error.
    In the database, items of its group may be what the query should retrieve (another photograph of the same product)
    or an accident of sampling (the next frame of the same video). Only the reader can decide, so this is a warning.
    Groups divided between partitions that are used to choose options are also warnings.
    """
    split, groups = run.split, run.groups
    if groups is None:
        return []
    in_a, in_b = (groups.sizes(split[part]) for part in (a, b))
    alone = (in_a == 1) & (in_b == 1) & (groups.sizes(split.shared(a, b)) == 1)
    apart = (in_a == 0) | (in_b == 0) | alone
    if b == "database":
        apart |= groups.sizes(np.setdiff1d(split[b], split["train"], assume_unique=True)) == 0
    divided = np.flatnonzero(~apart).tolist()
    items = [f"{groups.names[group]} ({a} {in_a[group]:,}, {b} {in_b[group]:,})" for group in divided]
    sizes = {"n_a": counted(int(in_a[divided].sum()), "item"), "n_b": counted(int(in_b[divided].sum()), "item")}
    severity = "error" if (a, b) == ("query", "train") else "warning"
    return findings_of("group-split", severity, len(items), items, a=a, b=b, source=groups.source, **sizes)


def audit_known_pairs(run: Run) -> list[Finding]:
    """Return a finding for the database, and one for the training set, if a query has a judged (near-)duplicate there.

    Very similar items are only mentioned. An exact copy in the training set is an error, as for copies;
    near-duplicates are a warning, because they are a property of the dataset, and every split of it has some.
    """
    split, known, findings = run.split, run.judged, list[Finding]()
    if known is None:
        return []
    for part in ("database", "train"):
        queries, partners, judgement = known.best(split, part)
        is_near, n_exact = judgement < SIMILAR, int((judgement == EXACT).sum())
        n, n_similar = int(is_near.sum()), int((~is_near).sum())
        findings += split.findings(
            "known-near-duplicate",
            "error" if part == "train" and n_exact else "warning",
            queries[is_near],
            partners[is_near],
            source=known.source,
            judged=f"{n:,} of {len(split['query']):,} queries {'has' if n == 1 else 'have'} a near-duplicate",
            exact=f"exact copies: {n_exact:,}",
            part="training set" if part == "train" else part,
            similar=f"; with only a very similar item, which does not count: {n_similar:,}" * bool(n_similar),
            note=known.note and f"; {known.note}",
        )
    return findings


def audit_membership(run: Run) -> list[Finding]:
    """Return findings on items that a partition or the whole split lacks.

    A training set outside the database is an error if the protocol puts it inside. If no protocol is declared, one
    entirely outside, as in the improved protocol, is information; one that is partly inside is a warning, because no
    protocol has this. Items that are, or may be, also in a partition from which the training set must be disjoint are
    omitted, because another finding lists them. So are those that the database may have under another id if no protocol
    is declared; otherwise, they are undetermined.
    """
    split, protocol, findings = run.split, run.protocol, list[Finding]()
    if protocol.overlaps("train", "database"):
        parts, found_by = ("database", "query", *VALIDATION), (split.shared, split.unclear)
        shared, unclear, *reported = [items("train", part) for part in parts for items in found_by]
        undeclared = "warning" if shared.size or unclear.size else "information"
        severity = undeclared if protocol.listed else "error"
        outside = np.setdiff1d(split["train"], np.concatenate([shared, unclear, *reported]))
        findings += split.findings("train-not-in-database", severity, outside, unless="")
        if not protocol.listed:
            findings += split.findings("train-not-in-database", "undetermined", unclear, unless=_UNLESS)
    if split.dataset.n_items is not None and not protocol.divides_classes:
        unused = np.setdiff1d(np.arange(split.dataset.n_items), split.listed)
        findings += split.findings("unused-items", "warning", unused)
    return findings


def has_labels_twice(run: Run) -> bool:
    """Return whether the dataset and all lists have labels, or the pipeline compared them when it drew the split."""
    split, listed = run.split, {part for part, items in run.split.parts.items() if len(items)}
    is_labelled = bool(split.dataset.n_items) and split.dataset.labelled is None
    return run.items is not None or (is_labelled and listed <= set(split.flags))


def audit_entries(run: Run) -> list[Finding]:
    """Return findings on the original lists: a single item that may be many, repeated items, and other labels."""
    split, findings, in_conflict = run.split, list[Finding](), [np.empty(0, dtype=np.int64)]
    y, labelled = split.dataset.y, split.dataset.labelled
    for part, entries in split.entries.items():
        if len(entries) == 1 and _SEVERAL.search(split.dataset.names(entries)[0]):
            findings += split.findings("single-item", "undetermined", entries, part=part)
        distinct, counts = np.unique(entries, return_counts=True)
        findings += split.findings("duplicate-id", "error", distinct[counts > 1], part=part)
        if y is not None and part in split.flags:  # labels other than those of the dataset, or of earlier lists
            own, flags = y[entries], split.flags[part]
            differ = (_as_matrix(own, flags) != _as_matrix(flags, own)).reshape(len(entries), -1).any(axis=1)
            in_conflict.append(entries[differ if labelled is None else differ & labelled[entries]])
    return findings + split.findings("label-conflict", "error", np.unique(np.concatenate(in_conflict)))


def _as_matrix(labels: NDArray, other: NDArray) -> NDArray:
    """Return labels in the form of others that they are compared with: as 0/1 columns if those are."""
    return labels[:, None] == np.arange(other.shape[1]) if labels.ndim < other.ndim else labels
