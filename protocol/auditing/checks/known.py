"""Compare partitions with what is known about items: copies, judged pairs, modalities, groups."""

import itertools

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.checks.overlaps import must_be_disjoint
from protocol.auditing.evidence import Copies, Groups
from protocol.auditing.findings import Finding, Removal, findings_of
from protocol.auditing.items import Split
from protocol.auditing.known_pairs import EXACT, SIMILAR, KnownPairs
from protocol.checks import counted
from protocol.splits import PARTITIONS, SplitProtocol

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


def audit_copies(split: Split, protocol: SplitProtocol, copies: Copies, alike: str) -> list[Finding]:
    """Return a finding for each pair of partitions that should be disjoint but contain copies of each other's items.

    A query with an identical copy in the training set is an error: the hasher was trained on it, whatever its id. All
    other copies are warnings: those in the database are ranked but not used for training, and are inherent in many
    datasets; copies of validation items affect the selection, not the test; and items within a distance of each other
    may be different items. `alike` describes the kind of similarity.
    """
    findings = []
    for a, b in itertools.combinations(PARTITIONS, 2):
        if not (len(split[a]) and len(split[b]) and must_be_disjoint(split, protocol, a, b)):
            continue
        of_a, of_b = copies.partners(split[a], split[b])
        findings += split.findings(
            "near-duplicate",
            "error" if copies.is_equal and (a, b) == ("query", "train") else "warning",
            split[a][of_a >= 0],
            partners=of_a[of_a >= 0],
            removals=[Removal(b, split[b][of_b >= 0], a, of_b[of_b >= 0])],
            a=a,
            b=b,
            alike=alike,
        )
    return findings


def audit_known_pairs(split: Split, known: KnownPairs) -> list[Finding]:
    """Return a finding for the database, and one for the training set, if a query has a judged (near-)duplicate there.

    Very similar items are only mentioned. An exact copy in the training set is an error, as in `audit_copies`;
    near-duplicates are a warning, because they are a property of the dataset, and every split of it has some.
    """
    findings = []
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
            removals=[Removal(part, partners, "query", queries)],
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


def audit_modalities(split: Split, pairs: NDArray[np.int64]) -> list[Finding]:
    """Return a finding for items whose modalities are in different partitions, by the first one.

    If only one half is a query, the other half is to be removed from all partitions. Otherwise, partitions with both
    halves keep them, and single halves are to be removed; if no partition has both, the first one in the order of
    `PARTITIONS` keeps its half.
    """
    divided = divided_pairs(split, pairs)
    names = [part for part in PARTITIONS if part in split.parts]
    contains = np.array([[np.isin(half, split[part]) for half in divided.T] for part in names])  # (n_parts, 2, n_pairs)
    together, any_half = contains[:, 0] & contains[:, 1], contains[:, 0] | contains[:, 1]
    query = names.index("query")
    one_queried = any_half[query] & ~together[query]
    keeper = np.where(together.any(axis=0) & ~one_queried, together, any_half).argmax(axis=0)
    removals = []
    for number, part in enumerate(names):
        for half, other in ((0, 1), (1, 0)):
            alone = ~contains[number, other] & (keeper != number)
            leaves = contains[number, half] & np.where(one_queried, ~contains[query, half], alone)
            for kept_in in np.unique(keeper[leaves]):
                halves = divided[leaves & (keeper == kept_in)]
                removals.append(Removal(part, halves[:, half], names[kept_in], halves[:, other]))
    return split.findings("pair-split", "error", divided[:, 0], partners=divided[:, 1], removals=removals)


def audit_groups(split: Split, groups: Groups) -> list[Finding]:
    """Return a finding for each pair of partitions between which groups are divided; see `GROUP_PAIRS`.

    Items that are in both partitions do not count, because they are a separate finding; nor do training items in the
    database. ``count`` is the number of divided groups; ``items`` lists
    them with their numbers of items in both partitions.
    """
    findings = []
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
            removals=[Removal(b, split[b][np.isin(groups.codes[split[b]], divided)], a)],
            a=a,
            b=b,
            n_a=counted(int(in_a[divided].sum()), "item"),
            n_b=counted(int(in_b[divided].sum()), "item"),
            source=groups.source,
        )
    return findings
