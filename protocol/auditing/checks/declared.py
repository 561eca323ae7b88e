"""Compare splits with their declaration: sizes, classes, partitions drawn again from the seed, independent runs."""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Findings, findings_of
from protocol.auditing.items import Dataset, Split, common_numbers
from protocol.auditing.runs import Run
from protocol.checks import ProtocolError, abridged, need
from protocol.inputs.text import is_number
from protocol.inputs.validation import n_classes
from protocol.provenance.storage import array_digest
from protocol.splits import PARTITIONS, Drawn, Items, Rest, SplitProtocol

_UNLIKELY = 1e-9


def audit_sizes(run: Run) -> list[Finding]:
    """Return a finding if the sizes of partitions differ from the declared ones, where these are known."""
    sizes = {part: (len(run.split[part]), size) for part, size in declared_sizes(run).items()}
    wrong = [f"{part} {n:,} (declared {size:,})" for part, (n, size) in sizes.items() if n != size]
    return findings_of("size-mismatch", "error", len(wrong), wrong, which=f"declared by {run.name}")


def declared_sizes(run: Run) -> dict[str, int]:
    """Return the declared sizes of the partitions of a split, without those that are left open and not known."""
    split, protocol, n_items = run.split, run.protocol, run.split.dataset.n_items or run.protocol.n_items
    sizes = {part: run.sizes.get(part) or len(split[part]) for part in protocol.open}
    declared = protocol.sizes(
        {part: max(size, 1) for part, size in sizes.items()},  # an unknown size is not compared
        n_items=n_items if all(sizes.values()) else None,
        n_classes=protocol.n_classes or n_classes(split.dataset.y),
    )
    unknown = {part for part in protocol.open if not run.sizes.get(part)}
    return {part: size for part, size in declared.items() if part in split.parts and part not in unknown}


# Classes


def audit_classes(run: Run) -> list[Finding]:
    """Return findings on the classes of each partition.

    Missing or rare classes are an error if the protocol draws the partition class by class, unless the dataset has no
    more items of them; otherwise, a missing class is a warning.
    """
    split, protocol, findings = run.split, run.protocol, list[Finding]()
    classes, counts = class_counts(split)
    exhausted = _exhausted(split, protocol, classes)
    for part, n_items in counts.items():
        expected, least = _expected(run, classes, part, n_items)
        is_optional = (expected == 0) & (not protocol.is_reduced(part))
        is_few = n_items < expected
        for severity, selected, why in (
            ("error", is_few & ~exhausted, ""),
            ("warning", is_few & exhausted, ", because the dataset has no more of them"),
            ("warning", is_optional & (n_items == 0), ""),
        ):
            numbers = selected.nonzero()[0].tolist()
            rows = [(class_name(split.dataset, classes[row]), n_items[row], row) for row in numbers]
            missing = [f"{name}{_elsewhere(counts, row)}" for name, n, row in rows if not n]
            few = [f"{name}: {n:,} (expected {least}{expected[row]:,})" for name, n, row in rows if n]
            words = {"part": part, "why": why, "done": "trained" if part == "train" else "evaluated"}
            findings += findings_of("class-missing", severity, len(missing), missing, **words)
            findings += findings_of("class-imbalance", severity, len(few), few, part=part, why=why)
    return findings


def audit_label_forms(run: Run) -> list[Finding]:
    """Return a finding if the classes of some partitions are all numbers, and those of others all names."""
    classes, counts = class_counts(run.split)
    names = [class_name(run.split.dataset, label) for label in classes.tolist()]
    used = {part: [name for name, n in zip(names, of_part, strict=True) if n] for part, of_part in counts.items()}
    forms = {part: set(map(is_number, of_part)) for part, of_part in used.items() if of_part}
    lists = [f"{part}: {abridged(used[part])}" for part, form in forms.items() if len(form) == 1]
    is_mixed = {True} in forms.values() and {False} in forms.values()
    return findings_of("labels-differ-in-form", "undetermined", len(lists) * is_mixed, lists)


def _elsewhere(counts: Mapping[str, NDArray[np.int64]], row: int) -> str:
    """Return the numbers of items of a class in the partitions that have some, in brackets."""
    others = ", ".join(f"{part} {n_items[row]:,}" for part, n_items in counts.items() if n_items[row])
    return f" ({others})" if others else ""


