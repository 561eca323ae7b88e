"""Check the classes of each partition: missing and under-represented ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, found
from protocol.auditing.split import Dataset, Split
from protocol.splits import Drawn, SplitProtocol


def audit_classes(split: Split, protocol: SplitProtocol) -> list[Finding]:
    """Return findings on the classes of each partition.

    Missing or rare classes are an error if the protocol draws the partition class by class, unless the dataset has no
    more items of them; otherwise, a missing class is a warning.
    """
    y = split.dataset.y
    if y is None:
        return []
    classes, counts = class_counts(split)
    made = []
    for name, n_items in counts.items():
        expected = _minimum(n_items, name, split, protocol)
        exhausted = (
            _exhausted(split, protocol, classes) if (n_items < expected).any() else np.zeros(len(classes), dtype=bool)
        )
        for severity, applies, why in (
            ("error", ~exhausted, ""),
            ("warning", exhausted, ", because the dataset has no more of them"),
        ):
            missing, few = (n_items == 0) & (expected > 0) & applies, (n_items > 0) & (n_items < expected) & applies
            made += _of_classes("class-missing", severity, split.dataset, classes[missing], part=name, why=why)
            shortages = [
                f"{class_name}: {count:,} (expected {_expected(name, split, protocol, least)})"
                for class_name, count, least in zip(
                    _class_names(split.dataset, classes[few]), n_items[few], expected[few], strict=True
                )
            ]
            made += found(
                "class-imbalance", severity, len(shortages), shortages, part=name, why=why, counts=_tallied(n_items)
            )
        if name not in protocol.balanced or y.ndim == 2:  # otherwise, the counts differ by at most one
            optional = (n_items == 0) & (expected == 0)
            made += _of_classes("class-missing", "warning", split.dataset, classes[optional], part=name, why="")
    return made


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


def _minimum(n_items: NDArray[np.int64], name: str, split: Split, protocol: SplitProtocol) -> NDArray[np.int64]:
    """Return the minimum number of items of each class in a partition; 0 if the protocol requires none."""
    part = protocol.partitions.get(name)
    if not isinstance(part, Drawn) or split.dataset.y is None:
        return np.zeros_like(n_items)
    if part.per_class:
        return np.full_like(n_items, part.per_class)
    is_multi_label = split.dataset.y.ndim == 2
    return np.zeros_like(n_items) if is_multi_label else np.full_like(n_items, n_items.max() - 1)


def _exhausted(split: Split, protocol: SplitProtocol, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the classes whose items are all in the drawn partitions."""
    y = split.dataset.y
    if y is None or y.ndim == 2:  # with several labels, another choice is always possible if the protocol can be drawn
        return np.zeros(len(classes), dtype=bool)
    remaining = np.ones(len(y), dtype=bool) if split.dataset.labelled is None else split.dataset.labelled.copy()
    for name in protocol.balanced:
        remaining[split[name]] = False
    return ~np.isin(classes, y[remaining])


def _expected(name: str, split: Split, protocol: SplitProtocol, least: int) -> str:
    """Return the required number of items of a class in a partition, in words."""
    part = protocol.partitions.get(name)
    exact = isinstance(part, Drawn) and part.per_class and split.dataset.y is not None and split.dataset.y.ndim == 1
    return f"{least:,}" if exact else f"at least {least:,}"


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
    return found(name, severity, len(classes), _class_names(dataset, classes), **words)


def _class_names(dataset: Dataset, classes: NDArray[np.int64]) -> list[str]:
    return [dataset.class_names[label] if label < len(dataset.class_names) else f"class {label}" for label in classes]
