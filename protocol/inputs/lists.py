"""Read lists of items and labels: one grammar for every command and function that takes them.

A line, or an element of an array or of a Python list, has an id, labels, or both. Labels are one class (a number or a
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
from protocol.inputs.validation import class_labels

_WITH_BLANKS = (re.compile(rf"(.*{EXTENSION})(?!\S)(.*)"), re.compile(r"(\S.*?)((?:\s+[01])+)"))
"""The forms of a line whose id may contain blanks."""
_ONE_ID, _FIRST_WORD = re.compile(r"(.*)()"), re.compile(r"(\S+)\s*(.*)")
_MARKS = (r"[;|]", ",", r"\s")
"""What divides several labels in one field."""
_FORM_OF = MappingProxyType({False: "class", True: "classes"})
"""The form of labels by whether an item has several."""
_IN_WORDS = MappingProxyType(
    {
        "id": "an id",
        "id-class": "an id and a class",
        "id-classes": "an id and several classes",
        "class": "one class",
        "classes": "several classes",
    }
)
_FIRST, _LAST, _OTHERS = itemgetter(0), itemgetter(-1), itemgetter(slice(1, None))
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
        By role: text (also ``.gz``), ``.csv`` or ``.tsv``, ``F.csv:COLUMN`` for one column, an array of
        strings or integers as ``.npy``, ``.npz:key``, ``.mat:variable`` or ``.h5:dataset``, or a value in memory.
    has_ids : bool
        Whether each line begins with an id, as in the list of a partition; an array of integers then contains row
        numbers. Otherwise the content decides whether labels follow an id.
    form : str, optional
        One of `FORMS`, for files that can be read in two ways and don't name a form themselves.
    sizes : mapping of str to int, optional
        The known numbers of items.
    log : bool, default=True
        Whether each file is reported to the logger ``protocol.inputs``, in one line; arrays of labels, which can be
        read in one way, are not.

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
        if log and is_file(sources[role]) and (has_ids or isinstance(content, Table)):
            _log.info("%s", printable(str(listings[role])))
    return {role: listings[role] for role in sources}


def _of_numbers(array: NDArray, name: str, has_ids: bool) -> Listing:
    """Return an array as row numbers, or as labels."""
    if has_ids:
        array = array.ravel() if array.ndim == 2 and 1 in array.shape else array
        return Listing(name, items_from(array, name), None, "row numbers")
    return Listing(name, None, array, f"labels of shape {array.shape}")


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a table: their ids, None if they have none, and the fields of their labels."""

    table: Table
    ids: Sequence[str] | None
    fields: Fields

    @property
    def has_labels(self) -> bool:
        return self.table.form != "id" and any(map(any, self.fields))

    @property
    def are_single(self) -> bool:
        """Whether no row has several fields."""
        return max(map(len, self.fields)) <= 1

    def listing(self, form: str, labels: NDArray | None, classes: tuple[str, ...]) -> Listing:
        words = " and ".join(filter(None, ["" if self.ids is None else "id", form]))
        header = f" (header {','.join(self.table.header)[:60]!r})" if self.table.header else ""
        names = None if self.ids is None else np.array(self.ids, dtype=np.str_)
        return Listing(self.table.name, names, labels, f"{words}{header}", classes)


def _of_tables(tables: Mapping[str, Table], has_ids: bool) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    short = [] if has_ids else [table.words for table in tables.values() if table.is_short]
    known = set(chain.from_iterable(chain.from_iterable(short)))
    parts = {role: _divided(table, has_ids, known) for role, table in tables.items()}
    alone = [part for part in parts.values() if not (part.table.form or part.table.is_short or part.table.is_python)]
    if len({part.ids is None for part in alone}) > 1:
        table = next(part.table for part in alone if part.ids is None)
        raise _undecided(table, table.words[0], "id-class", "classes")
    labelled = {role: part for role, part in parts.items() if part.has_labels}
    form, arrays, classes = _Labels(list(labelled.values())).read() if labelled else ("", [], ())
    by_role = dict(zip(labelled, arrays, strict=False))  # no arrays of placeholders
    return {
        role: part.listing(form if role in labelled else "", by_role.get(role), classes) for role, part in parts.items()
    }