def _expected(run: Run, classes: NDArray, name: str, n_items: NDArray[np.int64]) -> tuple[NDArray[np.int64], str]:
    """Return the expected number of items of each class of a partition, and "at least " if it is a minimum."""
    protocol, several = run.protocol, has_several(run.split)
    part = protocol.partitions.get(name)
    if not (isinstance(part, Drawn) and protocol.balanced) or (name == "train" and protocol.imbalance != 1):
        return np.zeros_like(n_items), "at least "
    unseen, is_expected = unseen_classes(run)[0], np.ones(len(classes), dtype=np.bool_)
    if part.classes != "all":
        is_expected = n_items > 0 if unseen is None else np.isin(classes, unseen) == (part.classes == "unseen")
    if part.per_class:
        return np.where(is_expected, part.per_class, 0), "at least " if several else ""
    return np.where(is_expected & (not several), n_items.max() - 1, 0), "at least "


def audit_unseen_classes(run: Run) -> list[Finding]:
    """Return a finding for each partition with items of classes that the protocol keeps out of it."""
    split, (unseen, _), findings = run.split, unseen_classes(run), list[Finding]()
    for name, part in run.protocol.partitions.items():
        labels = split.dataset.class_labels(split[name])
        if unseen is None or part.classes == "all" or labels is None:
            continue
        wrong = split[name][Items(len(labels), labels).of_classes(unseen) != (part.classes == "unseen")]
        findings += split.findings("unseen-class", "error", wrong, part=name, classes=part.classes)
    return findings


def unseen_classes(run: Run) -> tuple[NDArray[np.int64] | None, str]:
    """Return the unseen classes of a run and how they are known; None if they are not known, or all classes are seen.

    Without the seed of the run, they are the classes of the queries, if these are of unseen classes, or otherwise those
    without training items. Neither is known of items with several labels.
    """
    split, protocol, dataset = run.split, run.protocol, run.split.dataset
    if not protocol.divides_classes:
        return None, ""
    if not isinstance(protocol.unseen, int):
        return np.unique(np.asarray(protocol.unseen)), f"declared by {run.name}"
    if run.seed is not None and dataset.n_items is not None:
        return protocol.unseen_classes(Items(dataset.n_items, dataset.y), seed=run.seed), f"seed {run.seed}"
    if dataset.y is None or has_several(split):
        return None, ""
    classes, counts = class_counts(split)
    if protocol.partitions["query"].classes == "unseen" and "query" in counts:
        return classes[counts["query"] > 0], "the classes of the queries"
    untrained = classes[counts.get("train", np.ones_like(classes)) == 0]
    return (untrained, "without training items") if untrained.size else (None, "")


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
    for name in protocol.random:
        remaining[split[name]] = False
    return ~np.isin(classes, y[remaining])


def class_name(dataset: Dataset, label: int) -> str:
    """Return the name of a class, or its number."""
    return dataset.class_names[label] if label < len(dataset.class_names) else f"class {label}"


# Draws


def audit_seed(run: Run) -> list[Finding]:
    """Return a finding that lists the partitions that differ from those that the protocol draws from the run's seed.

    Listed partitions are not drawn, so they are used as they are. The complete dataset must be known.
    """
    split, dataset, protocol = run.split, run.split.dataset, run.protocol
    if run.seed is None or dataset.n_items is None:
        return []
    lists = {name: split[name] for name in protocol.listed if len(split[name])}
    try:
        known: dict[str, Any] = {"seed": run.seed, "sizes": run.sizes, "official": dataset.official, "lists": lists}
        drawn = protocol.split(dataset.n_items, dataset.y, **known)
    except ProtocolError as error:
        why = f" ({str(error).removesuffix('.')})"
        return findings_of("not-reproducible", "error", 1, [f"seed {run.seed}"], why=why)
    other = [part for part in drawn if not np.array_equal(drawn[part], split[part])]
    return findings_of("not-reproducible", "error", len(other), other, why=f" (seed {run.seed})")


def audit_runs(runs: Sequence[Run]) -> Findings:
    """Return findings by run: partitions identical to those of another run, or overlaps that are unlikely by chance.

    If nothing is drawn, as for official splits and lists, runs are identical by declaration. All runs are of one
    dataset and one protocol.
    """
    findings, splits = defaultdict[str, list[Finding]](list), _in_one_numbering(runs)
    if not splits or len(runs) == 1:
        return findings
    n_items = _n_divided(runs[0], splits)
    for part in runs[0].protocol.random:
        first: dict[str, str] = {}
        for run, parts in zip(runs, splits, strict=True):
            if len(parts[part]):
                earlier = first.setdefault(array_digest(parts[part]), run.file)
                if earlier != run.file:
                    what = f"This run has the same {part} partition as another run"
                    findings[run.file] += findings_of("runs-not-independent", "error", 1, [earlier], what=what)
        if len(first) == len(runs) and n_items is not None:
            findings[runs[0].file] += _against_chance(runs, part, [parts[part] for parts in splits], n_items)
    return findings


