"""Vectors as big-ann-benchmarks stores them: .fbin, .f16bin, .u8bin, .i8bin and .ibin, little-endian.

The number of vectors and their dimension as uint32, then all values, a vector after another. A file of nearest
neighbours (.ibin) may go on with their distances as float32.
"""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

TYPES: MappingProxyType[str, np.dtype[Any]] = MappingProxyType(
    {
        ".fbin": np.dtype("<f4"),
        ".f16bin": np.dtype("<f2"),
        ".u8bin": np.dtype("u1"),
        ".i8bin": np.dtype("i1"),
        ".ibin": np.dtype("<i4"),
    }
)
"""The type of the values by the file's extension."""

_HEADER = np.dtype("<u4")
_DISTANCE = np.dtype("<f4")


def read(path: Path, *, mapped: bool = False) -> NDArray:
    """Return the vectors of a file, (n, d); of nearest neighbours with their distances, the neighbours alone.

    Parameters
    ----------
    path : Path
        Its extension is one of `TYPES`.
    mapped : bool, default=False
        Leave the vectors on the disk until they are looked at.

    Raises
    ------
    ProtocolError
        If the file is shorter or longer than its first eight bytes say.

    References
    ----------
    big-ann-benchmarks, ``benchmark/dataset_io.py``, ``xbin_mmap`` and ``knn_result_read``.
    """
    n, d = shape(path)
    dtype: np.dtype[Any] = TYPES[path.suffix.lower()]
    size = path.stat().st_size
    n_bytes = 2 * _HEADER.itemsize + n * d * dtype.itemsize
    with_distances = n_bytes + n * d * _DISTANCE.itemsize
    if size != n_bytes and not (path.suffix.lower() == ".ibin" and size == with_distances):
        raise ProtocolError(
            f"{path}: expected {n_bytes:,} bytes, {n:,} vectors of dimension {d:,} in {dtype.name} as its header says, "
            f"got {size:,}."
        )
    if mapped and n * d:
        return np.asarray(np.memmap(path, dtype, mode="r", offset=2 * _HEADER.itemsize, shape=(n, d)))
    return np.fromfile(path, dtype, n * d, offset=2 * _HEADER.itemsize).reshape(n, d)


def shape(path: Path) -> tuple[int, int]:
    """Return the number of vectors and their dimension from the header of a file."""
    header = np.fromfile(path, _HEADER, 2)
    if header.size < 2:
        raise ProtocolError(f"{path}: expected a header of 8 bytes, got {path.stat().st_size}.")
    return int(header[0]), int(header[1])
