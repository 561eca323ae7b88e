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
  or differ in number, if a list of them is empty, or if every word also occurs in another line. They are one class if
  no word does.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, abridged, counted, printable
from protocol.inputs import fields
from protocol.inputs.arrays import as_integers, is_file, items_from, named, path_of
from protocol.inputs.fields import Fields, Table, names_file, read_source
from protocol.inputs.forms import warn_alike
from protocol.inputs.text import ID_COLUMNS, INPUTS, LABEL_COLUMNS, are_flags, is_number, is_running, without_dot
from protocol.inputs.validation import class_labels

_WITH_BLANKS = (re.compile(rf"(.*{fields.EXTENSION})(?!\S)(.*)"), re.compile(r"(\S.*?)((?:\s+[01])+)"))
"""The forms of a line whose id may contain blanks."""
_ONE_ID, _FIRST_WORD = re.compile(r"(.*)()"), re.compile(r"(\S+)\s*(.*)")
_MARKS = (re.compile(r"\s*[;|]\s*"), re.compile(r"\s*,\s*"), re.compile(r"\s+"))
"""What divides several labels in one field; commas and blanks only if no row has several fields, and blanks not in one
between other marks."""
_EMPTY = {"none", "nan", "null", "n/a", "n.a.", "na", "<na>", "unlabeled", "unlabelled", "no_label", "background"}
"""What may be meant as the mark of an item without a label."""
_IN_WORDS = {"id": "an id", "class": "one class", "classes": "several classes", "columns": "0 or 1 for each class"}


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
    header : tuple of str
        The names of the columns of classes, if a file has words above them.
    column : str
        The only column of labels, as ``F.csv:COLUMN``, if a file has a header.
    id_column : str
        The name of the column of ids, if a file has a header above them.
    """

    name: str
    ids: NDArray | None
    labels: NDArray | None
    form: str
    classes: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    column: str = ""
    id_column: str = ""

    def __len__(self) -> int:
        array = self.labels if self.ids is None else self.ids
        if array is None:
            return 0
        return array.size if array.ndim == 0 or (len(array) == 1 and array.dtype != bool) else len(array)

    @property
    def items(self) -> NDArray:
        """The ids or row numbers of a list that was read as one of ids; raises ProtocolError if it has labels alone."""
        if self.ids is None:
            raise ProtocolError(f"{self.name}: {self.form}, but no ids.")
        return self.ids

    def __str__(self) -> str:
        return f"{self.name}: {counted(len(self), 'item')}, {self.form}"


def read_listings(
    sources: Mapping[str, Any], *, has_ids: bool, form: str = "", sizes: Mapping[str, int | None] | None = None
) -> dict[str, Listing]:
    """Read lists that belong together, such as those of the queries and of the database.

    Each file is reported to the logger ``protocol.inputs``, in one line; arrays of labels, which can be read in one
    way, are not.

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
        The numbers of items; None for those that are not known.

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
    contents, n_items = dict[str, Table | NDArray](), sizes or {}
    for role, values in sources.items():
        contents[role] = read_source(values, named(values, role), form=form, n_items=n_items.get(role))
    tables = {role: content for role, content in contents.items() if isinstance(content, Table)}
    listings = _of_tables(tables, has_ids, n_items)
    for role, content in contents.items():
        if not isinstance(content, Table):
            listings[role] = _of_numbers(content, named(sources[role], role), has_ids)
        if is_file(sources[role]) and (has_ids or isinstance(content, Table)):
            INPUTS.info("%s", printable(str(listings[role])))
    return {role: listings[role] for role in sources}


