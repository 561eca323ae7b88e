"""Vectors in the formats of big-ann-benchmarks: .fbin, .f16bin, .u8bin, .i8bin and .ibin, little-endian.

A file contains the number of vectors and their dimension as uint32, followed by the values, one vector after another.
In a file of nearest neighbours (.ibin), their distances may follow as float32.
"""

from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

TYPES = MappingProxyType({".fbin": "<f4", ".f16bin": "<f2", ".u8bin": "u1", ".i8bin": "i1", ".ibin": "<i4"})
"""The type of the values, by file extension."""
_HEADER_BYTES = 8


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
    (n, d), size = shape(path), path.stat().st_size
    dtype = np.dtype(TYPES[path.suffix.lower()])
    n_bytes = _HEADER_BYTES + n * d * dtype.itemsize
    with_distances = n_bytes + 4 * n * d
    if size != n_bytes and not (path.suffix.lower() == ".ibin" and size == with_distances):
        raise ProtocolError(
            f"{path}: {size:,} bytes, but the {n:,} vectors of dimension {d:,} in {dtype.name} of its header take "
            f"{n_bytes:,}."
        )
    if not n * d:
        return np.empty((n, d), dtype)  # an empty file can't be mapped
    return np.asarray(np.memmap(path, dtype, mode="r", offset=_HEADER_BYTES, shape=(n, d)))


def shape(path: Path) -> tuple[int, int]:
    """Return the number of vectors and their dimension, from the header of a file."""
    header = np.fromfile(path, "<u4", 2)
    if header.size < 2:
        raise ProtocolError(f"{path}: {path.stat().st_size} bytes, too few for the header of {_HEADER_BYTES} bytes.")
    return int(header[0]), int(header[1])
