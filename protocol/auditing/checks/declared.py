"""Compare splits with their declaration: sizes, partitions drawn again from the seed, and independent runs."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Findings, findings_of
from protocol.auditing.runs import Run
from protocol.checks import ProtocolError, integer, need, one_of
from protocol.inputs.validation import n_classes
from protocol.provenance.storage import array_digest
from protocol.splits import PARTITIONS, Rest

_UNLIKELY = 1e-9


def audit_sizes(run: Run) -> list[Finding]:
    """Return a finding if the sizes of partitions differ from the declared ones, or from the expected ones.

    Sizes that the protocol leaves open are compared only if they are known. The size of a missing partition is 0 where
    a size is expected.
    """
    split, expected = run.split, run.known.sizes
    declared = {part: size for part, size in declared_sizes(run).items() if part not in expected}
    sizes = {"declared": declared, "expected": expected}
    wrong = [
        (source, f"{part} {len(split[part]):,} ({source} {size:,})")
        for source, of_source in sizes.items()
        for part, size in of_source.items()
        if len(split[part]) != size
    ]
    names = {"declared": f"declared by {run.name}", "expected": "expected"}
    which = " or ".join(dict.fromkeys(names[source] for source, _ in wrong))
    return findings_of("size-mismatch", "error", len(wrong), [text for _, text in wrong], which=which)


def declared_sizes(run: Run) -> dict[str, int]:
    """Return the declared sizes of the partitions of a split, without those that are left open and not known."""
    split, protocol = run.split, run.protocol
    given = {part: run.sizes.get(part) or len(split[part]) for part in protocol.open}
    declared = protocol.sizes(
        {part: size or 1 for part, size in given.items()},  # an unknown size is not compared
        n_items=(split.dataset.n_items or protocol.n_items) if all(given.values()) else None,
        n_classes=protocol.n_classes or n_classes(split.dataset.y),
    )
    known = {part for part in declared if part not in protocol.open or run.sizes.get(part)}
    return {part: size for part, size in declared.items() if part in split.parts and part in known}


def sizes_from(values: Any) -> dict[str, int]:
    """Return expected sizes by partition, in the order of the partitions.

    Parameters
    ----------
    values : mapping of str to int, or None

    Raises
    ------
    ProtocolError
        If `values` is not a mapping, a name is not a partition, or a size is not an integer >= 0.

    Examples
    --------
    >>> sizes_from({"train": 5_000, "query": 1_000})
    {'query': 1000, 'train': 5000}
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ProtocolError(f"sizes: expected a mapping of partition names to sizes, got {type(values).__name__}.")
    for part, size in values.items():
        one_of(part, PARTITIONS, "sizes: partition")
        integer(size, f"sizes: {part}", minimum=0)
    return {part: int(values[part]) for part in PARTITIONS if part in values}


def audit_seed(run: Run) -> list[Finding]:
    """Return a finding that lists the partitions that differ from those that the protocol draws from the run's seed.

    Listed partitions are not drawn, so they are used as they are. The complete dataset must be known.
    """
    split, dataset, protocol = run.split, run.split.dataset, run.protocol
    if run.seed is None or dataset.n_items is None:
        return []
    lists = {name: split[name] for name in protocol.listed if len(split[name])}
    try:
        drawn = protocol.split(
            dataset.n_items, dataset.y, seed=run.seed, sizes=run.sizes, official=dataset.official, lists=lists
        )
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
    findings: Findings = {run.file: [] for run in runs}
    drawn, splits = runs[0].protocol.balanced, _in_one_numbering(runs)
    if splits is None or len(runs) == 1:
        return findings
    for part in drawn:
        first: dict[str, str] = {}
        for run, parts in zip(runs, splits, strict=True):
            if len(parts[part]):
                earlier = first.setdefault(array_digest(parts[part]), run.file)
                if earlier != run.file:
                    what = f"This run has the same {part} partition as another run"
                    findings[run.file] += findings_of("runs-not-independent", "error", 1, [earlier], what=what)
        if len(first) == len(runs):
            findings[runs[0].file] += _against_chance(runs, part, [parts[part] for parts in splits])
    return findings


