"""Vectors in the formats of big-ann-benchmarks: .fbin, .f16bin, .u8bin, .i8bin and .ibin, little-endian.

A file contains the number of vectors and their dimension as uint32, followed by the values, one vector after another.
In a file of nearest neighbours (.ibin), their distances may follow as float32.
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
"""The type of the values, by file extension."""

_HEADER = np.dtype("<u4")
_DISTANCE = np.dtype("<f4")


def mapped(path: Path) -> NDArray:
    """Return the vectors in a file, (n, d), as a memory map; of neighbours followed by distances, the neighbours.

    Parameters
    ----------
    path : Path
        A file with an extension in `TYPES`.

    Raises
    ------
    ProtocolError
        If the size of the file does not match its header.

    References
    ----------
    big-ann-benchmarks, ``benchmark/dataset_io.py``, ``xbin_mmap`` and ``knn_result_read``.
    """
    n, d = shape(path)
    suffix, size = path.suffix.lower(), path.stat().st_size
    n_bytes = 2 * _HEADER.itemsize + n * d * TYPES[suffix].itemsize
    with_distances = n_bytes + n * d * _DISTANCE.itemsize
    if size != n_bytes and not (suffix == ".ibin" and size == with_distances):
        raise ProtocolError(
            f"{path}: {size:,} bytes, but the {n:,} vectors of dimension {d:,} in {TYPES[suffix].name} of its header "
            f"take {n_bytes:,}."
        )
    if not n * d:
        return np.empty((n, d), TYPES[suffix])  # an empty file can't be mapped
    return np.asarray(np.memmap(path, TYPES[suffix], mode="r", offset=2 * _HEADER.itemsize, shape=(n, d)))


def shape(path: Path) -> tuple[int, int]:
    """Return the number of vectors and their dimension, from the header of a file."""
    header = np.fromfile(path, _HEADER, 2)
    if header.size < 2:
        raise ProtocolError(f"{path}: {path.stat().st_size} bytes, too few for the header of 8 bytes.")
    return int(header[0]), int(header[1])
