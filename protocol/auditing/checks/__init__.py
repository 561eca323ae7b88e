"""The checks of splits: all that are applicable, and a list of those that are not possible."""

from collections.abc import Sequence

from protocol.auditing.checks import declared, overlaps
from protocol.auditing.checks.identification import identify
from protocol.auditing.findings import Finding, Findings
from protocol.auditing.runs import UNDECLARED, Run
from protocol.checks import listed
from protocol.splits import PARTITIONS

CHECKS = (
    *(overlaps.audit_overlaps, overlaps.audit_entries, overlaps.audit_forms),
    *(declared.audit_sizes, declared.audit_classes, declared.audit_unseen_classes, declared.audit_seed),
    *(overlaps.audit_copies, overlaps.audit_known_pairs, overlaps.audit_modalities, overlaps.audit_groups),
)
"""The checks of one split, each of which returns findings."""


def audit_split(run: Run) -> list[Finding]:
    """Return the findings on one split: overlaps, entries, sizes, classes, its seed, and what is known about items."""
    return [finding for check in CHECKS for finding in check(run)]


def audit_splits(runs: Sequence[Run]) -> Findings:
    """Return the findings on splits of one dataset: on each split, and on the runs of each protocol together."""
    findings = {run.file: audit_split(run) for run in runs}
    for name in dict.fromkeys(run.name for run in runs):
        for file, of_runs in declared.audit_runs([run for run in runs if run.name == name]).items():
            findings[file] += of_runs
    return findings


def about(run: Run) -> list[str]:
    """Return sentences about a run: its sizes, the split that it resembles, and the origin of what is known of it."""
    split, is_declared = run.split, run.name != UNDECLARED
    sizes = ", ".join(f"{part} {len(items):,}" for part, items in split.parts.items() if len(items))
    protocol = f"protocol {run.name}" if is_declared else "no protocol declared"
    identified = identify(split, run.name if is_declared else None)
    sources = [source.about(split) for source in (run.groups, run.judged) if source is not None]
    unseen, why = declared.unseen_classes(run)
    names = [declared.class_name(split.dataset, label) for label in ([] if unseen is None else unseen)]
    classes = [f"unseen classes ({why}): {listed(names)}"] if names else []
    return [f"{sizes}; {protocol}", *classes, *([identified] if identified else []), *sources]


def not_checked(run: Run, runs: Sequence[Run], *, has_log: bool, of_codes: Sequence[str]) -> list[str]:
    """Return the checks that were not possible, each with what it needs.

    Parameters
    ----------
    run : Run
    runs : sequence of Run
        All runs of its protocol in this audit.
    has_log : bool
        Whether a training log is audited with the split.
    of_codes : sequence of str
        The checks that were not possible on the codes of the split.
    """
    split, dataset, between_runs = run.split, run.split.dataset, declared.runs_not_compared(runs)
    is_complete = dataset.n_items is not None and overlaps.is_complete(split, run.protocol)
    missing = {
        **_missing_in_parts(run),
        "equal-file-names (needs names that do not repeat within a list)": overlaps.names_not_compared(split),
        "near-duplicate (needs features)": not run.copies,
        "near-duplicate, of items that are not identical (needs distance)": {True}
        == {copies.is_equal for copies in run.copies.values()},
        "known-near-duplicate (needs known pairs)": run.judged is None,
        "pair-split (needs pairs)": run.modalities is None,
        "unseen-class (needs one label for each query or training item)": run.protocol.divides_classes
        and declared.unseen_classes(run)[0] is None,
        "group-split (needs groups)": run.groups is None,
        "selection-on-test (needs a training log)": not has_log,
        **dict.fromkeys(of_codes, True),
        "unused-items (needs ids or labels of the whole dataset, and all partitions)": not is_complete,
        "not-reproducible (needs a seed, and the dataset that was divided)": None in (run.seed, dataset.n_items),
        between_runs: between_runs,
        "split-difference (needs a split or protocol to compare with)": run.against is None,
        "preprocessing-leak, selection-leak, truth-leak, mixed-libraries (need the pipeline's target audit)": True,
    }
    return [check for check, is_missing in missing.items() if is_missing]


def _missing_in_parts(run: Run) -> dict[str, object]:
    """Return whether checks of partitions, sizes, classes and labels were not possible, with what they need."""
    split, dataset, undeclared = run.split, run.split.dataset, run.name == UNDECLARED
    present = [part for part, items in split.parts.items() if len(items)]
    absent = [part for part in PARTITIONS if part not in present and part in run.protocol.partitions]
    unlabelled = [part for part in present if dataset.class_labels(split[part]) is None]
    sized = {*run.expected, *({} if undeclared else declared.declared_sizes(run))}
    unsized = [part for part in present if part not in sized]
    has_both_labels = dataset.n_items and dataset.labelled is None and set(present) <= set(split.flags)
    return {
        f"all checks of missing partitions ({', '.join(absent)})": absent,
        f"size-mismatch{_for(unsized, present)} (needs {'protocol or ' * undeclared}sizes)": unsized,
        "class-imbalance (needs protocol)": undeclared,
        f"class-missing, class-imbalance, query-without-relevant{_for(unlabelled, present)} (need labels)": unlabelled,
        "label-conflict (needs labels of the dataset and in every list)": not run.items and not has_both_labels,
    }


def _for(parts: Sequence[str], present: Sequence[str]) -> str:
    """Return a phrase that names the partitions without some information; empty if all of them lack it."""
    return "" if len(parts) == len(present) else f" for {', '.join(parts)}"
