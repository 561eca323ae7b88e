"""Read lists of items and labels: one grammar for every command and function that takes them.

A line, or an element of an array or of a JSON list, has an id, labels, or both. Labels are one class (a number or a
name), several classes, or a column for each class with 0 and 1 or -1 and +1. The fields of a line are separated by
tabs, commas, semicolons or blanks. Which of these forms a file has is decided by its whole content, and by that of all
files that are read together. A file that can be read in two ways is refused; ``F:FORM``, with one of `FORMS`, chooses.
"""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, printable
from protocol.inputs import text
from protocol.inputs.arrays import ARRAYS, as_integers, as_numpy, is_file, items_from, named, path_and_key, read_stored
from protocol.inputs.fields import (
    EXTENSION,
    OF_IDS,
    OF_LABELS,
    Table,
    drop_headers,
    has_extension,
    is_number,
    names_file,
    read_table,
)
from protocol.inputs.validation import array_of, class_labels

_FEW_LABELS = 1 << 22  # the classes of larger arrays, which may be mapped from a file, are not counted
_NESTED = frozenset([list, tuple, set, frozenset])
_AFTER_EXTENSION = re.compile(rf"^(.*{EXTENSION})(?!\S)(.*)$", re.MULTILINE)
_FLAGS = re.compile(r"^(\S.*?)((?:[^\S\n]+[01])+)$", re.MULTILINE)
_MARKS = (r"[;|]", r",", r"\s+")
"""What divides several labels in one field."""
_IN_WORDS = MappingProxyType(
    {
        "id": "an id",
        "id-class": "an id and a class",
        "id-classes": "an id and several classes",
        "class": "one class",
        "classes": "several classes",
    }
)
_log = logging.getLogger("protocol.inputs")

_Tails = Mapping[str, list[list[str]]]
"""The labels on each line, by role."""
_Reading = tuple[str, dict[str, NDArray], tuple[str, ...]]
"""The form of labels in words, the labels by role, and the names of their columns."""


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
    contents = {role: _content(values, named(values, role), has_ids, form) for role, values in sources.items()}
    tables = {role: content for role, content in contents.items() if isinstance(content, Table)}
    of_array = _row_numbers if has_ids else _numeric_labels
    listings = {role: of_array(contents[role], named(sources[role], role)) for role in sources if role not in tables}
    listings |= _read(tables, has_ids, sizes or {})
    for role, values in sources.items():
        if log and is_file(values):
            _log.info("%s", printable(str(listings[role])))
    return {role: listings[role] for role in sources}


# Sources


def _content(values: Any, name: str, has_ids: bool, form: str) -> Any:
    """Return the rows of a source of text, or an array of numbers."""
    if is_file(values):
        path, key = path_and_key(values)
        if path.suffix.lower() not in (*ARRAYS, ".json"):
            return read_table(path, key, form)
        values = _json(path) if path.suffix.lower() == ".json" else read_stored(values)
    rows = _nested(values)
    if rows is None:
        array = as_numpy(values, name)
        if array.dtype.kind not in "US" or not array.size:
            return array
        rows = _rows_of_strings(array, name, has_ids)
    return Table(name, rows, is_python=True, form=form)


def _rows_of_strings(array: NDArray, name: str, has_ids: bool) -> list[list[str]]:
    """Return strings as rows; invalid UTF-8 is refused in ids, and kept with escapes in labels."""
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


def _nested(values: Any) -> list[list[str]] | None:
    """Return a list of lists of labels as rows of text; None if it is not one, or is a matrix of numbers."""
    if not isinstance(values, (list, tuple)) or not values or not set(map(type, values)) <= _NESTED:
        return None
    rows = [sorted(row) if isinstance(row, (set, frozenset)) else list(row) for row in values]
    kinds = set(map(type, chain.from_iterable(rows)))
    is_matrix = len(set(map(len, rows))) == 1 and str not in kinds
    if is_matrix or not all(issubclass(kind, (str, int, np.integer)) for kind in kinds):
        return None
    return [list(map(str, row)) for row in rows]


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


