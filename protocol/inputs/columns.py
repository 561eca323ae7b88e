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

    Without a column of codes, those of bits next to one of ids are the codes.

    `column` is the name of the column of codes, if it is known.

    Raises
    ------
    ProtocolError
        If the file can't be read, or several columns may be the codes.
    """
    listed = read_table(path, str(path))
    rows, header = listed.words, [name.strip() for name in listed.header]
    if len({*map(len, [header, *rows] if header else rows)}) > 1:
        return Columns()
    cells = [[field.strip() for field in column] for column in zip(*rows, strict=True)]
    tables = [_Cells(cells, header)]
    if not header and len(rows) > 1:
        tables.append(_Cells([column[1:] for column in cells], rows[0]))
    for table in tables:
        of_codes = [table.names.index(column)] if column in table.names else table.code_columns()
        of_bits, ids = table.bit_columns() if header or len(cells) > 3 else ([], [])  # 0,1 may be a header or a row
        if len(of_codes) > 1:
            raise _undecided(path, table, of_codes)
        if of_bits and of_codes == ids and not column and not {*map(str.lower, table.names)} & _NAMES:
            if not table.names:
                problem = f"{table.shown[ids[0]]} may be hexadecimal codes, or ids of codes in {len(of_bits)} columns"
                raise ProtocolError(f"{path}: {problem}. Write a header that calls it code or id.")
            of_codes = []
        if of_codes:
            return _columns(table, of_codes, table.cells[of_codes[0]], table.id_columns(of_codes)[:1])
        if of_bits:
            return _columns(table, of_bits, table.joined(of_bits), ids)
    return Columns(ids=[cell for at in tables[0].id_columns([])[:1] for cell in cells[at]])


def _columns(table: "_Cells", of_codes: Sequence[int], codes: Sequence[str], ids: Sequence[int]) -> Columns:
    shown = table.shown
    others = {shown[at]: cells for at, cells in enumerate(table.cells) if at not in (*of_codes, *ids)}
    where = shown[of_codes[0]] if len(of_codes) == 1 else f"{len(of_codes)} columns"
    said = [f"codes in {where}", *(f"ids in {shown[at]}" for at in ids)]
    said += [f"not read: {', '.join(others)[:60]}"] * bool(others)
    return Columns(codes, [cell for at in ids for cell in table.cells[at]], "; ".join(said), others)


def _undecided(path: Path, table: "_Cells", of_codes: Sequence[int]) -> ProtocolError:
    first, second = of_codes[:2]
    spelling = "Keep one of them"
    if table.names and path.suffix.lower() in (".csv", ".tsv"):
        spelling = f"Write {path}:{table.names[first]} or {path}:{table.names[second]}"
    return ProtocolError(f"{path}: {table.shown[first]} and {table.shown[second]} may both be the codes. {spelling}.")


class _Cells(NamedTuple):
    """The cells of each column, and the names of the columns if a header has them."""

    cells: Sequence[Sequence[str]]
    names: Sequence[str]

    @property
    def shown(self) -> list[str]:
        """The names of the columns in quotes, or their numbers."""
        numbered = [f"column {at}" for at in range(1, len(self.cells) + 1)]
        return [repr(name) if name else "the first column" for name in self.names] or numbered

    def code_columns(self) -> list[int]:
        """Return which columns may be codes: of 0 and 1, else hexadecimal; with decimal numbers only if no other is."""
        of_bits, of_hex = list[int](), list[int]()
        for at, (name, cells) in enumerate(zip(self.names or [""] * len(self.cells), self.cells, strict=True)):
            if text.is_id_name(name) or name.lower() in text.LABEL_COLUMNS:
                continue
            n_proofs = len(cells) if name.lower() in _NAMES else sum(1 for cell in cells if IN_COLUMNS.search(cell))
            if n_proofs and all(map(BITS.fullmatch, cells)):
                of_bits.append(at)
            elif n_proofs > (len(cells) > 1) and len({*map(len, cells)}) == 1 and all(map(HEX.fullmatch, cells)):
                of_hex.append(at)  # two proofs, because the first may be a header, b0
        return of_bits or [at for at in of_hex if not all(map(str.isdecimal, self.cells[at]))] or of_hex

    def id_columns(self, of_codes: Sequence[int]) -> list[int]:
        """Return which columns may be ids: those that the header calls so, or words before the codes, or files."""
        free = [at for at, cells in enumerate(self.cells) if at not in of_codes and len({*cells}) == len(cells)]
        named = [at for at in free if self.names and (text.is_id_name(self.names[at]) or not (at or self.names[at]))]
        words = [at for at in free if not any(map(text.is_number, self.cells[at]))]
        return named or [at for at in words if at < min(of_codes, default=1) or all(map(names_file, self.cells[at]))]

    def bit_columns(self) -> tuple[list[int], list[int]]:
        """Return the columns of single bits, and that of ids next to them; none unless the content proves both.

        All ids differ, and are words or whole numbers, not all of them bits. Only columns that the header calls labels
        or ids may be next to both. The names of the bits are alike: all end in numbers after the same word, or none.
        """
        names = self.names or [""] * len(self.cells)
        is_other = [text.is_id_name(name) or name.lower() in text.LABEL_COLUMNS for name in names]
        of_bits = [at for at, cells in enumerate(self.cells) if not is_other[at] and text.are_flags(cells)]
        ids = [at for at in range(len(names)) if at not in of_bits and text.are_ids(self.cells[at])]
        ids = [at for at in ids if text.is_id_name(names[at])] or [at for at in ids if not is_other[at]]
        of_names, values = [names[at] for at in of_bits], {bit for at in of_bits for bit in self.cells[at]}
        stems = {name.rstrip(digits) for name in of_names}
        are_alike = len(stems) == len(stems - {""}) == 1 or of_names == [*map(str, range(len(of_bits)))]
        if len(of_bits) > 1 == len(ids) and text.are_flags(values) and (are_alike or stems == {*of_names}):
            is_other[ids[0]] = names[ids[0]].rstrip(digits) not in stems - {""}
            return (of_bits, ids) if len(of_bits) + sum(is_other) == len(names) else ([], [])
        return [], []

    def joined(self, of_bits: Sequence[int]) -> list[str]:
        """Return the bits of each row as one string."""
        bits = {bit: "01"[float(bit) > 0] for at in of_bits for bit in {*self.cells[at]}}
        return ["".join(map(bits.__getitem__, row)) for row in zip(*(self.cells[at] for at in of_bits), strict=True)]