def runs_not_compared(runs: Sequence[Run]) -> str:
    """Return what the check of independent runs could not find and what that needs; empty if it was complete."""
    drawn = runs[0].protocol.balanced
    if runs[0].protocol.listed or (drawn and len(runs) == 1):
        return "runs-not-independent (needs other runs of a declared protocol)"
    if drawn and _n_items(runs) is None:
        return "runs-not-independent, for runs that are not identical (needs ids or labels of the whole dataset)"
    return ""


def _in_one_numbering(runs: Sequence[Run]) -> list[dict[str, NDArray[np.int64]]] | None:
    """Return the partitions of each run by numbers that mean the same item in all runs; None if there are none.

    Without the ids of the dataset, each run numbers the ids in its own lists.
    """
    ids = [run.split.dataset.ids for run in runs]
    if all(one is ids[0] for one in ids):
        return [{part: run.split[part] for part in PARTITIONS} for run in runs]
    if any(one is None for one in ids):
        return None
    numbers = np.unique(np.concatenate(ids), return_inverse=True)[1]
    of_runs = np.split(numbers, np.cumsum([len(one) for one in ids])[:-1])
    return [
        {part: np.sort(number[run.split[part]]) for part in PARTITIONS}
        for run, number in zip(runs, of_runs, strict=True)
    ]


def _n_items(runs: Sequence[Run]) -> int | None:
    """Return the number of items from which runs are drawn; None if it is not known.

    If the database is the rest of the dataset and all partitions that it leaves out are known, every item is listed.
    """
    protocol, splits = runs[0].protocol, _in_one_numbering(runs)
    if splits is None:
        return None
    if known := runs[0].split.dataset.n_items or protocol.n_items:
        return known
    required = ("database", *protocol.database_without)
    if not isinstance(protocol.partitions["database"], Rest) or not all(
        len(p[part]) for p in splits for part in required
    ):
        return None
    return len(np.unique(np.concatenate([items for parts in splits for items in parts.values()])))


def _expects(run: Run, part: str) -> bool:
    """Return whether it is known how many items independent runs share, and not only the least expected number."""
    dataset, declared = run.split.dataset, run.protocol.partitions[part]
    if dataset.y is None or dataset.labelled is not None:
        return (
            dataset.y is None and dataset.digest is not None
        )  # a dataset of the pipeline without labels has no classes
    return dataset.y.ndim == 1 or not declared.per_class  # type: ignore[union-attr]


def _against_chance(runs: Sequence[Run], part: str, drawn: Sequence[NDArray[np.int64]]) -> list[Finding]:
    r"""Return a finding if the partitions of runs share more, or fewer, items than expected for independent draws.

    Two draws of :math:`a_c` and :math:`b_c` of the :math:`N_c` items of class c share :math:`\sum_c a_c b_c / N_c` on
    average; the total over all pairs of runs is approximately Poisson, or narrower. This is at least :math:`a b / N`,
    by the inequality of Cauchy and Schwarz. If the classes are not known, fewer items than that are therefore an error,
    and more are a warning, because small classes may be drawn again and again.
    """
    dataset, n_items = runs[0].split.dataset, _n_items(runs)
    if n_items is None:
        return []
    special = need("scipy.special", "scipy")
    counts, available = [np.array([len(items)]) for items in drawn], np.array([n_items])
    if dataset.y is not None and dataset.y.ndim == 1 and dataset.labelled is None:
        _, classes, available = np.unique(dataset.y, return_inverse=True, return_counts=True)
        counts = [np.bincount(classes[items], minlength=len(available)) for items in drawn]
    shared, expected = 0, 0.0
    for (a, a_counts), (b, b_counts) in itertools.combinations(zip(drawn, counts, strict=True), 2):
        shared += int(np.isin(a, b, assume_unique=True).sum())
        expected += float(np.sum(a_counts * b_counts / available))
    is_few = special.pdtr(shared, expected) <= _UNLIKELY
    if not (is_few or (shared and special.pdtrc(shared - 1, expected) <= _UNLIKELY)):
        return []
    what = f"The {part} partitions of the runs share {shared:,} items, but {expected:,.0f} are expected by chance"
    is_error = is_few or _expects(runs[0], part)
    what += "" if is_error else " (more if classes are small, whose sizes are not known)"
    severity = "error" if is_error else "warning"
    return findings_of("runs-not-independent", severity, len(runs), [run.file for run in runs], what=what)
