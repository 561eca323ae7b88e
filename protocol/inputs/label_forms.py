"""The labels in lists: one class for each item, several classes, or a column for each class, as the content shows."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs import text
from protocol.inputs.arrays import as_integers
from protocol.inputs.fields import OF_LABELS, Table, is_number
from protocol.inputs.validation import array_of, class_labels


def are_columns(fields: Iterable[str]) -> bool:
    """Return whether fields are only 0 and 1, or only -1 and +1."""
    values = set(fields)
    return all(map(is_number, values)) and any(set(map(float, values)) <= pair for pair in ({0.0, 1.0}, {-1.0, 1.0}))


def _is_matrix(rows: Sequence[Sequence[str]]) -> bool:
    return len(rows[0]) > 1 and are_columns(chain.from_iterable(rows))


def two_readings(name: str, row: Sequence[str], one: str, one_form: str, other: str, other_form: str) -> ProtocolError:
    """Return the error for a line that can be read in two ways, with both spellings."""
    shown = " ".join(row)
    return ProtocolError(
        f"{name}: {shown[:80]!r} may be {one} or {other}. Write {name}:{one_form} or {name}:{other_form}."
    )


_Tails = Mapping[str, list[list[str]]]


def labels_of(
    tables: Mapping[str, Table], tails: _Tails, with_id: bool
) -> tuple[str, dict[str, NDArray], tuple[str, ...]]:
    """Return the form of the labels in words, the labels of each table, and the names of their columns."""
    tails = {role: part for role, part in tails.items() if any(map(any, part)) and tables[role].form != "id"}
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
        joined = {role: [[" ".join(row)] for row in part] for role, part in tails.items()}
        return *_classes(tables, joined, with_id), ()
    separator = _separator(tails)
    return _several({role: [_parts(row, separator) for row in part] for role, part in tails.items()})


def _parts(row: Iterable[str], pattern: str) -> list[str]:
    return [part for value in row for part in map(str.strip, re.split(pattern, value)) if part]


def _separator(tails: _Tails) -> str:
    """Return the pattern that divides the labels of an item in one field, or one that divides nothing."""
    values = set(chain.from_iterable(chain.from_iterable(tails.values())))
    return next((mark for mark in (r"[;|]", ",", r"\s+") if any(re.search(mark, value) for value in values)), "$^")


def _kind(tables: Mapping[str, Table], tails: _Tails, widths: set[int], prefix: str) -> tuple[str, _Tails]:
    """Return whether labels are a class, classes or columns, and the fields that are labels."""
    rows = list(chain.from_iterable(tails.values()))
    values = set(chain.from_iterable(rows))
    all_numbers = all(map(is_number, values))
    if max(widths) > 1 and (any(map(_is_matrix, tails.values())) or not set().union(*values) - {"0", "1"}):
        return "columns", tails
    if widths <= {0, 1}:
        return _kind_of_field(tables, values, prefix), tails
    if any(re.search(r"[;|]", value) for value in values):
        return "classes", tails
    by_blanks = any(table.lines for table in tables.values())
    if len(widths) > 1 and (all_numbers or not by_blanks):
        return "classes", tails
    if by_blanks and not all_numbers:
        lines = {tuple(row) for row in rows}
        return ("classes" if _are_several(tables, lines, prefix) else "class"), tails
    return _kind_of_table(tables, tails, all_numbers, prefix)


def _kind_of_field(tables: Mapping[str, Table], values: set[str], prefix: str) -> str:
    """Return whether the single field of each item has a class or several."""
    if any(re.search(r"[;|]", value) for value in values):
        return "classes"
    certain = all(table.is_python for table in tables.values())
    for pattern in () if certain else (",", r"\s+"):
        lines = {tuple(re.split(rf"{pattern}\s*", value)) for value in values}
        if any(len(line) > 1 for line in lines):
            return "classes" if _are_several(tables, lines, prefix) else "class"
    return "class"


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
    free = [len(occurrences[word]) > 1 for line in several for word in line]
    if all(free) or not any(free):
        return all(free)
    raise two_readings(
        next(iter(tables.values())).name,
        min(several),
        "one class",
        f"{prefix}class",
        "several classes",
        f"{prefix}classes",
    )


def _kind_of_table(tables: Mapping[str, Table], tails: _Tails, all_numbers: bool, prefix: str) -> tuple[str, _Tails]:
    """Return the kind of labels in a table whose rows have as many fields; unlike ids, labels occur more than once."""
    table = next(iter(tables.values()))
    rows = list(chain.from_iterable(tails.values()))
    columns = list(zip(*rows, strict=True))
    if all(other.is_python for other in tables.values()):
        return "classes", tails
    if table.header:
        names = [name.strip().lower() for name in table.header[-len(columns) :]]
        chosen = [n for n, name in enumerate(names) if name in OF_LABELS]
        if len(chosen) == 1:
            return "class", {role: [[row[chosen[0]]] for row in part] for role, part in tails.items()}
        raise ProtocolError(
            f"{table.name}: its columns are {', '.join(table.header)[:200]}. Name the column of the labels as "
            f"{table.name}:COLUMN."
        )
    labels = [n for n, column in enumerate(columns) if len(set(column)) < len(column) or is_number(column[0])]
    if len(labels) == 1:
        return "class", {role: [[row[labels[0]]] for row in part] for role, part in tails.items()}
    shared = set.intersection(*map(set, columns))
    if shared and not all_numbers:
        return "classes", tails
    raise ProtocolError(
        f"{table.name}: {' '.join(rows[0])[:80]!r} may be one class, several classes or different columns. Write "
        f"{table.name}:{prefix}class or :{prefix}classes, or add a header and name the column as F.csv:COLUMN."
    )


def _columns(tables: Mapping[str, Table], tails: _Tails) -> tuple[str, dict[str, NDArray]]:
    arrays, signs = {}, False
    for role, part in tails.items():
        width = len(part[0])
        for number, row in enumerate(part, start=1):
            if len(row) != width:
                raise ProtocolError(
                    f"{tables[role].name}: item {number} has {counted(len(row), 'label')}, 0 or 1, but the first item "
                    f"has {width:,}."
                )
        digits = "".join(chain.from_iterable(part))
        if len(digits) == len(part) * width and digits.isascii() and not digits.strip("01"):
            arrays[role] = np.frombuffer(digits.encode(), dtype=np.uint8).reshape(len(part), width) == ord("1")
            continue
        try:
            matrix = np.array(list(chain.from_iterable(part)), dtype=np.float64).reshape(len(part), width)
        except ValueError as error:
            raise ProtocolError(f"{tables[role].name}: the columns must be 0 and 1, or -1 and +1 ({error}).") from error
        signs = signs or bool((matrix < 0).any())
        arrays[role] = class_labels(matrix.astype(np.int64), len(part), tables[role].name)
    widths = sorted({array.shape[1] for array in arrays.values()})
    return f"{'-1 or +1' if signs else '0 or 1'} for each of {' and '.join(map(str, widths))} classes", arrays


def _classes(tables: Mapping[str, Table], tails: _Tails, with_id: bool) -> tuple[str, dict[str, NDArray]]:
    for role, part in tails.items():
        missing = next((number for number, row in enumerate(part, start=1) if not any(row)), None)
        if missing is not None:
            raise ProtocolError(f"{tables[role].name}: item {missing} has no label, but other items have.")
    values = {role: [row[0] for row in part] for role, part in tails.items()}
    distinct = set(chain.from_iterable(values.values()))
    n_items = sum(map(len, values.values()))
    if with_id and len(distinct) == 1 and n_items > 1:
        return f"the placeholder {next(iter(distinct))!r} instead of a class", {}
    convert = _numbers if all(map(is_number, distinct)) else text.string_array
    arrays = {role: convert(part, tables[role].name) for role, part in values.items()}
    return f"one of {n_classes(len(distinct))}", arrays


def n_classes(n: int) -> str:
    """Return a number of classes in words."""
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
    return f"several of {n_classes(len(numbers))}", arrays, tuple(numbers)
