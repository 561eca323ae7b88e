"""Read groups of items, such as the frames of a video, or derive them from file names."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
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
    return _by_row(groups, dataset, n_items, name) if items is None else _by_id(items, groups, dataset, n_items, name)


_Entries = tuple[Sequence[Any] | None, Sequence[Any]]
"""The ids or row numbers of items, None if every item has a group, and the groups."""


def _entries(values: Any, name: str) -> _Entries:
    if isinstance(values, Mapping):
        return list(values), list(values.values())
    if is_file(values) and not any(kind in name.lower() for kind in _ARRAYS):
        path = Path(values)
        is_table = path.suffix.lower() == ".csv"
        return _read_csv(path) if is_table else (None, [line.strip() for line in lines(path, "one group per line")])
    array = read_stored(values) if is_file(values) else as_numpy(values, name)
    if array.ndim != 1 or array.dtype.kind not in "iuUTO":
        raise ProtocolError(
            f"{name}: expected one group per item, integers or strings of shape (n_items,), got shape "
            f"{array.shape} of {array.dtype}."
        )
    return None, array.tolist()


def _read_csv(path: Path) -> _Entries:
    """Return the one or two fields of each line, without a header of two fields."""
    rows = [row for _, row in read_rows(path, "lines `id,group`")]
    width = len(rows[0])
    if width > 2:
        raise ProtocolError(f"{path}: line 1: expected `id,group` or a group, got {','.join(rows[0])[:80]!r}.")
    if width == 2 and rows[0][0].lower() in _HEADER:
        del rows[0]
    if not rows:
        raise ProtocolError(f"{path}: no `id,group` line after the header.")
    return [row[0] for row in rows] if width == 2 else None, [row[-1] for row in rows]


def _by_id(ids: Sequence[Any], groups: Sequence[Any], dataset: Dataset, n_items: int, name: str) -> Groups:
    """Return the groups of items by id, or by row number if there are no ids."""
    numbers = numbers_of(ids, dataset, n_items, name)
    in_split = np.flatnonzero(numbers >= 0)
    codes, names = _encoded([groups[entry] for entry in in_split.tolist()], name)
    codes_of_items = np.full(n_items if dataset.ids is None else len(dataset.ids), -1, dtype=np.int64)
    codes_of_items[numbers[in_split]] = codes
    different = in_split[codes_of_items[numbers[in_split]] != codes]
    if different.size:
        raise ProtocolError(f"{name}: {str(ids[different[0]])!r} is in two groups.")
    if not (codes_of_items >= 0).any():
        raise ProtocolError(f"{name}: no line names an item of the split.")
    return Groups(codes_of_items, names, name)


def _by_row(values: Sequence[Any], dataset: Dataset, n_items: int, name: str) -> Groups:
    """Return groups given in the order of the row numbers."""
    if dataset.n_items is None and dataset.ids is not None:
        raise ProtocolError(
            f"{name}: one group per line, but the lists contain ids. Write lines `id,group` (.csv), or give the ids of "
            "the dataset in the order of these lines (ids)."
        )
    if len(values) < n_items or (dataset.n_items is not None and len(values) > n_items):
        raise ProtocolError(
            f"{name}: {counted(len(values), 'group')} for {counted(n_items, 'item')}. Give one group per item, or "
            "lines `id,group` (.csv)."
        )
    codes, names = _encoded(values, name)
    if not names:
        raise ProtocolError(f"{name}: all groups are empty.")
    return Groups(codes, names, name)


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
_UCF101 = re.compile(r"(?:v_)?(?P<group>.+_g\d+)_c\d+")
_NUMBERED = re.compile(rf"(?P<group>.*?)[-_. ]*(?:{_MARK})[-_. ]*\d+", re.IGNORECASE)
_BURST = re.compile(r"(?P<group>.*\d.*?)(?:[-_. ]\d{1,4}| ?\(\d{1,4}\))")
_LONGEST = 256  # characters; rules are not applied to longer names


def _named_group(pattern: re.Pattern[str], folder: str, stem: str) -> str | None:
    match = pattern.fullmatch(stem)
    name = "/".join(filter(None, (folder, match["group"]))) if match else ""
    return name if _identifies(name) else None


def _ucf101(folder: str, stem: str) -> str | None:
    match = _UCF101.fullmatch(stem)
    return match["group"] if match else None


def _identifies(text: str) -> bool:
    """Return whether a text contains a number that may identify an object: not a year or a class of ImageNet."""
    return any(map(str.isdecimal, _NO_IDENTITY.sub("", text)))


_RULES: dict[str, Callable[[str, str], str | None]] = {
    "the group g in UCF101's names, `v_PullUps_g21_c02`": _ucf101,
    "names that end with the number of a frame or slice, `scene12_frame0045`": lambda folder, stem: _named_group(
        _NUMBERED, folder, stem
    ),
    "names that end with a second, short number, `IMG_1234_3`": lambda folder, stem: _named_group(_BURST, folder, stem),
    "folders with a number, `patient007/`": lambda folder, stem: (
        folder if _identifies(folder.rpartition("/")[2]) else None
    ),
}
"""The rules that derive a group from the folders of an id and its name without extension, by their description."""


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
    names = [_divided(str(name)) for name in dataset.ids.tolist()]
    best, n_best = None, 0
    for rule in _RULES:
        groups, n_grouped = _by_rule(rule, names, dataset)
        if n_grouped > n_best:
            best, n_best = groups, n_grouped
        if n_best == len(names):
            break
    if best is None:
        raise ProtocolError(
            f"groups: ids such as {str(dataset.ids[0])[:80]!r} do not contain groups, as `v_PullUps_g21_c02`, "
            "`scene12_frame0045`, `IMG_1234_3` or `patient007/slice12` do. Give a file with lines `id,group`."
        )
    return best


def _by_rule(rule: str, names: Sequence[tuple[str, str]], dataset: Dataset) -> tuple[Groups | None, int]:
    """Return the groups by one rule, and the number of items in groups of two or more; None and 0 if there are none."""
    derived = [_RULES[rule](*name) if len(name[0]) + len(name[1]) <= _LONGEST else None for name in names]
    # The first picture of a burst may have no second number: its name is then the group of the others.
    groups = set(derived) - {None}
    for position, name in enumerate(names):
        full_name = "/".join(filter(None, name))
        if derived[position] is None and full_name in groups:
            derived[position] = full_name
    codes, group_names = _encoded(derived, "groups")
    sizes = np.bincount(codes[codes >= 0], minlength=len(group_names))
    if not group_names or 2 * sizes.max() > len(names) or _are_classes(codes, dataset):
        return None, 0
    several, largest = sizes[sizes > 1], int(sizes.argmax())
    first = np.asarray(dataset.ids)[codes == largest][0]
    source = (
        f"{rule}: {counted(len(several), 'group')} with 2 or more items, {counted(int(sizes.max()), 'item')} at most, "
        f"for example `{first}` is in the group {group_names[largest]}"
    )
    return Groups(codes, group_names, source, guessed=True), int(several.sum())


def _divided(name: str) -> tuple[str, str]:
    """Return the folders of an id, except names of partitions, and its name without extension."""
    *folders, last = name.replace("\\", "/").split("/")
    stem, dot, extension = last.rpartition(".")
    remaining = [folder for folder in folders if folder and not _OF_PARTITIONS.fullmatch(folder.lower())]
    return "/".join(remaining), stem if dot and stem and not extension.isdecimal() else last


def _are_classes(codes: NDArray[np.int64], dataset: Dataset) -> bool:
    """Return whether the groups coincide with the classes of the items."""
    if dataset.y is None or dataset.y.ndim == 2:
        return False
    is_grouped = (codes >= 0) & (True if dataset.labelled is None else dataset.labelled)
    pairs = np.unique(np.stack([codes[is_grouped], dataset.y[is_grouped]]), axis=1)
    return bool(pairs.shape[1] and all(len(np.unique(side)) == len(side) for side in pairs))
