"""Read lists of items and labels: one grammar for every command and function that takes them.

A line, or an element of an array or of a JSON list, has an id, labels, or both. Labels are one class (a number or a
name), several classes, or a column for each class with 0 and 1 or -1 and +1. The fields of a line are separated by
tabs, commas, semicolons or blanks. Which of these forms a file has is decided by its whole content, and by that of all
files that are read together. A file that can be read in two ways is refused; ``F:FORM``, with one of `FORMS`, chooses.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, printable
from protocol.inputs import text
from protocol.inputs.arrays import as_integers, is_file, items_from, named
from protocol.inputs.fields import (
    EXTENSION,
    ID_COLUMNS,
    LABEL_COLUMNS,
    Table,
    drop_headers,
    has_extension,
    is_number,
    names_file,
    read_source,
)
from protocol.inputs.validation import array_of, class_labels

_FEW_LABELS = 1 << 22  # the classes of larger arrays, which may be mapped from a file, are not counted
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
_ID, _FIELDS = itemgetter(0), itemgetter(slice(1, None))
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
    >>> labels = read_listings({"query": [["owl"], ["fox", "elk"]], "database": ["owl;elk", "fox"]}, has_ids=False)
    >>> print(labels["database"], labels["database"].labels.astype(int).tolist())
    database: 2 items, several of 3 classes [[1, 0, 1], [0, 1, 0]]
    """
    contents = {
        role: read_source(values, named(values, role), has_ids=has_ids, form=form) for role, values in sources.items()
    }
    tables = {role: content for role, content in contents.items() if isinstance(content, Table)}
    listings = _listings(tables, has_ids, sizes or {})
    for role, content in contents.items():
        if not isinstance(content, Table):
            listings[role] = _listing_of_numbers(content, named(sources[role], role), has_ids)
        if log and is_file(sources[role]):
            _log.info("%s", printable(str(listings[role])))
    return {role: listings[role] for role in sources}


def _listing_of_numbers(array: NDArray, name: str, has_ids: bool) -> Listing:
    """Return an array as row numbers, or as labels."""
    if has_ids:
        array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
        return Listing(name, items_from(array, name), None, "row numbers")
    if array.size <= _FEW_LABELS and array.dtype.kind in "biuf" and (array.ndim == 1 or 1 in array.shape):
        return Listing(name, None, array, f"one of {_n_classes(len(np.unique(array)))}")
    return Listing(name, None, array, "labels" if array.ndim == 1 else f"labels of shape {array.shape}")


def _listings(tables: Mapping[str, Table], has_ids: bool, sizes: Mapping[str, int]) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    drop_headers(tables, sizes)
    with_ids = _with_ids(tables, has_ids)
    divided = {role: _divided(table, role in with_ids, tables) for role, table in tables.items()}
    parts = {role: part for role, (_, part) in divided.items() if tables[role].form != "id" and any(map(any, part))}
    by_blanks = any(table.lines for table in tables.values())
    labels = _Labels([*map(tables.__getitem__, parts)], [*parts.values()], "id-" if with_ids else "", by_blanks)
    form, arrays, classes = labels.read() if parts else ("", [], ())
    by_role = dict(zip(parts, arrays, strict=False))  # no arrays of placeholders
    return {
        role: _listing(table, divided[role][0], form if role in parts else "", by_role.get(role), classes)
        for role, table in tables.items()
    }


def _listing(
    table: Table, ids: Sequence[str] | None, form: str, labels: NDArray | None, classes: tuple[str, ...]
) -> Listing:
    words = " and ".join(filter(None, ["" if ids is None else "id", form]))
    header = f" (header {','.join(table.header)[:60]!r})" if table.header else ""
    names = None if ids is None else text.string_array(ids, table.name)
    return Listing(table.name, names, labels, f"{words}{header}", classes)


def _ambiguous(table: Table, row: Sequence[str], one: str, other: str) -> ProtocolError:
    """Return the error for a line that can be read in two of the forms `FORMS`."""
    name, line = table.name, " ".join(row)
    return ProtocolError(
        f"{name}: {line[:80]!r} may be {_IN_WORDS[one]} or {_IN_WORDS[other]}. Write {name}:{one} or {name}:{other}."
    )


# Ids


