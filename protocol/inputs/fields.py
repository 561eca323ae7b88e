"""Read a source of items into a table: what separates the fields of a line, and whether the first one is a header.

A source is text (also ``.gz``), ``.csv``, ``.tsv`` or ``.json``, an array of strings in a file, or lists in memory.
`protocol.inputs.lists` interprets the fields as ids and labels.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs import text
from protocol.inputs.arrays import ARRAYS, FORMS, as_numpy, is_file, path_and_key, read_stored

MARKS = ",;"
"""Characters that may separate fields, besides blanks and tabs."""
LABEL_COLUMNS = frozenset(["category", "class", "class_name", "classes", "label", "labels", "tag", "tags", "target"])
"""Usual names of columns of labels."""
ID_COLUMNS = frozenset(["file", "filename", "id", "ids", "image", "image_id", "img", "index", "item", "name", "path"])
"""Usual names of columns of ids."""
EXTENSION = r"\.[A-Za-z][A-Za-z0-9]{1,4}"
"""Pattern of the end of a file's name."""
_FILE = re.compile(rf"[/\\]|{EXTENSION}$")
_HEADER = ("id", "partition")
_LABELS_AFTER_MARKS = re.compile(r".[,;][01](?:[,;][01])*$")
_FLAG_AFTER_BLANK = re.compile(r"\S\s+[01]\s*$")
_WORD = re.compile(r"[^\W\d]+(?: [^\W\d]+)*")
_NESTED = frozenset([list, tuple, set, frozenset])


@dataclass(eq=False)
class Table:
    """The rows of a source, each with its fields.

    Parameters
    ----------
    name : str
    rows : list of list of str
    lines : list of str
        The line of each row, if only blanks separate its fields, which may belong to a field as well; otherwise empty.
    header : list of str
    is_python : bool
        Whether a row is an object in memory, whose fields are certain.
    form : str
        One of `protocol.inputs.arrays.FORMS`, if the user named it.
    """

    name: str
    rows: list[list[str]]
    lines: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    is_python: bool = False
    form: str = ""

    def drop_header(self) -> None:
        """Move the first row to the header; raise ProtocolError if no other row is left."""
        self.header, self.rows, self.lines = self.rows[0], self.rows[1:], self.lines[1:]
        if not self.rows:
            raise ProtocolError(f"{self.name}: only a header, and no items. Write one item per line.")


def read_source(values: Any, name: str, *, has_ids: bool, form: str = "") -> Table | NDArray:
    """Return the table of a source of text, or an array of numbers.

    Parameters
    ----------
    values : path or array_like
        ``F.csv:COLUMN`` is one column of a file, and ``F:FORM`` a file in one of the forms `FORMS`.
    name : str
        The name in error messages.
    has_ids : bool
        Whether strings are ids, which must be valid UTF-8; in labels, other bytes become escapes.
    form : str, optional
        The form of a file that names none.

    Raises
    ------
    ProtocolError
        If the source can't be read, is empty or has no such column.
    """
    if is_file(values):
        path, key = path_and_key(values)
        if path.suffix.lower() not in (*ARRAYS, ".json"):
            return _table_of_text(path, key, form)
        values = _json(path) if path.suffix.lower() == ".json" else read_stored(values)
    rows = _nested_rows(values)
    if rows is None:
        array = as_numpy(values, name)
        if array.dtype.kind not in "US" or not array.size:
            return array
        rows = _rows_of_strings(array, name, has_ids)
    return Table(name, rows, is_python=True, form=form)


def _nested_rows(values: Any) -> list[list[str]] | None:
    """Return a list of lists of labels as rows of text; None if it is not one, or is a matrix of numbers."""
    if not isinstance(values, (list, tuple)) or not values or not set(map(type, values)) <= _NESTED:
        return None
    rows = [sorted(row) if isinstance(row, (set, frozenset)) else list(row) for row in values]
    kinds = set(map(type, chain.from_iterable(rows)))
    is_matrix = len(set(map(len, rows))) == 1 and str not in kinds
    if is_matrix or not all(issubclass(kind, (str, int, np.integer)) for kind in kinds):
        return None
    return [list(map(str, row)) for row in rows]


def _rows_of_strings(array: NDArray, name: str, has_ids: bool) -> list[list[str]]:
    if array.dtype.kind == "S":
        try:
            array = np.char.decode(array, "utf-8", "strict" if has_ids else "backslashreplace")
        except UnicodeDecodeError as error:
            raise ProtocolError(f"{name}: ids are not UTF-8 ({error}).") from error
    array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
    if array.ndim not in (1, 2):
        raise ProtocolError(f"{name}: strings of shape {array.shape}, but a list has one row for each item.")
    rows: list[list[str]] = array.reshape(len(array), -1).tolist()
    return rows


def _json(path: Path) -> Any:
    """Return the value of a JSON file: a list, or an object of labels by id as a list of rows."""
    try:
        values = json.loads("".join(text.lines(path, "a JSON list")))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{path}: not valid JSON ({' '.join(str(error).split())}).") from error
    if isinstance(values, dict):
        return [[key, *(value if isinstance(value, list) else [value])] for key, value in values.items()]
    if not isinstance(values, list) or not values:
        raise ProtocolError(f"{path}: expected a list of items, or an object of labels by id.")
    return values