def ids_from(
    values: Any, role: str, n_items: int | None = None, *, noun: str = "item", of: str = "", form: str = "id"
) -> NDArray:
    """Return the ids of items in their order, each once: strings, or row numbers in another dataset.

    Parameters
    ----------
    values : array_like, str or Path
        Ids, or a list in any form of `read_listings`.
    role : str
        The name in error messages: "query ids".
    n_items : int, optional
        The number of items, if it is known.
    noun, of : str
        What the items are, and of what, in error messages.
    form : str
        One of `FORMS`, for files that can be read in two ways; "" if the lines may have labels as well.

    Raises
    ------
    ProtocolError
        If the ids can't be read, one is empty or occurs twice, or there are more or fewer ids than items.
    """
    listing = read_listings({role: values}, has_ids=True, form=form, sizes={role: n_items})[role]
    ids = listing.items
    if n_items not in (None, len(ids)):
        raise ProtocolError(f"{listing.name}: {counted(len(ids), 'id')} for {counted(n_items or 0, noun)}{of}.")
    check_distinct(ids, listing.name)
    return ids


def check_distinct(ids: NDArray, name: str) -> None:
    """Raise ProtocolError if an id is empty or occurs more than once."""
    distinct, counts = np.unique(ids, return_counts=True)
    if len(distinct) < len(ids):
        raise ProtocolError(f"{name}: the id {str(distinct[counts > 1][0])!r} occurs more than once.")
    if "" in distinct[:1].astype(str):
        raise ProtocolError(f"{name}: an id is empty. Give each item an id.")


def _of_numbers(array: NDArray, name: str, has_ids: bool) -> Listing:
    """Return an array as row numbers, or as labels."""
    if not has_ids:
        return Listing(name, None, array, f"labels of shape {array.shape}")
    items = array.ravel() if array.ndim == 2 and 1 in array.shape else array
    return Listing(name, items_from(items, name), None, "row numbers")


def _of_tables(tables: Mapping[str, Table], has_ids: bool, n_items: Mapping[str, int | None]) -> dict[str, Listing]:
    """Return the listings of tables, whose form is decided by all of them together."""
    short = [table.words for table in tables.values() if table.is_short]
    known = set(chain.from_iterable(chain.from_iterable(short)))
    parts = {role: _with_ids(replace(table, is_of_ids=has_ids), known) for role, table in tables.items()}
    free = {role: table for role, table in tables.items() if not (table.form or table.is_short or table.is_python)}
    by_kind = {parts[role].ids is None: table for role, table in free.items()}
    if len(by_kind) > 1:
        raise _undecided(by_kind[True], by_kind[True].words[0], "id-class", "classes")
    labelled = {role: part for role, part in parts.items() if part.has_labels}
    form, arrays, classes = _labels([*labelled.values()], [*map(n_items.get, labelled)]) if labelled else ("", [], ())
    by_role = dict(zip(labelled, arrays, strict=False))  # no arrays of placeholders
    return {role: _listing(part, form * part.has_labels, by_role.get(role), classes) for role, part in parts.items()}


def _listing(table: Table, form: str, labels: NDArray | None, classes: tuple[str, ...]) -> Listing:
    is_matrix = labels is not None and labels.ndim == 2
    if table.ids is None:
        _check_blank(table, is_matrix, classes)
    unused = [name for number, name in enumerate(table.header) if number in table.unused]
    id_ = "id" if ID_COLUMNS.isdisjoint(map(str.lower, unused)) else table.header[table.id_column]
    words = " and ".join(filter(None, ["" if table.ids is None else id_, form]))
    n_without = int((~labels.any(axis=1)).sum()) if is_matrix else 0  # type: ignore[union-attr]
    words += f", {counted(n_without, 'item')} without a label" * bool(n_without)
    not_used = f"; not used: {', '.join(unused)[:60]}" * bool(unused)
    words += f" (header {','.join(table.header)[:60]!r}{not_used})" * bool(table.header)
    n_fields = labels.shape[1] if is_matrix and not classes else len(table.rows[0])  # type: ignore[union-attr]
    are_named = table.ids is not None and len(table.header) == 1 + len(unused) + n_fields
    others = {*table.unused, *[table.id_column] * are_named}
    names = tuple(name.strip() for number, name in enumerate(table.header) if number not in others)
    path, id_column = path_of(table.name), table.header[table.id_column].strip() if are_named else ""
    column = f"{path}:{names[0]}" if len(names) == 1 and path.suffix.lower() in (".csv", ".tsv") else ""
    ids = None if table.ids is None else np.array([*map(without_dot, table.ids)], dtype=np.str_)
    of_columns = is_matrix and not classes and len({*names}) == n_fields and not all(map(str.isdecimal, names))
    return Listing(table.name, ids, labels, words, classes, names if of_columns else (), column, id_column)