def _row_numbers(array: NDArray, name: str) -> Listing:
    array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
    return Listing(name, items_from(array, name), None, "row numbers")


def _numeric_labels(array: NDArray, name: str) -> Listing:
    if array.size <= _FEW_LABELS and array.dtype.kind in "biuf" and (array.ndim == 1 or 1 in array.shape):
        return Listing(name, None, array, f"one of {_n_classes(len(np.unique(array)))}")
    return Listing(name, None, array, "labels" if array.ndim == 1 else f"labels of shape {array.shape}")


# Fields: the id of a line, and its labels


def _read(tables: Mapping[str, Table], has_ids: bool, sizes: Mapping[str, int]) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    drop_headers(tables, sizes)
    with_ids = _with_ids(tables, has_ids)
    fields = {role: _fields(table, role in with_ids, tables) for role, table in tables.items()}
    tails = {role: tail for role, (_, tail) in fields.items() if tables[role].form != "id" and any(map(any, tail))}
    said, arrays, classes = _labels(tables, tails, "id-" if with_ids else "")
    return {
        role: _listing(table, fields[role][0], said if role in tails else "", arrays.get(role), classes)
        for role, table in tables.items()
    }


def _listing(
    table: Table, ids: Sequence[str] | None, said: str, labels: NDArray | None, classes: tuple[str, ...]
) -> Listing:
    words = " and ".join(filter(None, ["" if ids is None else "id", said]))
    header = f" (header {','.join(table.header)[:60]!r})" if table.header else ""
    names = None if ids is None else text.string_array(ids, table.name)
    return Listing(table.name, names, labels, f"{words}{header}", classes)


def _with_ids(tables: Mapping[str, Table], has_ids: bool) -> set[str]:
    """Return the tables whose lines begin with an id; raise ProtocolError if nothing decides it."""
    found = {role for role, table in tables.items() if table.form.startswith("id") or (has_ids and not table.form)}
    undecided = {role: table for role, table in tables.items() if not table.form and role not in found}
    alone = {role: table for role, table in undecided.items() if _has_labels_alone(table)}
    found |= {role for role in undecided.keys() - alone.keys() if _has_names_of_files(undecided[role])}
    rest = {role: table for role, table in undecided.items() if role not in alone.keys() | found}
    return found | set(rest if _begin_with_ids(list(rest.values()), list(alone.values())) else ())


def _has_names_of_files(table: Table) -> bool:
    """Return whether each line has the name of a file in front of its labels, or a header names the ids."""
    is_named = len(table.header) > 1 and table.header[0].lower() in OF_IDS
    return is_named or all(
        names_file(row[0]) or (bool(table.lines) and any(map(has_extension, row))) for row in table.rows
    )


def _has_labels_alone(table: Table) -> bool:
    """Return whether a line is too short for an id and labels; raise ProtocolError if lines are only names of files."""
    if min(map(len, table.rows)) > 1:
        return False
    are_names = not table.is_python and all(names_file(row[0]) for row in table.rows)
    if are_names and len(set(map(tuple, table.rows))) == len(table.rows):
        raise ProtocolError(
            f"{table.name}: ids without labels, the first {table.rows[0][0][:80]!r}. Add a label to each line."
        )
    return True


