"""The checks of splits: all that are applicable, and a list of those that are not possible."""

from collections.abc import Sequence

from protocol.auditing.checks.classes import audit_classes
from protocol.auditing.checks.declared import audit_runs, audit_seed, audit_sizes
from protocol.auditing.checks.identification import identify
from protocol.auditing.checks.known import audit_copies, audit_known_pairs
from protocol.auditing.checks.overlaps import audit_entries, audit_forms, audit_overlaps, is_complete
from protocol.auditing.findings import NOT_CHECKED, Finding, Findings
from protocol.auditing.inputs.reading import UNDECLARED, Run
from protocol.splits import PARTITIONS


def audit_split(run: Run) -> list[Finding]:
    """Return the findings on one split: overlaps, entries, sizes, classes, its seed, and copies of items."""
    split, protocol = run.split, run.protocol
    findings = audit_overlaps(split, protocol) + audit_entries(split) + audit_forms(split)
    findings += audit_sizes(run) + audit_classes(split, protocol) + audit_seed(run)
    for alike, copies in run.known.copies.items():
        findings += audit_copies(split, protocol, copies, alike)
    return findings if run.known.judged is None else findings + audit_known_pairs(split, run.known.judged)


def audit_splits(runs: Sequence[Run]) -> Findings:
    """Return the findings on splits of one dataset: on each split, and on the runs of each protocol together."""
    findings = {run.file: audit_split(run) for run in runs}
    for name in dict.fromkeys(run.name for run in runs):
        for file, of_runs in audit_runs([run for run in runs if run.name == name]).items():
            findings[file] += of_runs
    return findings


def about(run: Run, *, n_runs: int, has_log: bool = False, has_codes: bool = False) -> list[str]:
    """Return sentences about a run: its sizes, the split that it resembles, and the checks that were not possible.

    Parameters
    ----------
    run : Run
    n_runs : int
        Number of runs of this protocol in this audit.
    has_log : bool, default=False
        Whether a training log is audited with the split.
    has_codes : bool, default=False
        Whether codes are audited with the split.
    """
    split, is_declared = run.split, run.name != UNDECLARED
    sizes = ", ".join(f"{part} {len(items):,}" for part, items in split.parts.items() if len(items))
    protocol = f"protocol {run.name}" if is_declared else "no protocol declared"
    identified = identify(split, run.name if is_declared else None)
    not_checked = NOT_CHECKED + "; ".join(_not_possible(run, n_runs, has_log, has_codes))
    return [f"{sizes}; {protocol}", *([identified] if identified else []), not_checked]


def _not_possible(run: Run, n_runs: int, has_log: bool, has_codes: bool) -> list[str]:
    """Return the checks that were not possible, each with what it needs; the parameters are those of `about`."""
    split, dataset, known, undeclared = run.split, run.split.dataset, run.known, run.name == UNDECLARED
    present = [part for part, items in split.parts.items() if len(items)]
    absent = [part for part in PARTITIONS if part not in present]
    unlabelled = [part for part in present if dataset.class_labels(split[part]) is None]
    unsized = [part for part in present if part not in known.sizes]
    kinds_of_copies = {copies.is_equal for copies in known.copies.values()}
    complete = dataset.n_items is not None and is_complete(split, run.protocol)
    missing = {
        f"overlaps with missing partitions ({', '.join(absent)})": absent,
        f"size-mismatch{_for(unsized, present)} (needs protocol or sizes)": undeclared and unsized,
        "class-imbalance (needs protocol)": undeclared,
        f"classes and relevance{_for(unlabelled, present)} (needs labels)": unlabelled,
        "near-duplicate (needs features)": not known.copies,
        "near-duplicates that are not identical (needs distance)": kinds_of_copies == {True},
        "known-near-duplicate (needs known pairs)": known.judged is None,
        "pair-split (needs pairs)": known.modalities is None,
        "group-split (needs groups)": known.groups is None,
        "doubtful-label (needs label issues)": known.label_issues is None,
        "selection-on-test (needs a training log)": not has_log,
        "codes that follow the labels, collapsed codes, constant bits (need codes)": not has_codes,
        "unused-items (needs ids or labels of the whole dataset, and all partitions)": not complete,
        "not-reproducible (needs a seed, and the dataset that was divided)": None in (run.seed, dataset.n_items),
        "runs-not-independent (needs other runs of a declared protocol)": n_runs == 1 or not run.protocol.balanced,
        "leaks in fitted models, mixed-libraries (need the pipeline's target audit)": True,
    }
    return [check for check, is_missing in missing.items() if is_missing]


def _for(parts: Sequence[str], present: Sequence[str]) -> str:
    """Return a phrase that names the partitions without some information; empty if all of them lack it."""
    return "" if len(parts) == len(present) else f" for {', '.join(parts)}"
