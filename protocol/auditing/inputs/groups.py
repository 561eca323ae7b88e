"""Read groups of items, such as the frames of a video, or derive them from file names."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.inputs.items import name_of, numbers_of, read_rows
from protocol.auditing.inputs.split import Dataset, Split
from protocol.checks import ProtocolError, counted
from protocol.inputs.arrays import read_stored
from protocol.inputs.conversion import as_numpy, is_file
from protocol.inputs.text import lines

AUTO = "auto"
"""The value of ``--groups`` that derives groups from file names."""
PATTERN = "re:"
"""The beginning of a value of ``--groups`` that is a regular expression."""
_ARRAYS = (".npy", ".npz", ".h5", ".hdf5", ".mat")
_HEADER = ("id", "item", "image", "file", "filename", "path", "row")


@dataclass(frozen=True)
class Groups:
    """The group of each item of a dataset.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_items,)
        The number of each item's group; -1 for items without a group.
    names : sequence of str
        The names of the groups, by number.
    source : str
        The origin of the groups, for the reader.
    guessed : bool
        Whether they are derived from file names.
    """

    codes: NDArray[np.int64]
    names: Sequence[str]
    source: str
    guessed: bool = False

    def sizes(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the given items in each group."""
        codes = self.codes[items]
        return np.bincount(codes[codes >= 0], minlength=len(self.names))

    def about(self, split: Split) -> str:
        """Return a sentence about the origin of the groups and the number of items without a group."""
        listed = np.unique(split.listed)
        sizes = self.sizes(listed)
        n_grouped, n_without = int(sizes.sum()), len(listed) - int(sizes.sum())
        sentence = f"Groups ({self.source}): {counted(int((sizes > 0).sum()), 'group')} of {counted(n_grouped, 'item')}"
        if n_without:
            sentence += f"; {n_without:,} of {counted(len(listed), 'item')} without a group, so not checked"
        return f"{sentence}. They are guessed from file names." if self.guessed else f"{sentence}."


def groups_from(values: Any, dataset: Dataset, n_listed: int) -> Groups:
    """Return the group of each item.

    Parameters
    ----------
    values : path, array_like of shape (n_items,), mapping of id to group, or ``"auto"``
        A ``.csv`` file has lines ``id,group`` (or ``row,group`` if the lists contain row numbers), or one group per
        line; other text has one group per line, in the order of the row numbers; ``.npy`` and similar files contain an
        array. An empty string means no group. ``"auto"`` derives groups from the ids. ``"re:PATTERN"`` is a regular
        expression that is searched for in the ids; its one group is the group of the item.
    dataset : Dataset
    n_listed : int
        The largest item number of the split plus one.

    Raises
    ------
    ProtocolError
        If the groups can't be read, do not match the items, or can't be derived from the file names.
    """
    if isinstance(values, str) and values == AUTO:
        return guessed_groups(dataset)
    if isinstance(values, str) and values.startswith(PATTERN):
        return _by_pattern(values, dataset)
    name, n_items = name_of(values, "groups"), dataset.n_rows(n_listed)
    items, groups = _entries(values, name)
    if items is None:
        _check_rows(len(groups), dataset, n_items, name)
    codes, names = _encoded(groups, name)
    if items is not None:
        numbers = numbers_of(items, dataset, n_items, name)
        listed, given = np.flatnonzero(numbers >= 0), codes
        codes = np.full(n_items if dataset.ids is None else len(dataset.ids), -1, dtype=np.int64)
        codes[numbers[listed]] = given[listed]
        different = listed[codes[numbers[listed]] != given[listed]]
        if different.size:
            raise ProtocolError(f"{name}: {str(items[different[0]])!r} is in two groups.")
    if not (codes >= 0).any():
        problem = "all groups are empty" if items is None else "no line names an item of the split"
        raise ProtocolError(f"{name}: {problem}.")
    return Groups(codes, names, name)


