"""Vectors in the formats of the TEXMEX corpus: .fvecs (float32), .ivecs (int32), .bvecs (uint8), little-endian.

A record contains the dimension as int32 and then as many values; all records of a file have the same dimension.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of

TYPES: MappingProxyType[str, np.dtype[Any]] = MappingProxyType(
    {".fvecs": np.dtype("<f4"), ".ivecs": np.dtype("<i4"), ".bvecs": np.dtype("u1")}
)
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
    dtype = TYPES[one_of(PurePosixPath(name).suffix, TYPES, f"{name}: extension")]
    start = stream.read(4)
    if len(start) < 4:
        raise ProtocolError(f"{name}: {len(start)} bytes, too few for the dimension, which takes 4.")
    dimension = int(np.frombuffer(start, "<i4")[0])
    if not 1 <= dimension <= _LARGEST:
        raise ProtocolError(f"{name}: the dimension must be from 1 to {_LARGEST:,}, got {dimension:,}.")
    record = np.dtype([("dimension", "<i4"), ("vector", dtype, (dimension,))])
    at, n_bytes = 0, record.itemsize * max(1, _BLOCK_BYTES // record.itemsize)
    while content := start + stream.read(n_bytes - len(start)):
        start = b""
        if len(content) % record.itemsize:
            raise ProtocolError(
                f"{name}: the last record, {at + len(content) // record.itemsize:,}, has "
                f"{len(content) % record.itemsize:,} of {record.itemsize:,} bytes."
            )
        records = np.frombuffer(content, record)
        other = np.flatnonzero(records["dimension"] != dimension)
        if other.size:
            raise ProtocolError(
                f"{name}: record {at + other[0]:,} has dimension {records['dimension'][other[0]]:,}, but record 0 has "
                f"{dimension:,}."
            )
        yield np.ascontiguousarray(records["vector"])
        at += len(records)


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
    size, d = path.stat().st_size, shape(path)[1]
    record = np.dtype([("dimension", "<i4"), ("vector", TYPES[path.suffix.lower()], (d,))])
    records = np.memmap(path, record, mode="r", shape=(size // record.itemsize,))
    step = max(1, _BLOCK_BYTES // record.itemsize)
    for start in range(0, len(records), step):
        dimensions = records["dimension"][start : start + step]
        other = np.flatnonzero(dimensions != d)
        if other.size:
            raise ProtocolError(
                f"{path}: record {start + other[0]:,} has dimension {dimensions[other[0]]:,}, but record 0 has {d:,}."
            )
    return np.asarray(records["vector"])


def shape(path: Path) -> tuple[int, int]:
    """Return the number of vectors and their dimension, from the first record and the size of a file."""
    size = path.stat().st_size
    header = np.fromfile(path, "<i4", 1)
    if not header.size:
        raise ProtocolError(f"{path}: {size} bytes, too few for the dimension, which takes 4.")
    d = int(header[0])
    if not 1 <= d <= _LARGEST:
        raise ProtocolError(f"{path}: the dimension must be from 1 to {_LARGEST:,}, got {d:,}.")
    n_bytes = 4 + d * TYPES[path.suffix.lower()].itemsize
    if size % n_bytes:
        raise ProtocolError(
            f"{path}: {size:,} bytes, not a multiple of the {n_bytes:,} bytes of a vector of dimension {d:,}."
        )
    return size // n_bytes, d
