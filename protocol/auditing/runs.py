"""Check whether several runs of one protocol are independent draws."""

import itertools
from collections.abc import Mapping

import numpy as np

from protocol.auditing.classes import class_counts
from protocol.auditing.findings import Finding, found
from protocol.auditing.split import Split
from protocol.checks import need
from protocol.provenance.storage import array_digest
from protocol.splits import SplitProtocol

_UNLIKELY = 1e-9


def audit_runs(splits: Mapping[str, Split], protocol: SplitProtocol) -> dict[str, list[Finding]]:
    """Return findings by run: partitions identical to those of another run, or overlaps that are unlikely by chance.

    If nothing is drawn, as for official parts and lists, runs are identical by declaration.

    Parameters
    ----------
    splits : mapping
        The splits of one dataset by one protocol, by run.
    protocol : SplitProtocol
    """
    made: dict[str, list[Finding]] = {run: [] for run in splits}
    for part in protocol.balanced:
        first: dict[str, str] = {}
        for run, split in splits.items():
            if len(split[part]):
                earlier = first.setdefault(array_digest(split[part]), run)
                if earlier != run:
                    what = f"This run has the same {part} partition as another run"
                    made[run] += found("runs-not-independent", "error", 1, [earlier], what=what)
        if len(first) == len(splits) > 1:
            run = next(iter(splits))
            made[run] += _against_chance(list(splits.values()), part, list(splits))
    return made


def _against_chance(splits: list[Split], part: str, runs: list[str]) -> list[Finding]:
    r"""Return a finding if the partitions of runs share more, or fewer, items than expected for independent draws.

    Two draws of :math:`a_c` and :math:`b_c` of the :math:`N_c` items of class c share :math:`\sum_c a_c b_c / N_c` on
    average; the total over all pairs of runs is approximately Poisson, or narrower.
    """
    dataset = splits[0].dataset
    if dataset.n_items is None or dataset.labelled is not None or (dataset.y is not None and dataset.y.ndim == 2):
        return []
    poisson = need("scipy.stats", "report").poisson
    # Without labels, all items are treated as one class.
    counts = [class_counts(split)[1][part] if dataset.y is not None else len(split[part]) for split in splits]
    available = dataset.n_items if dataset.y is None else np.unique(dataset.y, return_counts=True)[1]
    shared, expected = 0, 0.0
    for (a, a_counts), (b, b_counts) in itertools.combinations(zip(splits, counts, strict=True), 2):
        shared += int(np.isin(a[part], b[part], assume_unique=True).sum())
        expected += float(np.sum(a_counts * b_counts / available))
    if min(poisson.cdf(shared, expected), poisson.sf(shared - 1, expected)) > _UNLIKELY:
        return []
    what = f"The {part} partitions of the runs share {shared:,} items, but {expected:,.0f} are expected by chance"
    return found("runs-not-independent", "error", len(splits), runs, what=what)