def _entries(values: Any, name: str) -> tuple[Sequence[Any] | None, Sequence[Any]]:
    """Return the ids or row numbers of items, None if every item has a group, and the groups."""
    if isinstance(values, Mapping):
        return list(values), list(values.values())
    if not is_file(values) or any(kind in name.lower() for kind in _ARRAYS):
        array = read_stored(values) if is_file(values) else as_numpy(values, name)
        if array.ndim != 1 or array.dtype.kind not in "iuUTO":
            raise ProtocolError(
                f"{name}: expected one group per item, integers or strings of shape (n_items,), got shape "
                f"{array.shape} of {array.dtype}."
            )
        return None, array.tolist()
    path = Path(values)
    if path.suffix.lower() != ".csv":
        return None, [line.strip() for line in lines(path, "one group per line")]
    rows = [row for _, row in read_rows(path, "lines `id,group`")]
    if len(rows[0]) > 2:
        raise ProtocolError(f"{path}: line 1: expected `id,group` or a group, got {','.join(rows[0])[:80]!r}.")
    if len(rows[0]) == 1:
        return None, [row[0] for row in rows]
    if rows[0][0].lower() in _HEADER:
        del rows[0]
    if not rows:
        raise ProtocolError(f"{path}: no `id,group` line after the header.")
    return [row[0] for row in rows], [row[1] for row in rows]


def _check_rows(n_given: int, dataset: Dataset, n_items: int, name: str) -> None:
    """Raise ProtocolError if groups in the order of the row numbers don't fit the dataset."""
    if dataset.n_items is None and dataset.ids is not None:
        raise ProtocolError(
            f"{name}: one group per line, but the lists contain ids. Write lines `id,group` (.csv), or give the ids of "
            "the dataset in the order of these lines (ids)."
        )
    if n_given < n_items or (dataset.n_items is not None and n_given > n_items):
        raise ProtocolError(
            f"{name}: {counted(n_given, 'group')} for {counted(n_items, 'item')}. Give one group per item, or "
            "lines `id,group` (.csv)."
        )