def _table_of_text(path: Path, key: str | None, form: str) -> Table:
    """Return the rows of a text, or one of its columns; the key is the name of the column or of a form."""
    rows, _, lines = _rows(path)
    table = Table(str(path), list(filter(None, rows)), lines, form=form)
    if not table.rows:
        raise ProtocolError(f"{path}: the list is empty. Write one item per line.")
    if key is None:
        return table
    if key in FORMS and key not in table.rows[0]:
        table.name, table.form = f"{path}:{key}", key
        return table
    table.drop_header()
    if key not in table.header:
        raise ProtocolError(f"{path}: no column {key!r}. Its columns are {', '.join(table.header)[:200]}.")
    column = table.header.index(key)
    if min(map(len, table.rows)) <= column:
        raise ProtocolError(f"{path}: a line without a field for the column {key!r}.")
    return Table(f"{path}:{key}", [[row[column]] for row in table.rows], is_python=True, form=form)


def rows_of_text(path: Path) -> Iterator[tuple[range, list[str]]]:
    """Yield the line numbers and the fields of each row of a list; blank lines and the header have no fields.

    A row of a ``.csv`` file has several lines if a quoted field contains a line break.

    Raises
    ------
    ProtocolError
        As for `protocol.inputs.text.lines`; or if a quotation mark is not closed.
    """
    rows, ends, lines = _rows(path)
    items, last = list(filter(None, rows)), 0
    header = items[0] if items and _is_header(Table(str(path), items, lines)) else None
    for end, fields in zip(ends, rows, strict=True):
        yield range(last + 1, end + 1), [] if fields is header else fields
        last = end


def _rows(path: Path) -> tuple[list[list[str]], Sequence[int], list[str]]:
    """Return the fields of each row, the number of its last line, and the filled lines if blanks separate the fields.

    A blank row has no fields. Fields between marks may be quoted.
    """
    lines = text.lines(path, "a list of items")
    filled = list(filter(None, map(str.strip, lines)))
    rows, ends = list[list[str]](), list[int]()
    if mark := _delimiter(path, filled):
        reader = csv.reader(lines, delimiter=mark, strict=True)
        try:
            for fields in reader:
                is_filled = "".join(fields).strip()
                rows.append([text.unsafe(fields[0]), *map(str.strip, fields[1:])] if is_filled else [])
                ends.append(reader.line_num)
        except csv.Error as error:
            raise ProtocolError(f"{path}: can't be read as lines with commas ({error}).") from error
        return rows, ends, []
    for number, line in enumerate(lines, start=1):
        rows.append(line.split())
        if len(rows[-1]) == 1 and _LABELS_AFTER_MARKS.search(rows[-1][0]):
            raise ProtocolError(
                f"{path}: line {number}: {rows[-1][0]!r} has labels after commas or semicolons, unlike another line. "
                "Write all lines in the same form."
            )
    return rows, range(1, len(rows) + 1), filled


def _delimiter(path: Path, lines: Sequence[str]) -> str | None:
    """Return what separates the fields of every line; None for blanks, or if nothing does."""
    kind = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz"), "")
    if kind == ".tsv" or (lines and all("\t" in line for line in lines)):
        return "\t"
    marks = [mark for mark in MARKS if lines and mark in lines[0] and _divides(mark, lines)]
    return next(iter(marks), "," if kind == ".csv" else None)


def _divides(mark: str, lines: Sequence[str]) -> bool:
    """Return whether a mark divides every line into as many fields, and is not a part of the ids."""
    try:
        rows = list(csv.reader(lines, delimiter=mark, strict=True))
    except csv.Error:
        return mark == ","
    if len(set(map(len, rows))) != 1 or len(rows[0]) < 2:
        return False
    if all(_FLAG_AFTER_BLANK.search(row[-1]) for row in rows):
        return False  # labels after blanks: the mark is a part of the id
    return not (all(has_extension(row[-1].strip()) for row in rows) and not any(has_extension(row[0]) for row in rows))


def drop_headers(tables: Mapping[str, Table], sizes: Mapping[str, int]) -> None:
    """Move the headers of tables out of their rows; `sizes` are the known numbers of items."""
    for role, table in tables.items():
        if not table.header and _is_header(table, sizes.get(role)):
            table.drop_header()


def _is_header(table: Table, size: int | None = None) -> bool:
    """Return whether the first row has the names of the columns, because its fields fit no other row's form."""
    first, rest = table.rows[0], table.rows[1:]
    name = first[0].strip().lower()
    if not table.is_python and not table.lines and name in _HEADER:
        return True
    if table.is_python or not rest or not _WORD.fullmatch(first[0].strip().replace("_", " ")):
        return False
    if size in (len(rest), len(rest) + 1):
        return len(rest) == size
    is_usual = name in LABEL_COLUMNS | ID_COLUMNS and len(first) == len(rest[0])
    return (is_usual and name not in {row[0].strip().lower() for row in rest}) or _has_another_form(first, rest)


def _has_another_form(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether all other rows name files, or have numbers where the first row has words."""
    if any(map(names_file, first)) or len(first) > max(map(len, rest)):
        return False
    if all(any(map(names_file, row)) for row in rest):
        return len(rest) > 1
    columns = range(1, min(map(len, [first, *rest])))
    return any(not is_number(first[c]) and all(is_number(row[c]) for row in rest) for c in columns)


def has_extension(word: str) -> bool:
    """Return whether a word ends like the name of a file."""
    return re.search(rf"{EXTENSION}\s*$", word) is not None


def names_file(word: str) -> bool:
    """Return whether a word contains a slash, or ends like the name of a file."""
    return _FILE.search(word) is not None


def is_number(value: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value
