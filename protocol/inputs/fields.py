"""Read a source of items into a table: what separates the fields of a line, and whether the first one is a header.

A source is text (also ``.gz``), ``.csv`` or ``.tsv``, an array of strings in a file, or lists in memory.
`protocol.inputs.lists` interprets the fields as ids and labels.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import formats, text
from protocol.inputs.arrays import ARRAYS, FORMS, as_numpy, is_file, path_and_key, read_stored

EXTENSION = r"\.[A-Za-z][A-Za-z0-9]{1,4}"
"""Pattern of the end of a file's name."""
_FILE = re.compile(rf"[/\\]|{EXTENSION}$")
_ENDS_AS_FILE = re.compile(rf"{EXTENSION}\s*$")
_END_OF_ID = re.compile(rf"{EXTENSION}(?!\S)|\S\s+[01]\s*$")
_LABELS_AFTER_MARKS = re.compile(r"\S+[,;][01]")
WORD = re.compile(r"[^\W\d]+(?: [^\W\d]+)*")
"""Words that may be a header."""
_LETTER = re.compile(r"[^\W\d_]")
_HEADER = ("id", "partition")  # those that this package writes
Fields = list[list[str]]
"""The fields of each row."""


@dataclass(eq=False)
class Table:
    """The rows of a source, each with its fields.

    Parameters
    ----------
    name : str
    rows : list of list of str
        The fields of each row, of its labels alone if `ids` are known; its line, if only blanks separate the fields,
        which may belong to a field as well.
    header : list of str
    by_blanks : bool
        Whether the rows are lines.
    is_python : bool
        Whether a row is an object in memory, whose fields are certain.
    form : str
        One of `protocol.inputs.arrays.FORMS`, if the user named it.
    numbers : sequence of int
        The number of each row's last line, for a text.
    ids : sequence of str, or None
        The ids of the rows; None if they have none, or until it is known where they end.
    id_column : int
        The number of the field of the ids, from 0, if there are ids.
    unused : sequence of int
        The numbers of the fields that are neither ids nor labels.
    is_of_ids : bool
        Whether a list of ids is expected, with or without labels, as for a partition.
    """

    name: str
    rows: Fields
    header: Sequence[str] = ()
    by_blanks: bool = False
    is_python: bool = False
    form: str = ""
    numbers: Sequence[int] = ()
    ids: Sequence[str] | None = None
    id_column: int = 0
    unused: Sequence[int] = ()
    is_of_ids: bool = False

    @cached_property
    def words(self) -> Fields:
        """The fields of each row, or the words of each line."""
        return [row[0].split() for row in self.rows] if self.by_blanks else self.rows

    @property
    def is_short(self) -> bool:
        """Whether a row is too short for an id and labels."""
        return min(map(len, self.words)) <= 1

    def at(self, row: int) -> str:
        """Return the name and the line of a row, or the number of the item, from 1, if there are no lines."""
        return f"{self.name}: " + (f"line {self.numbers[row]}" if self.numbers else f"item {row + 1}")

    @property
    def has_labels(self) -> bool:
        """Whether a row has fields besides its id."""
        return self.form != "id" and any(map(any, self.rows))


def read_source(values: Any, name: str, *, form: str = "", n_items: int | None = None) -> Table | NDArray:
    """Return the table of a source of text, or an array of numbers.

    Parameters
    ----------
    values : path or array_like
        ``F.csv:COLUMN`` is one column of a file, and ``F:FORM`` a file in one of the forms `FORMS`.
    name : str
        The name in error messages.
    form : str, optional
        The form of a file that names none.
    n_items : int, optional
        The number of items if it is known, which tells whether the first line is a header.

    Raises
    ------
    ProtocolError
        If the source can't be read, is empty or has no such column.
    """
    if is_file(values):
        path, key = path_and_key(values)
        if path.suffix.lower() in formats.UNREAD:
            formats.refuse_unread(path, key)
        if path.suffix.lower() not in ARRAYS:
            return read_table(path, name, key, form, n_items)
        values = read_stored(values)
    rows = _nested_rows(values)
    if rows is None:
        array = as_numpy(values, name)
        if array.dtype.kind != "U" or not array.size:
            return array
        array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
        if array.ndim not in (1, 2):
            raise ProtocolError(f"{name}: strings of shape {array.shape}, but a list has one row for each item.")
        rows = array.reshape(len(array), -1).tolist()
    return Table(name, rows, is_python=True, form=form)


def _nested_rows(values: Any) -> Fields | None:
    """Return a list of lists of labels as rows of text; None if it is not one, or is a matrix of numbers."""
    if not isinstance(values, (list, tuple)) or not values or not {*map(type, values)} <= {list, tuple, set, frozenset}:
        return None
    rows = list(map(list, values))
    kinds = set(map(type, chain.from_iterable(rows)))
    is_matrix = len(set(map(len, rows))) == 1 and str not in kinds
    if is_matrix or not all(issubclass(kind, (str, int, np.integer)) for kind in kinds):
        return None
    return [list(map(str, row)) for row in rows]


