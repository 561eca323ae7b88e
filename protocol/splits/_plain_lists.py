"""Fast reader for long lists in plain form: on each line an ASCII id, followed by the same number of labels.

Lists with a million lines have this form. Reading them in blocks is ten times as fast as reading them line by
line. Lists in any other form are left to the general reader.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.inputs import limits

_BLOCK_BYTES = 4 << 20
_ARRAY_BYTES = 64 << 20  # of the ids of a block: a single long id widens the array for all of them
_BOM = b"\xef\xbb\xbf"
_VISIBLE = bytes(range(33, 127))


def read_plain(
    path: Path, delimiter_of: Callable[[Path, str], str | None], header: tuple[str, ...]
) -> tuple[NDArray[np.str_], NDArray[np.bool_]] | None:
    """Return the ids and labels of a list in plain form, or None if it has another form or can't be read.

    Parameters
    ----------
    path : Path
    delimiter_of : callable
        Returns the separator of the list's fields, from its path and its first line; None for blanks.
    header : tuple of str
        The possible first fields of a header.

    Returns
    -------
    ids : ndarray of str, shape (n,)
    flags : ndarray of bool, shape (n, n_classes)
    """
    ids, flags = [], []
    form: _Form | None = None
    try:
        for block in _blocks(path):
            if form is None:
                block = block.removeprefix(_BOM).lstrip(b"\n")
                first, _, rest = block.partition(b"\n")
                if not first.strip():
                    raise _OtherForm
                delimiter = delimiter_of(path, first.decode("ascii"))
                if delimiter and first.decode("ascii").split(delimiter)[0] in header:
                    block = rest
                form = _Form(delimiter, block.lstrip(b"\n").partition(b"\n")[0])
            names, labels = form.read(block)
            ids.append(names)
            flags.append(labels)
    except (_OtherForm, OSError, EOFError, UnicodeDecodeError, zlib.error):
        return None
    n_ids = sum(map(len, ids))
    if not n_ids or n_ids * max(part.itemsize for part in ids) * 4 > limits.STRINGS_BYTES:
        return None
    return np.concatenate(ids).astype(np.str_), np.concatenate(flags)


class _OtherForm(Exception):  # noqa: N818 - it selects the general reader
    """The list is not in plain form."""


class _Form:
    """The form of a list's lines, determined by the first one."""

    def __init__(self, delimiter: str | None, first: bytes) -> None:
        self._mark = (delimiter or " ").encode()
        self._width = 2 * first.count(self._mark)  # bytes of the labels of a line, each after a separator
        # In CSV, blanks belong to the id, and apostrophes may precede it; in text, commas may be errors.
        self._allowed = _VISIBLE.translate(None, b"\"'" if delimiter else b",;") + self._mark + b"\n"
        self._allowed += b" " if delimiter else b""

    def read(self, block: bytes) -> tuple[NDArray[np.bytes_], NDArray[np.bool_]]:
        """Return the ids and labels of complete lines, or raise `_OtherForm`."""
        if block.translate(None, self._allowed):
            raise _OtherForm
        width = self._width
        lines = [line for line in block.split(b"\n") if line]
        if max(map(len, lines), default=0) >= limits.LINE_BYTES:
            raise _OtherForm  # the general reader reports the error
        ids = [line[:-width] for line in lines] if width else lines
        if not all(ids) or self._mark in b"".join(ids) or max(map(len, ids), default=0) * len(ids) > _ARRAY_BYTES:
            raise _OtherForm
        if not width:
            return np.array(ids, dtype=np.bytes_), np.empty((len(ids), 0), dtype=np.bool_)
        labels = np.frombuffer(b"".join([line[-width:] for line in lines]), dtype=np.uint8)
        pairs = labels.reshape(len(lines), width // 2, 2)
        flags = pairs[:, :, 1] == ord("1")
        if (pairs[:, :, 0] != ord(self._mark)).any() or (pairs[:, :, 1][~flags] != ord("0")).any():
            raise _OtherForm
        return np.array(ids, dtype=np.bytes_), flags


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield blocks of complete lines with Unix line ends, within the limits of `protocol.inputs.limits`."""
    n_bytes = n_lines = 0
    limits.check_regular(path, "a list of items")
    with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            rest = stream.readline(_BLOCK_BYTES)
            block += rest
            n_bytes, n_lines = n_bytes + len(block), n_lines + block.count(b"\n")
            is_cut = len(rest) == _BLOCK_BYTES and not rest.endswith(b"\n")
            if is_cut or n_bytes > limits.TEXT_BYTES or n_lines >= limits.TEXT_LINES:
                raise _OtherForm
            yield block.replace(b"\r\n", b"\n")
