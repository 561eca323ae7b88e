"""Read lists of items and labels: one grammar for every command and function that takes them.

A line, or an element of an array or of a JSON list, has an id, labels, or both. Labels are one class (a number or a
name), several classes, or a column for each class with 0 and 1 or -1 and +1. The fields of a line are separated by
tabs, commas, semicolons or blanks. A form is read if the content of all files that are read together excludes every
other form; otherwise, the file is refused, and ``F:FORM``, with one of `FORMS`, chooses:

- The first field is an id if a list of ids is expected, if a header calls it one, if every first field names a file, or
  if it is never repeated, unlike others. It is a label if a line has no other field, or if it is also another field.
- An id may contain blanks if it ends like the name of a file, or before fields of 0 and 1. It ends at the first blank
  if it names a file, or if all other words are numbers.
- Labels are columns if all are 0 and 1, or -1 and +1. They are several classes if they are separated by ``;`` or ``|``
  or differ in number, or if every word also occurs in another line. They are one class if no word does.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
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
    Fields,
    Table,
    is_number,
    names_file,
    read_source,
)
from protocol.inputs.validation import array_of, class_labels

_FEW_LABELS = 1 << 22  # the classes of larger arrays, which may be mapped from a file, are not counted
_WITH_BLANKS = (re.compile(rf"(.*{EXTENSION})(?!\S)(.*)"), re.compile(r"(\S.*?)((?:\s+[01])+)"))
"""The forms of a line whose id may contain blanks."""
_ONE_ID, _FIRST_WORD = re.compile(r"(.*)()"), re.compile(r"(\S+)\s*(.*)")
_MARKS = (r"[;|]", ",", r"\s")
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
_FIRST, _OTHERS = itemgetter(0), itemgetter(slice(1, None))
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
        role: read_source(values, named(values, role), has_ids=has_ids, form=form, n_items=(sizes or {}).get(role))
        for role, values in sources.items()
    }
    listings = _of_tables({role: table for role, table in contents.items() if isinstance(table, Table)}, has_ids)
    for role, content in contents.items():
        if not isinstance(content, Table):
            listings[role] = _of_numbers(content, named(sources[role], role), has_ids)
        if log and is_file(sources[role]):
            _log.info("%s", printable(str(listings[role])))
    return {role: listings[role] for role in sources}


def _of_numbers(array: NDArray, name: str, has_ids: bool) -> Listing:
    """Return an array as row numbers, or as labels."""
    if has_ids:
        array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
        return Listing(name, items_from(array, name), None, "row numbers")
    if array.size <= _FEW_LABELS and array.dtype.kind in "biuf" and (array.ndim == 1 or 1 in array.shape):
        return Listing(name, None, array, f"one of {_n_classes(len(np.unique(array)))}")
    return Listing(name, None, array, "labels" if array.ndim == 1 else f"labels of shape {array.shape}")


def _of_tables(tables: Mapping[str, Table], has_ids: bool) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    known = set[str]() if has_ids else set().union(*map(_labels_alone, tables.values()))
    divided = {role: _divided(table, has_ids, known) for role, table in tables.items()}
    labelled = [role for role, (_, part) in divided.items() if tables[role].form != "id" and any(map(any, part))]
    prefix = "id-" if any(map(_FIRST, divided.values())) else ""
    labels = _Labels([tables[role] for role in labelled], [divided[role][1] for role in labelled], prefix)
    form, arrays, classes = labels.read() if labelled else ("", [], ())
    by_role = dict(zip(labelled, arrays, strict=False))  # no arrays of placeholders
    return {
        role: _listing(table, divided[role][0], form if role in labelled else "", by_role.get(role), classes)
        for role, table in tables.items()
    }


def _listing(
    table: Table, ids: Sequence[str] | None, form: str, labels: NDArray | None, classes: tuple[str, ...]
) -> Listing:
    words = " and ".join(filter(None, ["" if ids is None else "id", form]))
    header = f" (header {','.join(table.header)[:60]!r})" if table.header else ""
    names = None if ids is None else text.string_array(ids, table.name)
    return Listing(table.name, names, labels, f"{words}{header}", classes)


def _undecided(table: Table, row: Sequence[str], first: str, second: str) -> ProtocolError:
    """Return the error for a row that may have two of the forms `FORMS`."""
    name, forms = table.name, f"{_IN_WORDS[first]} or {_IN_WORDS[second]}"
    return ProtocolError(f"{name}: {' '.join(row)[:80]!r} may be {forms}. Write {name}:{first} or {name}:{second}.")


# Ids


def _labels_alone(table: Table) -> set[str]:
    """Return the labels of a table of which a row is too short for an id and labels; otherwise nothing."""
    return set(chain.from_iterable(table.words)) if min(map(len, table.words)) == 1 else set()


def _divided(table: Table, has_ids: bool, known: set[str]) -> tuple[Sequence[str] | None, Fields]:
    """Return the id of each row, None if it has none, and the fields of its labels; see `_begins_with_ids`."""
    if not (table.form.startswith("id") if table.form else has_ids or _begins_with_ids(table, known)):
        return None, [list(map(str.strip, row)) for row in table.rows]
    if table.by_blanks:
        return _divided_by_blanks(table)
    return list(map(_FIRST, table.rows)), list(map(_OTHERS, table.rows))


def _divided_by_blanks(table: Table) -> tuple[Sequence[str], Fields]:
    lines = list(map(_FIRST, table.rows))
    for pattern in (*_WITH_BLANKS, _ONE_ID if table.form == "id" else _FIRST_WORD):
        matches = list(filter(None, map(pattern.fullmatch, lines)))
        tails = [match[2].strip() for match in matches]
        if len(tails) == len(lines) and (any(tails) or table.form in ("", "id")):
            break
    ids = [match[1] for match in matches]
    if pattern is _FIRST_WORD and any(tails) and not table.form:
        _check_first_words(table, ids, tails)
    return ids, [list(filter(None, [tail])) for tail in tails]


def _begins_with_ids(table: Table, known: set[str]) -> bool:
    """Return whether each row of a table begins with an id; `known` are the labels of tables without ids."""
    rows, ids = table.words, set(map(_FIRST, table.words))
    are_distinct, are_names = len(ids) == len(rows), all(map(names_file, ids))
    if _labels_alone(table):
        if are_names and are_distinct and max(map(len, rows)) == 1 and not table.is_python:
            name = rows[0][0][:80]
            raise ProtocolError(f"{table.name}: ids without labels, the first {name!r}. Add a label to each line.")
        return False
    is_named = bool(table.header) and table.header[0].lower() in ID_COLUMNS
    end_in_lines = table.by_blanks and all(map(_WITH_BLANKS[0].match, map(_FIRST, table.rows)))
    if is_named or are_names or end_in_lines:
        return True
    labels = known.union(*map(_OTHERS, rows))
    is_label = not labels.isdisjoint(ids) and not all(map(is_number, labels | ids))
    if is_label or not are_distinct or _are_flags(labels | ids):
        return False
    if min(map(len, map(set, zip(*map(_OTHERS, rows), strict=False)))) == len(rows):
        raise _undecided(table, rows[0], "id-class", "classes")
    return True


def _check_first_words(table: Table, ids: Sequence[str], tails: Sequence[str]) -> None:
    """Raise ProtocolError unless the first words of lines can only be ids, and the others labels."""
    if not all(tails):
        number, example = tails.index("") + 1, next(row[0] for row, tail in zip(table.rows, tails, strict=True) if tail)
        raise ProtocolError(
            f"{table.name}: item {number}, {ids[number - 1][:80]!r}, has no labels, unlike {example[:80]!r}. "
            f"If that is an id, write {table.name}:id."
        )
    words = set(chain.from_iterable(map(str.split, tails)))
    are_files = all(map(names_file, ids)) and not any(map(names_file, words))
    if len(set(ids)) < len(ids) or not (are_files or all(map(is_number, words))):
        raise _undecided(table, table.rows[0], "id", "id-class")


# Labels


@dataclass(frozen=True, eq=False)
class _Labels:
    """The labels of tables that are read together: `parts` has the fields of each row of each table.

    `prefix` is "id-" if labels follow ids.
    """

    tables: Sequence[Table]
    parts: list[Fields]
    prefix: str

    @cached_property
    def mark(self) -> str:
        """The first pattern in `_MARKS` that divides a field; commas and blanks divide only the sole fields of rows."""
        fields = set(chain.from_iterable(chain.from_iterable(self.parts)))
        single = set(chain.from_iterable(row for part in self.parts if max(map(len, part)) == 1 for row in part))
        for mark, values in zip(_MARKS, (fields, single, single), strict=True):
            if any(map(re.compile(mark).search, values)):
                return mark
        return _MARKS[0]

    @cached_property
    def words(self) -> list[Fields]:
        """The labels of each row of each table, if all that `mark` divides are labels of their own."""
        split = re.compile(self.mark).split
        return [
            [
                [label.strip() for field in row for label in (split(field) if divides else [field]) if label.strip()]
                for row in part
            ]
            for part, divides in ((part, self.mark == _MARKS[0] or max(map(len, part)) == 1) for part in self.parts)
        ]

    def read(self) -> tuple[str, list[NDArray], tuple[str, ...]]:
        """Return the form of labels in words, the labels of each table, and the names of their columns."""
        forms = {table.form.removeprefix("id-") for table in self.tables} - {""}
        if len(forms) > 1:
            raise ProtocolError(f"lists: {' and '.join(sorted(forms))} differ. Choose one form for all lists.")
        labels, form = (self, forms.pop()) if forms else self._form()
        return {"class": _class, "classes": _classes, "columns": _columns}[form](labels)

    def _form(self) -> tuple["_Labels", str]:
        """Return the fields that are labels, and their form: "class", "classes" or "columns"."""
        rows, words = list(chain.from_iterable(self.parts)), list(chain.from_iterable(self.words))
        values, n_words = set(chain.from_iterable(words)), set(map(len, words))
        n_fields, are_python = set(map(len, rows)), all(table.is_python for table in self.tables)
        if any(map(re.compile(_MARKS[0]).search, chain.from_iterable(rows))):
            return self, "classes"
        if max(n_words) <= 1:
            return self, "class"
        if set("".join(values)) <= {"0", "1"} or any(map(_is_matrix, self.words)):
            return self, "columns"
        if are_python:
            return self, "class" if max(n_fields) == 1 else "classes"
        if any(len(row) == 1 < len(labels) for row, labels in zip(rows, words, strict=True)):
            are_numbers = len(n_words) > 1 and all(map(is_number, values))
            return self, "classes" if are_numbers or self._are_several(words, max(n_fields) > 1) else "class"
        return (self, "classes") if len(n_fields) > 1 else self._form_of_table(rows)

    def _are_several(self, rows: Fields, are_fields: bool) -> bool:
        """Return whether the words of rows are labels of their own, rather than parts of a name.

        They are if each word of a row with several words also occurs in another row, alone or with other words; they
        are parts of a name if none does, and no other row has several fields.

        Raises
        ------
        ProtocolError
            If some do and some do not.
        """
        n_rows = Counter(chain.from_iterable(set(map(frozenset, rows))))
        several = [row for row in rows if len(row) > 1]
        occurs_again = {n_rows[word] > 1 for word in chain.from_iterable(several)} | ({True} if are_fields else set())
        if len(occurs_again) > 1:
            raise _undecided(self.tables[0], min(several), f"{self.prefix}class", f"{self.prefix}classes")
        return occurs_again == {True}

    def _form_of_table(self, rows: Fields) -> tuple["_Labels", str]:
        """Return the labels in rows with as many fields, and their form; unlike ids, labels occur more than once."""
        name, header, columns = self.tables[0].name, self.tables[0].header, list(map(set, zip(*rows, strict=True)))
        if not header and set.intersection(*columns) and not all(map(is_number, set.union(*columns))):
            return self, "classes"
        if not header:
            forms = f"{name}:{self.prefix}class or :{self.prefix}classes"
            raise ProtocolError(
                f"{name}: {' '.join(rows[0])[:80]!r} may be one class, several classes or different columns. Write "
                f"{forms}, or add a header and name the column as F.csv:COLUMN."
            )
        names = [column.strip().lower() for column in header[-len(columns) :]]
        labels = [number for number, column in enumerate(names) if column in LABEL_COLUMNS]
        if len(labels) != 1:
            listed = ", ".join(header)[:200]
            raise ProtocolError(f"{name}: its columns are {listed}. Name the column of the labels as {name}:COLUMN.")
        return replace(self, parts=[[[row[labels[0]]] for row in part] for part in self.parts]), "class"


def _are_flags(values: set[str]) -> bool:
    """Return whether fields are only 0 and 1, or only -1 and +1."""
    return all(map(is_number, values)) and any(set(map(float, values)) <= pair for pair in ({0.0, 1.0}, {-1.0, 1.0}))


def _is_matrix(rows: Fields) -> bool:
    return len(rows[0]) > 1 and _are_flags(set(chain.from_iterable(rows)))


def _n_classes(n: int) -> str:
    return "1 class" if n == 1 else f"{n:,} classes"


def _columns(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a matrix of the columns of each table."""
    matrices = [_matrix(part, table.name) for table, part in zip(labels.tables, labels.words, strict=True)]
    widths = " and ".join(map(str, sorted({matrix.shape[1] for matrix in matrices})))
    flags = "-1 or +1" if any((matrix < 0).any() for matrix in matrices) else "0 or 1"
    checked = [class_labels(m, len(m), table.name) for m, table in zip(matrices, labels.tables, strict=True)]
    return f"{flags} for each of {widths} classes", checked, ()


