"""Read lists of items and labels: one grammar for every command and function that takes them.

A line, or an element of an array or of a JSON list, has an id, labels, or both. Labels are one class (a number or a
name), several classes, or a column for each class with 0 and 1 or -1 and +1. The fields of a line are separated by
tabs, commas, semicolons or blanks. Which of these forms a file has is decided by its whole content, and by that of all
files that are read together. A file that can be read in two ways is refused; ``F:FORM``, with one of `FORMS`, chooses.
"""

import csv
import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import text
from protocol.inputs.arrays import FORMS, as_integers, path_and_key, read_stored
from protocol.inputs.conversion import as_numpy, is_file, named
from protocol.inputs.validation import array_of, class_labels

ARRAYS = (".npy", ".npz", ".h5", ".hdf5", ".mat")
MARKS = ",;"
"""Characters that may separate fields, besides blanks and tabs."""
_HEADER = ("id", "partition")
_OF_LABELS = frozenset(["category", "class", "class_name", "classes", "label", "labels", "tag", "tags", "target"])
_OF_IDS = frozenset(["file", "filename", "id", "ids", "image", "image_id", "img", "index", "item", "name", "path"])
_WORDS = _OF_LABELS | _OF_IDS | {"partition"}
"""Usual names of columns; the first words of a list are a header if one of them is among these, and no item's."""
_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_FOLDER = re.compile(r"[/\\]")
_LABELS_AFTER_MARKS = re.compile(r".[,;][01](?:[,;][01])*$")
_WORD = re.compile(r"[^\W\d]+(?: [^\W\d]+)*")
_FLAGS, _SIGNS = frozenset((0.0, 1.0)), frozenset((-1.0, 1.0))
_WHAT = "a list of items"
_UNUSED = "\x1f"
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


@dataclass(eq=False)
class _Table:
    """The rows of a source, each with its fields; a single field if no separator divides the line."""

    name: str
    rows: list[list[str]]
    by_blanks: bool = False  # a single field may have to be divided at its blanks
    header: list[str] = field(default_factory=list)
    is_python: bool = False  # a row is an object, so its fields are certain
    form: str = ""  # one of FORMS, if the user chose it

    def drop_header(self) -> None:
        self.header, self.rows = self.rows[0], self.rows[1:]


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
    tables: dict[str, _Table] = {}
    listings: dict[str, Listing] = {}
    for role, values in sources.items():
        name = named(values, role)
        content = _content(values, name, has_ids)
        if isinstance(content, _Table):
            tables[role] = content
        else:
            listings[role] = _of_array(content, values, name, has_ids)
    if tables:
        for table in tables.values():
            table.form = table.form or form
        listings |= _read(tables, has_ids, sizes or {})
    for role, values in sources.items():
        if log and is_file(values):
            _log.info("%s", listings[role])
    return {role: listings[role] for role in sources}


# Sources


