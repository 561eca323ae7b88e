"""Read lists of items from text: the fields of each line, what separates them, and whether the first is a header."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.inputs import text
from protocol.inputs.arrays import FORMS

MARKS = ",;"
"""Characters that may separate fields, besides blanks and tabs."""
OF_LABELS = frozenset(["category", "class", "class_name", "classes", "label", "labels", "tag", "tags", "target"])
"""Usual names of columns of labels."""
OF_IDS = frozenset(["file", "filename", "id", "ids", "image", "image_id", "img", "index", "item", "name", "path"])
"""Usual names of columns of ids."""
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_HEADER = ("id", "partition")
_LABELS_AFTER_MARKS = re.compile(r".[,;][01](?:[,;][01])*$")
_WORD = re.compile(r"[^\W\d]+(?: [^\W\d]+)*")
_WHAT = "a list of items"
_UNUSED = "\x1f"


@dataclass(eq=False)
class Table:
    """The rows of a source, each with its fields.

    Parameters
    ----------
    name : str
    rows : list of list of str
    lines : list of str
        The line of each row, if only blanks separate its fields, which may belong to a field as well; otherwise empty.
    header : list of str
    is_python : bool
        Whether a row is an object in memory, whose fields are certain.
    form : str
        One of `FORMS`, if the user chose it.
    """

    name: str
    rows: list[list[str]]
    lines: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    is_python: bool = False
    form: str = ""

    def drop_header(self) -> None:
        """Move the first row to the header."""
        self.header, self.rows, self.lines = self.rows[0], self.rows[1:], self.lines[1:]


def read_table(path: Path, column: str | None) -> Table:
    """Return the rows of a list, or one column of it; the name of the column may also be one of `FORMS`."""
    rows, lines = _rows(path)
    table = Table(str(path), [fields for _, fields in rows if fields], lines)
    if not table.rows:
        raise ProtocolError(f"{path}: the list is empty. Write one item per line.")
    if column is None:
        return table
    if column in FORMS and column not in table.rows[0]:
        table.name, table.form = f"{path}:{column}", column
        return table
    table.drop_header()
    if column not in table.header:
        raise ProtocolError(f"{path}: no column {column!r}. Its columns are {', '.join(table.header)[:200]}.")
    place = table.header.index(column)
    if any(len(row) <= place for row in table.rows):
        raise ProtocolError(f"{path}: a line without a field for the column {column!r}.")
    return Table(f"{path}:{column}", [[row[place]] for row in table.rows], is_python=True)


def rows_of_text(path: Path) -> Iterator[tuple[range, list[str]]]:
    """Yield the line numbers and the fields of each row of a list; blank lines and the header have no fields.

    A row of a ``.csv`` file has several lines if a quoted field contains a line break.

    Raises
    ------
    ProtocolError
        As for `protocol.inputs.text.lines`; or if a quotation mark is not closed.
    """
    rows, lines = _rows(path)
    items = [fields for _, fields in rows if fields]
    header = items[0] if items and _is_header(Table(str(path), items, lines)) else None
    for numbers, fields in rows:
        yield numbers, [] if fields is header else fields


def _rows(path: Path) -> tuple[list[tuple[range, list[str]]], list[str]]:
    """Return the line numbers and fields of each row, and the filled lines if only blanks separate the fields."""
    lines = list(text.lines(path, _WHAT))
    filled = [line.strip() for line in lines if line.strip()]
    delimiter = _delimiter(path, filled)
    if delimiter is not None or any(line.startswith('"') for line in filled):
        return list(_quoted_rows(path, lines, delimiter or _between_quotes(filled))), []
    rows = [(range(number, number + 1), line.split()) for number, line in enumerate(lines, start=1)]
    for numbers, fields in rows:
        if len(fields) == 1 and _LABELS_AFTER_MARKS.search(fields[0]):
            raise ProtocolError(
                f"{path}: line {numbers[0]}: {fields[0]!r} has labels after commas or semicolons, unlike another line. "
                "Write all lines in the same form."
            )
    return rows, filled


def _between_quotes(lines: Sequence[str]) -> str:
    """Return what separates the fields of lines with quotation marks: blanks, unless the marks enclose whole lines."""
    quoted = [line for line in lines if '"' in line]
    return _UNUSED if all(line[-1] == '"' and line.count('"') == 2 for line in quoted) else " "


def _quoted_rows(path: Path, lines: Sequence[str], delimiter: str) -> Iterator[tuple[range, list[str]]]:
    """Yield the line numbers and fields of each row; fields may be quoted."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter in (" ", _UNUSED))
    last = 0
    try:
        for fields in reader:
            numbers = range(last + 1, reader.line_num + 1)
            last = reader.line_num
            fields = list(filter(None, fields)) if delimiter == " " else fields
            yield numbers, [text.unsafe(fields[0]), *map(str.strip, fields[1:])] if "".join(fields).strip() else []
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as lines with commas ({error}).") from error


