"""Read lines from text files of users, plain or gzip, within `protocol.inputs.limits`."""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs import limits

FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""The start of a cell that a spreadsheet evaluates, or whose apostrophes would be ambiguous."""
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines(path: Path, what: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file, including their line ends.

    Parameters
    ----------
    path : Path
        A file; it is decompressed while it is read if its name ends with ``.gz``.
    what : str
        Description of the expected content, for error messages: "a list of items".

    Raises
    ------
    ProtocolError
        If it is not a regular file, can't be read, or exceeds one of `protocol.inputs.limits`.
    """
    try:
        for number, line in enumerate(raw_lines(path, what), start=1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if "\0" in text:
                raise ProtocolError(f"{path}: line {number}: a NUL character, as in UTF-16. Save the file as UTF-8.")
            yield text.rstrip("\r\n") + "\n" if "\r" in text else text
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{path}: can't be read as {what} ({error}).") from error


def raw_lines(path: Path, what: str) -> Iterator[bytes]:
    """Yield the bytes of each line including its line end: Unix, Windows or classic Mac.

    Parameters and errors are those of `lines`.
    """
    n_bytes = number = 0
    try:
        limits.check_regular(path, what)
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as stream:
            while line := stream.readline(limits.LINE_BYTES + 1):
                number, n_bytes = number + 1, n_bytes + len(line)
                if len(line) > limits.LINE_BYTES:
                    raise ProtocolError(f"{path}: line {number}: longer than {limits.LINE_BYTES >> 20} MiB.")
                if number > limits.TEXT_LINES:
                    raise ProtocolError(f"{path}: more than {limits.TEXT_LINES:,} lines.")
                if n_bytes > limits.TEXT_BYTES:
                    raise ProtocolError(f"{path}: larger than {limits.TEXT_BYTES >> 20:,} MiB.")
                yield from _LINE.findall(line) if b"\r" in line else (line,)
    except FileNotFoundError as error:
        raise ProtocolError(f"{path}: no such file.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ProtocolError(f"{path}: can't be read as {what} ({reason}).") from error


def string_array(strings: Sequence[str], name: str) -> NDArray[np.str_]:
    """Return strings as an array; raise ProtocolError if a single long string would make the array too large."""
    longest = max(map(len, strings), default=0)
    if 4 * longest * len(strings) > limits.STRINGS_BYTES:
        raise ProtocolError(
            f"{name}: a line has {longest:,} characters; with {len(strings):,} lines, at most "
            f"{limits.STRINGS_BYTES // 4 // len(strings):,} are possible."
        )
    return np.array(strings, dtype=np.str_)


def unsafe(cell: str) -> str:
    """Return the text of a cell that `protocol.scores.tables.safe` wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