def _content(values: Any, name: str, has_ids: bool) -> "_Table | NDArray":
    """Return the rows of a source of text, or an array of numbers."""
    if is_file(values):
        path, key = path_and_key(values)
        if path.suffix.lower() == ".json":
            values = _json(path)
        elif is_text(path):
            return _of_text(path, key)
        else:
            values = read_stored(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        values = _decoded(values, name, "strict" if has_ids else "backslashreplace")
    rows = _nested(values)
    if rows is not None:
        return _Table(name, rows, is_python=True)
    array = as_numpy(values, name)
    if array.dtype.kind == "O" and (nested := _nested(array.ravel().tolist())) is not None:
        return _Table(name, nested, is_python=True)  # a column of a data frame that contains lists
    if array.dtype.kind not in "US" or not array.size:
        return array
    array = _decoded(array, name, "backslashreplace") if array.dtype.kind == "S" else array
    array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
    if array.ndim not in (1, 2):
        raise ProtocolError(f"{name}: strings of shape {array.shape}, but a list has one row for each item.")
    return _Table(name, array.reshape(len(array), -1).tolist(), is_python=True)


def _decoded(array: NDArray, name: str, errors: str) -> NDArray:
    try:
        return np.char.decode(array, "utf-8", errors)
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{name}: ids are not UTF-8 ({error}).") from error


def _nested(values: Any) -> list[list[str]] | None:
    """Return a list of lists of labels as rows of text; None if it is not one, or is a matrix of numbers."""
    if not isinstance(values, (list, tuple)) or not values:
        return None
    if not all(isinstance(row, (list, tuple, set, frozenset)) for row in values):
        return None
    rows = [sorted(row) if isinstance(row, (set, frozenset)) else list(row) for row in values]
    if len({len(row) for row in rows}) == 1 and not all(isinstance(item, str) for row in rows for item in row):
        return None
    if not all(isinstance(item, (str, int, np.integer)) for row in rows for item in row):
        return None
    return [list(map(str, row)) for row in rows]


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


def _of_text(path: Path, column: str | None) -> _Table:
    rows, by_blanks = _rows(path)
    table = _Table(str(path), [fields for _, fields in rows if fields], by_blanks)
    if not table.rows:
        raise ProtocolError(f"{path}: the list is empty. Write one item per line.")
    if column is None:
        return table
    if column in FORMS and column not in table.rows[0]:
        table.name, table.form = f"{path}:{column}", column
        return table
    table.drop_header()
    if column not in table.header:
        raise ProtocolError(f"{path}: no column {column!r}. Its columns are {', '.join(table.header)[:200]}.")
    place = table.header.index(column)
    if any(len(row) <= place for row in table.rows):
        raise ProtocolError(f"{path}: a line without a field for the column {column!r}.")
    return _Table(f"{path}:{column}", [[row[place]] for row in table.rows], is_python=True)


def rows_of_text(path: Path) -> Iterator[tuple[range, list[str]]]:
    """Yield the line numbers and the fields of each row of a list; blank lines and the header have no fields.

    A row of a ``.csv`` file has several lines if a quoted field contains a line break.

    Raises
    ------
    ProtocolError
        As for `protocol.inputs.text.lines`; or if a quotation mark is not closed.
    """
    rows, by_blanks = _rows(path)
    items = [fields for _, fields in rows if fields]
    header = items[0] if items and _is_header(_Table(str(path), items, by_blanks)) else None
    for lines, fields in rows:
        yield lines, [] if fields is header else fields


def _rows(path: Path) -> tuple[list[tuple[range, list[str]]], bool]:
    """Return the line numbers and fields of each row, and whether a single field may be divided at its blanks."""
    lines = list(text.lines(path, _WHAT))
    filled = [line for line in lines if line.strip()]
    delimiter = _delimiter(path, filled)
    quoted = delimiter is None and any(line.lstrip().startswith('"') for line in filled)
    if delimiter is None and not quoted:
        rows = [(range(n, n + 1), [line.strip()] if line.strip() else []) for n, line in enumerate(lines, start=1)]
        for numbers, fields in rows:
            if fields and len(fields[0].split()) == 1 and _LABELS_AFTER_MARKS.search(fields[0]):
                raise ProtocolError(
                    f"{path}: line {numbers[0]}: {fields[0]!r} has labels after commas or semicolons, unlike another "
                    "line. Write all lines in the same form."
                )
        return rows, True
    if quoted and all(line.strip()[-1] == '"' and line.count('"') == 2 for line in filled if '"' in line):
        delimiter = _UNUSED  # quotation marks enclose complete lines
    reader = csv.reader(lines, delimiter=delimiter or " ", strict=True, skipinitialspace=quoted)
    rows, last = [], 0
    try:
        for fields in reader:
            numbers = range(last + 1, reader.line_num + 1)
            last = reader.line_num
            values = [text.unsafe(fields[0]), *map(str.strip, fields[1:])] if any(map(str.strip, fields)) else []
            rows.append((numbers, [value for value in values if value or not quoted]))
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as lines with commas ({error}).") from error
    return rows, False


def _delimiter(path: Path, lines: Sequence[str]) -> str | None:
    """Return what separates the fields of every line; None for blanks, or if nothing does."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".tsv" or (lines and all("\t" in line.strip() for line in lines)):
        return "\t"
    for mark in MARKS:
        if lines and mark in lines[0] and _divides(mark, lines):
            return mark
    return "," if kind == ".csv" else None


def _divides(mark: str, lines: Sequence[str]) -> bool:
    """Return whether a mark divides every line into as many fields, and is not a part of the ids."""
    try:
        rows = list(csv.reader(lines, delimiter=mark, strict=True))
    except csv.Error:
        return mark == ","
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return False
    last = [row[-1].strip() for row in rows]
    if all(len(value.split()) > 1 and value.split()[-1] in ("0", "1") for value in last):
        return False  # labels after blanks: the mark is a part of the id
    return not (all(map(_FILE.search, last)) and not any(_FILE.search(row[0].strip()) for row in rows))


# Headers


def _is_header(table: _Table, size: int | None = None) -> bool:
    """Return whether the first row has the names of the columns, because its fields fit no other row's form."""
    if table.is_python or not table.rows:
        return False
    first, rest = _divided(table.rows[0], table), [_divided(row, table) for row in table.rows[1:]]
    name = first[0].strip().lower()
    if not table.by_blanks and name in _HEADER:
        return True
    if not rest or not all(map(_is_word, first[:1])):
        return False
    if size is not None and len(rest) in (size, size - 1):
        return len(rest) == size
    if name in _WORDS and all(row[0].strip().lower() != name for row in rest) and len(first) == len(rest[0]):
        return True
    if any(map(_FILE.search, first)) or len(first) > max(map(len, rest)):
        return False
    if all(any(map(_FILE.search, row)) or any(map(_FOLDER.search, row)) for row in rest):
        return len(rest) > 1 and not any(map(_FOLDER.search, first))
    columns = range(1, min(map(len, [first, *rest])))
    return any(not _is_number(first[c]) and all(_is_number(row[c]) for row in rest) for c in columns)


def _drop_headers(tables: Mapping[str, _Table], sizes: Mapping[str, int]) -> None:
    """Move the headers of tables out of their rows, also a first row that all of several tables share."""
    for role, table in tables.items():
        if not table.header and _is_header(table, sizes.get(role)):
            table.drop_header()
            if not table.rows:
                raise ProtocolError(f"{table.name}: only a header, and no items. Write one item per line.")
    others = [table for table in tables.values() if not table.header and not table.is_python]
    firsts = [table.rows[0] for table in others]
    if len({table.name for table in others}) < 2 or any(first != firsts[0] for first in firsts) or sizes:
        return
    items = [row[0] for table in others for row in table.rows[1:]]
    if _is_word(firsts[0][0]) and items and all(any(map(str.isdigit, item)) for item in items):
        for table in others:
            table.drop_header()


def _divided(row: list[str], table: _Table) -> list[str]:
    return row[0].split() if table.by_blanks else row


def _is_word(value: str) -> bool:
    return _WORD.fullmatch(value.strip().replace("_", " ")) is not None


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value


# Forms


def _read(tables: Mapping[str, _Table], has_ids: bool, sizes: Mapping[str, int]) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    _drop_headers(tables, sizes)
    wide = {role: table for role, table in tables.items() if len(table.rows) == 1 and sizes.get(role, 2) > 1}
    for table in wide.values() if not has_ids else ():
        numbers = _divided(table.rows[0], table)
        if (
            not table.form and len(numbers) > 1 and all(map(_is_number, numbers))
        ):  # one line with the labels of all items
            table.rows, table.by_blanks = [[number] for number in numbers], False
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
    said, arrays, classes = _labels(tables, labels, bool(with_ids))
    listings = {}
    for role, table in tables.items():
        words = " and ".join(
            filter(None, ["id" if role in ids else "", said if role in arrays or any(labels[role]) else ""])
        )
        header = f" (header {','.join(table.header)[:60]!r})" if table.header else ""
        names = text.string_array(ids[role], table.name) if role in ids else None
        listings[role] = Listing(table.name, names, arrays.get(role), f"{words}{header}", classes)
    return listings


def _all_fields(table: _Table) -> list[list[str]]:
    """Return the labels on each line; blanks divide them unless a mark does."""
    by_blanks = table.by_blanks and not any(re.search("[,;|]", row[0]) for row in table.rows)
    return [row[0].split() if by_blanks else list(filter(None, map(str.strip, row))) for row in table.rows]


def _with_ids(tables: Mapping[str, _Table]) -> set[str]:
    """Return the tables of labels whose lines begin with an id; raise ProtocolError if nothing decides it."""
    sides = {role: [_divided(row, table) for row in table.rows] for role, table in tables.items()}
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
        raise _two_readings(tables[role].name, side[0], "an id and a class", "id-class", "several classes", "classes")
    return found | set(undecided) if begin else found


def _has_names_of_files(table: _Table, side: Sequence[Sequence[str]]) -> bool:
    """Return whether each line has the name of a file in front of its labels, or a header names the ids."""
    if len(table.header) > 1 and table.header[0].lower() in _OF_IDS:
        return True
    if all(_FILE.search(row[0]) or _FOLDER.search(row[0]) for row in side):
        return True
    return table.by_blanks and all(any(map(_FILE.search, row)) for row in side)


def _check_labels(table: _Table, side: Sequence[Sequence[str]]) -> None:
    """Raise ProtocolError if lines of labels are only the names of files, all of them different."""
    are_names = not table.is_python and all(_FILE.search(row[0]) or _FOLDER.search(row[0]) for row in side)
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
    if all(map(_is_number, values)):
        numbers = set(map(float, values))
        if numbers <= _FLAGS or numbers <= _SIGNS:
            return False
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


def _two_readings(name: str, row: Sequence[str], one: str, one_form: str, other: str, other_form: str) -> ProtocolError:
    shown = " ".join(row)
    return ProtocolError(
        f"{name}: {shown[:80]!r} may be {one} or {other}. Write {name}:{one_form} or {name}:{other_form}."
    )


def _heads_and_tails(table: _Table, tables: Mapping[str, _Table]) -> tuple[list[str], list[list[str]]]:
    """Return the id of each line and its other fields; an id in a line with blanks may contain blanks itself."""
    if not table.by_blanks:
        return [row[0] for row in table.rows], [list(filter(None, row[1:])) for row in table.rows]
    lines = [row[0] for row in table.rows]
    words = [line.split() for line in lines]
    for pattern in (_FILE, _FOLDER):
        if all(any(map(pattern.search, row)) for row in words):
            lengths = [len(row) - max(n for n, word in enumerate(row) if pattern.search(word)) - 1 for row in words]
            return _cut(lines, lengths)
    flags = [next((n for n, word in enumerate(reversed(row)) if word not in ("0", "1")), len(row) - 1) for row in words]
    if all(flags):
        return _cut(lines, flags)
    if table.form == "id" or all(len(row) == 1 for row in words):
        return lines, [[] for _ in lines]
    if not table.form:
        _check_first_words(table, words, tables)
    return _cut(lines, [len(row) - 1 for row in words])


def _check_first_words(table: _Table, words: Sequence[Sequence[str]], tables: Mapping[str, _Table]) -> None:
    """Raise ProtocolError unless the first words of lines can only be ids, and the others labels."""
    rows = [_divided(row, other) for other in tables.values() for row in other.rows]
    short = next((number for number, row in enumerate(words, start=1) if len(row) == 1), None)
    if short is not None:
        odd = next(row for row in words if len(row) > 1)
        raise ProtocolError(
            f"{table.name}: item {short}, {words[short - 1][0][:80]!r}, has no labels, unlike {' '.join(odd)[:80]!r}. "
            f"If that is an id, write {table.name}:id."
        )
    tails = [tuple(row[1:]) for row in rows]
    is_id = len({row[0] for row in words}) == len(words)
    if not (is_id and len(set(tails)) < len(tails)) and not all(_is_number(word) for tail in tails for word in tail):
        raise _two_readings(table.name, words[0], "an id", "id", "an id and a class", "id-class")


def _cut(lines: Sequence[str], lengths: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Return lines without their last words, and these words."""
    parts = [line.rsplit(None, length) if length else [line] for line, length in zip(lines, lengths, strict=True)]
    return [part[0] for part in parts], [part[1:] for part in parts]


_Tails = Mapping[str, list[list[str]]]


def _labels(
    tables: Mapping[str, _Table], tails: _Tails, with_id: bool
) -> tuple[str, dict[str, NDArray], tuple[str, ...]]:
    """Return the form of the labels in words, the labels of each table, and the names of their columns."""
    tails = {role: part for role, part in tails.items() if any(part) and tables[role].form != "id"}
    if not tails:
        return "", {}, ()
    kinds = {tables[role].form.removeprefix("id-") for role in tails} - {""}
    if len(kinds) > 1:
        raise ProtocolError(f"lists: {' and '.join(sorted(kinds))} differ. Choose one form of labels for all lists.")
    kind = "".join(kinds)
    widths = {len(row) for part in tails.values() for row in part}
    if not kind:
        kind, tails = _kind(tables, tails, widths, "id-" if with_id else "")
    if kind == "columns":
        return *_columns(tables, tails), ()
    if kind == "class":
        joined = {role: [[" ".join(row)] if row else [] for row in part] for role, part in tails.items()}
        return *_classes(tables, joined, with_id), ()
    separator = _separator(tails)
    if separator is not None:
        tails = {role: [_parts(row, separator) for row in part] for role, part in tails.items()}
    return _several(tails)


def _parts(row: Iterable[str], pattern: str) -> list[str]:
    return [part for value in row for part in map(str.strip, re.split(pattern, value)) if part]


def _separator(tails: _Tails) -> str | None:
    """Return the pattern that divides the labels of an item in one field; None if they are fields of their own."""
    values = set(chain.from_iterable(chain.from_iterable(tails.values())))
    for pattern in (r"[;|]", ",", r"\s+"):
        if any(re.search(pattern, value) for value in values):
            return pattern
    return None


def _kind(tables: Mapping[str, _Table], tails: _Tails, widths: set[int], prefix: str) -> tuple[str, _Tails]:
    """Return whether labels are a class, classes or columns, and the fields that are labels."""
    rows = list(chain.from_iterable(tails.values()))
    values = set(chain.from_iterable(rows))
    is_number = all(map(_is_number, values))
    numbers = set(map(float, values)) if is_number else set()
    are_columns = numbers <= _FLAGS or numbers <= _SIGNS or not set().union(*values) - {"0", "1"}
    if is_number and are_columns and max(widths) > 1:
        return "columns", tails
    if widths <= {0, 1}:
        return _kind_of_field(tables, values, prefix), tails
    if any(re.search(r"[;|]", value) for value in values):
        return "classes", tails
    by_blanks = any(table.by_blanks for table in tables.values())
    if len(widths) > 1 and (is_number or not by_blanks):
        return "classes", tails
    if by_blanks and not is_number:
        lines = {tuple(row) for row in rows}
        return ("classes" if _are_several(tables, lines, prefix) else "class"), tails
    return _kind_of_table(tables, tails, is_number, prefix)


def _kind_of_field(tables: Mapping[str, _Table], values: set[str], prefix: str) -> str:
    """Return whether the single field of each item has a class or several."""
    if any(re.search(r"[;|]", value) for value in values):
        return "classes"
    certain = all(table.is_python for table in tables.values())
    for pattern in () if certain else (",", r"\s+"):
        lines = {tuple(re.split(rf"{pattern}\s*", value)) for value in values}
        if any(len(line) > 1 for line in lines):
            return "classes" if _are_several(tables, lines, prefix) else "class"
    return "class"


def _are_several(tables: Mapping[str, _Table], lines: set[tuple[str, ...]], prefix: str) -> bool:
    """Return whether words are labels of their own, rather than parts of a name.

    They are if each word of a line with several words also occurs in another line, alone or with other words; they are
    parts of a name if none does.

    Raises
    ------
    ProtocolError
        If some do and some do not.
    """
    occurrences: dict[str, set[frozenset[str]]] = defaultdict(set)
    for line in lines:
        for word in line:
            occurrences[word].add(frozenset(line))
    several = [line for line in lines if len(line) > 1]
    free = [len(occurrences[word]) > 1 for line in several for word in line]
    if all(free) or not any(free):
        return all(free)
    raise _two_readings(
        next(iter(tables.values())).name,
        min(several),
        "one class",
        f"{prefix}class",
        "several classes",
        f"{prefix}classes",
    )


def _kind_of_table(tables: Mapping[str, _Table], tails: _Tails, is_number: bool, prefix: str) -> tuple[str, _Tails]:
    """Return the kind of labels in a table whose rows have as many fields; unlike ids, labels occur more than once."""
    table = next(iter(tables.values()))
    rows = list(chain.from_iterable(tails.values()))
    columns = list(zip(*rows, strict=True))
    if all(other.is_python for other in tables.values()):
        return "classes", tails
    if table.header:
        names = [name.strip().lower() for name in table.header[-len(columns) :]]
        chosen = [n for n, name in enumerate(names) if name in _OF_LABELS]
        if len(chosen) == 1:
            return "class", {role: [[row[chosen[0]]] for row in part] for role, part in tails.items()}
        raise ProtocolError(
            f"{table.name}: its columns are {', '.join(table.header)[:200]}. Name the column of the labels as "
            f"{table.name}:COLUMN."
        )
    labels = [n for n, column in enumerate(columns) if len(set(column)) < len(column) or _is_number(column[0])]
    if len(labels) == 1:
        return "class", {role: [[row[labels[0]]] for row in part] for role, part in tails.items()}
    shared = set.intersection(*map(set, columns))
    if shared and not is_number:
        return "classes", tails
    raise ProtocolError(
        f"{table.name}: {' '.join(rows[0])[:80]!r} may be several classes or different columns. Write "
        f"{table.name}:{prefix}classes, or add a header and name the column as F.csv:COLUMN."
    )


def _columns(tables: Mapping[str, _Table], tails: _Tails) -> tuple[str, dict[str, NDArray]]:
    arrays, signs = {}, False
    for role, part in tails.items():
        width = len(part[0])
        for number, row in enumerate(part, start=1):
            if len(row) != width:
                raise ProtocolError(
                    f"{tables[role].name}: item {number} has {counted(len(row), 'label')}, 0 or 1, but the first item "
                    f"has {width:,}."
                )
        try:
            matrix = np.array(list(chain.from_iterable(part)), dtype=np.float64).reshape(len(part), width)
        except ValueError as error:
            raise ProtocolError(f"{tables[role].name}: the columns must be 0 and 1, or -1 and +1 ({error}).") from error
        signs = signs or bool((matrix < 0).any())
        arrays[role] = class_labels(matrix.astype(np.int64), len(part), tables[role].name)
    widths = sorted({array.shape[1] for array in arrays.values()})
    return f"{'-1 or +1' if signs else '0 or 1'} for each of {' and '.join(map(str, widths))} classes", arrays


def _classes(tables: Mapping[str, _Table], tails: _Tails, with_id: bool) -> tuple[str, dict[str, NDArray]]:
    for role, part in tails.items():
        missing = next((number for number, row in enumerate(part, start=1) if not row), None)
        if missing is not None:
            raise ProtocolError(f"{tables[role].name}: item {missing} has no label, but other items have.")
    values = {role: [row[0] for row in part] for role, part in tails.items()}
    distinct = set(chain.from_iterable(values.values()))
    n_items = sum(map(len, values.values()))
    if with_id and len(distinct) == 1 and n_items > 1:
        return f"the placeholder {next(iter(distinct))!r} instead of a class", {}
    convert = _numbers if all(map(_is_number, distinct)) else text.string_array
    arrays = {role: convert(part, tables[role].name) for role, part in values.items()}
    return f"one of {_n_classes(len(distinct))}", arrays


def _n_classes(n: int) -> str:
    return "1 class" if n == 1 else f"{n:,} classes"


def _numbers(values: Sequence[str], name: str) -> NDArray:
    """Return class numbers exactly, even if they are written as 3.0, or no integer dtype can represent them."""
    try:
        return array_of(list(map(int, values)))
    except ValueError:
        return as_integers(np.array(values, dtype=np.float64), name)


def _several(tails: _Tails) -> tuple[str, dict[str, NDArray], tuple[str, ...]]:
    """Return a column for each label that occurs in any table."""
    distinct = set(chain.from_iterable(chain.from_iterable(tails.values())))
    order: Callable[[str], Any] = int if all(value.isascii() and value.isdecimal() for value in distinct) else str
    numbers = {value: number for number, value in enumerate(sorted(distinct, key=order))}
    arrays = {}
    for role, part in tails.items():
        arrays[role] = np.zeros((len(part), len(numbers)), dtype=np.bool_)
        items = np.repeat(np.arange(len(part)), [len(row) for row in part])
        arrays[role][items, [numbers[value] for row in part for value in row]] = True
    return f"several of {_n_classes(len(numbers))}", arrays, tuple(numbers)


# Arrays


def _of_array(array: NDArray, values: Any, name: str, has_ids: bool) -> Listing:
    """Return a list of row numbers, or labels that are numbers."""
    if not has_ids:
        if array.size <= _FEW_LABELS and (array.ndim == 1 or 1 in array.shape):
            return Listing(name, None, array, f"one of {_n_classes(len(np.unique(array)))}")
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