def _undecided(table: Table, row: Sequence[str], first: str, second: str) -> ProtocolError:
    """Return the error for a row that may have two of the forms `FORMS`."""
    name, forms = table.name, f"{_IN_WORDS[first]} or {_IN_WORDS[second]}"
    return ProtocolError(f"{name}: {' '.join(row)[:80]!r} may be {forms}. Write {name}:{first} or {name}:{second}.")


# Ids


def _divided(table: Table, has_ids: bool, known: set[str]) -> _Rows:
    """Return the rows of a table; `known` are the labels of tables without ids."""
    if not (table.form.startswith("id") if table.form else has_ids or _begins_with_ids(table, known)):
        return _Rows(table, None, [list(map(str.strip, row)) for row in table.rows])
    if table.by_blanks:
        return _divided_by_blanks(table)
    return _Rows(table, list(map(_FIRST, table.rows)), list(map(_OTHERS, table.rows)))


def _divided_by_blanks(table: Table) -> _Rows:
    lines, may_be_id = list(map(_FIRST, table.rows)), table.form in ("", "id")
    for pattern in (*_WITH_BLANKS, _ONE_ID if table.form == "id" else _FIRST_WORD):
        pairs = [match.groups() for match in map(pattern.fullmatch, lines) if match]
        if len(pairs) == len(lines) and (may_be_id or any(map(_LAST, pairs))):
            break
    ids, tails = zip(*pairs, strict=True)
    if pattern is _FIRST_WORD and not table.form and any(tails) and not _are_certain(ids, tails):
        raise _undecided(table, [min(lines, key=lambda line: line in ids)], "id", "id-class")
    return _Rows(table, ids, [[tail.strip()] for tail in tails])


def _begins_with_ids(table: Table, known: set[str]) -> bool:
    """Return whether each row of a table begins with an id; `known` are the labels of tables without ids."""
    firsts, others = map(_FIRST, table.words), list(map(_OTHERS, table.words))
    ids, n_items = set(firsts), len(table.rows)
    are_files = all(map(names_file, ids))
    if table.is_short:
        if are_files and len(ids) == n_items and not any(others) and not table.is_python:
            name = table.words[0][0][:80]
            raise ProtocolError(f"{table.name}: ids without labels, the first {name!r}. Add a label to each line.")
        return False
    if are_files or not ID_COLUMNS.isdisjoint(map(str.lower, table.header[:1])) or _end_in_lines(table):
        return True
    labels = known.union(*others)
    is_label = not labels.isdisjoint(ids) and not all(map(is_number, labels | ids))
    if is_label or len(ids) < n_items or _are_flags(labels | ids):
        return False
    if min(map(len, map(set, zip(*others, strict=False)))) == n_items:
        raise _undecided(table, table.words[0], "id-class", "classes")
    return True


def _end_in_lines(table: Table) -> bool:
    """Return whether every line contains a word that ends like the name of a file."""
    return table.by_blanks and all(map(_WITH_BLANKS[0].match, map(_FIRST, table.rows)))


def _are_certain(ids: Sequence[str], tails: Sequence[str]) -> bool:
    """Return whether the first words of lines can only be ids, and the others labels."""
    words = set(chain.from_iterable(map(str.split, tails)))
    are_files = all(map(names_file, ids)) and not any(map(names_file, words))
    return all(tails) and len(set(ids)) == len(ids) and (are_files or all(map(is_number, words)))


# Labels