def _begin_with_ids(tables: Sequence[Table], alone: Sequence[Table]) -> bool:
    """Return whether the first fields are ids: all different, while the others are not.

    No id is a label in one of the tables that have labels `alone`.

    Raises
    ------
    ProtocolError
        If nothing decides it.
    """
    if not tables:
        return False
    firsts, rows = [[row[0] for row in table.rows] for table in tables], [row for table in tables for row in table.rows]
    tails, ids = [row[1:] for row in rows], set(chain.from_iterable(firsts))
    labels = set(chain(*tails, *chain.from_iterable(table.rows for table in alone)))
    are_numbers = all(map(is_number, ids | labels))
    if any(len(set(first)) < len(first) for first in firsts) or _are_columns(ids | labels):
        return False
    if labels & ids and not are_numbers:
        return False
    everywhere = len(ids) == len(rows) or all(table.rows == tables[0].rows for table in tables)
    if everywhere and any(len(set(column)) < len(rows) for column in zip(*tails, strict=False)):
        return True
    if len(set(map(len, rows))) == 1 and not alone:
        raise _two_readings(tables[0], rows[0], "id-class", "classes")
    return False


def _fields(table: Table, has_id: bool, tables: Mapping[str, Table]) -> tuple[Sequence[str] | None, list[list[str]]]:
    """Return the id of each line, and its other fields."""
    if not has_id:
        return None, _all_fields(table)
    if table.lines:
        cut = _cut(table)
        if cut is not None:
            return cut
        if table.form == "id" or max(map(len, table.rows)) == 1:
            return table.lines, [row[:0] for row in table.rows]
        if not table.form:
            _check_first_words(table, tables)
    return [row[0] for row in table.rows], [row[1:] for row in table.rows]


def _all_fields(table: Table) -> list[list[str]]:
    """Return the labels on each line; blanks divide them unless a mark does."""
    has_marks = any(map(re.compile("[,;|]").search, table.lines))
    return [[line] for line in table.lines] if has_marks else [list(map(str.strip, row)) for row in table.rows]


def _cut(table: Table) -> tuple[list[str], list[list[str]]] | None:
    """Return the id of each line, which may contain blanks, and its other words; None if no pattern fits all lines."""
    for pattern in (_AFTER_EXTENSION, _FLAGS):
        cut = pattern.findall("\n".join(table.lines))
        tails = [tail.split() for _, tail in cut]
        if len(cut) == len(table.rows) and (any(tails) or table.form in ("", "id")):
            return [head for head, _ in cut], tails
    return None


def _check_first_words(table: Table, tables: Mapping[str, Table]) -> None:
    """Raise ProtocolError unless the first words of lines can only be ids, and the others labels."""
    rows = table.rows
    short = next((number for number, row in enumerate(rows, start=1) if len(row) == 1), None)
    if short is not None:
        odd = next(row for row in rows if len(row) > 1)
        raise ProtocolError(
            f"{table.name}: item {short}, {rows[short - 1][0][:80]!r}, has no labels, unlike {' '.join(odd)[:80]!r}. "
            f"If that is an id, write {table.name}:id."
        )
    tails = [tuple(row[1:]) for other in tables.values() for row in other.rows]
    words = set(chain.from_iterable(tails))
    are_told_apart = len(set(tails)) < len(tails) or all(names_file(row[0]) for row in rows)
    are_ids = are_told_apart and len({row[0] for row in rows}) == len(rows) and not any(map(names_file, words))
    if not are_ids and not all(map(is_number, words)):
        raise _two_readings(table, rows[0], "id", "id-class")


def _two_readings(table: Table, row: Sequence[str], one: str, other: str) -> ProtocolError:
    """Return the error for a line that can be read in two of the forms `FORMS`."""
    name, shown = table.name, " ".join(row)
    return ProtocolError(
        f"{name}: {shown[:80]!r} may be {_IN_WORDS[one]} or {_IN_WORDS[other]}. Write {name}:{one} or {name}:{other}."
    )


# Labels: one class, several classes, or columns


def _labels(tables: Mapping[str, Table], tails: _Tails, prefix: str) -> _Reading:
    """Return the labels of tables; `prefix` is "id-" if they follow ids."""
    if not tails:
        return "", {}, ()
    kinds = {tables[role].form.removeprefix("id-") for role in tails} - {""}
    if len(kinds) > 1:
        raise ProtocolError(f"lists: {' and '.join(sorted(kinds))} differ. Choose one form of labels for all lists.")
    kind, tails = (kinds.pop(), tails) if kinds else _kind(tables, tails, prefix)
    return _READINGS[kind](tables, tails, prefix)