def _check_blank(table: Table, is_matrix: bool, classes: Sequence[str]) -> None:
    """Raise ProtocolError if a line between labels is blank."""
    blank = sorted({*range(table.numbers[0], table.numbers[-1])}.difference(table.numbers)) if table.numbers else []
    if blank:
        lines = f"{counted(len(blank), 'blank line')} between labels (line {abridged(blank)})"
        line = "`;` alone" if classes else "a row without 1" if is_matrix else "a label"
        mark = ", and `;` between labels, for an item without one" * bool(classes)
        raise ProtocolError(f"{table.name}: {lines}. Write {line} there{mark}, or delete what is blank.")


def _undecided(table: Table, row: Sequence[str], first: str, second: str) -> ProtocolError:
    """Return the error for a row that may have two of the forms `FORMS`."""
    name = table.name
    forms = " or ".join(" and ".join(_IN_WORDS[part] for part in form.split("-")) for form in (first, second))
    return ProtocolError(f"{name}: {' '.join(row)[:80]!r} may be {forms}. Write {name}:{first} or {name}:{second}.")


# Ids


def _with_ids(table: Table, known: set[str]) -> Table:
    """Return a table whose ids are apart from the fields of its labels; `known` are the labels of tables without ids.

    Raises
    ------
    ProtocolError
        If the words of lines can be ids or labels.
    """
    if not ("id" in table.form.split("-") if table.form else table.is_of_ids or _begins_with_ids(table, known)):
        return replace(table, rows=[list(map(str.strip, row)) for row in table.rows])
    if table.by_blanks:
        return _divided_by_blanks(table)
    if [] in table.rows:
        raise ProtocolError(f"{table.at(table.rows.index([]))} is empty. Give each item an id.")
    at, unused = _id_column(table)
    kept = [[field for number, field in enumerate(row) if number not in (at, *unused)] for row in table.rows]
    return replace(table, ids=[row[at] for row in table.rows], rows=kept, id_column=at, unused=unused)


def _id_column(table: Table) -> tuple[int, list[int]]:
    """Return which field of each row is its id: that which the header calls one, or the first; and running numbers.

    If the first fields don't all name files and another field is a different name of a file in each row, that one is
    the id. A running number is the id, and a field of the row, only if there is no other id.

    Raises
    ------
    ProtocolError
        If two fields may be the id.
    """
    if table.form not in ("", "id"):
        return len(table.rows[0]) - 1 if table.form.endswith("-id") else 0, []
    columns, files = list(zip(*table.rows, strict=False)), _file_columns(table)
    names = [name.strip().lower() for name in table.header[: len(columns)]]
    named = [at for at, name in enumerate(names) if name in ID_COLUMNS]
    running = [at for at in named if is_running(columns[at])]
    distinct = [at for at in named if len({*columns[at]}) == len(columns[at]) or all(map(names_file, columns[at]))]
    others = sorted({*distinct} - {*running}) or files[: bool(running)]
    if len(others) > 1:
        first, second = (table.header[at] for at in others[:2])
        hint = f"Remove one, or write {table.name}:{first} or {table.name}:{second} for a list without labels."
        raise ProtocolError(f"{table.name}: the columns {first!r} and {second!r} may both be the ids. {hint}")
    return (others[0], running) if running and others else ([*named, *files, 0][0], [])


def _file_columns(table: Table) -> list[int]:
    """Return which fields name a file in each row, in the first column, or in another one different files."""
    columns = enumerate(zip(*table.rows, strict=False))
    return [at for at, column in columns if all(map(names_file, column)) and (at == 0 or len({*column}) == len(column))]