def _with_ids(tables: Mapping[str, Table], has_ids: bool) -> set[str]:
    """Return the tables whose lines begin with an id; raise ProtocolError if nothing decides it."""
    begin = {role: _begins_with_ids(table, has_ids) for role, table in tables.items()}
    undecided = [tables[role] for role, begins in begin.items() if begins is None]
    alone = [tables[role] for role, begins in begin.items() if begins is False and not tables[role].form]
    others_begin = bool(undecided) and _first_fields_are_ids(undecided, alone)
    return {role for role, begins in begin.items() if (others_begin if begins is None else begins)}


def _begins_with_ids(table: Table, has_ids: bool) -> bool | None:
    """Return whether each line of a table begins with an id; None if only a comparison of its fields can tell."""
    if has_ids or table.form:
        return not table.form or table.form.startswith("id")
    if _has_labels_alone(table):
        return False
    is_named = len(table.header) > 1 and table.header[0].lower() in ID_COLUMNS
    return True if is_named or all(map(_is_name_of_file, table.rows, table.lines or repeat(""))) else None


def _is_name_of_file(row: Sequence[str], line: str) -> bool:
    """Return whether the first field names a file; its words may be divided by blanks if there is a line."""
    return names_file(row[0]) or (line != "" and any(map(has_extension, row)))


def _has_labels_alone(table: Table) -> bool:
    """Return whether a line is too short for an id and labels; raise ProtocolError if lines are only names of files."""
    if min(map(len, table.rows)) > 1:
        return False
    are_names = not table.is_python and all(map(names_file, map(_ID, table.rows)))
    if are_names and len(set(map(tuple, table.rows))) == len(table.rows):
        name = table.rows[0][0][:80]
        raise ProtocolError(f"{table.name}: ids without labels, the first {name!r}. Add a label to each line.")
    return True


def _first_fields_are_ids(tables: Sequence[Table], alone: Sequence[Table]) -> bool:
    """Return whether the first fields are ids: all different, while the others are not.

    No id is a label in one of the tables that have labels `alone`.

    Raises
    ------
    ProtocolError
        If nothing decides it.
    """
    rows = list(chain.from_iterable(table.rows for table in tables))
    ids, tails = set(map(_ID, rows)), list(map(_FIELDS, rows))
    labels = set(chain(*tails, *chain.from_iterable(table.rows for table in alone)))
    is_id_a_label = bool(labels & ids) and not all(map(is_number, ids | labels))
    if is_id_a_label or _are_flags(ids | labels) or any(map(_has_repeated_ids, tables)):
        return False
    are_distinct = len(ids) == len(rows) or all(table.rows == tables[0].rows for table in tables)
    if are_distinct and min(map(len, map(set, zip(*tails, strict=False)))) < len(rows):
        return True
    if len(set(map(len, rows))) > 1 or alone:
        return False
    raise _ambiguous(tables[0], rows[0], "id-class", "classes")


def _has_repeated_ids(table: Table) -> bool:
    return len(set(map(_ID, table.rows))) < len(table.rows)


def _divided(table: Table, has_id: bool, tables: Mapping[str, Table]) -> tuple[Sequence[str] | None, list[list[str]]]:
    """Return the id of each line, None if it has none, and the fields of its labels."""
    if not has_id:
        has_marks = any(map(re.compile("[,;|]").search, table.lines))  # otherwise, blanks divide labels
        return None, [[line] for line in table.lines] if has_marks else [[*map(str.strip, row)] for row in table.rows]
    if table.lines and (ids_and_fields := _with_blanks_in_ids(table)):
        return ids_and_fields
    if table.lines and not table.form:
        _check_first_words(table, tables)
    return list(map(_ID, table.rows)), list(map(_FIELDS, table.rows))


def _with_blanks_in_ids(table: Table) -> tuple[list[str], list[list[str]]] | None:
    """Return the id of each line, which may contain blanks, and its other words; None if no pattern fits all lines."""
    for pattern in (_AFTER_EXTENSION, _FLAGS):
        lines = pattern.findall("\n".join(table.lines))
        fields = [tail.split() for _, tail in lines]
        if len(lines) == len(table.rows) and (any(fields) or table.form in ("", "id")):
            return list(map(_ID, lines)), fields
    if table.form == "id" or max(map(len, table.rows)) == 1:
        return table.lines, [[] for _ in table.rows]
    return None


