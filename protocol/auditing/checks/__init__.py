"""The checks of splits: all that are applicable, and a list of those that are not possible."""

from collections.abc import Callable, Mapping, Sequence

from protocol.auditing.checks import declared, overlaps
from protocol.auditing.checks.identification import identify
from protocol.auditing.findings import Finding, Findings
from protocol.auditing.runs import UNDECLARED, Run
from protocol.checks import listed

CHECKS = (
    *(overlaps.audit_pairs, overlaps.audit_known_pairs, overlaps.audit_membership, overlaps.audit_entries),
    *(declared.audit_sizes, declared.audit_label_forms, declared.audit_classes),
    *(declared.audit_unseen_classes, declared.audit_seed),
)
"""The checks of one split, each of which returns findings."""
_NEEDS: Mapping[str, Callable[[Run], bool]] = {
    "class-imbalance (needs protocol)": lambda run: run.name != UNDECLARED,
    "label-conflict (needs labels of the dataset and in every list)": overlaps.has_labels_twice,
    "equal-file-names (needs names that do not repeat within a list)": lambda run: run.split.name_parts > 0,
    "near-duplicate, of equal items (needs features)": lambda run: bool(run.copies),
    "known-near-duplicate (needs known pairs: `protocol find-duplicates`)": lambda run: run.judged is not None,
    "unseen-class (needs one label for each query or training item)": lambda run: (
        not run.protocol.divides_classes or declared.unseen_classes(run)[0] is not None
    ),
    "group-split (needs groups)": lambda run: run.groups is not None,
    "unused-items (needs ids or labels of the whole dataset)": lambda run: run.split.dataset.n_items is not None,
    "not-reproducible (needs a seed, and the dataset that was divided)": lambda run: (
        None not in (run.seed, run.split.dataset.n_items)
    ),
    "split-difference (needs a split to compare with)": lambda run: run.against is not None,
}
"""The checks that depend on the run alone, each with what it needs, and whether the run has it."""


def audit_split(run: Run) -> list[Finding]:
    """Return the findings on one split, by all `CHECKS`."""
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
    ends = {part: sorted({int(n.min()), int(n.max())}) for part, n in declared.class_counts(split)[1].items()}
    per_class = {part: f" ({' to '.join(f'{n:,}' for n in both)} per class)" for part, both in ends.items()}
    sizes = [f"{part} {len(items):,}{per_class.get(part, '')}" for part, items in split.parts.items() if len(items)]
    protocol = f"protocol {run.name}" if is_declared else "no protocol declared"
    identified = identify(split, run.name if is_declared else None)
    sources = [source.about(split) for source in (run.groups, run.judged) if source is not None]
    unseen, why = declared.unseen_classes(run)
    names = [declared.class_name(split.dataset, label) for label in ([] if unseen is None else unseen)]
    classes = f"unseen classes ({why}): {listed(names)}" * bool(names)
    return [f"{', '.join(sizes)}; {protocol}", *filter(None, [classes, identified]), *sources]


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
    split, dataset, is_declared = run.split, run.split.dataset, run.name != UNDECLARED
    present = [part for part, items in split.parts.items() if len(items)]
    absent = [part for part in run.protocol.partitions if part not in present]
    unlabelled = [part for part in present if dataset.class_labels(split[part]) is None]
    sized = declared.declared_sizes(run) if is_declared else {}
    unsized = [part for part in present if part not in sized]
    by_partition = {
        f"all checks of missing partitions ({', '.join(absent)})": absent,
        f"size-mismatch{_for(unsized, present)} (needs {'sizes' if is_declared else 'protocol'})": unsized,
        f"class-missing, class-imbalance, query-without-relevant{_for(unlabelled, present)} (need labels)": unlabelled,
        "selection-on-test (needs a training log)": not has_log,
    }
    return [
        *(check for check, is_missing in by_partition.items() if is_missing),
        *(check for check, is_possible in _NEEDS.items() if not is_possible(run)),
        *of_codes,
        *declared.runs_not_compared(runs),
        "preprocessing-leak, selection-leak, truth-leak (need the pipeline's target audit)",
    ]


def _for(parts: Sequence[str], present: Sequence[str]) -> str:
    """Return a phrase that names the partitions without some information; empty if all of them lack it."""
    return "" if len(parts) == len(present) else f" for {', '.join(parts)}"
