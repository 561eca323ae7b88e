"""Read codes that are written as text: strings of 0 and 1, hexadecimal strings, or one integer for each item."""

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, printable
from protocol.inputs import text
from protocol.inputs.arrays import ARRAYS, as_numpy, is_file, is_text_array, named, path_and_key, read_stored
from protocol.inputs.fields import rows_of_text

_BITS, _HEX = re.compile("[01]{2,}"), re.compile("(?:0[xX])?([0-9a-fA-F]{2,})")
_NOT_DECIMAL = re.compile("^0[xX]|[a-fA-F]|^0.")
_IN_COLUMNS = re.compile(f"^[01]{{5,}}$|{_NOT_DECIMAL.pattern}")  # a code in front of other columns
_SMALL = 64 << 20  # bytes of a file that is opened to look for strings; larger ones contain numbers
_log = logging.getLogger("protocol.inputs")


def bits_of_strings(sides: Sequence[tuple[Any, str]], n_bits: int | None) -> list[Any]:
    """Return the bits of codes in strings, the first bit first, and values that are numbers unchanged.

    Parameters
    ----------
    sides : sequence of (values, role)
        The codes, or their file, of queries and database, and their names in error messages. A file may have more
        columns, such as labels; its codes are in the first one.
    n_bits : int or None
        The code length, if it is given.

    Returns
    -------
    list of ndarray of bool, shape (n, n_bits), or of the unchanged values

    Raises
    ------
    ProtocolError
        If the strings have different lengths, or may be decimal or hexadecimal numbers.
    """
    strings = {n: words for n, side in enumerate(sides) if (words := _strings(side[0], named(*side))) is not None}
    values = [side[0] for side in sides]
    words = [word for side in strings.values() for word in side]
    form = _form(words, n_bits, named(*sides[next(iter(strings))])) if words else None
    if form is None:
        return values
    bits = _unpacked([word.lower().removeprefix("0x") for word in words], *form, n_bits)
    for n, side in strings.items():
        values[n], bits = bits[: len(side)], bits[len(side) :]
        _report(named(*sides[n]), len(side), bits.shape[1], form[0])
    return values


def _form(words: Sequence[str], n_bits: int | None, name: str) -> tuple[str, int, str] | None:
    """Return the form of strings in words, the bits of a character, and the name; None if they are decimal numbers."""
    length = len(words[0])
    if all(map(_BITS.fullmatch, words)) and n_bits != 4 * length:
        return "strings of 0 and 1", 1, name
    if not all(map(_HEX.fullmatch, words)):
        return None
    if any(map(_NOT_DECIMAL.search, words)):
        return "hexadecimal strings", 4, name
    if n_bits == 4 * length and all(len(word) == length for word in words):
        raise ProtocolError(
            f"{name}: {words[0]!r} may be a decimal or a hexadecimal number. Write 0x before hexadecimal codes, or "
            "save decimal ones as .npy."
        )
    return None


def _unpacked(words: Sequence[str], form: str, width: int, name: str, n_bits: int | None) -> NDArray[np.bool_]:
    """Return the bits of strings whose characters have `width` bits each, (n, width * length)."""
    length = len(words[0])
    odd = next((word for word in words if len(word) != length), None)
    if odd is not None:
        raise ProtocolError(f"{name}: codes of different lengths, such as {words[0][:80]!r} and {odd[:80]!r}.")
    if n_bits not in (None, width * length):
        raise ProtocolError(f"{name}: {form} of {width * length} bits, but n_bits={n_bits}.")
    value_of = np.zeros(128, dtype=np.uint8)
    value_of[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16)
    values = value_of[np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8)].reshape(len(words), length, 1)
    return ((values >> np.arange(width - 1, -1, -1, dtype=np.uint8)) & 1).astype(bool).reshape(len(words), -1)


def _strings(values: Any, name: str) -> list[str] | None:
    """Return the first field of each row, if the fields are strings that may be codes."""
    if is_file(values):
        path = path_and_key(values)[0]
        if is_text_array(path):
            return _of_text(path)
        is_small = path.suffix.lower() in ARRAYS and path.is_file() and path.stat().st_size <= _SMALL
        return _of_array(read_stored(values), name) if is_small else None
    return _of_array(as_numpy(values, name), name)


def _of_text(path: Path) -> list[str] | None:
    first = next((line for line in text.lines(path, "codes") if line.strip()), "")
    if not _HEX.fullmatch(re.split(r"[\s,;]+", first.strip())[0]):
        return None
    rows = [fields for _, fields in rows_of_text(path) if fields]
    if len(rows[0]) > 1 and not any(_IN_COLUMNS.search(row[0]) for row in rows):
        return None  # numbers from 0 to 255, for example
    return [row[0] for row in rows]


def _of_array(array: NDArray, name: str) -> list[str] | None:
    if array.dtype.kind not in "US" or not array.size:
        return None
    array = array.ravel() if 1 in array.shape else array
    if array.ndim != 1:
        raise ProtocolError(f"{name}: expected numbers, or one string of 0 and 1 for each item, got {array.dtype}.")
    return [word.decode("ascii", "replace") if isinstance(word, bytes) else word for word in array.tolist()]


def bits_of_integers(array: NDArray, n_bits: int | None, name: str) -> NDArray[np.bool_]:
    """Return the bits of one integer for each item, the first bit with the highest weight, shape (n, n_bits).

    Raises
    ------
    ProtocolError
        If `n_bits` is missing, or an integer is negative or does not fit in `n_bits` bits.

    Examples
    --------
    >>> bits_of_integers(np.array([5, 2]), 3, "codes").astype(int)
    array([[1, 0, 1],
           [0, 1, 0]])
    """
    if array.dtype.kind == "i" and n_bits == 64:
        array = array.astype(np.int64).view(np.uint64)  # the first bit is the sign
    if array.dtype.kind not in "iu" or array.min() < 0:
        raise ProtocolError(
            f"{name}: one number for each item, {array.min()} at least. Codes of one integer must not be negative, "
            "unless n_bits is 64."
        )
    least = max(1, int(array.max()).bit_length())
    if n_bits is None:
        raise ProtocolError(f"{name}: one integer for each item needs n_bits as well, at least {least}.")
    if least > n_bits:
        raise ProtocolError(f"{name}: the code {array.max()} has {least} bits, but n_bits={n_bits}.")
    _report(name, len(array), n_bits, "one integer each")
    weights = np.arange(n_bits - 1, -1, -1, dtype=np.uint64)
    return ((array.astype(np.uint64)[:, None] >> weights) & np.uint64(1)).astype(bool)


def _report(name: str, n_codes: int, n_bits: int, form: str) -> None:
    _log.info("%s", printable(f"{name}: {counted(n_codes, 'code')} of {counted(n_bits, 'bit')}, as {form}"))