def _kind(tables: Mapping[str, Table], tails: _Tails, prefix: str) -> tuple[str, _Tails]:
    """Return whether labels are a class, classes or columns, and the fields that are labels."""
    rows = list(chain.from_iterable(tails.values()))
    values, widths = set(chain.from_iterable(rows)), set(map(len, rows))
    by_blanks = any(table.lines for table in tables.values())
    lines: set[tuple[str, ...]] = set()
    if max(widths) > 1 and (any(map(_is_matrix, tails.values())) or set("".join(values)) <= {"0", "1"}):
        return "columns", tails
    mark = _mark_in(values)
    if mark == _MARKS[0]:
        return "classes", tails
    if max(widths) == 1:
        if mark is not None and not all(table.is_python for table in tables.values()):
            lines = {tuple(re.split(rf"{mark}\s*", value)) for value in values}
    elif all(map(is_number, values)) or not by_blanks:
        return ("classes", tails) if len(widths) > 1 else _kind_of_table(tables, tails, values, prefix)
    else:
        lines = set(map(tuple, rows))
    return "classes" if _are_several(tables, lines, prefix) else "class", tails


def _is_matrix(rows: Sequence[Sequence[str]]) -> bool:
    return len(rows[0]) > 1 and _are_columns(set(chain.from_iterable(rows)))


def _are_columns(values: set[str]) -> bool:
    """Return whether fields are only 0 and 1, or only -1 and +1."""
    return all(map(is_number, values)) and any(set(map(float, values)) <= pair for pair in ({0.0, 1.0}, {-1.0, 1.0}))


def _mark_in(values: Iterable[str]) -> str | None:
    """Return the first pattern in `_MARKS` that occurs in a field."""
    return next((mark for mark in _MARKS if any(map(re.compile(mark).search, values))), None)


def _are_several(tables: Mapping[str, Table], lines: set[tuple[str, ...]], prefix: str) -> bool:
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
    is_free = {len(occurrences[word]) > 1 for word in chain.from_iterable(several)}
    if len(is_free) > 1:
        raise _two_readings(next(iter(tables.values())), min(several), f"{prefix}class", f"{prefix}classes")
    return is_free == {True}


def _kind_of_table(tables: Mapping[str, Table], tails: _Tails, values: set[str], prefix: str) -> tuple[str, _Tails]:
    """Return the kind of labels in a table whose rows have as many fields; unlike ids, labels occur more than once."""
    table, rows = next(iter(tables.values())), list(chain.from_iterable(tails.values()))
    columns = list(zip(*rows, strict=True))
    if all(other.is_python for other in tables.values()):
        return "classes", tails
    if not table.header:
        if set.intersection(*map(set, columns)) and not all(map(is_number, values)):
            return "classes", tails
        raise ProtocolError(
            f"{table.name}: {' '.join(rows[0])[:80]!r} may be one class, several classes or different columns. Write "
            f"{table.name}:{prefix}class or :{prefix}classes, or add a header and name the column as F.csv:COLUMN."
        )
    names = [name.strip().lower() for name in table.header[-len(columns) :]]
    labels = [n for n, name in enumerate(names) if name in OF_LABELS]
    if len(labels) != 1:
        raise ProtocolError(
            f"{table.name}: its columns are {', '.join(table.header)[:200]}. Name the column of the labels as "
            f"{table.name}:COLUMN."
        )
    return "class", {role: [[row[labels[0]]] for row in part] for role, part in tails.items()}


