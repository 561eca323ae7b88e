"""Compare a split with a declared protocol, or with another split item by item."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.auditing.checks.identification import compare
from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Dataset, Split, common_numbers
from protocol.auditing.runs import Run, read_runs
from protocol.checks import ProtocolError, one_of
from protocol.inputs.arrays import is_file
from protocol.splits import PARTITIONS

Differences = Mapping[str, Sequence[str]]
"""What differs in words, each with the items or the partitions that it concerns."""


def against_from(against: Any, dataset: Dataset) -> str | tuple[str, Split] | None:
    """Return the name of a protocol, or another split and its name; None for None.

    Parameters
    ----------
    against : str, path, result of `load_split`, mapping or None
        The name of a declared protocol, or a complete split as for `audit`.
    dataset : Dataset
        The known properties of the dataset.

    Raises
    ------
    ProtocolError
        If `against` is none of these or can't be read.
    """
    if against is None or (isinstance(against, str) and against in registry.names("split")):
        return against
    if isinstance(against, str) and not Path(against).suffix and not Path(against).exists():
        one_of(against, registry.names("split"), "split", listing="protocol list splits")
    if not (is_file(against) or isinstance(against, Mapping) or isinstance(getattr(against, "path", None), Path)):
        raise ProtocolError(
            f"against: expected the name of a protocol, a file or a mapping of partition names to lists, got "
            f"{type(against).__name__}."
        )
    run = read_runs([against], dataset)[0]
    return run.file if is_file(against) else "the other split", run.split


def audit_against(run: Run) -> tuple[list[Finding], list[str]]:
    """Return the differences of a split from a protocol, or from another split, and sentences about the comparison."""
    if run.against is None:
        return [], []
    if isinstance(run.against, str):
        match = compare(run.split, run.against)
        differences: Differences = {
            f"The split differs from the protocol {run.against} in these respects": match.differences
        }
        about = f"Compared with {run.against}: this split {match.sentence()}."
    else:
        there, other = run.against
        differences, about = difference(run.split, other, here=run.file, there=there)
    findings = list[Finding]()
    for what, items in differences.items():
        findings += findings_of("split-difference", "information", len(items), items, what=what)
    return findings, [about]


def difference(a: Split, b: Split, *, here: str = "here", there: str = "there") -> tuple[Differences, str]:
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
        The items in other partitions, by their partitions on both sides; the partitions with the same items in another
        order, or with other duplicates; and those that only one side has, which are not compared.
    about : str
        How items were matched, and the sizes of the partitions.

    Raises
    ------
    ProtocolError
        If one split has ids and the other row numbers, and the order of the ids is not known.

    Examples
    --------
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
    # Whether each side has each item in each partition.
    table = np.array([[np.isin(items, side.get(part, ())) for part in PARTITIONS] for side in sides])
    exists = np.asarray(table.any(axis=2))
    is_compared = np.logical_and(*exists)
    parts, (in_a, in_b) = list(itertools.compress(PARTITIONS, is_compared)), table[:, is_compared]
    labels = items if names is None else np.array(names)[items]
    differences = _moved(parts, in_a, in_b, labels, there)
    same = itertools.compress(parts, (in_a == in_b).all(axis=1))
    reordered = [part for part in same if not np.array_equal(sides[0][part], sides[1][part])]
    what = f"These partitions have the same items as in {there}, but in another order or with other duplicates"
    differences[what] = reordered
    alone = np.flatnonzero(np.logical_xor(*exists)).tolist()
    what = f"These partitions are not compared, because they exist only in the split or only in {there}"
    differences[what] = [f"{PARTITIONS[at]} (only {'here' if exists[0, at] else 'there'})" for at in alone]
    counts = zip(parts, in_a.sum(axis=1), in_b.sum(axis=1), (in_a & in_b).sum(axis=1), strict=True)
    sizes = "; ".join(f"{part} {n_a:,} here, {n_b:,} there, {both:,} in both" for part, n_a, n_b, both in counts)
    return differences, f"Compared with {there} by {by}: {sizes}."


def _moved(
    parts: Sequence[str], in_a: NDArray[np.bool_], in_b: NDArray[np.bool_], labels: NDArray, there: str
) -> dict[str, Sequence[str]]:
    """Return the items in different partitions, by their partitions here and there in words."""
    differ = np.flatnonzero((in_a != in_b).any(axis=0))
    patterns, pattern_of = np.unique(np.concatenate([in_a, in_b])[:, differ], axis=1, return_inverse=True)
    moved: dict[str, Sequence[str]] = {}
    for number in range(patterns.shape[1])[::-1]:
        sides = patterns[:, number].reshape(2, -1).tolist()
        before, after = (" and ".join(itertools.compress(parts, side)) or "no partition" for side in sides)
        items = labels[differ[pattern_of == number]]
        moved[f"These items are in {before} here, and in {after} in {there}"] = list(map(str, items.tolist()))
    return moved


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
