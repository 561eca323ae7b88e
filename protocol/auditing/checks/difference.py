"""Compare a split with another one, partition by partition."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import common_numbers
from protocol.auditing.runs import Run
from protocol.checks import ProtocolError
from protocol.splits import PARTITIONS


def audit_against(run: Run) -> tuple[list[Finding], list[str]]:
    """Return the differences of a split from another one, and a sentence about the comparison.

    Items are matched by their ids; by row numbers if neither split has ids, or one has the ids of the whole dataset in
    the order of its rows.

    Raises
    ------
    ProtocolError
        If one split has ids and the other row numbers, and the order of the ids is not known.
    """
    if run.against is None:
        return [], []
    findings, sizes, there, n_in_both = list[Finding](), list[str](), run.against.file, 0
    by, numbers, names = _in_common_numbers(run, run.against)

    def differ(what: str, items: Sequence[str], severity: str = "information") -> None:
        findings.extend(findings_of("split-difference", severity, len(items), items, what=what))

    for part in PARTITIONS:
        of_run, of_other = run.split.entries.get(part, ()), run.against.split.entries.get(part, ())
        if not (len(of_run) and len(of_other)):
            where = "here" if len(of_run) else f"in {there}"
            exists = [part] * (len(of_run) + len(of_other) > 0)
            differ(f"The {part} partition is not compared, because it exists only {where}", exists)
            continue
        a, b = numbers[0][of_run], numbers[1][of_other]
        added, removed, n_shared = np.setdiff1d(a, b), np.setdiff1d(b, a), len(np.intersect1d(a, b))
        n_in_both += n_shared
        differ(f"These items are in {part} here, but not in {there}", names[added].tolist())
        differ(f"These items are in {part} in {there}, but not here", names[removed].tolist())
        if not (len(added) or len(removed) or np.array_equal(a, b)):
            order = "but in another order or with other duplicates"
            differ(f"The {part} partition has the same items as in {there}, {order}", [part])
        sizes.append(f"{part} {n_shared + len(added):,} here, {n_shared + len(removed):,} there, {n_shared:,} in both")
    if by == "ids" and sizes and not n_in_both:
        other = f"No item is also in {there}, unless its ids, such as {names[b[0]]}, are those here in another form"
        differ(f"{other}. Pass the ids of the dataset (`--ids`) to decide", names[a].tolist(), "undetermined")
    return findings, [f"Compared with {there} by {by}: {'; '.join(sizes)}."]


def _in_common_numbers(run: Run, other: Run) -> tuple[str, list[NDArray[np.int64]], NDArray[np.str_]]:
    """Return how items are matched, the number by which an item of each split is known to both, and the names."""
    ids = [one.split.dataset.ids for one in (run, other)]
    if all(of_split is not None for of_split in ids):
        numbers, names = common_numbers(ids)
        return "ids", numbers, np.array(names)
    for one, another in ((run, other), (other, run)):
        if one.split.dataset.has_listed_ids:
            both = f"{one.file} contains ids and {another.file} row numbers"
            raise ProtocolError(f"against: {both}. Give the ids of the dataset in the order of its rows (ids).")
    rows = np.arange(max(run.n_listed, other.n_listed))
    return "row numbers", [rows, rows], rows.astype(str)