def _encoded(values: Sequence[Any], name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the group number of each value, -1 for empty ones, and the groups' names in order of first occurrence.

    `pandas.factorize` was considered; it does not distinguish texts from other objects, and the audit of lists runs on
    NumPy alone.
    """
    numbers: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for position, value in enumerate(values):
        is_missing = value is None or (isinstance(value, float) and math.isnan(value))  # as in pandas
        if not is_missing and not isinstance(value, (str, int, np.integer)):
            kind = type(value).__name__
            raise ProtocolError(f"{name}: expected groups as integers or strings, got {kind} at position {position}.")
        text = "" if is_missing else str(value).strip()
        codes[position] = numbers.setdefault(text, len(numbers)) if text else -1
    return codes, list(numbers)


def _by_pattern(pattern: str, dataset: Dataset) -> Groups:
    """Return groups derived from the ids by a regular expression of the user."""
    try:
        expression = re.compile(pattern.removeprefix(PATTERN))
    except re.error as error:
        raise ProtocolError(f"groups: {pattern!r} is not a regular expression ({error}).") from error
    if expression.groups != 1:
        raise ProtocolError(
            f"groups: {pattern!r} has {counted(expression.groups, 'group')} in parentheses. Put one pair around the "
            "part of the id that names the group, and write other parentheses as (?:...)."
        )
    if dataset.ids is None:
        raise ProtocolError("groups: a regular expression needs ids (file names), but the lists contain row numbers.")
    matches = map(expression.search, map(str, dataset.ids.tolist()))
    codes, names = _encoded([match[1] if match else None for match in matches], "groups")
    if not names:
        raise ProtocolError(f"groups: {pattern!r} matches none of the ids (the first: {str(dataset.ids[0])[:80]!r}).")
    return Groups(codes, names, pattern)


# Groups from file names

_OF_PARTITIONS = re.compile(r"(?:train|trainval|test|val|valid|validation|query|queries|gallery|database|db|base)\d*")
_NO_IDENTITY = re.compile(r"n\d{8}|(?<!\d)(?:19|20)\d\d(?!\d)")  # ImageNet's classes, and years
_MARK = "frame|frm|slice|slc|shot|burst|crop|patch|tile|view|page|clip|part|seq|img|image"
_RULES = {
    "the group g in UCF101's names, `v_PullUps_g21_c02`": r"(?:.*/)?(?:v_)?(?P<group>(?P<number>[^/]+_g\d+))_c\d+",
    "names that end with the number of a frame or slice, `scene12_frame0045`": (
        rf"(?P<group>(?P<number>.*?))/?[-_. ]*(?i:{_MARK})[-_. ]*\d+"
    ),
    "names that end with a second, short number, `IMG_1234_3`": (
        r"(?P<group>(?P<number>(?:.*/)?[^/]*\d[^/]*?))(?:[-_. ]\d{1,4}| ?\(\d{1,4}\))"
    ),
    "folders with a number, `patient007/`": r"(?P<group>(?:.*/)?(?P<number>[^/]*))/[^/]*",
}
"""The rules that derive a group from an id without its extension, by their description.

The part `number` must contain a number that may identify an object: not a year or a class of ImageNet.
"""
_LONGEST = 256  # characters; rules are not applied to longer names


def guessed_groups(dataset: Dataset) -> Groups:
    """Return groups derived from file names by the rule that puts the most items into groups of two or more.

    The rules: UCF101's names; names that end with the number of a frame or slice; names that end with a second, short
    number, as in bursts; and leading folders with a number. Folders named after partitions, years or ImageNet's classes
    do not form groups. A rule is not used if it puts more than half of all items into one group, or if its groups are
    the classes of the items.

    Raises
    ------
    ProtocolError
        If the items have no ids, or no rule gives groups of two or more items.
    """
    if dataset.ids is None:
        raise ProtocolError(
            "groups: groups can be derived only from ids (file names), but the lists contain row numbers."
        )
    names = [_stripped(str(name)) for name in dataset.ids.tolist()]
    best, n_best = None, 0
    for rule, pattern in _RULES.items():
        codes, group_names = _encoded(_derived(pattern, names), "groups")
        sizes = np.bincount(codes[codes >= 0], minlength=1)
        several, largest = sizes[sizes > 1], int(sizes.argmax())
        if several.sum() <= n_best or 2 * sizes.max() > len(names) or _are_classes(codes, dataset):
            continue
        source = (
            f"{rule}: {counted(len(several), 'group')} with 2 or more items, {counted(int(sizes.max()), 'item')} at "
            f"most, for example `{dataset.ids[codes == largest][0]}` is in the group {group_names[largest]}"
        )
        best, n_best = Groups(codes, group_names, source, guessed=True), several.sum()
    if best is None:
        raise ProtocolError(
            f"groups: ids such as {str(dataset.ids[0])[:80]!r} do not contain groups, as `v_PullUps_g21_c02`, "
            "`scene12_frame0045`, `IMG_1234_3` or `patient007/slice12` do. Give a file with lines `id,group`."
        )
    return best


def _stripped(name: str) -> str:
    """Return an id without folders that are named after partitions, and without its extension."""
    *folders, last = name.replace("\\", "/").split("/")
    stem, dot, extension = last.rpartition(".")
    remaining = [folder for folder in folders if folder and not _OF_PARTITIONS.fullmatch(folder.lower())]
    return "/".join([*remaining, stem if dot and stem and not extension.isdecimal() else last])


def _derived(pattern: str, names: Sequence[str]) -> list[str | None]:
    """Return the group of each name by a rule, or None."""
    matches = [re.fullmatch(pattern, name) if len(name) <= _LONGEST else None for name in names]
    found = [
        match["group"] if match and any(map(str.isdecimal, _NO_IDENTITY.sub("", match["number"]))) else None
        for match in matches
    ]
    groups = set(found)
    # The first picture of a burst may have no second number: its name is then the group of the others.
    return [name if group is None and name in groups else group for name, group in zip(names, found, strict=True)]


def _are_classes(codes: NDArray[np.int64], dataset: Dataset) -> bool:
    """Return whether the groups coincide with the classes of the items."""
    if dataset.y is None or dataset.y.ndim == 2:
        return False
    is_grouped = (codes >= 0) & (True if dataset.labelled is None else dataset.labelled)
    pairs = np.unique(np.stack([codes[is_grouped], dataset.y[is_grouped]]), axis=1)
    return bool(pairs.shape[1] and all(len(np.unique(side)) == len(side) for side in pairs))
