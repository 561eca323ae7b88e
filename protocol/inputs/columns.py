"""Which column of a text has the codes of items as strings, and which their ids."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import digits
from types import MappingProxyType
from typing import NamedTuple

from protocol.checks import ProtocolError
from protocol.inputs import text
from protocol.inputs.fields import names_file, read_table

BITS, HEX, MARK = re.compile("[01]{2,}"), re.compile("(?:0[xX])?[0-9a-fA-F]{2,}"), re.compile(r"[\s,;]+")
"""Codes as strings of bits or of hexadecimal digits, and what divides the fields of a line."""
NOT_DECIMAL = re.compile("^0[xX]|[a-fA-F]|^0.")
IN_COLUMNS = re.compile(f"^[01]{{5,}}$|{NOT_DECIMAL.pattern}")
"""A code next to other columns."""
_NAMES = frozenset(["binary", "bits", "code", "codes", "hash", "hash_code", "hashcode"])


class Columns(NamedTuple):
    """The columns of codes and ids of a text."""

    codes: Sequence[str] = ()
    """Empty if no column has strings of 0 and 1 or hexadecimal digits, and no columns next to ids have bits."""
    ids: Sequence[str] = ()
    """Empty if no column has ids."""
    description: str = ""
    """Which columns have the codes and ids, and which are not read."""
    others: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The columns next to those of codes and ids, by their names in quotes; empty if there are no codes."""


def read_columns(path: Path, column: str | None = None) -> Columns:
    """Return the only column of codes, and that of ids: the one that the header names, or the first of distinct words.

    Codes may also have a column for each bit, next to one of ids and those of labels. `column` is the name of the
    column of codes, if it is known.

    Raises
    ------
    ProtocolError
        If the file can't be read, or several columns may be the codes.
    """
    columns, names = _columns_and_names(path)
    shown = [repr(name) if name else "the first column" for name in names]
    shown = shown or [f"column {number}" for number, _ in enumerate(columns, 1)]
    candidates = [[names.index(column)]] if column in names else _candidates(columns, names)
    if len(candidates) > 1:
        (first, *_), (second, *_) = candidates[:2]
        is_table = names and path.suffix.lower() in (".csv", ".tsv")
        spelling = f"Write {path}:{names[first]} or {path}:{names[second]}" if is_table else "Keep one of them"
        raise ProtocolError(f"{path}: {shown[first]} and {shown[second]} may both be the codes. {spelling}.")
    of_codes = candidates[0] if candidates else []
    ids = _id_columns(columns, names, of_codes)[:1]
    others = {shown[at]: columns[at] for at in range(len(columns)) if at not in (*of_codes, *ids)}
    said = f"codes in {shown[of_codes[0]] if len(of_codes) == 1 else f'{len(of_codes)} columns'}"
    said += "".join(f"; ids in {shown[at]}" for at in ids) + f"; not read: {', '.join(others)[:60]}" * bool(others)
    fields = zip(*(columns[at] for at in of_codes), strict=True)
    codes = ["".join(of_item).replace("-1", "0").replace("+", "") for of_item in fields]
    return Columns(codes, [cell for at in ids for cell in columns[at]], said, others if codes else {})


def _columns_and_names(path: Path) -> tuple[list[list[str]], list[str]]:
    """Return the fields of each column, and the names in the header; none if rows differ in length.

    The first row is also a header if only the rows below it have codes.
    """
    table = read_table(path, str(path))
    rows, names = table.words, [name.strip() for name in table.header]
    if len({*map(len, [names, *rows] if names else rows)}) > 1:
        return [], []
    columns = [[field.strip() for field in column] for column in zip(*rows, strict=True)]
    below = [cells[1:] for cells in columns]
    if not names and not _candidates(columns, names) and _candidates(below, rows[0]):
        return below, rows[0]
    return columns, names


def _candidates(columns: Sequence[Sequence[str]], names: Sequence[str]) -> list[list[int]]:
    """Return which columns may be the codes: each column of strings, or those of single bits together."""
    strings, ids, single = _string_columns(columns, names), *_single_bits(columns, names)
    if single:  # a column of ids may be the codes only if no name says otherwise
        strings = strings if not names or names[ids[0]].lower() in _NAMES else []
    return [[at] for at in strings] + [single] * bool(single)


def _string_columns(columns: Sequence[Sequence[str]], names: Sequence[str]) -> list[int]:
    """Return the columns of 0 and 1, else those of hexadecimal digits; decimal numbers only if no other is left."""
    of_bits, of_hex = list[int](), list[int]()
    for at, (name, cells) in enumerate(zip(names or [""] * len(columns), columns, strict=True)):
        if text.is_id_name(name) or name.lower() in text.LABEL_COLUMNS:
            continue
        n_proofs = len(cells) if name.lower() in _NAMES else sum(1 for cell in cells if IN_COLUMNS.search(cell))
        if n_proofs and all(map(BITS.fullmatch, cells)):
            of_bits.append(at)
        elif n_proofs > (len(cells) > 1) and len({*map(len, cells)}) == 1 and all(map(HEX.fullmatch, cells)):
            of_hex.append(at)  # two proofs, because the first may be a header, b0
    return of_bits or [at for at in of_hex if not all(map(str.isdecimal, columns[at]))] or of_hex


def _single_bits(columns: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the column of ids and those of single bits, if all others are labels; else none.

    Ids are all different, words or whole numbers. The columns that the header calls labels are neither, unless no other
    is left.
    """
    labels = _label_columns(names)
    for bits in ({"0", "1"}, {"-1", "1", "+1"}):
        others = [at for at, cells in enumerate(columns) if at in labels or not {*cells} <= bits]
        ids, single = [at for at in others if at not in labels] or others, sorted({*range(len(columns))} - {*others})
        shown = [names[at] for at in (*ids, *single)] if names else []
        if len(ids) == 1 and text.are_ids(columns[ids[0]]) and _are_bits(shown, 1 + len(single)):
            return ids, single
    return [], []


def _label_columns(names: Sequence[str]) -> list[int]:
    return [at for at, name in enumerate(names) if name.lower() in text.LABEL_COLUMNS]


def _are_bits(names: Sequence[str], n_columns: int) -> bool:
    """Return whether all columns but one are named b0, b1, ... or 0, 1, ..., or have no names; 0,1 may be a row."""
    numbers = [name for name in names if name.isdecimal()]
    is_header = len({name.rstrip(digits) for name in names}) == 2 and numbers == [*map(str, range(len(numbers)))]
    return n_columns > 2 and is_header if names else n_columns > 3


def _id_columns(columns: Sequence[Sequence[str]], names: Sequence[str], of_codes: Sequence[int]) -> list[int]:
    """Return which columns may be ids: those that the header calls so, or words before the codes, or names of files.

    A column next to single bits is one of ids.
    """
    free = [at for at, cells in enumerate(columns) if at not in of_codes and len({*cells}) == len(cells)]
    free = [at for at in free if at not in _label_columns(names)] or free
    named = [at for at in free if names and (text.is_id_name(names[at]) or (at == 0 and not names[at]))]
    words = [at for at in free if not any(map(text.is_number, columns[at]))]
    words = [at for at in words if at < min(of_codes, default=1) or all(map(names_file, columns[at]))]
    return named or (free if len(of_codes) > 1 else words)
