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
EXTENSION = r"\.[A-Za-z][A-Za-z0-9]{1,4}"
"""Pattern of the end of a file's name."""
_FILE = re.compile(rf"[/\\]|{EXTENSION}$")
_HEADER = ("id", "partition")
_LABELS_AFTER_MARKS = re.compile(r".[,;][01](?:[,;][01])*$")
_FLAG_AFTER_BLANK = re.compile(r"\S\s+[01]\s*$")
_WORD = re.compile(r"[^\W\d]+(?: [^\W\d]+)*")


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
        """Move the first row to the header; raise ProtocolError if no other row is left."""
        self.header, self.rows, self.lines = self.rows[0], self.rows[1:], self.lines[1:]
        if not self.rows:
            raise ProtocolError(f"{self.name}: only a header, and no items. Write one item per line.")


def read_table(path: Path, column: str | None, form: str) -> Table:
    """Return the rows of a list, or one column of it; the name of the column may also be one of `FORMS`."""
    rows, _, lines = _rows(path)
    table = Table(str(path), list(filter(None, rows)), lines, form=form)
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
    if min(map(len, table.rows)) <= place:
        raise ProtocolError(f"{path}: a line without a field for the column {column!r}.")
    return Table(f"{path}:{column}", [[row[place]] for row in table.rows], is_python=True, form=form)


def rows_of_text(path: Path) -> Iterator[tuple[range, list[str]]]:
    """Yield the line numbers and the fields of each row of a list; blank lines and the header have no fields.

    A row of a ``.csv`` file has several lines if a quoted field contains a line break.

    Raises
    ------
    ProtocolError
        As for `protocol.inputs.text.lines`; or if a quotation mark is not closed.
    """
    rows, ends, lines = _rows(path)
    items, last = list(filter(None, rows)), 0
    header = items[0] if items and _is_header(Table(str(path), items, lines)) else None
    for end, fields in zip(ends, rows, strict=True):
        yield range(last + 1, end + 1), [] if fields is header else fields
        last = end


def _rows(path: Path) -> tuple[list[list[str]], Sequence[int], list[str]]:
    """Return the fields of each row, the number of its last line, and the filled lines if blanks separate the fields.

    A blank row has no fields.
    """
    lines = text.lines(path, "a list of items")
    filled = list(filter(None, map(str.strip, lines)))
    mark = _delimiter(path, filled)
    if mark:
        return *_quoted_rows(path, lines, mark), []
    rows = list(map(str.split, lines))
    for number, fields in enumerate(rows, start=1):
        if len(fields) == 1 and _LABELS_AFTER_MARKS.search(fields[0]):
            raise ProtocolError(
                f"{path}: line {number}: {fields[0]!r} has labels after commas or semicolons, unlike another line. "
                "Write all lines in the same form."
            )
    return rows, range(1, len(rows) + 1), filled


def _quoted_rows(path: Path, lines: Sequence[str], mark: str) -> tuple[list[list[str]], list[int]]:
    """Return the fields of each row, which may be quoted, and the number of its last line."""
    reader = csv.reader(lines, delimiter=mark, strict=True)
    rows, ends = [], []
    try:
        for fields in reader:
            rows.append([text.unsafe(fields[0]), *map(str.strip, fields[1:])] if "".join(fields).strip() else [])
            ends.append(reader.line_num)
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as lines with commas ({error}).") from error
    return rows, ends


def _delimiter(path: Path, lines: Sequence[str]) -> str | None:
    """Return what separates the fields of every line; None for blanks, or if nothing does."""
    kind = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz"), "")
    if kind == ".tsv" or (lines and all("\t" in line for line in lines)):
        return "\t"
    marks = [mark for mark in MARKS if lines and mark in lines[0] and _divides(mark, lines)]
    return next(iter(marks), "," if kind == ".csv" else None)


def _divides(mark: str, lines: Sequence[str]) -> bool:
    """Return whether a mark divides every line into as many fields, and is not a part of the ids."""
    try:
        rows = list(csv.reader(lines, delimiter=mark, strict=True))
    except csv.Error:
        return mark == ","
    if len(set(map(len, rows))) != 1 or len(rows[0]) < 2:
        return False
    if all(_FLAG_AFTER_BLANK.search(row[-1]) for row in rows):
        return False  # labels after blanks: the mark is a part of the id
    return not (all(has_extension(row[-1].strip()) for row in rows) and not any(has_extension(row[0]) for row in rows))


def drop_headers(tables: Mapping[str, Table], sizes: Mapping[str, int]) -> None:
    """Move the headers of tables out of their rows."""
    for role, table in tables.items():
        if not table.header and _is_header(table, sizes.get(role)):
            table.drop_header()


def _is_header(table: Table, size: int | None = None) -> bool:
    """Return whether the first row has the names of the columns, because its fields fit no other row's form."""
    first, rest = table.rows[0], table.rows[1:]
    name = first[0].strip().lower()
    if not table.lines and name in _HEADER:
        return not table.is_python
    if table.is_python or not rest or not _is_word(name):
        return False
    if size in (len(rest), len(rest) + 1):
        return len(rest) == size
    is_usual = name in OF_LABELS | OF_IDS and len(first) == len(rest[0])
    return (is_usual and all(row[0].strip().lower() != name for row in rest)) or _has_another_form(first, rest)


def _has_another_form(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether all other rows name files, or have numbers where the first row has words."""
    if any(map(_FILE.search, first)) or len(first) > max(map(len, rest)):
        return False
    if all(any(map(_FILE.search, row)) for row in rest):
        return len(rest) > 1
    columns = range(1, min(map(len, [first, *rest])))
    return any(not is_number(first[c]) and all(is_number(row[c]) for row in rest) for c in columns)


def _is_word(value: str) -> bool:
    return _WORD.fullmatch(value.strip().replace("_", " ")) is not None


def has_extension(word: str) -> bool:
    """Return whether a word ends like the name of a file."""
    return re.search(rf"{EXTENSION}\s*$", word) is not None


def names_file(word: str) -> bool:
    """Return whether a word contains a slash, or ends like the name of a file."""
    return _FILE.search(word) is not None


def is_number(value: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value