def _check_first_words(table: Table, tables: Mapping[str, Table]) -> None:
    """Raise ProtocolError unless the first words of lines can only be ids, and the others labels."""
    rows = table.rows
    short = next((number for number, row in enumerate(rows, start=1) if len(row) == 1), None)
    if short is not None:
        odd = max(rows, key=lambda row: len(row) > 1)
        raise ProtocolError(
            f"{table.name}: item {short}, {rows[short - 1][0][:80]!r}, has no labels, unlike {' '.join(odd)[:80]!r}. "
            f"If that is an id, write {table.name}:id."
        )
    tails = [tuple(row[1:]) for row in chain.from_iterable(other.rows for other in tables.values())]
    words, ids = set(chain.from_iterable(tails)), list(map(_ID, rows))
    are_labels = len(set(tails)) < len(tails) or all(map(names_file, ids))
    are_ids = are_labels and len(set(ids)) == len(ids) and not any(map(names_file, words))
    if not are_ids and not all(map(is_number, words)):
        raise _ambiguous(table, rows[0], "id", "id-class")


# Labels


@dataclass(frozen=True, eq=False)
class _Labels:
    """The labels of tables that are read together: `parts` has the fields of each line of each table.

    `prefix` is "id-" if the labels follow ids, `by_blanks` whether blanks separate the fields of any table.
    """

    tables: Sequence[Table]
    parts: list[list[list[str]]]
    prefix: str
    by_blanks: bool

    @cached_property
    def rows(self) -> list[list[str]]:
        """The fields of all lines."""
        return list(chain.from_iterable(self.parts))

    @cached_property
    def values(self) -> set[str]:
        """The distinct fields."""
        return set(chain.from_iterable(self.rows))

    @cached_property
    def mark(self) -> str | None:
        """The first pattern in `_MARKS` that occurs in a field."""
        return next((mark for mark in _MARKS if any(map(re.compile(mark).search, self.values))), None)

    def read(self) -> tuple[str, list[NDArray], tuple[str, ...]]:
        """Return the form of labels in words, the labels of each table, and the names of their columns."""
        forms = {table.form.removeprefix("id-") for table in self.tables} - {""}
        if len(forms) > 1:
            raise ProtocolError(f"lists: {' and '.join(sorted(forms))} differ. Choose one form for all lists.")
        labels, form = (self, forms.pop()) if forms else self._form()
        return _READERS[form](labels)

    def _form(self) -> tuple["_Labels", str]:
        """Return the fields that are labels, and their form: "class", "classes" or "columns"."""
        widths = set(map(len, self.rows))
        if max(widths) > 1 and (any(map(_is_matrix, self.parts)) or set("".join(self.values)) <= {"0", "1"}):
            return self, "columns"
        if self.mark == _MARKS[0]:
            return self, "classes"
        if max(widths) == 1 or not self._are_fields_certain:
            return self, "classes" if self._are_several(self._lines_of_words()) else "class"
        return (self, "classes") if len(widths) > 1 else self._form_of_table()

    @property
    def _are_fields_certain(self) -> bool:
        """Whether the fields are labels, rather than words that blanks divide."""
        return not self.by_blanks or all(map(is_number, self.values))

    def _lines_of_words(self) -> set[tuple[str, ...]]:
        """Return the words of each line that may be labels of their own."""
        if max(map(len, self.rows)) > 1:
            return set(map(tuple, self.rows))
        if self.mark is None or all(table.is_python for table in self.tables):
            return set()
        return {tuple(re.split(rf"{self.mark}\s*", value)) for value in self.values}

    def _are_several(self, lines: set[tuple[str, ...]]) -> bool:
        """Return whether words are labels of their own, rather than parts of a name.

        They are if each word of a line with several words also occurs in another line, alone or with other words; they
        are parts of a name if none does.

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
            raise _ambiguous(self.tables[0], min(several), f"{self.prefix}class", f"{self.prefix}classes")
        return is_free == {True}

    def _form_of_table(self) -> tuple["_Labels", str]:
        """Return the labels in rows with as many fields, and their form; unlike ids, labels occur more than once."""
        table, columns = self.tables[0], list(zip(*self.rows, strict=True))
        if all(other.is_python for other in self.tables):
            return self, "classes"
        if not table.header and set.intersection(*map(set, columns)) and not all(map(is_number, self.values)):
            return self, "classes"
        if not table.header:
            row, prefix = " ".join(self.rows[0])[:80], f"{table.name}:{self.prefix}"
            raise ProtocolError(
                f"{table.name}: {row!r} may be one class, several classes or different columns. Write {prefix}class or "
                f":{self.prefix}classes, or add a header and name the column as F.csv:COLUMN."
            )
        header = table.header[-len(columns) :]
        labels = [column for column, name in enumerate(header) if name.strip().lower() in LABEL_COLUMNS]
        if len(labels) != 1:
            names, name = ", ".join(table.header)[:200], table.name
            raise ProtocolError(f"{name}: its columns are {names}. Name the column of the labels as {name}:COLUMN.")
        parts = [[[row[labels[0]]] for row in part] for part in self.parts]
        return replace(self, parts=parts), "class"


def _is_matrix(rows: Sequence[Sequence[str]]) -> bool:
    return len(rows[0]) > 1 and _are_flags(set(chain.from_iterable(rows)))


def _are_flags(values: set[str]) -> bool:
    """Return whether fields are only 0 and 1, or only -1 and +1."""
    return all(map(is_number, values)) and any(set(map(float, values)) <= pair for pair in ({0.0, 1.0}, {-1.0, 1.0}))


def _n_classes(n: int) -> str:
    return "1 class" if n == 1 else f"{n:,} classes"


def _columns(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a matrix of the columns of each table."""
    matrices = [_matrix(part, table.name) for table, part in zip(labels.tables, labels.parts, strict=True)]
    widths = " and ".join(map(str, sorted({matrix.shape[1] for matrix in matrices})))
    flags = "-1 or +1" if any((matrix < 0).any() for matrix in matrices) else "0 or 1"
    checked = [class_labels(m, len(m), table.name) for m, table in zip(matrices, labels.tables, strict=True)]
    return f"{flags} for each of {widths} classes", checked, ()


