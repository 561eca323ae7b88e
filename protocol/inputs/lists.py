"""Read lists of items from text: an id on each line, and fields after it, in any of the usual forms.

Fields are separated by blanks; or by commas or semicolons, if these divide every line of the file in the same way (in a
``.csv`` file, commas by default, or tabs). Otherwise these characters belong to the ids. A first line that begins with
one of `HEADER` is a header, if its fields are not separated by blanks.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.inputs.text import lines, unsafe

HEADER = ("partition", "id")
MARKS = ",;"
_LABELS = re.compile(r".[,;][01](?:[,;][01])*$")
_WHAT = "a list of items"


def rows_of_text(path: Path) -> Iterator[tuple[range, list[str]]]:
    """Yield the line numbers and the fields of each row of a list; blank lines and the header have no fields.

    A row of a ``.csv`` file has several lines if a quoted field contains a line break.

    Raises
    ------
    ProtocolError
        As for `protocol.inputs.text.lines`; or if the lines have different forms, or a quotation mark is not closed.
    """
    first = next((line for line in lines(path, _WHAT) if line.strip()), "")
    delimiter = _delimiter(path, first)
    if delimiter is not None:
        yield from _separated(path, delimiter)
        return
    for number, line in enumerate(lines(path, _WHAT), start=1):
        fields = line.split()
        if len(fields) == 1 and _LABELS.search(fields[0]):
            raise ProtocolError(
                f"{path}: line {number}: {fields[0]!r} has labels after commas or semicolons, unlike the first "
                "line. Write all lines in the same form."
            )
        yield range(number, number + 1), fields


def _separated(path: Path, delimiter: str) -> Iterator[tuple[range, list[str]]]:
    reader = csv.reader(lines(path, _WHAT), delimiter=delimiter, strict=True)
    last, is_first = 0, True
    try:
        for fields in reader:
            numbers = range(last + 1, reader.line_num + 1)
            last = reader.line_num
            is_header = is_first and bool(fields) and fields[0] in HEADER
            is_first = is_first and not fields
            yield numbers, [] if is_header else [*map(unsafe, fields[:1]), *map(str.strip, fields[1:])]
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as lines with commas ({error}).") from error


def _delimiter(path: Path, first: str) -> str | None:
    """Return the separator of a list's fields, from its name and its first line or all lines; None for blanks."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".tsv":
        return "\t"
    _name, *values = first.split() or [""]
    if kind != ".csv" and values and not "".join(values).strip("01"):
        return None  # labels after blanks: commas are a part of the id
    marks, default = (f"{MARKS}\t", ",") if kind == ".csv" else (MARKS, None)
    return next((mark for mark in marks if mark in first and _divides(mark, path, first)), default)


def _divides(mark: str, path: Path, first: str) -> bool:
    """Return whether a mark separates fields: labels or a header on the first line, or as often on every line."""
    name, *values = map(str.strip, first.split(mark))
    if name in HEADER or not "".join(values).strip("01"):
        return True
    return len({line.count(mark) for line in lines(path, _WHAT) if line.strip()}) == 1