def _columns(tables: Mapping[str, Table], tails: _Tails, prefix: str) -> _Reading:
    arrays, signs = {}, False
    for role, part in tails.items():
        name, width = tables[role].name, len(part[0])
        for number, row in enumerate(part, start=1):
            if len(row) != width:
                raise ProtocolError(
                    f"{name}: item {number} has {counted(len(row), 'label')}, 0 or 1, but the first item has {width:,}."
                )
        matrix = _matrix(list(chain.from_iterable(part)), name)
        arrays[role] = class_labels(matrix.reshape(len(part), width), len(part), name)
        signs = signs or bool((matrix < 0).any())
    widths = " and ".join(map(str, sorted({array.shape[1] for array in arrays.values()})))
    return f"{'-1 or +1' if signs else '0 or 1'} for each of {widths} classes", arrays, ()


def _matrix(fields: Sequence[str], name: str) -> NDArray:
    """Return the numbers in the fields of columns."""
    digits = "".join(fields)
    if len(digits) == len(fields) and set(digits) <= {"0", "1"}:
        return np.frombuffer(digits.encode(), dtype=np.uint8) - ord("0")
    try:
        numbers = np.array(fields, dtype=np.float64)
    except ValueError as error:
        raise ProtocolError(f"{name}: the columns must be 0 and 1, or -1 and +1 ({error}).") from error
    return as_integers(numbers, name)


def _class(tables: Mapping[str, Table], tails: _Tails, prefix: str) -> _Reading:
    """Return a class for each item: a number or a name, which may have been divided into words."""
    values = {role: list(map(" ".join, part)) for role, part in tails.items()}
    for role, part in values.items():
        if not all(map(str.strip, part)):
            missing = next(number for number, value in enumerate(part, start=1) if not value.strip())
            raise ProtocolError(f"{tables[role].name}: item {missing} has no label, but other items have.")
    distinct = set(chain.from_iterable(values.values()))
    if prefix and len(distinct) == 1 and sum(map(len, values.values())) > 1:
        return f"the placeholder {next(iter(distinct))!r} instead of a class", {}, ()
    convert = _numbers if all(map(is_number, distinct)) else text.string_array
    arrays = {role: convert(part, tables[role].name) for role, part in values.items()}
    return f"one of {_n_classes(len(distinct))}", arrays, ()


def _numbers(values: Sequence[str], name: str) -> NDArray:
    """Return class numbers exactly, even if they are written as 3.0, or no integer dtype can represent them."""
    try:
        return array_of(list(map(int, values)))
    except ValueError:
        return as_integers(np.array(values, dtype=np.float64), name)


def _classes(tables: Mapping[str, Table], tails: _Tails, prefix: str) -> _Reading:
    """Return a column for each label that occurs in any table."""
    mark = re.compile(_mark_in(set(chain.from_iterable(chain.from_iterable(tails.values())))) or "$^")
    names = {
        role: [list(filter(None, map(str.strip, chain.from_iterable(map(mark.split, row))))) for row in part]
        for role, part in tails.items()
    }
    distinct = set(chain.from_iterable(chain.from_iterable(names.values())))
    order: Callable[[str], Any] = int if all(value.isascii() and value.isdecimal() for value in distinct) else str
    columns = {value: number for number, value in enumerate(sorted(distinct, key=order))}
    arrays = {}
    for role, part in names.items():
        arrays[role] = np.zeros((len(part), len(columns)), dtype=np.bool_)
        items = np.repeat(np.arange(len(part)), list(map(len, part)))
        arrays[role][items, list(map(columns.__getitem__, chain.from_iterable(part)))] = True
    return f"several of {_n_classes(len(columns))}", arrays, tuple(columns)


def _n_classes(n: int) -> str:
    return "1 class" if n == 1 else f"{n:,} classes"


_READINGS: Mapping[str, Callable[[Mapping[str, Table], _Tails, str], _Reading]] = MappingProxyType(
    {"class": _class, "classes": _classes, "columns": _columns}
)
"""The reading of each kind of labels."""
