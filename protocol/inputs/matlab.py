"""Read arrays of numbers from MATLAB files of versions 5 to 7.

scipy supports far more of the format, but trusts the file: a damaged type tag crashes the interpreter.
"""

import struct
import zlib
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_HEADER = 128
_TAG, _ALIGNMENT = 8, 8
_HEAD = 4096  # bytes, enough for a variable's class, shape and name, which has at most 63 characters
_MATRIX, _COMPRESSED, _OPAQUE = 14, 15, 17
_STRUCT = 2
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_OTHERS = {
    1: "a cell array",
    2: "a struct, see its fields",
    3: "an object",
    4: "text",
    5: "a sparse matrix, use full()",
}
_COMPLEX = 0x800


class Variable(NamedTuple):
    """A variable before its numbers are read; `content` starts with a head of `head` bytes, and may be compressed."""

    shape: tuple[int, ...]
    flags: int
    order: str
    head: int
    content: memoryview
    compressed: bool

    @property
    def n_bytes(self) -> int:
        """Upper bound on the size of its numbers in bytes."""
        return 8 * prod(self.shape)

    def read(self) -> NDArray:
        """Return its numbers.

        Raises
        ------
        ValueError
            If the variable is not numeric, complex or damaged.
        """
        kind = self.flags & 0xFF
        if kind not in _CLASSES or self.flags & _COMPLEX:
            raise ValueError(f"the variable is {_OTHERS.get(kind, 'complex or of another class')}")
        content = self.content
        if self.compressed:
            content = self._unpacked()
        stored, part, end = _element(content, self.head, self.order)
        if stored not in _STORED:
            raise ValueError(f"numbers of unknown type {stored}")
        if not 0 <= end - len(content) < _ALIGNMENT:  # the last element may lack its padding
            raise ValueError(f"the variable has {len(content) - end} bytes after its numbers")
        numbers = np.frombuffer(part, dtype=self.order + _STORED[stored])
        return numbers.reshape(self.shape, order="F").astype(_CLASSES[kind])

    def _unpacked(self) -> memoryview:
        """Decompress a matrix with its tag completely, because the checksum is at the end."""
        kind, size = struct.unpack_from(f"{self.order}II", _inflated(self.content, _TAG))
        if kind != _MATRIX or size > self.head + self.n_bytes + _TAG + _ALIGNMENT:
            raise ValueError(f"a variable of {size} bytes for {prod(self.shape)} numbers")
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(self.content, _TAG + size)
        rest = unpacking.decompress(unpacking.unconsumed_tail, _ALIGNMENT)
        if len(content) != _TAG + size or rest or not unpacking.eof or unpacking.unused_data:
            raise ValueError(f"a compressed variable is not {size} bytes long, or is cut short")
        return memoryview(content)


def variables(content: memoryview) -> dict[str, Variable]:
    """Return the variables of a file by name.

    Parameters
    ----------
    content : memoryview
        The bytes of the complete file; only the heads of variables are read here.

    Raises
    ------
    ValueError, struct.error, zlib.error
        If the file has another version or is damaged.
    """
    order = {b"IM": "<", b"MI": ">"}.get(bytes(content[_HEADER - 2 : _HEADER]))
    if order is None:
        raise ValueError("not a file of version 5 to 7.3")
    found, at = {}, _HEADER
    while at < len(content):
        kind, body, at = _element(content, at, order)
        if kind not in (_MATRIX, _COMPRESSED):
            raise ValueError(f"an element of unknown type {kind}")
        compressed = kind == _COMPRESSED
        name, variable = _head(body, order, compressed)
        if variable.flags & 0xFF != _OPAQUE:
            found[name] = variable
    return found


def fields(variables: Mapping[str, Variable], limit: int) -> dict[str, Variable]:
    """Return the fields of structs by name, such as ``result.codes``; those of structs within them too.

    Parameters
    ----------
    variables : mapping of str to Variable
    limit : int
        The largest size of a decompressed struct in bytes.

    Raises
    ------
    ValueError, struct.error, zlib.error
        If a struct is damaged or larger.
    """
    found: dict[str, Variable] = {}
    for name, variable in variables.items():
        if variable.flags & 0xFF == _STRUCT and prod(variable.shape) == 1:
            content, order = variable.content, variable.order
            if variable.compressed:
                content = _inflated(content, limit + 1)
                if len(content) > limit:
                    raise ValueError(f"a struct of more than {limit} bytes")
            _, length, at = _element(content, variable.head, order)
            (width,) = struct.unpack_from(f"{order}i", length)
            _, names, at = _element(content, at, order)
            members: dict[str, Variable] = {}
            for start in range(0, len(names), max(width, 1)):
                _, body, at = _element(content, at, order)
                field = bytes(names[start : start + width]).partition(b"\0")[0].decode()
                members[f"{name}.{field}"] = _head(body, order, compressed=False)[1]
            found |= members | fields(members, limit)
    return found


def _element(content: memoryview, at: int, order: str) -> tuple[int, memoryview, int]:
    """Return the type and the bytes of the element at an offset, and the offset of the next one."""
    kind, size = struct.unpack_from(f"{order}II", content, at)
    if kind >> 16:  # up to four bytes are stored in the tag itself
        return kind & 0xFFFF, content[at + 4 : at + 4 + min(kind >> 16, 4)], at + 8
    end = at + 8 + size
    if end > len(content):
        raise ValueError(f"an element of {size} bytes has {len(content) - at - 8}")
    return kind, content[at + 8 : end], end if kind == _COMPRESSED else end + -size % 8


def _head(body: memoryview, order: str, compressed: bool) -> tuple[str, Variable]:
    """Return a variable and its name; the bytes are those of a matrix, or of a compressed one with its tag."""
    start, at = (_inflated(body, _HEAD), 8) if compressed else (body, 0)
    _, flags, at = _element(start, at, order)
    (word,) = struct.unpack_from(f"{order}I", flags)
    if word & 0xFF == _OPAQUE:  # a class without a shape
        return "", Variable((), word, order, at, body, compressed)
    _, dimensions, at = _element(start, at, order)
    _, name, at = _element(start, at, order)
    shape = tuple(np.frombuffer(dimensions, dtype=f"{order}i4").tolist())
    if min(shape, default=-1) < 0:
        raise ValueError(f"a variable of shape {shape}")
    return bytes(name).decode(), Variable(shape, word, order, at, body, compressed)


def _inflated(content: memoryview, most: int) -> memoryview:
    """Return at most the first `most` decompressed bytes."""
    return memoryview(zlib.decompressobj().decompress(content, most))