def _matrix(rows: Fields, name: str) -> NDArray:
    """Return the numbers in the fields of columns."""
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise ProtocolError(
                f"{name}: item {number} has {counted(len(row), 'label')}, 0 or 1, but the first item has "
                f"{len(rows[0]):,}."
            )
    fields = "".join(chain.from_iterable(rows))
    if len(fields) == len(rows) * len(rows[0]) and set(fields) <= {"0", "1"}:
        return (np.frombuffer(fields.encode(), dtype=np.uint8) - ord("0")).reshape(len(rows), -1)
    if not all(map(is_number, chain.from_iterable(rows))):
        raise ProtocolError(f"{name}: the columns must be 0 and 1, or -1 and +1.")
    return as_integers(np.array(rows, dtype=np.float64), name)


def _class(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a class for each item: a number or a name, which may have been divided into words."""
    names = [[" ".join(" ".join(row).split()) for row in part] for part in labels.parts]
    for table, part in zip(labels.tables, names, strict=True):
        if "" in part:
            raise ProtocolError(f"{table.name}: item {part.index('') + 1} has no label, but other items have.")
    distinct = set(chain.from_iterable(names))
    if labels.prefix and len(distinct) == 1 and sum(map(len, names)) > 1:
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
    distinct = set(chain.from_iterable(chain.from_iterable(labels.words)))
    order: Callable[[str], Any] = int if all(value.isascii() and value.isdecimal() for value in distinct) else str
    columns = {value: number for number, value in enumerate(sorted(distinct, key=order))}
    matrices = []
    for part in labels.words:
        matrices.append(np.zeros((len(part), len(columns)), dtype=np.bool_))
        items = np.repeat(np.arange(len(part)), list(map(len, part)))
        matrices[-1][items, list(map(columns.__getitem__, chain.from_iterable(part)))] = True
    return f"several of {_n_classes(len(columns))}", matrices, tuple(columns)