def runs_not_compared(runs: Sequence[Run]) -> list[str]:
    """Return what the check of independent runs could not find and what that needs; empty if it was complete."""
    drawn = runs[0].protocol.random
    if runs[0].protocol.listed or (drawn and len(runs) == 1):
        return ["runs-not-independent (needs other runs of a declared protocol)"]
    splits = _in_one_numbering(runs) if drawn else []
    if drawn and not (splits and _n_divided(runs[0], splits)):
        return ["runs-not-independent, for runs that are not identical (needs ids or labels of the whole dataset)"]
    return []


def _in_one_numbering(runs: Sequence[Run]) -> list[dict[str, NDArray[np.int64]]]:
    """Return the partitions of runs with numbers that mean the same item in all of them; none if these are not known.

    Without the ids of the dataset, each run numbers the ids in its own lists.
    """
    ids = [run.split.dataset.ids for run in runs]
    splits = [{part: run.split[part] for part in PARTITIONS} for run in runs]
    if all(of_run is ids[0] for of_run in ids):
        return splits
    if any(of_run is None for of_run in ids):
        return []
    numbered = zip(splits, common_numbers(ids)[0], strict=True)
    return [{part: np.sort(of_run[items]) for part, items in parts.items()} for parts, of_run in numbered]


def _n_divided(run: Run, splits: Sequence[Mapping[str, NDArray[np.int64]]]) -> int | None:
    """Return the number of items from which partitions are drawn, None if it is not known.

    If the database is the rest of the dataset and all partitions that it leaves out are known, every item is listed.
    """
    n_items, required = run.split.dataset.n_items or run.protocol.n_items, run.protocol.database_without
    is_rest = isinstance(run.protocol.partitions["database"], Rest)
    if n_items is None and is_rest and all(len(parts[part]) for parts in splits for part in ("database", *required)):
        return len(np.unique(np.concatenate([items for parts in splits for items in parts.values()])))
    return n_items


def _against_chance(runs: Sequence[Run], part: str, drawn: Sequence[NDArray[np.int64]], n_items: int) -> list[Finding]:
    """Return a finding if the partitions of runs share more, or fewer, items than expected for independent draws.

    The number of shared items is approximately Poisson, or narrower. If the classes are not known, fewer items than
    expected are an error, and more are a warning, because small classes may be drawn again and again.
    """
    declared = runs[0].protocol.partitions[part]
    expected, is_exact = _expected_shared(runs[0].split.dataset, declared, drawn, n_items)
    shared = sum(int(np.isin(a, b, assume_unique=True).sum()) for a, b in itertools.combinations(drawn, 2))
    special = need("scipy.special", "scipy")
    is_few = special.pdtr(shared, expected) <= _UNLIKELY
    if not (is_few or (shared and special.pdtrc(shared - 1, expected) <= _UNLIKELY)):
        return []
    what = f"The {part} partitions of the runs share {shared:,} items, but {expected:,.0f} are expected by chance"
    severity = "error" if is_few or is_exact else "warning"
    return findings_of("runs-not-independent", severity, len(runs), [run.file for run in runs], what=what)


def _expected_shared(dataset: Dataset, part: Any, drawn: Sequence[NDArray], n_items: int) -> tuple[float, bool]:
    r"""Return how many items all pairs of independent draws share on average, and whether this is exact.

    Two draws of :math:`a_c` and :math:`b_c` of the :math:`N_c` items of class c share :math:`\sum_c a_c b_c / N_c` on
    average. If the classes are not known, this is at least :math:`a b / N`, by the inequality of Cauchy and Schwarz.
    """
    counts, available = [np.array([len(items)]) for items in drawn], np.array([n_items])
    y = dataset.y if dataset.labelled is None else None
    if y is not None and y.ndim == 1:
        _, classes, available = np.unique(y, return_inverse=True, return_counts=True)
        counts = [np.bincount(classes[items], minlength=len(available)) for items in drawn]
    expected = sum(float(np.sum(a * b / available)) for a, b in itertools.combinations(counts, 2))
    if dataset.y is None:  # a dataset of the pipeline without labels has no classes
        return expected, dataset.digest is not None
    return expected, y is not None and (y.ndim == 1 or not getattr(part, "per_class", None))
