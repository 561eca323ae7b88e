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
_SINGLE = ({"0", "1"}, {"-1", "1", "+1"})
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

    Codes may also have a column for each bit, next to one of ids. `column` is the name of the column of codes, if it is
    known.

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
    candidates = _code_columns(columns, names)
    if not names and not candidates and len(rows) > 1:
        below = [cells[1:] for cells in columns]
        if candidates := _code_columns(below, rows[0]):
            names, columns = rows[0], below
    candidates = [[names.index(column)]] if column in names else candidates
    numbered = [f"column {at}" for at in range(1, len(columns) + 1)]
    shown = [repr(name) if name else "the first column" for name in names] or numbered
    if len(candidates) > 1:
        (first, *_), (second, *_) = candidates[:2]
        problem = f"{shown[first]} and {shown[second]} may both be the codes"
        spelling = "Keep one of them"
        if names and path.suffix.lower() in (".csv", ".tsv"):
            spelling = f"Write {path}:{names[first]} or {path}:{names[second]}"
        raise ProtocolError(f"{path}: {problem}. {spelling}.")
    of_codes = [at for candidate in candidates for at in candidate]
    ids = _id_columns(columns, names, of_codes)[:1]
    others = {shown[at]: columns[at] for at in range(len(columns)) if at not in (*of_codes, *ids)}
    said = [f"codes in {shown[of_codes[0]] if len(of_codes) == 1 else f'{len(of_codes)} columns'}"] * bool(of_codes)
    said += [f"ids in {shown[at]}" for at in ids] + [f"not read: {', '.join(others)[:60]}"] * bool(others)
    codes = [
        "".join(cells).replace("-1", "0").replace("+", "")
        for cells in zip(*(columns[at] for at in of_codes), strict=True)
    ]
    return Columns(codes, [cell for at in ids for cell in columns[at]], "; ".join(said), others if codes else {})


def _code_columns(columns: Sequence[Sequence[str]], names: Sequence[str]) -> list[list[int]]:
    """Return which columns may be codes: of 0 and 1, else hexadecimal; with decimal numbers only if no other is.

    Single bits are one candidate together, if all other cells are ids: all different, words or whole numbers.
    """
    of_bits, of_hex = list[int](), list[int]()
    for at, (name, cells) in enumerate(zip(names or [""] * len(columns), columns, strict=True)):
        if text.is_id_name(name) or name.lower() in text.LABEL_COLUMNS:
            continue
        n_proofs = len(cells) if name.lower() in _NAMES else sum(1 for cell in cells if IN_COLUMNS.search(cell))
        if n_proofs and all(map(BITS.fullmatch, cells)):
            of_bits.append(at)
        elif n_proofs > (len(cells) > 1) and len({*map(len, cells)}) == 1 and all(map(HEX.fullmatch, cells)):
            of_hex.append(at)  # two proofs, because the first may be a header, b0
    found = of_bits or [at for at in of_hex if not all(map(str.isdecimal, columns[at]))] or of_hex
    for bits in _SINGLE:
        others = [at for at, cells in enumerate(columns) if not {*cells} <= bits]
        if len(others) == 1 and text.are_ids(columns[others[0]]) and _are_bits(names, len(columns)):
            may_be_code = not names or names[others[0]].lower() in _NAMES
            return [[at] for at in found if may_be_code] + [[at for at in range(len(columns)) if at not in others]]
    return [[at] for at in found]


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
    named = [at for at in free if names and (text.is_id_name(names[at]) or (at == 0 and not names[at]))]
    words = [at for at in free if not any(map(text.is_number, columns[at]))]
    words = [at for at in words if at < min(of_codes, default=1) or all(map(names_file, columns[at]))]
    return named or (free if len(of_codes) > 1 else words)
