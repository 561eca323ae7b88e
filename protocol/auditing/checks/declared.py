"""Compare splits with their declaration: sizes, partitions drawn again from the seed, and independent runs."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from protocol.auditing.findings import Finding, Findings, findings_of
from protocol.auditing.inputs.reading import Run
from protocol.checks import ProtocolError, integer, need, one_of
from protocol.inputs.validation import n_classes
from protocol.provenance.storage import array_digest
from protocol.splits import PARTITIONS

_UNLIKELY = 1e-9


def audit_sizes(run: Run) -> list[Finding]:
    """Return a finding if the sizes of partitions differ from the declared ones, or from the expected ones.

    Sizes that the protocol leaves open are compared only if they are known. The size of a missing partition is 0 where
    a size is expected.
    """
    split, expected = run.split, run.known.sizes
    declared = {part: size for part, size in _declared_sizes(run).items() if part not in expected}
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


def _declared_sizes(run: Run) -> dict[str, int]:
    """Return the declared sizes of the partitions of a split, without those that depend on unknown sizes."""
    split, protocol = run.split, run.protocol
    given = {part: run.sizes.get(part) or len(split[part]) for part in protocol.open}
    declared = protocol.sizes(
        {part: size or 1 for part, size in given.items()},  # an unknown size is not compared
        n_items=(split.dataset.n_items or protocol.n_items) if all(given.values()) else None,
        n_classes=protocol.n_classes or n_classes(split.dataset.y),
    )
    return {part: size for part, size in declared.items() if part in split.parts and given.get(part, size)}


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
    for part in runs[0].protocol.balanced:
        first: dict[str, str] = {}
        for run in runs:
            if len(run.split[part]):
                earlier = first.setdefault(array_digest(run.split[part]), run.file)
                if earlier != run.file:
                    what = f"This run has the same {part} partition as another run"
                    findings[run.file] += findings_of("runs-not-independent", "error", 1, [earlier], what=what)
        if len(first) == len(runs) > 1:
            findings[runs[0].file] += _against_chance(runs, part)
    return findings


def _against_chance(runs: Sequence[Run], part: str) -> list[Finding]:
    r"""Return a finding if the partitions of runs share more, or fewer, items than expected for independent draws.

    Two draws of :math:`a_c` and :math:`b_c` of the :math:`N_c` items of class c share :math:`\sum_c a_c b_c / N_c` on
    average; the total over all pairs of runs is approximately Poisson, or narrower.
    """
    dataset = runs[0].split.dataset
    if dataset.n_items is None or dataset.labelled is not None:
        return []
    y = np.zeros(dataset.n_items) if dataset.y is None else dataset.y  # without labels, all items are one class
    if y.ndim == 2:
        return []
    special = need("scipy.special", "scipy")
    _, classes, available = np.unique(y, return_inverse=True, return_counts=True)
    counts = [np.bincount(classes[run.split[part]], minlength=len(available)) for run in runs]
    shared, expected = 0, 0.0
    for (a, a_counts), (b, b_counts) in itertools.combinations(zip(runs, counts, strict=True), 2):
        shared += int(np.isin(a.split[part], b.split[part], assume_unique=True).sum())
        expected += float(np.sum(a_counts * b_counts / available))
    at_least = special.pdtrc(shared - 1, expected) if shared else 1.0
    if min(special.pdtr(shared, expected), at_least) > _UNLIKELY:
        return []
    what = f"The {part} partitions of the runs share {shared:,} items, but {expected:,.0f} are expected by chance"
    return findings_of("runs-not-independent", "error", len(runs), [run.file for run in runs], what=what)
