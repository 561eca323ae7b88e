"""Run every applicable check on a split, or on several splits of one protocol, and list those that are not possible."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from protocol.auditing.classes import audit_classes
from protocol.auditing.copies import Copied, audit_copies
from protocol.auditing.declared import audit_seed, audit_sizes
from protocol.auditing.findings import Finding
from protocol.auditing.forms import audit_forms
from protocol.auditing.identification import identify
from protocol.auditing.known_pairs import KnownPairs, audit_known_pairs, known_pairs_for
from protocol.auditing.overlaps import audit_entries, audit_overlaps, is_complete
from protocol.auditing.reading import UNDECLARED, Run
from protocol.auditing.runs import audit_runs
from protocol.auditing.split import Split
from protocol.auditing.writing import NOT_CHECKED
from protocol.splits import PARTITIONS

_NO_SIZES: Mapping[str, int] = MappingProxyType({})

Findings = dict[str, list[Finding]]
"""Findings by file."""


def audit_split(
    run: Run,
    copies: Mapping[str, Copied] | None = None,
    known_pairs: KnownPairs | None = None,
    expected: Mapping[str, int] = _NO_SIZES,
) -> list[Finding]:
    """Return the findings on one split.

    Parameters
    ----------
    run : Run
    copies : mapping of str to Copied, or None
        Searches for copies of items, by the kind of similarity; see `audit_copies`.
    known_pairs : KnownPairs, optional
        Manually judged pairs of the dataset.
    expected : mapping of str to int
        The expected sizes of partitions.
    """
    split, protocol = run.split, run.protocol
    made = audit_overlaps(split, protocol) + audit_entries(split)
    made += audit_forms(split)
    made += audit_sizes(split, run.name, protocol, run.sizes, expected) + audit_classes(split, protocol)
    made += audit_seed(split, protocol, seed=run.seed, sizes=run.sizes)
    for alike, copied in (copies or {}).items():
        made += audit_copies(split, protocol, copied, alike)
    return made if known_pairs is None else made + audit_known_pairs(split, known_pairs)


def audit_splits(
    runs: Sequence[Run],
    copies: Mapping[str, Copied] | None = None,
    known_pairs: Mapping[str, KnownPairs | None] | None = None,
    expected: Mapping[str, int] = _NO_SIZES,
) -> Findings:
    """Return the findings on several splits of one dataset: on each split, and on the runs of each protocol together.

    `known_pairs` are the judged pairs, by file; by default, those shipped with the package for the dataset, if any.
    """
    if known_pairs is None:
        known_pairs = {run.file: known_pairs_for(None, run.split.dataset) for run in runs}
    findings = {run.file: audit_split(run, copies, known_pairs[run.file], expected) for run in runs}
    for protocol in {run.name: run.protocol for run in runs}.values():
        splits = {run.file: run.split for run in runs if run.protocol is protocol}
        for file, made in audit_runs(splits, protocol).items():
            findings[file] += made
    return findings


def about(run: Run, *, n_runs: int, given: Collection[str], sizes: Collection[str] = ()) -> list[str]:
    """Return sentences about a run: its sizes, the split that it resembles, and the checks that were not possible.

    Parameters
    ----------
    run : Run
    n_runs : int
        Number of runs of this protocol in this audit.
    given : collection of str
        The arguments of `audit` that were given, by name.
    sizes : collection of str
        The partitions with an expected size.
    """
    contents = ", ".join(f"{part} {len(items):,}" for part, items in run.split.parts.items() if len(items))
    declared = "no protocol declared" if run.name == UNDECLARED else f"protocol {run.name}"
    split, dataset = run.split, run.split.dataset
    absent = [part for part in PARTITIONS if not len(split[part])]
    unlabelled = [part for part in split.parts if len(split[part]) and dataset.class_labels(split[part]) is None]
    unsized = [part for part in split.parts if len(split[part]) and part not in sizes]
    complete = dataset.n_items is not None and is_complete(split, run.protocol)
    missing = {
        f"overlaps with missing partitions ({', '.join(absent)})": bool(absent),
        f"size-mismatch{_of(unsized, split)} (needs protocol or sizes)": run.name == UNDECLARED and bool(unsized),
        "class-imbalance (needs protocol)": run.name == UNDECLARED,
        f"classes and relevance{_of(unlabelled, split)} (needs labels)": bool(unlabelled),
        "near-duplicate (needs features)": "features" not in given,
        "near-duplicates that are not identical (needs distance)": "features" in given and "distance" not in given,
        "known-near-duplicate (needs known pairs)": "known_pairs" not in given,
        "pair-split (needs pairs)": "pairs" not in given,
        "group-split (needs groups)": "groups" not in given,
        "doubtful-label (needs label issues)": "label_issues" not in given,
        "selection-on-test (needs a training log)": "training_log" not in given,
        "unused-items (needs ids or labels of the whole dataset, and all partitions)": not complete,
        "not-reproducible (needs a seed, and the dataset that was divided)": run.seed is None
        or dataset.n_items is None,
        "runs-not-independent (needs other runs of a declared protocol)": n_runs == 1 or not run.protocol.balanced,
        "leaks in fitted models, mixed-libraries (need the pipeline's target audit)": True,
    }
    identified = identify(split, None if run.name == UNDECLARED else run.name)
    not_checked = NOT_CHECKED + "; ".join(check for check, is_missing in missing.items() if is_missing)
    return [f"{contents}; {declared}", *([identified] if identified else []), not_checked]


def _of(parts: Sequence[str], split: Split) -> str:
    """Return a phrase that names the partitions without some information; empty if all of them lack it."""
    given = [part for part in split.parts if len(split[part])]
    return "" if len(parts) == len(given) else f" for {', '.join(parts)}"
