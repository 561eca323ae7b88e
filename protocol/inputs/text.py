"""Read lines from untrusted text files, plain or gzip, with limits, as a megabyte can decompress to gigabytes."""

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

BYTES = 1 << 30
"""Maximum decompressed size of a file in bytes."""

LINES = 10_000_000
LINE_BYTES = 64 << 20
STRINGS_BYTES = 4 << 30
"""Maximum size in bytes of an array of strings; NumPy uses four bytes for each character of the longest one."""

_ENDS = "\r\n"
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
        If it is not a regular file, can't be read, or exceeds `BYTES`, `LINES`, or `LINE_BYTES` in a line.
    """
    number = 0
    try:
        for number, line in enumerate(raw_lines(path, what), start=1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if "\0" in text:
                raise ProtocolError(f"{path}: line {number}: a NUL character, as in UTF-16. Save the file as UTF-8.")
            yield f"{text.rstrip(_ENDS)}\n" if "\r" in text else text
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{path}: expected {what}, got a file that can't be read ({error}).") from error


def raw_lines(path: Path, what: str) -> Iterator[bytes]:
    """Yield the bytes of each line including its line end: Unix, Windows or classic Mac.

    Parameters and errors are those of `lines`.
    """
    n_bytes = number = 0
    try:
        check_regular(path, what)
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as stream:
            while line := stream.readline(LINE_BYTES + 1):
                number, n_bytes = number + 1, n_bytes + len(line)
                if len(line) > LINE_BYTES:
                    raise ProtocolError(f"{path}: line {number}: expected at most {LINE_BYTES >> 20} MiB, got more.")
                if number > LINES:
                    raise ProtocolError(f"{path}: expected {what} of at most {LINES:,} lines, got more.")
                if n_bytes > BYTES:
                    raise ProtocolError(f"{path}: expected {what} of at most {BYTES >> 20:,} MiB, got more.")
                yield from _LINE.findall(line) if b"\r" in line else (line,)
    except FileNotFoundError as error:
        raise ProtocolError(f"{path}: expected {what}, got no such file.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ProtocolError(f"{path}: expected {what}, got a file that can't be read ({reason}).") from error


def check_regular(path: Path, what: str) -> None:
    """Raise ProtocolError if a path is not a regular file, OSError if it does not exist.

    Opening a pipe or a device could block forever.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        got = "a folder" if stat.S_ISDIR(mode) else "a non-regular file"
        raise ProtocolError(f"{path}: expected {what}, got {got}.")


def string_array(strings: Sequence[str], name: str) -> NDArray[np.str_]:
    """Return strings as an array; raise ProtocolError if a single long string would make the array too large."""
    longest = max(map(len, strings), default=0)
    if 4 * longest * len(strings) > STRINGS_BYTES:
        raise ProtocolError(
            f"{name}: expected at most {STRINGS_BYTES // 4 // len(strings):,} characters in each of {len(strings):,} "
            f"lines, got {longest:,}."
        )
    return np.array(strings, dtype=np.str_)
