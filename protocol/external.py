"""Arrays of an HDF5 file whose bytes are stored in another file (HDF5's external storage).

Other programs can also read such an array. If the path of the other file is relative, h5py finds it if the
environment variable ``HDF5_EXTFILE_PREFIX`` is set to ``${ORIGIN}``.
"""

import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import need

if TYPE_CHECKING:
    import h5py

_VALUES = "values"  # the attribute that holds the type of the values


@dataclass(frozen=True)
class Span:
    """The part of a file that is an array, in C order.

    Parameters
    ----------
    path : Path
        The file. If the path is relative, arrays that refer to the file also store a relative path.
    offset : int
        The number of bytes before the array.
    shape : tuple of int
    stored : dtype
        The dtype of the numbers in the file: integers or floats of at most eight bytes.
    values : dtype
        The dtype to which the numbers are converted when they are read.
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    stored: np.dtype[Any]
    values: np.dtype[Any]


def create(file: "h5py.File", name: str, span: Span) -> "h5py.Dataset":
    """Add an array whose bytes remain in another file; nothing is written to that file.

    A relative path is stored relative to the folder of `file`, so that both can be moved together.
    """
    other = str(span.path) if span.path.is_absolute() else os.path.relpath(span.path.resolve(), _folder(file).resolve())
    size = prod(span.shape) * span.stored.itemsize
    where = {"external": [(other, span.offset, size)], "efile_prefix": str(_folder(file))}
    array = file.create_dataset(name, shape=span.shape, dtype=span.stored, **where)
    array.attrs[_VALUES] = span.values.str
    return array


def names_of(file: "h5py.File", group: str = "") -> list[str]:
    """Return the names of the arrays of a file, or of one of its groups.

    None is opened, because HDF5 requires the same prefix in all later calls. ``Group.visititems`` would open them.
    """
    h5py, names, before = need("h5py", "hdf5"), list[str](), f"{group}/" if group else ""

    def visit(name: bytes, info: Any) -> None:
        if info.type == h5py.h5o.TYPE_DATASET:
            names.append(before + name.decode("utf-8"))

    h5py.h5o.visit(file[group or "/"].id, visit, info=True)
    return names


def open_array(file: "h5py.File", name: str) -> "h5py.Dataset":
    """Return an array of a file; a relative path of the other file is resolved from the folder of this one.

    Raises KeyError if the file has no array of this name.
    """
    h5py = need("h5py", "hdf5")
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    access.set_efile_prefix(os.fsencode(_folder(file)))
    return h5py.Dataset(h5py.h5d.open(file.id, name.encode(), access))


def _folder(file: "h5py.File") -> Path:
    return Path(file.filename).absolute().parent


def path_of(file: "h5py.File", array: "h5py.Dataset") -> Path:
    """Return the absolute path of the file that contains the bytes of an array."""
    return _folder(file).joinpath(array.external[0][0]).resolve()


class Values:
    """An array that is read by slices, as values of another type. NumPy converts float16 ten times as fast as HDF5."""

    def __init__(self, array: "h5py.Dataset") -> None:
        self._array = array
        self.shape, self.dtype = array.shape, np.dtype(array.attrs[_VALUES])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray:
        return np.asarray(self._array[rows], dtype=self.dtype)


def span_of(file: "h5py.File", array: "h5py.Dataset") -> Span | None:
    """Return the part of this or another file that contains an array; None if its bytes are in several pieces."""
    if array.external:
        ((other, offset, _),) = array.external
        path, values = Path(other), np.dtype(array.attrs[_VALUES])
        return Span(
            path if path.is_absolute() else _relative(path_of(file, array)), offset, array.shape, array.dtype, values
        )
    offset = array.id.get_offset()
    return None if offset is None else Span(_relative(file.filename), offset, array.shape, array.dtype, array.dtype)


def _relative(path: str | Path) -> Path:
    return Path(os.path.relpath(os.path.realpath(path)))
