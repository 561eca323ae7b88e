"""Vectors in the formats of TEXMEX (.fvecs, .ivecs, .bvecs) and big-ann-benchmarks (.fbin and similar), little-endian.

TEXMEX: a record contains the dimension as int32 and then as many values; all records of a file have the same dimension.
big-ann-benchmarks: a file contains the number of vectors and their dimension as uint32, and then the values, one vector
after another. In a file of nearest neighbours (.ibin), their distances may follow as float32.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of

TYPES = MappingProxyType({".fvecs": "<f4", ".ivecs": "<i4", ".bvecs": "u1"})
"""The type of the values in the formats of TEXMEX, by file extension."""
BIG_ANN = MappingProxyType({".fbin": "<f4", ".f16bin": "<f2", ".u8bin": "u1", ".i8bin": "i1", ".ibin": "<i4"})
"""The type of the values in the formats of big-ann-benchmarks, by file extension."""
_HEADER_BYTES = 8
_BLOCK_BYTES = 16 << 20
_LARGEST = 1 << 20  # dimensions; files in other formats appear to have absurd ones


def read_blocks(stream: IO[bytes], name: str) -> Iterator[NDArray]:
    """Yield the vectors of a file of TEXMEX in order, in blocks of some megabytes.

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


def shape(path: Path) -> tuple[int, int]:
    """Return the number of vectors in a file and their dimension, from its first bytes and its size."""
    with open(path, "rb") as stream:
        start = stream.read(_HEADER_BYTES)
    if path.suffix.lower() in BIG_ANN:
        if len(start) < _HEADER_BYTES:
            raise ProtocolError(f"{path}: {len(start)} bytes, too few for the header of {_HEADER_BYTES} bytes.")
        n, d = np.frombuffer(start, "<u4").tolist()
        return n, d
    record, size = _record(start[:4], str(path)), path.stat().st_size
    d = record["vector"].shape[0]
    if size % record.itemsize:
        raise ProtocolError(
            f"{path}: {size:,} bytes, not a multiple of the {record.itemsize:,} bytes of a vector of dimension {d:,}."
        )
    return size // record.itemsize, d


def mapped(path: Path) -> NDArray:
    """Return the vectors in a file, (n, d), as a memory map; of neighbours followed by distances, the neighbours.

    Parameters
    ----------
    path : Path
        A file with an extension in `TYPES` or `BIG_ANN`.

    Raises
    ------
    ProtocolError
        If the size of the file does not match its dimension, or the dimension of a record differs from that of the
        first.

    References
    ----------
    big-ann-benchmarks, ``benchmark/dataset_io.py``, ``xbin_mmap`` and ``knn_result_read``.
    """
    (n, d), suffix, size = shape(path), path.suffix.lower(), path.stat().st_size
    if suffix in TYPES:
        record = np.dtype([("dimension", "<i4"), ("vector", TYPES[suffix], (d,))])
        return np.asarray(_vectors(np.memmap(path, record, mode="r"), str(path)))
    dtype = np.dtype(BIG_ANN[suffix])
    n_bytes = _HEADER_BYTES + n * d * dtype.itemsize
    if size != n_bytes and not (suffix == ".ibin" and size == n_bytes + 4 * n * d):
        raise ProtocolError(
            f"{path}: {size:,} bytes, but the {n:,} vectors of dimension {d:,} in {dtype.name} of its header take "
            f"{n_bytes:,}."
        )
    if not n * d:
        return np.empty((n, d), dtype)  # an empty file can't be mapped
    return np.asarray(np.memmap(path, dtype, mode="r", offset=_HEADER_BYTES, shape=(n, d)))