@dataclass(frozen=True, eq=False)
class _Labels:
    """The labels of tables that are read together."""

    parts: list[_Rows]

    @cached_property
    def mark(self) -> str | None:
        """The first of `_MARKS` that divides a field, None if none does; commas and blanks divide sole fields only."""
        single = [part.fields for part in self.parts if part.are_single]
        for mark, parts in zip(_MARKS, ([part.fields for part in self.parts], single, single), strict=True):
            fields = set(chain.from_iterable(chain.from_iterable(parts)))
            if any(map(re.compile(mark).search, fields)):
                return mark
        return None

    @cached_property
    def words(self) -> list[Fields]:
        """The labels of each row of each table, if all that `mark` divides are labels of their own."""
        split = str.split if self.mark == _MARKS[2] else re.compile(rf"\s*{self.mark}\s*").split
        divided = [self.mark == _MARKS[0] or (part.are_single and self.mark is not None) for part in self.parts]
        return [
            [list(filter(None, chain.from_iterable(map(split, row)) if is_divided else row)) for row in part.fields]
            for part, is_divided in zip(self.parts, divided, strict=True)
        ]

    def read(self) -> tuple[str, list[NDArray], tuple[str, ...]]:
        """Return the form of labels in words, the labels of each table, and the names of their columns."""
        forms = {part.table.form.removeprefix("id-") for part in self.parts} - {""}
        if len(forms) > 1:
            raise ProtocolError(f"lists: {' and '.join(sorted(forms))} differ. Choose one form for all lists.")
        labels, form = (self, forms.pop()) if forms else self._form()
        return {"class": _class, "classes": _classes, "columns": _columns}[form](labels)

    def _form(self) -> tuple["_Labels", str]:
        """Return the fields that are labels, and their form: "class", "classes" or "columns"."""
        rows, words = list(chain.from_iterable(part.fields for part in self.parts)), list(chain(*self.words))
        n_fields, n_words = set(map(len, rows)), set(map(len, words))
        if self.mark == _MARKS[0]:
            return self, "classes"
        if max(n_words) <= 1:
            return self, "class"
        if any(map(_is_matrix, [words, *self.words])):
            return self, "columns"
        if max(n_fields) > 1:
            self._check_separators()
        are_certain = all(part.table.is_python for part in self.parts)
        if self.mark is not None and not are_certain:
            return self, _FORM_OF[self._are_several(words, max(n_fields) > 1)]
        if len(n_fields) > 1 or are_certain:
            return self, _FORM_OF[max(n_fields) > 1]
        return self._form_of_table(rows)

    def _check_separators(self) -> None:
        """Raise ProtocolError if the first field of a row without ids has blanks, so it may be an id and a label."""
        for part in self.parts:
            table = part.table
            row = next((row for row in part.fields if row and " " in row[0]), None)
            if row is not None and part.ids is None and not table.is_python:
                raise ProtocolError(
                    f"{table.name}: {row[0][:80]!r} may be an id and a label, or a label with blanks. Separate the id "
                    f"like the other fields, or write {table.name}:classes."
                )

    def _are_several(self, rows: Fields, are_fields: bool) -> bool:
        """Return whether the words of rows are labels of their own, rather than parts of a name.

        They are if each word of a row with several words also occurs in another row, alone or with other words, or if
        rows have more or fewer numbers. They are parts of a name if none does, and no row has several fields.

        Raises
        ------
        ProtocolError
            If some do and some do not.
        """
        n_rows = Counter(chain.from_iterable(set(map(frozenset, rows))))
        if len(set(map(len, rows))) > 1 and all(map(is_number, n_rows)):
            return True
        several = [row for row in rows if len(row) > 1]
        occurs_again = {n_rows[word] > 1 for word in chain.from_iterable(several)} | ({True} if are_fields else set())
        if len(occurs_again) > 1:
            raise _undecided(self.parts[0].table, min(several), f"{self._prefix}class", f"{self._prefix}classes")
        return occurs_again == {True}

    def _form_of_table(self, rows: Fields) -> tuple["_Labels", str]:
        """Return the labels in rows with as many fields, and their form; unlike ids, labels occur more than once."""
        table, columns = self.parts[0].table, list(map(set, zip(*rows, strict=True)))
        name, header = table.name, table.header
        if not header and set.intersection(*columns) and not all(map(is_number, set.union(*columns))):
            return self, "classes"
        if not header:
            raise _undecided(table, rows[0], f"{self._prefix}class", f"{self._prefix}classes")
        names = [column.strip().lower() for column in header[-len(columns) :]]
        labels = [number for number, column in enumerate(names) if column in LABEL_COLUMNS]
        if len(labels) != 1:
            listed = ", ".join(header)[:200]
            raise ProtocolError(f"{name}: its columns are {listed}. Name the column of the labels as {name}:COLUMN.")
        parts = [replace(part, fields=[[row[labels[0]]] for row in part.fields]) for part in self.parts]
        return _Labels(parts), "class"

    @property
    def _prefix(self) -> str:
        return "id-" if any(part.ids is not None for part in self.parts) else ""