def _divided_by_blanks(table: Table) -> Table:
    lines, may_be_id = [line for (line,) in table.rows], table.form in ("", "id")
    if table.form.endswith("-id"):
        split = str.rsplit if table.form == "columns-id" else str.split
        words = [["", *split(line, maxsplit=1)][-2:] for line in lines]
        return replace(table, ids=[name for _, name in words], rows=[[label] for label, _ in words])
    for pattern in (*_WITH_BLANKS, _ONE_ID if table.form == "id" else _FIRST_WORD):
        pairs = [match.groups() for match in map(pattern.fullmatch, lines) if match]
        if len(pairs) == len(lines) and (may_be_id or any(tail for _, tail in pairs)):
            break
    ids, tails = zip(*pairs, strict=True)
    if pattern is _WITH_BLANKS[0] and not table.form and not any(tails) and (form := _form_before_id(ids)):
        raise _undecided(table, [ids[0]], "id", form)
    if pattern is _FIRST_WORD and not table.form and any(tails) and not _are_certain(ids, tails):
        raise _undecided(table, [min(lines, key=lambda line: line in ids)], "id", "id-class")
    return replace(table, ids=ids, rows=[[tail.strip()] for tail in tails])


def _form_before_id(lines: Sequence[str]) -> str:
    """Return the form of lines that are a number, which repeats, or several, and the name of a file; "" of others."""
    numbers = [match[1] for match in map(re.compile(r"((?:[+-]?\d+\s+)+)\S+").fullmatch, lines) if match]
    if not len(numbers) == len(lines) > len({*numbers}):
        return ""
    return "class-id" if max(len(number.split()) for number in numbers) == 1 else "columns-id"


def _begins_with_ids(table: Table, known: set[str]) -> bool:
    """Return whether each row of a table begins with an id; `known` are the labels of tables without ids."""
    ids, others = {row[0] for row in table.words if row}, [row[1:] for row in table.words]
    n_items = len(table.rows)
    are_files = all(map(names_file, ids))
    if table.is_short:
        if are_files and len(ids) == n_items and not table.is_python:
            if not any(others):
                name = table.words[0][0][:80]
                raise ProtocolError(f"{table.name}: ids without labels, the first {name!r}. Add a label to each line.")
            at = table.at([*map(len, table.words)].index(1))
            raise ProtocolError(f"{at} has an id and no label. Add one, or write {table.name}:id-classes for none.")
        return False
    end_in_lines = table.by_blanks and all(_WITH_BLANKS[0].match(line) for (line,) in table.rows)
    names_ids = not ID_COLUMNS.isdisjoint(map(str.lower, table.header[:1]))
    if are_files or end_in_lines or names_ids or (not table.is_python and any(_file_columns(table))):
        return True
    labels = known.union(*others)
    are_ids = labels.isdisjoint(ids) or all(map(is_number, labels | ids))
    if not are_ids or len(ids) < n_items or are_flags(labels | ids):
        return False
    if min(map(len, map(set, zip(*others, strict=False)))) == n_items:
        raise _undecided(table, table.words[0], "id-class", "classes")
    return True


def _are_certain(ids: Sequence[str], tails: Sequence[str]) -> bool:
    """Return whether the first words of lines can only be ids, and the others labels."""
    words = set(chain.from_iterable(map(str.split, tails)))
    are_files = all(map(names_file, ids)) and not any(map(names_file, words))
    return all(tails) and len(set(ids)) == len(ids) and (are_files or all(map(is_number, words)))


# Labels


