"""Compare a split with another one, item by item."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Split, common_numbers
from protocol.auditing.runs import Run
from protocol.checks import ProtocolError
from protocol.splits import PARTITIONS


def audit_against(run: Run) -> tuple[list[Finding], list[str]]:
    """Return the differences of a split from another one, and a sentence about the comparison."""
    if run.against is None:
        return [], []
    differences, about = difference(run.split, run.against.split, here=run.file, there=run.against.file)
    findings = [
        finding
        for what, items in differences.items()
        for finding in findings_of("split-difference", "information", len(items), items, what=what)
    ]
    return findings, [about]


def difference(a: Split, b: Split, *, here: str = "here", there: str = "there") -> tuple[dict[str, Sequence[str]], str]:
    """Return the differences between two splits, item by item.

    Items are matched by their ids; by row numbers if neither split has ids, or one has the ids of the whole dataset in
    the order of its rows.

    Parameters
    ----------
    a, b : Split
    here, there : str
        Their names.

    Returns
    -------
    differences : dict of str to sequence of str
        The items in other partitions, by their partitions on both sides in words; the partitions with the same items in
        another order, or with other duplicates; and those that only one side has, which are not compared.
    about : str
        How items were matched, and the sizes of the partitions.

    Raises
    ------
    ProtocolError
        If one split has ids and the other row numbers, and the order of the ids is not known.

    Examples
    --------
    >>> from protocol.auditing.items import Dataset
    >>> one = Split({"query": np.array([0, 1]), "database": np.array([2, 3, 4])}, Dataset())
    >>> two = Split({"query": np.array([0, 2]), "database": np.array([1, 3])}, Dataset())
    >>> for what, items in list(difference(one, two)[0].items())[:3]:
    ...     print(f"{what}: {', '.join(items)}")
    These items are in query here, and in database in there: 1
    These items are in database here, and in query in there: 2
    These items are in database here, and in no partition in there: 4
    """
    by, sides, names = _in_common_numbers(a, b, here, there)
    items = np.unique(np.concatenate([*sides[0].values(), *sides[1].values()]))
    table = np.array([[np.isin(items, side.get(part, ())) for part in PARTITIONS] for side in sides])
    exists = np.asarray(table.any(axis=2))
    parts, (in_a, in_b) = np.array(PARTITIONS)[exists.all(axis=0)].tolist(), table[:, exists.all(axis=0)]
    differ = np.flatnonzero((in_a != in_b).any(axis=0))
    patterns, pattern_of = np.unique(np.concatenate([in_a, in_b])[:, differ], axis=1, return_inverse=True)
    differences: dict[str, Sequence[str]] = {}
    for number in range(patterns.shape[1])[::-1]:
        moved = items[differ[pattern_of == number]].tolist()
        pattern = patterns[:, number].reshape(2, -1).tolist()
        before, after = (" and ".join(itertools.compress(parts, side)) or "no partition" for side in pattern)
        what = f"These items are in {before} here, and in {after} in {there}"
        differences[what] = [str(item) if names is None else names[item] for item in moved]
    same = itertools.compress(parts, (in_a == in_b).all(axis=1))
    what = f"These partitions have the same items as in {there}, but in another order or with other duplicates"
    differences[what] = [part for part in same if not np.array_equal(sides[0][part], sides[1][part])]
    alone = [(part, of_a) for part, of_a, of_b in zip(PARTITIONS, *exists.tolist(), strict=True) if of_a != of_b]
    what = f"These partitions are not compared, because they exist only in the split or only in {there}"
    differences[what] = [f"{part} (only {'here' if of_a else 'there'})" for part, of_a in alone]
    counts = zip(parts, in_a.sum(axis=1), in_b.sum(axis=1), (in_a & in_b).sum(axis=1), strict=True)
    sizes = "; ".join(f"{part} {n_a:,} here, {n_b:,} there, {both:,} in both" for part, n_a, n_b, both in counts)
    return differences, f"Compared with {there} by {by}: {sizes}."


def _in_common_numbers(
    a: Split, b: Split, here: str, there: str
) -> tuple[str, list[Mapping[str, NDArray[np.int64]]], list[str] | None]:
    """Return how items are matched, the entries of both splits as common numbers, and the names of ids."""
    if a.dataset.ids is not None and b.dataset.ids is not None:
        (_, rows), names = common_numbers([a.dataset.ids, b.dataset.ids])
        return "ids", [a.entries, {part: rows[items] for part, items in b.entries.items()}], names
    for split, name, other in ((a, here, there), (b, there, here)):
        if split.dataset.ids is not None and split.dataset.n_items is None:
            raise ProtocolError(
                f"against: {name} contains ids and {other} row numbers. Give the ids of the dataset in the order of "
                "its rows (ids)."
            )
    return "row numbers", [a.entries, b.entries], None
