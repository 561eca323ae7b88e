"""Check the classes of each partition, and find queries without relevant items."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Dataset, Split
from protocol.auditing.runs import Run
from protocol.evaluation import CONVENTIONS
from protocol.splits import Drawn, SplitProtocol


def audit_classes(run: Run) -> list[Finding]:
    """Return findings on the classes of each partition.

    Missing or rare classes are an error if the protocol draws the partition class by class, unless the dataset has no
    more items of them; otherwise, a missing class is a warning.
    """
    split, protocol, dataset, findings = run.split, run.protocol, run.split.dataset, list[Finding]()
    classes, counts = class_counts(split)
    for name, n_items in counts.items():
        expected, least = _expected(split, protocol, name, n_items)
        is_few = n_items < expected
        exhausted = _exhausted(split, protocol, classes) if is_few.any() else is_few
        for severity, applies, why in (
            ("error", is_few & ~exhausted, ""),
            ("warning", is_few & exhausted, ", because the dataset has no more of them"),
        ):
            missing, few = (n_items == 0) & applies, (n_items > 0) & applies
            findings += _of_classes("class-missing", severity, dataset, classes[missing], part=name, why=why)
            shortages = [
                f"{_class_name(dataset, label)}: {count:,} (expected {least}{minimum:,})"
                for label, count, minimum in zip(classes[few], n_items[few], expected[few], strict=True)
            ]
            findings += findings_of(
                "class-imbalance", severity, len(shortages), shortages, part=name, why=why, counts=_tallied(n_items)
            )
        if name not in protocol.balanced or has_several(split):  # otherwise, the counts differ by at most one
            optional = (n_items == 0) & (expected == 0)
            findings += _of_classes("class-missing", "warning", dataset, classes[optional], part=name, why="")
    return findings


def _expected(
    split: Split, protocol: SplitProtocol, name: str, n_items: NDArray[np.int64]
) -> tuple[NDArray[np.int64], str]:
    """Return the expected number of items of each class of a partition, and "at least " if it is a minimum."""
    part = protocol.partitions.get(name)
    if isinstance(part, Drawn) and part.per_class:
        return np.full_like(n_items, part.per_class), "at least " if has_several(split) else ""
    is_balanced = isinstance(part, Drawn) and not has_several(split)
    return np.full_like(n_items, n_items.max() - 1 if is_balanced else 0), "at least "


def has_several(split: Split) -> bool:
    """Return whether an item may have several labels."""
    return split.dataset.y is not None and split.dataset.y.ndim == 2


def class_counts(split: Split) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    """Return the classes, and the number of items of each class in the partitions with known labels.

    With one label per item, the classes are those that occur; with several, they are the columns.
    """
    y, labelled = split.dataset.y, split.dataset.labelled
    if y is None:
        return np.empty(0, dtype=np.int64), {}
    classes = np.arange(y.shape[1]) if y.ndim == 2 else np.unique(y if labelled is None else y[labelled])
    counts = {}
    for name, part in split.parts.items():
        labels = split.dataset.class_labels(part)
        if labels is not None and len(labels):
            n_items = labels.sum(axis=0) if labels.ndim == 2 else np.bincount(np.searchsorted(classes, labels))
            counts[name] = np.pad(n_items, (0, len(classes) - len(n_items)))
    return classes, counts


def _exhausted(split: Split, protocol: SplitProtocol, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the classes whose items are all in the drawn partitions."""
    y = split.dataset.y
    if y is None or y.ndim == 2:  # with several labels, another choice is always possible if the protocol can be drawn
        return np.zeros(len(classes), dtype=bool)
    remaining = np.ones(len(y), dtype=bool) if split.dataset.labelled is None else split.dataset.labelled.copy()
    for name in protocol.balanced:
        remaining[split[name]] = False
    return ~np.isin(classes, y[remaining])


def _tallied(n_items: NDArray[np.int64]) -> str:
    """Return the number of classes by their number of items, in words.

    Examples
    --------
    >>> _tallied(np.array([100, 97, 100, 103]))
    '97 items in 1 class, 100 in 2, 103 in 1'
    """
    counts, classes = np.unique(n_items, return_counts=True)
    parts = [f"{count:,} in {number:,}" for count, number in zip(counts, classes, strict=True)]
    parts[0] = f"{counts[0]:,} items in {classes[0]:,} class{'' if classes[0] == 1 else 'es'}"
    return ", ".join(parts)


def _of_classes(name: str, severity: str, dataset: Dataset, classes: NDArray[np.int64], **words: Any) -> list[Finding]:
    return findings_of(name, severity, len(classes), [_class_name(dataset, label) for label in classes], **words)


def _class_name(dataset: Dataset, label: int) -> str:
    return dataset.class_names[label] if label < len(dataset.class_names) else f"class {label}"


# Relevance


def audit_relevance(split: Split) -> list[Finding]:
    """Return a finding for test queries that share no label with any database item, if labels are known."""
    query, database = (split.dataset.class_labels(split[name]) for name in ("query", "database"))
    if query is None or database is None:
        return []
    names = split.dataset.names(split["query"][_without_shared_label(query, database)])
    return _without_relevant("By class label", names)


def audit_truth(truths: Mapping[str, Mapping[str, NDArray]], ids: NDArray, *, split: str) -> list[Finding]:
    """Return a finding for each ground truth in which queries have no relevant items.

    Parameters
    ----------
    truths : mapping
        The arrays of each ground truth, by name: neighbour lists (``indptr``), or labels.
    ids : ndarray, shape (n_queries,)
        The names of the queries.
    split : str
        The split protocol to which the database belongs.
    """
    findings = []
    for name, arrays in truths.items():
        if "indptr" in arrays:
            empty = np.flatnonzero(np.diff(arrays["indptr"]) == 0)
        else:
            empty = _without_shared_label(arrays["query_labels"], arrays["database_labels"])
        findings += _without_relevant(f"With the ground truth {name} on the split {split}", ids[empty].tolist())
    return findings


def _without_shared_label(query: NDArray, database: NDArray) -> NDArray[np.int64]:
    """Return the positions of queries that share no label with any database item."""
    if query.ndim == 1:
        return np.flatnonzero(~np.isin(query, database))
    return np.flatnonzero(~(query & database.any(axis=0)).any(axis=1))


def _without_relevant(truth: str, queries: list[str]) -> list[Finding]:
    conventions = conventions_of_undefined()
    return findings_of("query-without-relevant", "warning", len(queries), queries, truth=truth, conventions=conventions)


def conventions_of_undefined() -> str:
    """Return how each convention counts a query whose average precision is 0/0, in words."""
    parts = []
    for rule, treatment in {"zero": "counted as 0", "drop": "left out of the mean"}.items():
        names = [one.name for one in CONVENTIONS if rule in map(one.undefined, one.reported_as_map)]
        parts.append(f"{treatment} under the conventions {', '.join(names)}")
    return "; ".join(parts)