def _labels(tables: Sequence[Table], sizes: Sequence[int | None]) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return the form of labels in words, the labels of each table, and the names of their columns."""
    forms = {table.form.removeprefix("id-").removesuffix("-id") for table in tables} - {""}
    if len(forms) > 1:
        raise ProtocolError(f"lists: {' and '.join(sorted(forms))} differ. Choose one form{_or_ids(tables)}.")
    named, (mark, words) = _named_columns(tables), _divided(tables)
    form = "classes" if named else forms.pop() if forms else _form(tables, mark, words)
    words = named or words
    _check_first_lines(tables, words, sizes, form)
    every = set() if form == "columns" else set(chain.from_iterable(chain.from_iterable(words)))
    names = " and ".join(table.name for table in tables)
    warn_alike(every, names)
    for marker in sorted(word for word in every if word.lower() in _EMPTY):
        INPUTS.info("%s: %r is read as a class like any other", names, marker)
    if form == "class":
        return _class(tables)
    return _columns(tables, words) if form == "columns" else _classes(words)


def _or_ids(tables: Sequence[Table]) -> str:
    """Return the end of a sentence on lists of different forms: how to read their ids alone, if they have ids."""
    names = [f"{path_of(table.name)}:id" for table in tables if table.is_of_ids and not table.is_python]
    return f", or read the ids alone, {' and '.join(names)}, with the labels of the dataset (labels)" * bool(names)


def _named_columns(tables: Sequence[Table]) -> list[Fields]:
    """Return the classes of each row if some tables have a column for each class, with its name, and others such names.

    Returns [] if no table, or every table, has columns of flags. Labels of one item are flags if all are, and there are
    more than the two that a list of different classes may have, or if those of all items of the table are.

    Raises
    ------
    ProtocolError
        If some tables have columns of flags, and others have classes that are not names of these columns.
    """
    words, columns, others = list[Fields](), list[int](), dict[str, str]()
    for at, table in enumerate(tables):
        mark, (rows,) = _divided([table])
        words.append(rows)
        may_be = mark is not _MARKS[0] and "class" not in table.form
        if may_be and (_is_matrix(rows) or any(len(row) > 2 and are_flags(row) for row in rows)):
            columns.append(at)
        else:
            others |= {word: table.name for word in chain(*rows) if word not in ("0", "1")}
    for at in columns if others else ():
        table, (flags, (matrix,), _) = tables[at], _columns([tables[at]], [words[at]])
        names = [name.strip() for n, name in enumerate(table.header) if n not in (table.id_column, *table.unused)]
        other = next((name for name in others if name not in names), next(iter(others)))
        if other not in names or len(names) != matrix.shape[1]:
            both = f"{table.name} has {flags}, but {others[other]} has classes such as {other[:80]!r}"
            raise ProtocolError(f"lists: {both}. Write all in one form{_or_ids(tables)}.")
        words[at] = [list(compress(names, row)) for row in matrix]
    return words if columns and others else []


def _check_first_lines(
    tables: Sequence[Table], words: Sequence[Fields], sizes: Sequence[int | None], form: str
) -> None:
    """Raise ProtocolError if a first line may be a header: words of no other line, though other labels occur again.

    In a file with as many lines as items, such a line is the only item of its class, or a label is missing.
    """
    pairs, may_be = list(zip(tables, words, strict=True)), [False] * len(tables)
    for at, (table, rows) in enumerate(pairs):
        is_known = table.header or table.is_python or table.form or len(rows) != sizes[at]
        may_be[at] = not is_known and all(map(fields.WORD.fullmatch, [" ".join(rows[0]), *(table.ids or ())[:1]]))
    labels = {table.name: rows[first:] for (table, rows), first in zip(pairs, may_be, strict=True)}  # a file once
    others = list(map(frozenset, chain.from_iterable(labels.values())))
    are_classes, occur = len(set(others)) < len(others), set(chain.from_iterable(others))
    for table, rows in compress(pairs, may_be):
        if are_classes and occur.isdisjoint(rows[0]):
            first, start = " ".join(rows[0]), "" if table.ids is None else "id-"
            written = "classes" if not start and form in first.split() else f"{start}{form}"  # no column `class`
            below = f"{counted(len(rows) - 1, 'label')} below what may be a header ({first[:80]})"
            problem = f"{below}, or {counted(len(rows), 'label')} with a class of one item"
            hint = f"Add the missing label, or write {table.name}:{written} if no line is a header."
            raise ProtocolError(f"{table.name}: {problem}. {hint}")


def _divided(tables: Sequence[Table]) -> tuple[re.Pattern[str] | None, list[Fields]]:
    """Return which of `_MARKS` divides a field, None if none does, and the labels of each row if all it divides are."""
    for mark in _MARKS:
        by_mark = [table for table in tables if _may_divide(mark, table)]
        if any(map(mark.search, {field for table in by_mark for row in table.rows for field in row})):
            return mark, [_words(table, mark if table in by_mark else None) for table in tables]
    return None, [_words(table, None) for table in tables]


def _may_divide(mark: re.Pattern[str], table: Table) -> bool:
    is_name = table.ids is not None and not (table.by_blanks or table.is_python or table.form)  # next to commas or tabs
    return mark is _MARKS[0] or (max(map(len, table.rows)) <= 1 and not (mark is _MARKS[2] and is_name))


def _words(table: Table, mark: re.Pattern[str] | None) -> Fields:
    """Return the fields of each row, or their parts between marks, without empty ones."""
    parts = (lambda field: [field]) if mark is None else mark.split
    return [[word for field in row for word in parts(field) if word] for row in table.rows]


def _form(tables: Sequence[Table], mark: re.Pattern[str] | None, words: Sequence[Fields]) -> str:
    """Return "class", "classes" or "columns"; of several columns under a header, only that of the labels remains."""
    every = list(chain.from_iterable(words))
    if mark is _MARKS[0] or any(table.ids is None and [] in table.rows for table in tables):
        return "classes"
    if max(map(len, every)) <= 1:
        return "class"
    if any(map(_is_matrix, [every, *words])):
        return "columns"
    return "classes" if _have_several(tables, mark, every) else "class"


def _have_several(tables: Sequence[Table], mark: re.Pattern[str] | None, every: Fields) -> bool:
    """Return whether items have several classes, given the words of all rows; raise an error if it is undecided."""
    rows = list(chain.from_iterable(table.rows for table in tables))
    n_fields = set(map(len, rows))
    has_fields = max(n_fields) > 1
    if has_fields:
        _check_separators(tables)
    if all(table.is_python for table in tables):
        return has_fields
    if mark is not None:
        are_several = _are_several(every, has_fields)
    else:
        are_several = _are_columns(tables, rows) if len(n_fields) == 1 else has_fields
    if are_several is None:
        start, row, name = "" if tables[0].ids is None else "id-", max(every, key=len), tables[0].name
        if has_fields:  # which together are the class of no other item
            hint = f"Write {name}:{start}classes, or keep only the field of the class"
            fields = f"{' '.join(row)[:80]!r} may be several classes, or one and other fields"
            raise ProtocolError(f"{name}: {fields}. {hint}.")
        raise _undecided(tables[0], row, f"{start}class", f"{start}classes")
    return are_several


def _check_separators(tables: Sequence[Table]) -> None:
    """Raise ProtocolError if the first field of a row without ids has blanks, so it may be an id and a label."""
    for table in tables:
        if table.ids is None and not table.is_python:
            for first in (row[0] for row in table.rows if row and " " in row[0]):
                hint = f"Separate the id like the other fields, or write {table.name}:classes."
                problem = f"{first[:80]!r} may be an id and a label, or a label with blanks"
                raise ProtocolError(f"{table.name}: {problem}. {hint}")


def _are_several(rows: Fields, are_fields: bool) -> bool | None:
    """Return whether the words of rows are labels of their own, rather than parts of a name; None if it is undecided.

    They are if each word of a row with several words also occurs in another row, alone or with other words, or if
    rows have more or fewer numbers. They are parts of a name if none does, and no row has several fields.
    """
    n_rows = Counter(chain.from_iterable(set(map(frozenset, rows))))
    if len(set(map(len, rows))) > 1 and all(map(is_number, n_rows)):
        return True
    occur_again = {n_rows[word] > 1 for row in rows if len(row) > 1 for word in row} | ({True} if are_fields else set())
    return None if len(occur_again) > 1 else True in occur_again


def _are_columns(tables: Sequence[Table], rows: Fields) -> bool | None:
    """Return whether rows of as many fields have several labels; with a header, keep only its column of labels.

    Unlike ids, labels occur more than once. None if it is undecided.
    """
    columns, header = list(map(set, zip(*rows, strict=True))), tables[0].header
    if not header:
        return bool(set.intersection(*columns) and not all(map(is_number, set.union(*columns)))) or None
    ids = () if tables[0].ids is None else (tables[0].id_column, *tables[0].unused)
    named = ["", *header] if ids and len(header) == len(columns) else header  # without a name above the ids
    left = [number for number in range(len(named)) if number not in ids][-len(columns) :]
    names = [named[number].strip().lower() for number in left]
    labels = [number for number, column in enumerate(names) if column in LABEL_COLUMNS]
    if len(labels) != 1:
        name, listed, hint = tables[0].name, ", ".join(header)[:200], "Name the column of the labels as {}:COLUMN."
        if tables[0].is_of_ids:  # a named column of a list of ids is that of the ids
            column = named[tables[0].id_column] or "COLUMN"
            hint = f"Write {{}}:{column} for the ids alone, or keep one more column, the labels."
        raise ProtocolError(f"{name}: its columns are {listed}. {hint.format(name)}")
    for table in tables:
        table.rows = [[row[labels[0]]] for row in table.rows]
        table.unused = [*table.unused, *left[: labels[0]], *left[labels[0] + 1 :]]
    return False


def _is_matrix(rows: Fields) -> bool:
    """Return whether rows have several flags; of different lengths, or 10 for 1 and 0, they are refused later."""
    values = set(chain.from_iterable(rows))
    return max(map(len, rows)) > 1 and (set("".join(values)) <= {"0", "1"} or are_flags(values))


def _columns(tables: Sequence[Table], words: Sequence[Fields]) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a matrix of the columns of each table."""
    for table, rows in zip(tables, words, strict=True):
        for at, row in enumerate(rows):
            if len(row) != len(rows[0]) or not are_flags(row):
                needed = f"each of {len(rows[0]):,} classes needs 0 or 1, or -1 or +1"
                raise ProtocolError(f"{table.at(at)} has {' '.join(row)[:80]!r}, but {needed}.")
    matrices = [np.array(rows, dtype=np.float64).astype(np.int64) for rows in words]
    widths = " and ".join(map(str, sorted({matrix.shape[1] for matrix in matrices})))
    flags = "-1 or +1" if any((matrix < 0).any() for matrix in matrices) else "0 or 1"
    checked = [class_labels(matrix, len(matrix), table.name) for matrix, table in zip(matrices, tables, strict=True)]
    return f"{flags} for each of {widths} classes", checked, ()