def _delimiter(path: Path, lines: Sequence[str]) -> str | None:
    """Return what separates the fields of every line; None for blanks, or if nothing does."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".tsv" or (lines and all("\t" in line for line in lines)):
        return "\t"
    for mark in MARKS:
        if lines and mark in lines[0] and _divides(mark, lines):
            return mark
    return "," if kind == ".csv" else None


def _divides(mark: str, lines: Sequence[str]) -> bool:
    """Return whether a mark divides every line into as many fields, and is not a part of the ids."""
    try:
        rows = list(csv.reader(lines, delimiter=mark, strict=True))
    except csv.Error:
        return mark == ","
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return False
    last = [row[-1].strip() for row in rows]
    if all(len(value.split()) > 1 and value.split()[-1] in ("0", "1") for value in last):
        return False  # labels after blanks: the mark is a part of the id
    return not (all(map(has_extension, last)) and not any(has_extension(row[0].strip()) for row in rows))


def drop_headers(tables: Mapping[str, Table], sizes: Mapping[str, int]) -> None:
    """Move the headers of tables out of their rows, also a first row that all of several tables share."""
    for role, table in tables.items():
        if not table.header and _is_header(table, sizes.get(role)):
            table.drop_header()
            if not table.rows:
                raise ProtocolError(f"{table.name}: only a header, and no items. Write one item per line.")
    others = [table for table in tables.values() if not table.header and not table.is_python]
    if not sizes and len({table.name for table in others}) > 1 and _share_a_header(others):
        for table in others:
            table.drop_header()


def _share_a_header(tables: Sequence[Table]) -> bool:
    """Return whether the first row of all tables is the same word, while all other ids have digits."""
    first, *others = (table.rows[0] for table in tables)
    items = [row[0] for table in tables for row in table.rows[1:]]
    is_shared = all(other == first for other in others) and _is_word(first[0])
    return is_shared and bool(items) and all(any(map(str.isdigit, item)) for item in items)


def _is_header(table: Table, size: int | None = None) -> bool:
    """Return whether the first row has the names of the columns, because its fields fit no other row's form."""
    if table.is_python or not table.rows:
        return False
    first, rest = table.rows[0], table.rows[1:]
    name = first[0].strip().lower()
    if not table.lines and name in _HEADER:
        return True
    if not rest or not _is_word(name):
        return False
    if size is not None and len(rest) in (size, size - 1):
        return len(rest) == size
    if name in OF_LABELS | OF_IDS and len(first) == len(rest[0]):
        return all(row[0].strip().lower() != name for row in rest) or _has_another_form(first, rest)
    return _has_another_form(first, rest)


def _has_another_form(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether all other rows name files, or have numbers where the first row has words."""
    if any(map(_names_file, first)) or len(first) > max(map(len, rest)):
        return False
    if all(any(map(_names_file, row)) for row in rest):
        return len(rest) > 1
    columns = range(1, min(map(len, [first, *rest])))
    return any(not is_number(first[c]) and all(is_number(row[c]) for row in rest) for c in columns)


def _is_word(value: str) -> bool:
    return _WORD.fullmatch(value.strip().replace("_", " ")) is not None


def has_extension(word: str) -> bool:
    """Return whether a word ends like the name of a file."""
    return "." in word and _EXTENSION.search(word) is not None


def has_folder(word: str) -> bool:
    """Return whether a word contains a slash."""
    return "/" in word or "\\" in word


def _names_file(word: str) -> bool:
    return has_extension(word) or has_folder(word)


def is_number(value: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value