def _matrix(rows: Sequence[Sequence[str]], name: str) -> NDArray:
    """Return the numbers in the fields of columns."""
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise ProtocolError(
                f"{name}: item {number} has {counted(len(row), 'label')}, 0 or 1, but the first item has "
                f"{len(rows[0]):,}."
            )
    fields = list(chain.from_iterable(rows))
    digits = "".join(fields)
    if len(digits) == len(fields) and set(digits) <= {"0", "1"}:
        numbers: NDArray = np.frombuffer(digits.encode(), dtype=np.uint8) - ord("0")
    else:
        try:
            numbers = np.array(fields, dtype=np.float64)
        except ValueError as error:
            raise ProtocolError(f"{name}: the columns must be 0 and 1, or -1 and +1 ({error}).") from error
        numbers = as_integers(numbers, name)
    return numbers.reshape(len(rows), -1)


def _class(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a class for each item: a number or a name, which may have been divided into words."""
    names = [list(map(" ".join, part)) for part in labels.parts]
    for table, part in zip(labels.tables, names, strict=True):
        missing = next((number for number, value in enumerate(part, start=1) if not value.strip()), None)
        if missing is not None:
            raise ProtocolError(f"{table.name}: item {missing} has no label, but other items have.")
    distinct = set(chain.from_iterable(names))
    if labels.prefix and len(distinct) == 1 and len(labels.rows) > 1:
        return f"the placeholder {next(iter(distinct))!r} instead of a class", [], ()
    convert = _numbers if all(map(is_number, distinct)) else text.string_array
    arrays = [convert(part, table.name) for table, part in zip(labels.tables, names, strict=True)]
    return f"one of {_n_classes(len(distinct))}", arrays, ()


def _numbers(values: Sequence[str], name: str) -> NDArray:
    """Return class numbers exactly, even if they are written as 3.0, or no integer dtype can represent them."""
    try:
        return array_of(list(map(int, values)))
    except ValueError:
        return as_integers(np.array(values, dtype=np.float64), name)


def _classes(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a column for each label that occurs in any table."""
    mark = re.compile(labels.mark or "$^")

    def names_of(row: Iterable[str]) -> list[str]:
        return list(filter(None, map(str.strip, chain.from_iterable(map(mark.split, row)))))

    parts = [list(map(names_of, part)) for part in labels.parts]
    distinct = set(chain.from_iterable(chain.from_iterable(parts)))
    order: Callable[[str], Any] = int if all(value.isascii() and value.isdecimal() for value in distinct) else str
    columns = {value: number for number, value in enumerate(sorted(distinct, key=order))}
    matrices = []
    for part in parts:
        matrices.append(np.zeros((len(part), len(columns)), dtype=np.bool_))
        items = np.repeat(np.arange(len(part)), list(map(len, part)))
        matrices[-1][items, list(map(columns.__getitem__, chain.from_iterable(part)))] = True
    return f"several of {_n_classes(len(columns))}", matrices, tuple(columns)


_READERS: Mapping[str, Callable[[_Labels], tuple[str, list[NDArray], tuple[str, ...]]]] = MappingProxyType(
    {"class": _class, "classes": _classes, "columns": _columns}
)
"""The reader of each form of labels."""
