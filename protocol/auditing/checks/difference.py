"""Compare two splits item by item, or a split with a declared protocol."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.auditing.checks.identification import Match, compare
from protocol.auditing.findings import Finding, findings_of
from protocol.auditing.items import Dataset, Split
from protocol.auditing.runs import Run, read_lists, read_runs
from protocol.checks import ProtocolError, one_of, printable
from protocol.inputs.conversion import is_file
from protocol.scores import tables
from protocol.splits import PARTITIONS

_NONE = "none"
_KIND = "split-difference"
_Shown = tuple[str, list[tuple[list[str], list[list[str]]]], list[str]]
"""The title of a comparison, its tables, and sentences."""


@dataclass(frozen=True)
class Difference:
    """The differences between two splits of the same items.

    Parameters
    ----------
    here : str
        The name of the first split, such as its file.
    there : str
        The name of the second split.
    by : {"ids", "row numbers", "file names"}
        How items were matched.
    sizes : mapping of str to (int, int, int)
        By partition, its number of items here, there, and in both.
    matrix : mapping of (str, str) to int
        The number of items that are in one partition here and in another there; ``"none"`` means in no partition.
    moved : mapping of (tuple of str, tuple of str) to tuple of str
        The items in different partitions, by their partitions here and there.
    reordered : tuple of str
        The partitions with the same items in another order, or with other duplicates.
    not_given : mapping of str to str
        The partitions that only one side has, and that side, ``"here"`` or ``"there"``; these are not compared.
    """

    here: str
    there: str
    by: str
    sizes: Mapping[str, tuple[int, int, int]]
    matrix: Mapping[tuple[str, str], int]
    moved: Mapping[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]
    reordered: tuple[str, ...]
    not_given: Mapping[str, str]

    def findings(self) -> list[Finding]:
        """Return one finding for each move between partitions, one for the order, and one for missing partitions."""
        only = [f"{part} (only {side})" for part, side in self.not_given.items()]
        listed: list[tuple[str, Sequence[str]]] = [
            (f"These items are in {_named(a)} here, and in {_named(b)} in {self.there}", items)
            for (a, b), items in self.moved.items()
        ]
        same = f"These partitions have the same items as in {self.there}, but in another order or with other duplicates"
        other = f"These partitions are not compared, because they exist only in the split or only in {self.there}"
        listed += [(same, self.reordered), (other, only)]
        return [
            one for what, items in listed for one in findings_of(_KIND, "information", len(items), items, what=what)
        ]

    def shown(self) -> _Shown:
        """Return the title, a table of sizes and one of moves, and sentences."""
        sizes = [[part, *(f"{count:,}" for count in counts)] for part, counts in self.sizes.items()]
        names = [*self.sizes, _NONE]
        matrix = [[f"{a} here", *(f"{self.matrix[a, b]:,}" for b in names)] for a in names]
        header, across = ["partition", "here", "there", "in both"], ["items", *(f"{name} there" for name in names)]
        lines = [f"{part}: the same items, listed in another order." for part in self.reordered]
        lines += [f"{part}: exists only {side}, so it is not compared." for part, side in self.not_given.items()]
        title = f"{self.here} against {self.there}, items compared by {self.by}"
        return title, [(header, sizes), (across, matrix)], lines if lines or self.moved else ["No difference."]


@dataclass(frozen=True)
class ProtocolDifference:
    """The differences between a split and a declared protocol: sizes, overlaps, classes and official splits.

    Parameters
    ----------
    here : str
        The name of the split, such as its file.
    match : Match
    """

    here: str
    match: Match

    def findings(self) -> list[Finding]:
        """Return one finding that lists the differences."""
        lines = self.match.differences
        what = f"The split differs from the protocol {self.match.name} in these respects"
        return findings_of(_KIND, "information", len(lines), lines, what=what)

    def shown(self) -> _Shown:
        """Return the title, a table of the comparisons, and a sentence."""
        rows = [[f"{one.by} of {one.what}", one.here, one.declared] for one in self.match.comparisons]
        title = f"{self.here} against the protocol {self.match.name}"
        return title, [(["compared", "here", "declared"], rows)], [f"This split {self.match.sentence()}."]


def to_text(one: Difference | ProtocolDifference) -> str:
    """Return a comparison as aligned columns."""
    title, compared, sentences = one.shown()
    parts = []
    for header, rows in compared:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        aligned = [[line[0], *map(str.rjust, line[1:], widths[1:])] for line in (header, *rows)]
        parts.append(tables.text(aligned[0], aligned[1:]))
    return "\n\n".join([printable(title), *parts, *map(printable, sentences)])


def to_markdown(one: Difference | ProtocolDifference) -> str:
    """Return a comparison as Markdown tables."""
    title, compared, sentences = one.shown()
    parts = [tables.markdown(header, rows, numbers=header[1:]) for header, rows in compared]
    return "\n\n".join([f"#### {printable(title)}", *parts, *map(printable, sentences)])


def difference_of(run: Run, against: str | tuple[str, Split]) -> Difference | ProtocolDifference:
    """Return the differences between a split and what `against_from` returned: a protocol, or another split."""
    if isinstance(against, str):
        return ProtocolDifference(run.file, compare(run.split, against))
    there, other = against
    return difference(run.split, other, here=run.file, there=there)


def against_from(against: Any, dataset: Dataset) -> str | tuple[str, Split] | None:
    """Return the name of a protocol, or another split and its name; None for None.

    Parameters
    ----------
    against : str, path, result of `load_split`, mapping or None
        The name of a declared protocol, lists as ``query=F,database=F``, or a complete split as for `audit`.
    dataset : Dataset
        The known properties of the dataset.

    Raises
    ------
    ProtocolError
        If `against` is none of these or can't be read.
    """
    if against is None or (isinstance(against, str) and against in registry.names("split")):
        return against
    if isinstance(against, str) and against.partition("=")[0] in PARTITIONS:
        run = read_lists(_lists(against), dataset)
        return run.file, run.split
    if isinstance(against, str) and not Path(against).suffix and not Path(against).exists():
        one_of(against, registry.names("split"), "split", listing="protocol list splits")
    if not (is_file(against) or isinstance(against, Mapping) or isinstance(getattr(against, "path", None), Path)):
        raise ProtocolError(
            f"against: expected the name of a protocol, a file or a mapping of partition names to lists, got "
            f"{type(against).__name__}."
        )
    run = read_runs([against], dataset)[0]
    return run.file if is_file(against) else "the other split", run.split


def _lists(against: str) -> dict[str, str]:
    """Return the files in ``query=F,database=F`` by partition."""
    lists = {}
    for entry in against.split(","):
        part, _, file = entry.partition("=")
        one_of(part, PARTITIONS, f"against: {against}: partition")
        if not file:
            raise ProtocolError(f"against: {against}: no file after {part}=.")
        lists[part] = file
    for part in ("query", "database"):
        if part not in lists:
            raise ProtocolError(f"against: {against}: the list of the {part} items is missing.")
    return lists


def difference(a: Split, b: Split, *, here: str = "here", there: str = "there") -> Difference:
    """Return the differences between two splits, item by item.

    Items are matched by their ids; by row numbers if neither split has ids, or one has the ids of the whole dataset in
    the order of its rows; and by file names without folders if the splits have no id in common.

    Parameters
    ----------
    a : Split
        The first split.
    b : Split
        The second split.
    here : str
        The name of the first split.
    there : str
        The name of the second split.

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
    entries_a, entries_b, names, by = _common_numbers(a, b, here, there)
    parts = [part for part in PARTITIONS if part in set(entries_a) & set(entries_b)]
    on_one_side = set(entries_a) ^ set(entries_b)
    not_given = {part: "here" if part in entries_a else "there" for part in PARTITIONS if part in on_one_side}
    listed = [side[part] for side in (entries_a, entries_b) for part in parts]
    items = np.unique(np.concatenate([np.empty(0, np.int64), *listed]))
    masks = np.zeros((2 * len(parts), len(items)), dtype=np.bool_)
    for mask, entries in zip(masks, listed, strict=True):
        mask[np.searchsorted(items, entries)] = True
    in_a, in_b = masks[: len(parts)], masks[len(parts) :]
    counts = zip(*(side.sum(axis=1).tolist() for side in (in_a, in_b, in_a & in_b)), strict=True)
    with_none = [np.vstack([side, ~side.any(axis=0)]).astype(np.int64) for side in (in_a, in_b)]
    matrix = (with_none[0] @ with_none[1].T).ravel().tolist()
    differ = np.flatnonzero((in_a != in_b).any(axis=0))
    patterns, pattern_of = np.unique(masks[:, differ], axis=1, return_inverse=True)
    moved = {}
    for number in range(patterns.shape[1])[::-1]:
        before, after = (tuple(itertools.compress(parts, side)) for side in np.split(patterns[:, number], 2))
        numbers = items[differ[pattern_of == number]].tolist()
        moved[before, after] = tuple(str(item) if names is None else names[item] for item in numbers)
    reordered = tuple(
        part
        for part, is_same in zip(parts, (in_a == in_b).all(axis=1), strict=True)
        if is_same and not np.array_equal(entries_a[part], entries_b[part])
    )
    names_of_parts = [*parts, _NONE]
    pairs = dict(zip(itertools.product(names_of_parts, names_of_parts), matrix, strict=True))
    return Difference(here, there, by, dict(zip(parts, counts, strict=True)), pairs, moved, reordered, not_given)


