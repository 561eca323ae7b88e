"""Read lists of items and labels: one grammar for every command and function that takes them.

A line, or an element of an array or of a JSON list, has an id, labels, or both. Labels are one class (a number or a
name), several classes, or a column for each class with 0 and 1 or -1 and +1. The fields of a line are separated by
tabs, commas, semicolons or blanks. Which of these forms a file has is decided by its whole content, and by that of all
files that are read together. A file that can be read in two ways is refused; ``F:FORM``, with one of `FORMS`, chooses.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, printable
from protocol.inputs import text
from protocol.inputs.arrays import as_integers, path_and_key, read_stored
from protocol.inputs.conversion import as_numpy, is_file, named
from protocol.inputs.fields import OF_IDS, Table, drop_headers, has_extension, has_folder, is_number, read_table
from protocol.inputs.label_forms import are_columns, labels_of, n_classes, two_readings

ARRAYS = (".npy", ".npz", ".h5", ".hdf5", ".mat")
_FEW_LABELS = 1 << 22  # the classes of larger arrays, which may be mapped from a file, are not counted
_log = logging.getLogger("protocol.inputs")


@dataclass(frozen=True, eq=False)
class Listing:
    """The items of a list, with what is known of each.

    Parameters
    ----------
    name : str
        Its file, or its role.
    ids : ndarray of str or int64, shape (n,), or None
        Ids, or row numbers; None if the list has labels alone.
    labels : ndarray or None
        Integers or strings (n,), or bool (n, n_classes); None if there are none, or the same placeholder everywhere.
    form : str
        The form of a line in words, such as "id and one of 10 classes".
    classes : tuple of str
        The names of the columns, if the list names the classes of its items.
    """

    name: str
    ids: NDArray | None
    labels: NDArray | None
    form: str
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        array = self.labels if self.ids is None else self.ids
        if array is None:
            return 0
        is_row = array.ndim == 0 or (len(array) == 1 and array.dtype != bool)
        return array.size if is_row else len(array)

    @property
    def items(self) -> NDArray:
        """The ids or row numbers of a list that was read as one of ids; raises ProtocolError if it has labels alone."""
        if self.ids is None:
            raise ProtocolError(f"{self.name}: {self.form}, but no ids.")
        return self.ids

    def __str__(self) -> str:
        return f"{self.name}: {counted(len(self), 'item')}, {self.form}"


def read_listings(
    sources: Mapping[str, Any],
    *,
    has_ids: bool,
    form: str = "",
    sizes: Mapping[str, int] | None = None,
    log: bool = True,
) -> dict[str, Listing]:
    """Read lists that belong together, such as those of the queries and of the database.

    Parameters
    ----------
    sources : mapping of str to path or array_like
        By role: text (also ``.gz``), ``.csv``, ``.tsv`` or ``.json``, ``F.csv:COLUMN`` for one column, an array of
        strings or integers as ``.npy``, ``.npz:key``, ``.mat:variable`` or ``.h5:dataset``, or a value in memory.
    has_ids : bool
        Whether each line begins with an id, as in the list of a partition; an array of integers then contains row
        numbers. Otherwise the content decides whether labels follow an id.
    form : str, optional
        One of `FORMS`, for files that can be read in two ways and don't name a form themselves.
    sizes : mapping of str to int, optional
        The known numbers of items.
    log : bool, default=True
        Whether each file is reported to the logger ``protocol.inputs``, in one line.

    Returns
    -------
    dict of str to Listing
        By role.

    Raises
    ------
    ProtocolError
        If a source can't be read, is empty, or can be read in two ways.

    Examples
    --------
    >>> found = read_listings({"query": [["owl"], ["fox", "elk"]], "database": ["owl;elk", "fox"]}, has_ids=False)
    >>> print(found["database"], found["database"].labels.astype(int).tolist())
    database: 2 items, several of 3 classes [[1, 0, 1], [0, 1, 0]]
    """
    tables: dict[str, Table] = {}
    listings: dict[str, Listing] = {}
    for role, values in sources.items():
        name = named(values, role)
        content = _content(values, name, has_ids)
        if isinstance(content, Table):
            tables[role] = content
        else:
            listings[role] = _of_array(content, values, name, has_ids)
    if tables:
        for table in tables.values():
            table.form = table.form or form
        listings |= _read(tables, has_ids, sizes or {})
    for role, values in sources.items():
        if log and is_file(values):
            _log.info("%s", printable(str(listings[role])))
    return {role: listings[role] for role in sources}


# Sources


def _content(values: Any, name: str, has_ids: bool) -> "Table | NDArray":
    """Return the rows of a source of text, or an array of numbers."""
    if is_file(values):
        path, key = path_and_key(values)
        if path.suffix.lower() == ".json":
            values = _json(path)
        elif is_text(path):
            return read_table(path, key)
        else:
            values = read_stored(values)
    rows = _nested(values)
    if rows is not None:
        return Table(name, rows, is_python=True)
    array = as_numpy(values, name)
    if array.dtype.kind == "O" and (nested := _nested(array.ravel().tolist())) is not None:
        return Table(name, nested, is_python=True)  # a column of a data frame that contains lists
    if array.dtype.kind not in "US" or not array.size:
        return array
    if array.dtype.kind == "S":
        array = _decoded(array, name, "strict" if has_ids else "backslashreplace")
    array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
    if array.ndim not in (1, 2):
        raise ProtocolError(f"{name}: strings of shape {array.shape}, but a list has one row for each item.")
    return Table(name, array.reshape(len(array), -1).tolist(), is_python=True)


def _decoded(array: NDArray, name: str, errors: str) -> NDArray:
    try:
        return np.char.decode(array, "utf-8", errors)
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{name}: ids are not UTF-8 ({error}).") from error


def _nested(values: Any) -> list[list[str]] | None:
    """Return a list of lists of labels as rows of text; None if it is not one, or is a matrix of numbers."""
    nested = (list, tuple, set, frozenset)
    if not isinstance(values, (list, tuple)) or not values or not all(isinstance(row, nested) for row in values):
        return None
    rows = [sorted(row) if isinstance(row, (set, frozenset)) else list(row) for row in values]
    kinds = {type(item) for row in rows for item in row}
    is_matrix = len({len(row) for row in rows}) == 1 and str not in kinds
    is_text = all(issubclass(kind, (str, int, np.integer)) for kind in kinds)
    return None if is_matrix or not is_text else [list(map(str, row)) for row in rows]


def _json(path: Path) -> Any:
    """Return the value of a JSON file: a list, or an object of labels by id as a list of rows."""
    content = "".join(text.lines(path, "a JSON list"))
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{path}: not valid JSON ({' '.join(str(error).split())}).") from error
    if isinstance(values, dict):
        return [[key, *(value if isinstance(value, list) else [value])] for key, value in values.items()]
    if not isinstance(values, list) or not values:
        raise ProtocolError(f"{path}: expected a list of items, or an object of labels by id.")
    return values


def is_text(path: Path) -> bool:
    """Return whether a list with this name is text, rather than an array."""
    return path.suffix.lower() not in ARRAYS


# Forms


def _read(tables: Mapping[str, Table], has_ids: bool, sizes: Mapping[str, int]) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    drop_headers(tables, sizes)
    for role, table in tables.items():
        numbers = table.rows[0]
        is_row = len(table.rows) == 1 and len(numbers) > 1 and sizes.get(role) != 1 and not table.form
        if is_row and not has_ids and all(map(is_number, numbers)):  # one line with the labels of all items
            table.rows, table.lines = [[number] for number in numbers], []
    undecided = {role: table for role, table in tables.items() if not table.form}
    with_ids = {role for role, table in tables.items() if table.form.startswith("id")}
    with_ids |= set(undecided) if has_ids else _with_ids(undecided)
    ids: dict[str, list[str]] = {}
    labels: dict[str, list[list[str]]] = {}
    for role, table in tables.items():
        if role in with_ids:
            ids[role], labels[role] = _heads_and_tails(table, tables)
        else:
            labels[role] = _all_fields(table)
    said, arrays, classes = labels_of(tables, labels, bool(with_ids))
    listings = {}
    for role, table in tables.items():
        has_labels = any(map(any, labels[role])) and table.form != "id"
        words = " and ".join(filter(None, ["id" if role in ids else "", said if has_labels else ""]))
        header = f" (header {','.join(table.header)[:60]!r})" if table.header else ""
        names = text.string_array(ids[role], table.name) if role in ids else None
        listings[role] = Listing(table.name, names, arrays.get(role), f"{words}{header}", classes)
    return listings


def _all_fields(table: Table) -> list[list[str]]:
    """Return the labels on each line; blanks divide them unless a mark does."""
    has_marks = any({",", ";", "|"} & set(line) for line in table.lines)
    return [[line] for line in table.lines] if has_marks else [list(map(str.strip, row)) for row in table.rows]


def _with_ids(tables: Mapping[str, Table]) -> set[str]:
    """Return the tables of labels whose lines begin with an id; raise ProtocolError if nothing decides it."""
    sides = {role: table.rows for role, table in tables.items()}
    alone = {role: side for role, side in sides.items() if any(len(row) < 2 for row in side)}
    found = {role for role, table in tables.items() if role not in alone and _has_names_of_files(table, sides[role])}
    for role, side in alone.items():
        _check_labels(tables[role], side)
    undecided = {role: side for role, side in sides.items() if role not in found and role not in alone}
    if not undecided:
        return found
    values = set(chain.from_iterable(chain.from_iterable(alone.values())))
    begin = _by_values(list(undecided.values()), values)
    if begin is None and not alone:
        role, side = next(iter(undecided.items()))
        raise two_readings(tables[role].name, side[0], "an id and a class", "id-class", "several classes", "classes")
    return found | set(undecided) if begin else found


def _has_names_of_files(table: Table, side: Sequence[Sequence[str]]) -> bool:
    """Return whether each line has the name of a file in front of its labels, or a header names the ids."""
    if len(table.header) > 1 and table.header[0].lower() in OF_IDS:
        return True
    if all(has_extension(row[0]) or has_folder(row[0]) for row in side):
        return True
    return bool(table.lines) and all(any(map(has_extension, row)) for row in side)


def _check_labels(table: Table, side: Sequence[Sequence[str]]) -> None:
    """Raise ProtocolError if lines of labels are only the names of files, all of them different."""
    are_names = not table.is_python and all(has_extension(row[0]) or has_folder(row[0]) for row in side)
    if are_names and len({tuple(row) for row in side}) == len(side):
        raise ProtocolError(
            f"{table.name}: ids without labels, the first {side[0][0][:80]!r}. Add a label to each line."
        )


def _by_values(sides: Sequence[Sequence[Sequence[str]]], labels: set[str]) -> bool | None:
    """Return whether the first fields are ids: all different, while the others are not; None if nothing decides it.

    `labels` are those in other files, which no id may be.
    """
    rows = list(chain.from_iterable(sides))
    is_regular = len({len(row) for row in rows}) == 1
    firsts, tails = [[row[0] for row in side] for side in sides], [row[1:] for row in rows]
    others = labels.union(*tails)
    values = others.union(*firsts)
    if any(len(set(first)) < len(first) for first in firsts):
        return False
    if are_columns(values):
        return False
    if all(map(is_number, values)):
        if is_regular and len(rows[0]) > 2 and others <= {"0", "1"}:
            return True
        if all(first in (_counting(0, first), _counting(1, first)) for first in firsts):
            return True
    elif others & set(chain.from_iterable(firsts)):
        return False
    everywhere = len(set(chain.from_iterable(firsts))) == len(rows) or all(side == sides[0] for side in sides)
    if everywhere and any(len(set(column)) < len(rows) for column in zip(*tails, strict=False)):
        return True
    return None if is_regular else False


def _counting(start: int, like: Sequence[str]) -> list[str]:
    return list(map(str, range(start, start + len(like))))


def _heads_and_tails(table: Table, tables: Mapping[str, Table]) -> tuple[list[str], list[list[str]]]:
    """Return the id of each line and its other fields; an id in a line with blanks may contain blanks itself."""
    if not table.lines:
        return [row[0] for row in table.rows], [row[1:] for row in table.rows]
    lines, words = table.lines, table.rows
    for names_file in (has_extension, has_folder):
        lengths = [next((n for n, word in enumerate(reversed(row)) if names_file(word)), -1) for row in words]
        if min(lengths) >= 0 and (any(lengths) or table.form in ("", "id")):
            if names_file is has_folder and not any(lengths) and not table.form:
                _check_folders(table)
            return _cut(table, lengths)
    flags = [next((n for n, word in enumerate(reversed(row)) if word not in ("0", "1")), len(row) - 1) for row in words]
    if all(flags):
        return _cut(table, flags)
    if table.form == "id" or all(len(row) == 1 for row in words):
        return lines, [[] for _ in lines]
    if not table.form:
        _check_first_words(table, words, tables)
    return _cut(table, [len(row) - 1 for row in words])


def _check_folders(table: Table) -> None:
    """Raise ProtocolError if the last words of lines, which have slashes, may be classes rather than parts of ids."""
    last = {row[-1] for row in table.rows}
    if all(len(row) > 1 for row in table.rows) and len(last) < len(table.rows):
        raise two_readings(table.name, table.rows[0], "an id", "id", "an id and a class", "id-class")


def _check_first_words(table: Table, words: Sequence[Sequence[str]], tables: Mapping[str, Table]) -> None:
    """Raise ProtocolError unless the first words of lines can only be ids, and the others labels."""
    rows = [row for other in tables.values() for row in other.rows]
    short = next((number for number, row in enumerate(words, start=1) if len(row) == 1), None)
    if short is not None:
        odd = next(row for row in words if len(row) > 1)
        raise ProtocolError(
            f"{table.name}: item {short}, {words[short - 1][0][:80]!r}, has no labels, unlike {' '.join(odd)[:80]!r}. "
            f"If that is an id, write {table.name}:id."
        )
    tails = [tuple(row[1:]) for row in rows]
    is_id = len({row[0] for row in words}) == len(words)
    if not (is_id and len(set(tails)) < len(tails)) and not all(is_number(word) for tail in tails for word in tail):
        raise two_readings(table.name, words[0], "an id", "id", "an id and a class", "id-class")


def _cut(table: Table, lengths: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Return the lines of a table without their last words, and these words."""
    rows = list(zip(table.lines, table.rows, lengths, strict=True))
    heads = [row[0] if len(row) == n + 1 else line.rsplit(None, n)[0] if n else line for line, row, n in rows]
    return heads, [row[len(row) - n :] for _, row, n in rows]


# Arrays


def _of_array(array: NDArray, values: Any, name: str, has_ids: bool) -> Listing:
    """Return a list of row numbers, or labels that are numbers."""
    if not has_ids:
        if array.size <= _FEW_LABELS and array.dtype.kind in "biuf" and (array.ndim == 1 or 1 in array.shape):
            return Listing(name, None, array, f"one of {n_classes(len(np.unique(array)))}")
        return Listing(name, None, array, "labels" if array.ndim == 1 else f"labels of shape {array.shape}")
    array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
    if array.ndim != 1:
        raise ProtocolError(f"{name}: expected row numbers or ids, shape (n,), got shape {array.shape}.")
    if array.dtype == bool:
        raise ProtocolError(f"{name}: a mask instead of row numbers. Convert it with numpy.flatnonzero.")
    if array.dtype.kind not in "iuf":
        raise ProtocolError(f"{name}: expected row numbers or ids (str), got dtype {array.dtype}.")
    is_large = array.dtype.kind == "u" and array.max(initial=0) > np.iinfo(np.int64).max
    return Listing(name, array if is_large else as_integers(array, name), None, "row numbers")
