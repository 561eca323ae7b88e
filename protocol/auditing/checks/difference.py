"""Compare a split with a declared protocol, or with another split item by item."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    """Return the differences of a split from a protocol, or from another split, and sentences about the comparison.

    There is one finding for a protocol; for a split, there is one for each move between partitions, one for the order,
    and one for partitions that only one side has.
    """
    against = run.known.against
    if against is None:
        return [], []
    if isinstance(against, str):
        match = compare(run.split, against)
        listed: Mapping[str, Sequence[str]] = {
            f"The split differs from the protocol {against} in these respects": match.differences
        }
        about = f"Compared with {against}: this split {match.sentence()}."
    else:
        there, other = against
        compared = difference(run.split, other, here=run.file, there=there)
        listed = _listed(compared, there)
        sizes = [f"{part} {a:,} here, {b:,} there, {both:,} in both" for part, (a, b, both) in compared.sizes.items()]
        about = f"Compared with {there} by {compared.by}: {'; '.join(sizes)}."
    findings = list[Finding]()
    for what, items in listed.items():
        findings += findings_of("split-difference", "information", len(items), items, what=what)
    return findings, [about]


def _listed(compared: "Difference", there: str) -> dict[str, Sequence[str]]:
    """Return what differs in words, each with the items or the partitions that it concerns."""
    moved = {
        f"These items are in {_named(a)} here, and in {_named(b)} in {there}": items
        for (a, b), items in compared.moved.items()
    }
    same = f"These partitions have the same items as in {there}, but in another order or with other duplicates"
    alone = f"These partitions are not compared, because they exist only in the split or only in {there}"
    return {
        **moved,
        same: compared.reordered,
        alone: [f"{part} (only {side})" for part, side in compared.alone.items()],
    }


def _named(parts: Sequence[str]) -> str:
    return " and ".join(parts) or "no partition"


class Difference(NamedTuple):
    """The differences between two splits of the same items.

    Parameters
    ----------
    by : {"ids", "row numbers"}
        How items were matched.
    sizes : dict of str to (int, int, int)
        By partition, its number of items here, there, and in both.
    moved : dict of (tuple of str, tuple of str) to tuple of str
        The items in different partitions, by their partitions here and there.
    reordered : tuple of str
        The partitions with the same items in another order, or with other duplicates.
    alone : dict of str to str
        The partitions that only one side has, and that side, ``"here"`` or ``"there"``; these are not compared.
    """

    by: str
    sizes: dict[str, tuple[int, int, int]]
    moved: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]
    reordered: tuple[str, ...]
    alone: dict[str, str]


def difference(a: Split, b: Split, *, here: str = "here", there: str = "there") -> Difference:
    """Return the differences between two splits, item by item.

    Items are matched by their ids; by row numbers if neither split has ids, or one has the ids of the whole dataset in
    the order of its rows.

    Parameters
    ----------
    a, b : Split
    here, there : str
        Their names.

    Raises
    ------
    ProtocolError
        If one split has ids and the other row numbers, and the order of the ids is not known.

    Examples
    --------
    >>> one = Split({"query": np.array([0, 1]), "database": np.array([2, 3, 4])}, Dataset())
    >>> two = Split({"query": np.array([0, 2]), "database": np.array([1, 3])}, Dataset())
    >>> for (before, after), items in difference(one, two).moved.items():
    ...     print(before, after, items)
    ('query',) ('database',) ('1',)
    ('database',) ('query',) ('2',)
    ('database',) () ('4',)
    """
    by, sides, names = _in_common_numbers(a, b, here, there)
    items = np.unique(np.concatenate([*sides[0].values(), *sides[1].values()]))
    # Whether each side has each item in each partition.
    table = np.array([[np.isin(items, side.get(part, ())) for part in PARTITIONS] for side in sides])
    exists = table.any(axis=2)
    in_a, in_b = table[:, exists.all(axis=0)]
    n_sides = dict(zip(PARTITIONS, exists.sum(axis=0).tolist(), strict=True))
    parts, alone = ([part for part in PARTITIONS if n_sides[part] == n] for n in (2, 1))
    same = itertools.compress(parts, (in_a == in_b).all(axis=1))
    counts = zip(in_a.sum(axis=1).tolist(), in_b.sum(axis=1).tolist(), (in_a & in_b).sum(axis=1).tolist(), strict=True)
    return Difference(
        by=by,
        sizes=dict(zip(parts, counts, strict=True)),
        moved=_moved(parts, in_a, in_b, items if names is None else np.array(names)[items]),
        reordered=tuple(part for part in same if not np.array_equal(sides[0][part], sides[1][part])),
        alone={part: "here" if len(sides[0].get(part, ())) else "there" for part in alone},
    )


def _moved(
    parts: Sequence[str], in_a: NDArray[np.bool_], in_b: NDArray[np.bool_], names: NDArray
) -> dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]:
    """Return the names of the items in different partitions, by their partitions here and there."""
    differ = np.flatnonzero((in_a != in_b).any(axis=0))
    patterns, pattern_of = np.unique(np.concatenate([in_a, in_b])[:, differ], axis=1, return_inverse=True)
    moved = {}
    for number in range(patterns.shape[1])[::-1]:
        before, after = (tuple(itertools.compress(parts, side)) for side in patterns[:, number].reshape(2, -1).tolist())
        moved[before, after] = tuple(map(str, names[differ[pattern_of == number]].tolist()))
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