def _class(tables: Sequence[Table]) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a class for each item: a number, which may be written as 3.0, or a name of one or more words."""
    names = [[" ".join(" ".join(row).split()) for row in table.rows] for table in tables]
    for table, of_table in zip(tables, names, strict=True):
        if "" in of_table:
            raise ProtocolError(f"{table.at(of_table.index(''))} has no label, but other items have.")
    distinct = set(chain.from_iterable(names))
    n_items = sum(map(len, names))
    if len(distinct) == 1 < n_items and all(table.ids is not None for table in tables):
        return f"the placeholder {next(iter(distinct))!r} instead of a class", [], ()
    arrays: list[NDArray] = [np.array(of_table, dtype=np.str_) for of_table in names]
    if all(map(is_number, distinct)):
        try:
            arrays = [array.astype(np.int64) for array in arrays]
        except (ValueError, OverflowError):
            pairs = zip(arrays, tables, strict=True)
            arrays = [as_integers(array.astype(np.float64), table.name) for array, table in pairs]
    nearly = "nearly " * (len(distinct) < n_items)
    own = f", {nearly}every item has a class of its own" * (10 * len(distinct) > 9 * n_items) * bool(tables[0].form)
    return f"one of {counted(len(distinct), 'class')}{own}", arrays, ()


def _classes(words: Sequence[Fields]) -> tuple[str, list[NDArray], tuple[str, ...]]:
    """Return a column for each label that occurs in any table."""
    distinct = set(chain.from_iterable(chain.from_iterable(words)))
    are_numbers = all(value.isascii() and value.isdecimal() for value in distinct)
    columns = {name: column for column, name in enumerate(sorted(distinct, key=int if are_numbers else str))}
    matrices = [np.zeros((len(rows), len(columns)), dtype=np.bool_) for rows in words]
    for matrix, rows in zip(matrices, words, strict=True):
        items = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        matrix[items, list(map(columns.__getitem__, chain.from_iterable(rows)))] = True
    return f"several of {counted(len(columns), 'class')}", matrices, tuple(columns)