def _common_numbers(
    a: Split, b: Split, here: str, there: str
) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]], Sequence[str] | None, str]:
    """Return the entries of both splits as common item numbers, the items' names, and how they were matched.

    Empty partitions are omitted. Names are None if the numbers are row numbers.
    """
    entries_a, entries_b = ({part: items for part, items in split.entries.items() if len(items)} for split in (a, b))
    if a.dataset.ids is None or b.dataset.ids is None:
        for split, name, other in ((a, here, there), (b, there, here)):
            if split.dataset.ids is not None and split.dataset.n_items is None:
                raise ProtocolError(
                    f"against: {name} contains ids and {other} row numbers. Give the ids of the dataset in the order "
                    "of its rows (ids)."
                )
        return entries_a, entries_b, None, "row numbers"
    ids_a, ids_b, by = _comparable_names(a.dataset.ids.tolist(), b.dataset.ids.tolist())
    numbers: dict[str, int] = dict(zip(ids_a, itertools.count()))
    rows = np.array([numbers.setdefault(name, len(numbers)) for name in ids_b], dtype=np.int64)
    return entries_a, {part: rows[items] for part, items in entries_b.items()}, list(numbers), by


def _comparable_names(ids_a: list[str], ids_b: list[str]) -> tuple[list[str], list[str], str]:
    """Return the ids of both splits, or their file names if no id is in both, and which of these."""
    if set(ids_a).isdisjoint(ids_b):
        files_a, files_b = ([name.replace("\\", "/").rpartition("/")[2] for name in ids] for ids in (ids_a, ids_b))
        is_unique = len(set(files_a)) == len(ids_a) and len(set(files_b)) == len(ids_b)
        if is_unique and not set(files_a).isdisjoint(files_b):
            return files_a, files_b, "file names"
    return ids_a, ids_b, "ids"


def _named(parts: Sequence[str]) -> str:
    return " and ".join(parts) or "no partition"
