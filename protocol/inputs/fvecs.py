"""Vectors in the formats of the TEXMEX corpus: .fvecs (float32), .ivecs (int32), .bvecs (uint8), little-endian.

A record contains the dimension as int32 and then as many values; all records of a file have the same dimension.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of

TYPES = MappingProxyType({".fvecs": "<f4", ".ivecs": "<i4", ".bvecs": "u1"})
"""The type of the values, by file extension."""
_BLOCK_BYTES = 16 << 20
_LARGEST = 1 << 20  # dimensions; files in other formats appear to have absurd ones


def read_blocks(stream: IO[bytes], name: str) -> Iterator[NDArray]:
    """Yield the vectors of a file in order, in blocks of some megabytes.

    Parameters
    ----------
    stream : binary file
        A stream at the start of the file.
    name : str
        The file's name, for its extension, which determines the type of the values, and for error messages.

    Yields
    ------
    ndarray of float32, int32 or uint8, shape (n, d)
        n >= 1; d is the same in all blocks.

    Raises
    ------
    ProtocolError
        If the file is empty or ends inside a record, or the dimension of a record differs from that of the first.

    Examples
    --------
    >>> import io
    >>> records = np.array([[2, 10, 11], [2, 20, 21]], dtype="<i4")
    >>> [block.tolist() for block in read_blocks(io.BytesIO(records.tobytes()), "x.ivecs")]
    [[[10, 11], [20, 21]]]
    """
    start = stream.read(4)
    record = _record(start, name)
    at, n_bytes = 0, record.itemsize * max(1, _BLOCK_BYTES // record.itemsize)
    while content := start + stream.read(n_bytes - len(start)):
        start = b""
        if len(content) % record.itemsize:
            raise ProtocolError(
                f"{name}: the last record, {at + len(content) // record.itemsize:,}, has "
                f"{len(content) % record.itemsize:,} of {record.itemsize:,} bytes."
            )
        records = np.frombuffer(content, record)
        yield np.ascontiguousarray(_vectors(records, name, at))
        at += len(records)


def _record(start: bytes, name: str) -> np.dtype:
    """Return the type of a record of a file, from its extension and its first four bytes, the dimension."""
    values = TYPES[one_of(PurePosixPath(name).suffix.lower(), TYPES, f"{name}: extension")]
    if len(start) < 4:
        raise ProtocolError(f"{name}: {len(start)} bytes, too few for the dimension, which takes 4.")
    d = int.from_bytes(start, "little", signed=True)
    if not 1 <= d <= _LARGEST:
        raise ProtocolError(f"{name}: the dimension must be from 1 to {_LARGEST:,}, got {d:,}.")
    return np.dtype([("dimension", "<i4"), ("vector", values, (d,))])


def _vectors(records: NDArray, name: str, at: int = 0) -> NDArray:
    """Return the vectors of records, of which the first has number `at`, after a check of their dimensions."""
    vectors, dimensions = records["vector"], records["dimension"]
    other = np.flatnonzero(dimensions != vectors.shape[1])
    if other.size:
        raise ProtocolError(
            f"{name}: record {at + other[0]:,} has dimension {dimensions[other[0]]:,}, but record 0 has "
            f"{vectors.shape[1]:,}."
        )
    return vectors


def mapped(path: Path) -> NDArray:
    """Return the vectors of a file, (n, d), as a memory map.

    Parameters
    ----------
    path : Path
        A file with an extension in `TYPES`.

    Raises
    ------
    ProtocolError
        If the file does not consist of complete records, or the dimension of a record differs from that of the first.
    """
    return np.asarray(_vectors(np.memmap(path, _complete(path), mode="r"), str(path)))


def shape(path: Path) -> tuple[int, int]:
    """Return the number of vectors and their dimension, from the first record and the size of a file."""
    record = _complete(path)
    return path.stat().st_size // record.itemsize, record["vector"].shape[0]


def _complete(path: Path) -> np.dtype:
    """Return the type of the records of a file, which consists of complete ones."""
    with open(path, "rb") as stream:
        record = _record(stream.read(4), str(path))
    size, d = path.stat().st_size, record["vector"].shape[0]
    if size % record.itemsize:
        raise ProtocolError(
            f"{path}: {size:,} bytes, not a multiple of the {record.itemsize:,} bytes of a vector of dimension {d:,}."
        )
    return record