def _are_flags(values: set[str]) -> bool:
    """Return whether fields are only 0 and 1, or only -1 and +1."""
    return all(map(is_number, values)) and any(set(map(float, values)) <= pair for pair in ({0.0, 1.0}, {-1.0, 1.0}))


def _is_matrix(rows: Fields) -> bool:
    """Return whether rows have several flags; of different lengths, or 10 for 1 and 0, they are refused later."""
    values = set(chain.from_iterable(rows))
    return max(map(len, rows)) > 1 and (set("".join(values)) <= {"0", "1"} or _are_flags(values))


def _n_classes(n: int) -> str:
    return "1 class" if n == 1 else f"{n:,} classes"


def _columns(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a matrix of the columns of each table."""
    names = [part.table.name for part in labels.parts]
    matrices = list(map(_matrix, labels.words, names))
    widths = " and ".join(map(str, sorted({matrix.shape[1] for matrix in matrices})))
    flags = "-1 or +1" if any((matrix < 0).any() for matrix in matrices) else "0 or 1"
    checked = [class_labels(matrix, len(matrix), name) for matrix, name in zip(matrices, names, strict=True)]
    return f"{flags} for each of {widths} classes", checked, ()


def _matrix(rows: Fields, name: str) -> NDArray:
    """Return the numbers in the fields of columns."""
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise ProtocolError(
                f"{name}: item {number} has {counted(len(row), 'label')}, 0 or 1, but the first item has "
                f"{len(rows[0]):,}."
            )
    if not all(map(is_number, chain.from_iterable(rows))):
        raise ProtocolError(f"{name}: the columns must be 0 and 1, or -1 and +1.")
    return as_integers(np.array(rows, dtype=np.float64), name)


def _class(labels: _Labels) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a class for each item: a number or a name, which may have been divided into words."""
    names = [[" ".join(" ".join(row).split()) for row in part.fields] for part in labels.parts]
    for part, of_part in zip(labels.parts, names, strict=True):
        if "" in of_part:
            raise ProtocolError(f"{part.table.name}: item {of_part.index('') + 1} has no label, but other items have.")
    distinct = set(chain.from_iterable(names))
    if len(distinct) == 1 and sum(map(len, names)) > 1 and all(part.ids is not None for part in labels.parts):
        return f"the placeholder {next(iter(distinct))!r} instead of a class", [], ()
    if all(map(is_number, distinct)):
        arrays = [_numbers(of_part, part.table.name) for part, of_part in zip(labels.parts, names, strict=True)]
    else:
        arrays = [np.array(of_part, dtype=np.str_) for of_part in names]
    return f"one of {_n_classes(len(distinct))}", arrays, ()


def _numbers(values: Sequence[str], name: str) -> NDArray:
    """Return class numbers, which may be written as 3.0."""
    try:
        return np.array(values, dtype=np.int64)
    except (ValueError, OverflowError):
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
