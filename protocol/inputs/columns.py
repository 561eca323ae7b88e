"""Which column of a text has the codes of items as strings, and which their ids."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
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
    """Empty if no column has strings of 0 and 1 or hexadecimal digits."""
    ids: Sequence[str] = ()
    """Empty if no column has ids."""
    description: str = ""
    """Which columns have the codes and ids, and which are not read."""
    others: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The columns next to those of codes and ids, by their names in quotes; empty if there are no codes."""


def read_columns(path: Path, column: str | None = None) -> Columns:
    """Return the only column of codes, and that of ids: the one that the header names, or the first of distinct words.

    `column` is the name of the column of codes, if it is known.

    Raises
    ------
    ProtocolError
        If the file can't be read, or several columns may be the codes.
    """
    table = read_table(path, str(path))
    rows, names = table.words, [name.strip() for name in table.header]
    if len({*map(len, [names, *rows] if names else rows)}) > 1:
        return Columns()
    columns = [[field.strip() for field in column] for column in zip(*rows, strict=True)]
    of_codes = _code_columns(columns, names)
    if not names and not of_codes and len(rows) > 1:
        below = [cells[1:] for cells in columns]
        if of_codes := _code_columns(below, rows[0]):
            names, columns = rows[0], below
    of_codes = [names.index(column)] if column in names else of_codes
    numbered = [f"column {at}" for at in range(1, len(columns) + 1)]
    shown = [repr(name) if name else "the first column" for name in names] or numbered
    if len(of_codes) > 1:
        first, second = of_codes[:2]
        problem = f"{shown[first]} and {shown[second]} may both be the codes"
        spelling = "Keep one of them"
        if names and path.suffix.lower() in (".csv", ".tsv"):
            spelling = f"Write {path}:{names[first]} or {path}:{names[second]}"
        raise ProtocolError(f"{path}: {problem}. {spelling}.")
    ids = _id_columns(columns, names, of_codes)[:1]
    others = {shown[at]: columns[at] for at in range(len(columns)) if at not in (*of_codes, *ids)}
    said = [f"{what} in {shown[at]}" for what, ats in (("codes", of_codes), ("ids", ids)) for at in ats]
    said += [f"not read: {', '.join(others)[:60]}"] * bool(others)
    codes, ids_of_items = ([cell for at in ats for cell in columns[at]] for ats in (of_codes, ids))
    return Columns(codes, ids_of_items, "; ".join(said), others if codes else {})


def _code_columns(columns: Sequence[Sequence[str]], names: Sequence[str]) -> list[int]:
    """Return which columns may be codes: of 0 and 1, else hexadecimal; with decimal numbers only if no other is."""
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


def _id_columns(columns: Sequence[Sequence[str]], names: Sequence[str], of_codes: Sequence[int]) -> list[int]:
    """Return which columns may be ids: those that the header calls so, or words before the codes, or names of files."""
    free = [at for at, cells in enumerate(columns) if at not in of_codes and len({*cells}) == len(cells)]
    named = [at for at in free if names and (text.is_id_name(names[at]) or (at == 0 and not names[at]))]
    words = [at for at in free if not any(map(text.is_number, columns[at]))]
    return named or [at for at in words if at < min(of_codes, default=1) or all(map(names_file, columns[at]))]