def read_table(path: Path, name: str, key: str | None = None, form: str = "", n_items: int | None = None) -> Table:
    """Return the rows of a text, or one of its columns; `key` is the name of the column or of a form.

    Raises
    ------
    ProtocolError
        As for `read_source`.
    """
    rows, items, numbers = _rows(path, key or form)
    column = None if key in FORMS and key not in rows[0] else key
    header = rows[0] if column or _is_header(rows, n_items) else []
    first = int(bool(header))
    rows, items, numbers = rows[first:], items[first:], numbers[first:]
    if not rows:
        raise ProtocolError(f"{path}: only a header, and no items. Write one line `{','.join(header)}` per item.")
    if column:
        return Table(name, _column(rows, header, column, path), is_python=True, form=form)
    if header and not header[0].strip() and rows[0][0] == "0" and text.is_running([row[0] for row in rows]):
        text.INPUTS.info("%s: without the first column, which counts the rows", path)  # the index of pandas
        rows, header = [row[1:] for row in rows], header[1:]
    rows = [[item] for item in items] or rows
    return Table(name, rows, header, by_blanks=bool(items), form=key or form, numbers=numbers)


def _column(rows: Fields, header: Sequence[str], name: str, path: Path) -> Fields:
    if name not in header:
        raise ProtocolError(f"{path}: no column {name!r}. Its columns are {', '.join(header)[:200]}.")
    if uneven := [row for row in rows if len(row) != len(header)]:
        what = f"{','.join(uneven[0])[:60]!r} has {counted(len(uneven[0]), 'field')}, but the header {len(header)}"
        raise ProtocolError(f"{path}: the line {what}. Put fields that contain the separator in quotes.")
    return [[row[header.index(name)]] for row in rows]


def _rows(path: Path, form: str) -> tuple[Fields, list[str], list[int]]:
    """Return the fields of each row that is not blank, the lines of the rows if only blanks divide them, and numbers.

    Fields between commas, semicolons or tabs may be quoted; there are then no such lines. The numbers are those of the
    last lines of the rows.
    """
    lines = text.lines(path, "a list of items")
    items = list(filter(None, map(str.strip, lines)))
    mark = _delimiter(path, items, form)
    if mark is None:
        for wrong in filter(_LABELS_AFTER_MARKS.fullmatch, items):
            same = "Write all lines in the same form."
            raise ProtocolError(f"{path}: {wrong!r} has labels after commas or semicolons, unlike another line. {same}")
        return list(map(str.split, items)), items, [number for number, line in enumerate(lines, 1) if line.strip()]
    reader = csv.reader(lines, delimiter=mark, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if "".join(row).strip()]
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as lines with commas ({error}).") from error
    if not rows:
        raise ProtocolError(f"{path}: the list is empty. Write one item per line.")
    return [[text.unsafe(row[0]), *map(str.strip, row[1:])] for _, row in rows], [], [number for number, _ in rows]


def _delimiter(path: Path, lines: Sequence[str], form: str) -> str | None:
    """Return what separates the fields of every line; None for blanks, or if nothing does."""
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind == ".tsv" or all("\t" in line for line in lines):
        return "\t"
    return next((mark for mark in ",;" if _divides(mark, lines, form)), "," if kind == ".csv" else None)


def _divides(mark: str, lines: Sequence[str], form: str) -> bool:
    """Return whether a mark divides every line into as many fields, and is not a part of the ids."""
    try:
        rows = list(csv.reader(lines, delimiter=mark, strict=True)) if mark in lines[0] else [[]]
    except csv.Error:
        return mark == ","
    if len(set(map(len, rows))) != 1 or len(rows[0]) < 2:
        return False
    firsts, *_, lasts = zip(*rows, strict=True)
    if _ENDS_AS_FILE.search(firsts[0]) or not all(map(_END_OF_ID.search, lasts)):
        return True
    return all(map(_ENDS_AS_FILE.search, lasts)) and _is_class_and_id(firsts, lasts, form)


def _is_class_and_id(firsts: Sequence[str], lasts: Sequence[str], form: str) -> bool:
    """Return whether lines that end like the names of files are a class and an id, rather than ids with commas."""
    if form:
        return form in ("id-class", "class-id", "columns-id")
    return len({*lasts}) == len(lasts) and (len({*firsts}) < len(firsts) or all("/" in last for last in lasts))


def _is_header(rows: Sequence[Sequence[str]], n_items: int | None = None) -> bool:
    """Return whether the first row has the names of the columns, because its fields fit no other row's form."""
    first, rest = rows[0], rows[1:]
    name = next(filter(None, map(str.strip, first)), "").lower()  # the first name is empty above the index of pandas
    is_numbered = text.is_numbered(first, rest)
    if is_numbered is False and not WORD.fullmatch(name):
        return False
    if name in text.LABEL_COLUMNS and len(first) == 1 and rest and not _LETTER.search("".join(chain(*rest))):
        return True
    if n_items in (len(rest), len(rows)):
        return n_items == len(rest)
    if name in text.LABEL_COLUMNS | text.ID_COLUMNS and (not rest or len(first) == len(rest[0])):
        return name in _HEADER or name not in {row[0].strip().lower() for row in rest}
    return bool(is_numbered) or _has_another_form(first, rest)


def _has_another_form(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether all other rows name files, or have numbers where the first row has words."""
    if any(map(names_file, first)) or len(first) > max(map(len, rest), default=0):
        return False
    if all(any(map(names_file, row)) for row in rest):
        return len(rest) > 1
    columns = zip(first, *rest, strict=False)
    return any(not text.is_number(name) and all(map(text.is_number, values)) for name, *values in list(columns)[1:])


def names_file(word: str) -> bool:
    """Return whether a word contains a slash, or ends like the name of a file."""
    return _FILE.search(word) is not None
