"""Read lines from text files of users, plain or gzip; and the limits within which all files from elsewhere are read.

- Files that the pipeline wrote are verified by their checksums before a parser opens them (`protocol.provenance`).
- Downloads are verified before they are parsed, and bounded in size (`protocol.datasets.fetch`).
- Files that a user names are read without running anything in them: no pickles. The declared size of an array is
  compared with a limit before memory is allocated, because a few kilobytes can decompress to terabytes. Nothing is
  extracted to disk. Pipes and devices, on which reading may block, are refused.

A file that is damaged or exceeds a limit is an error of one line. We do not defend against users who attack themselves.
"""

import gzip
import io
import logging
import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain, dropwhile
from pathlib import Path

from protocol.checks import ProtocolError

INPUTS = logging.getLogger("protocol.inputs")
"""The logger to which is reported how each input is read."""
ARRAY_BYTES = 4 << 30
"""Bytes that an array or the requested part of an archive may take when decompressed."""

TEXT_BYTES = 1 << 30
"""Of a text file when decompressed; NumPy and Python take several times as much for its lines."""

IMAGE_PIXELS = 50_000_000
"""Of an image, more than those of cameras have."""

LABEL_COLUMNS = frozenset(["category", "class", "class_name", "classes", "label", "labels", "tag", "tags", "target"])
"""Usual names of columns of labels."""
ID_COLUMNS = frozenset(["file", "filename", "id", "ids", "image", "image_id", "img", "index", "item", "name", "path"])
ID_COLUMNS |= {"partition", "query", "row"}
"""Usual names of columns of ids, and the first columns of complete splits, of pairs and of excluded queries."""
_ID_NAME = re.compile(
    r"(?:(?!class|label|categ|target|tag).*[\W_]|image|img|item|row|sample)?(?:ids?|idx|index|key)|unnamed: \d+"
)
EXAMINED = 1000
"""The rows by which it is decided whether the numbers above them are a header."""
_INTEGER, _PADDED = re.compile(r"\s*[+-]?\d+\s*"), re.compile(r"\s*0\d+\s*")
_HERE = re.compile(r"(?:\.[/\\]+)+(?=.)")
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""The start of a cell that a spreadsheet evaluates, or whose apostrophes would be ambiguous."""


def check_array(path: str | Path, n_bytes: int) -> None:
    """Raise ProtocolError if an array that is compressed in a file is larger than `ARRAY_BYTES`."""
    if n_bytes > ARRAY_BYTES:
        size, most = f"{n_bytes / 2**30:.3g} GiB uncompressed", f"{ARRAY_BYTES / 2**30:.3g} GiB"
        raise ProtocolError(f"{path}: the array takes {size}, more than {most}. Save it as .npy.")


def check_regular(path: Path, what: str) -> None:
    """Raise ProtocolError if a path does not exist, or is not a regular file."""
    if not path.exists():
        raise ProtocolError(f"{path}: no such file.")
    if not path.is_file():
        raise ProtocolError(f"{path}: {'a folder' if path.is_dir() else 'a non-regular file'}, not {what}.")


def lines(path: Path, what: str) -> list[str]:
    r"""Return the lines of a UTF-8 text file, each with ``\n`` at its end; the last one may lack it.

    Parameters
    ----------
    path : Path
        A file; it is decompressed if its name ends with ``.gz``.
    what : str
        Description of the expected content, for error messages: "a list of items".

    Raises
    ------
    ProtocolError
        If it is not a regular file, can't be read, or exceeds a limit.
    """
    try:
        check_regular(path, what)
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as stream:
            content = stream.read(TEXT_BYTES + 1)
        if len(content) > TEXT_BYTES:
            raise ProtocolError(f"{path}: larger than {TEXT_BYTES >> 20:,} MiB.")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{path}: can't be read as {what}: it is not text in UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ProtocolError(f"{path}: can't be read as {what} ({' '.join(str(error).split())}).") from error
    if "\0" in text:
        number = len(text.partition("\0")[0].splitlines()) or 1
        raise ProtocolError(f"{path}, line {number}: a NUL character, as in UTF-16. Save the file as UTF-8.")
    return list(io.StringIO(text, newline=None))


def unsafe(cell: str) -> str:
    """Return the text of a cell that `protocol.scores.tables.safe` wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def without_dot(path: str) -> str:
    r"""Return an id without ``./`` or ``.\`` at its start, which never changes a path."""
    return path[match.end() :] if (match := _HERE.match(path)) else path


def is_id_name(name: str) -> bool:
    """Return whether a header calls a column one of ids, such as ``item_id``, ``idx``, or ``Unnamed: 0`` of pandas."""
    return name.lower() in ID_COLUMNS or _ID_NAME.fullmatch(name.lower()) is not None


def is_number(value: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value


def is_fraction(value: str) -> bool:
    """Return whether a field is a number, but not a whole one."""
    return is_number(value) and not float(value).is_integer()


def are_flags(values: Iterable[str]) -> bool:
    """Return whether fields are only 0 and 1, or only -1 and +1."""
    distinct = set(values)
    return all(map(is_number, distinct)) and any(set(map(float, distinct)) <= pair for pair in ({0, 1}, {-1, 1}))


def are_ids(values: Sequence[str]) -> bool:
    """Return whether fields are words or whole numbers, none of which is repeated."""
    return len({*values}) == len(values) and not any(map(is_fraction, values))


def advice_on_rows(ids: Iterable[str]) -> str:
    """Return a sentence on row numbers if all ids are digits, as in a text of row numbers; otherwise ""."""
    return " Row numbers, from 0, are read from .npy." * all(map(str.isdigit, ids))


def is_running(column: Sequence[str]) -> bool:
    """Return whether fields are integers that ascend by one."""
    start = column[0] if re.fullmatch("[0-9]{1,18}", column[0]) else "0"
    return list(column) == list(map(str, range(int(start), int(start) + len(column))))


def is_numbered(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool | None:
    """Return whether a row 0, 1, ..., n - 1 is a header, as pandas writes it; None if the rows below it allow both.

    The number 0 may follow an empty field, and 0, 1, ... the usual names of columns of ids and labels.

    Examples
    --------
    >>> is_numbered("012", ["101"]), is_numbered("01", [["0.5", "2"]]), is_numbered(["", "0"], [["0", "7"]])
    (True, None, True)
    >>> is_numbered(["name", "class", "0", "1"], [["a", "cat", "2", "3"]])
    True
    """
    numbers = [*dropwhile(lambda name: name.lower() in {"", *LABEL_COLUMNS} or is_id_name(name), first)]
    has_index = len(numbers) < len(first) and len(numbers) > (first[0] != "")
    if numbers != [*map(str, range(len(numbers)))] or len(first) not in map(len, rest[:1]) or not numbers:
        return False
    words = [not any(map(is_number, column)) for column in zip(*rest[:EXAMINED], strict=False)]
    values = set(chain.from_iterable(rest[:EXAMINED]))
    integers = set(map(int, filter(_INTEGER.fullmatch, values)))
    is_outside = not integers if len(first) == 1 else len(first) > 2 and integers <= {-1, 0, 1}
    return has_index or any(words) or any(map(_PADDED.fullmatch, values)) or is_outside or None
