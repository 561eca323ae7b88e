"""Findings on one run of a split, on what was fitted on it, and on its ground truths."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protocol.audit.findings import Finding, found, shared
from protocol.checks import n_classes
from protocol.storage import array_digest

LEARNING = ("validation_query", "validation_database", "train")  # all that may be learned from


class Declared(Protocol):
    """What the audit asks of a split protocol."""

    @property
    def database_without(self) -> tuple[str, ...]:
        """The partitions that the database must not contain."""

    @property
    def balanced(self) -> tuple[str, ...]:
        """The partitions with every class equally often, within one."""

    def sizes(self, given: Mapping[str, int], *, n_classes: int | None) -> Mapping[str, int]:
        """Return the size of each partition, from those that the setting gives."""


def audit_split(
    parts: Mapping[str, NDArray], protocol: Declared, *, y: NDArray | None, sizes: Mapping[str, int]
) -> list[Finding]:
    """Return the findings on one run.

    Parameters
    ----------
    parts : mapping of str to ndarray of int
        Row numbers of query, database, train, validation_query and validation_database.
    protocol : SplitProtocol
        What was declared.
    y : ndarray of int, shape (n_items,), or None
        Class labels.
    sizes : mapping
        The sizes that the setting gives.
    """
    made = found(
        "query-in-database",
        "error",
        shared(parts["query"], parts["database"]),
        "A query retrieves itself at distance 0, which raises every metric.",
    )
    made += found(
        "query-in-train",
        "error",
        shared(parts["query"], parts["train"]),
        "The hasher has seen the query, so the result is not one on unseen queries.",
    )
    for name in LEARNING:
        inherent = name not in protocol.database_without
        made += found(
            f"{name.replace('_', '-')}-in-database",
            "warning" if inherent else "error",
            shared(parts[name], parts["database"]),
            "Learned from items that are ranked in the test"
            + (", as the literature-standard protocol does (thesis section 3.5.1)." if inherent else "."),
        )
    for name in ("validation_query", "validation_database"):
        made += found(
            "validation-in-test",
            "error",
            shared(parts[name], parts["query"]),
            "Hyperparameters chosen on validation data have seen test queries.",
        )
    declared = protocol.sizes(sizes, n_classes=n_classes(y))
    wrong = [name for name, size in declared.items() if len(parts[name]) != size]
    made += found(
        "size-mismatch",
        "error",
        np.array([len(parts[name]) for name in wrong]),
        f"The partitions {', '.join(wrong)} have other sizes than declared.",
    )
    return made + (_class_findings(parts, y, protocol) if y is not None and y.ndim == 1 else [])


def _class_findings(parts: Mapping[str, NDArray], y: NDArray, protocol: Declared) -> list[Finding]:
    highest = int(y.max())
    counts = {name: np.bincount(y[rows], minlength=highest + 1) for name, rows in parts.items() if len(rows)}
    made = []
    for name, count in counts.items():
        made += found(
            "class-missing",
            "error",
            np.flatnonzero(count == 0),
            f"The {name} partition has no item of these classes.",
        )
    for name in protocol.balanced:
        uneven = counts[name].max() - counts[name].min() > 1
        made += found(
            "class-imbalance",
            "error",
            np.flatnonzero(counts[name] < counts[name].max() - 1) if uneven else np.array([]),
            f"The {name} partition holds fewer items of these classes than of others.",
        )
    return made


def audit_fit(passport: Mapping[str, Any], training: NDArray) -> list[Finding]:
    """Return a finding if something was fitted on other data than the training set of its split.

    Parameters
    ----------
    passport : mapping
        Of a file that holds something fitted; ``fitted_on`` is the digest of the data it was fitted on.
    training : ndarray
        The data of the training set, made again from the split.
    """
    if passport["fitted_on"] == array_digest(training):
        return []
    consequence = f"The {passport['maker']} was fitted on other data than this split's training set."
    return [Finding("preprocessing-leak", "error", 1, (), consequence)]


def audit_selection(passport: Mapping[str, Any], parts: Mapping[str, NDArray]) -> list[Finding]:
    """Return a finding if options were chosen with other data than the training set and validation partitions.

    Parameters
    ----------
    passport : mapping
        Of a selection; ``read`` has the digest of the data read as each partition.
    parts : mapping of str to ndarray
        The data of the partitions that may be read, and of no other, made again from the split.
    """
    allowed = {name: array_digest(data) for name, data in parts.items()}
    wrong = sorted(name for name in allowed | passport["read"] if allowed.get(name) != passport["read"].get(name))
    if not wrong:
        return []
    consequence = f"Options were chosen with other data than this split's {', '.join(parts)}: see {', '.join(wrong)}."
    return [Finding("selection-leak", "error", len(wrong), (), consequence)]


def audit_truth(truths: Mapping[str, Mapping[str, NDArray]]) -> list[Finding]:
    """Return a finding for queries without a relevant item, whose average precision is 0/0.

    Parameters
    ----------
    truths : mapping
        By ground truth, its arrays: neighbour lists (``indptr``), or labels.
    """
    made = []
    for name, arrays in truths.items():
        if "indptr" in arrays:
            empty = np.flatnonzero(np.diff(arrays["indptr"]) == 0)
        else:
            known = arrays["database_labels"]
            empty = np.flatnonzero(
                ~np.isin(arrays["query_labels"], known)
                if known.ndim == 1
                else ~(arrays["query_labels"] & known.any(axis=0)).any(axis=1)
            )
        made += found(
            "query-without-relevant",
            "warning",
            empty,
            f"Under {name} these queries have no relevant item: mAP is 0/0 and counts as 0 (empty=zero), or the query "
            "is left out (empty=drop).",
        )
    return made
