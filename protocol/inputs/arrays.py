"""Read arrays from files of users in several formats, under the policy of `protocol.inputs.limits`."""

import contextlib
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from protocol.checks import ProtocolError, need
from protocol.inputs import big_ann, containers, fvecs, limits, text

_COUNTED_BYTES = 64 << 20
_LARGEST_INTEGER = 2**53
_PICKLED = re.compile("object arrays|python objects", re.IGNORECASE)
_SPARSE = {"data", "format", "shape"}
_WITH_KEY = re.compile(r"(.+?\.(?:npz|h5|hdf5|mat|csv|tsv|pt|pth)):(.+)", re.IGNORECASE)

FORMS = ("id", "id-class", "id-classes", "id-columns", "class", "classes", "columns")
"""The forms of a line of a list: whether it begins with an id, and has one class, several, or a column for each."""
_WITH_FORM = re.compile(rf"(.+):({'|'.join(FORMS)})")

_TEXT = (".csv", ".tsv", ".txt")
_VECTORS: Any = MappingProxyType(dict.fromkeys(big_ann.TYPES, big_ann) | dict.fromkeys(fvecs.TYPES, fvecs))
_FORMATS = MappingProxyType(
    {".npy": "an .npy file", ".npz": "an .npz file", ".mat": "a .mat file"}
    | dict.fromkeys((".h5", ".hdf5"), "an HDF5 file")
    | dict.fromkeys(_TEXT, "text with numbers")
    | {suffix: f"vectors of {suffix}" for suffix in _VECTORS}
)
"""The formats that are read, by file extension, as error messages name them."""
_KNOWN = (
    "F.npy, F.npz:key, F.h5:dataset, F.mat:variable, F.csv, F.tsv, F.txt, F.fbin, F.f16bin, F.u8bin, F.i8bin, F.ibin, "
    "F.fvecs, F.ivecs or F.bvecs"
)


def read_array(file: str | Path) -> NDArray:
    """Read an array of numbers.

    Parameters
    ----------
    file : str or Path
        ``F.npy``, ``F.npz:key``, ``F.h5:dataset`` (also ``F.hdf5``), ``F.mat:variable`` (also version 7.3), ``F.csv``,
        ``F.tsv``, ``F.txt``, ``F.fbin`` and similar formats (`protocol.inputs.big_ann`), or ``F.fvecs``, ``F.ivecs``
        and ``F.bvecs``. The key may be omitted if the file contains a single array. Text has one row per line, with
        numbers separated by commas, semicolons or blanks. Sparse rows, ``F.npz`` of ``scipy.sparse.save_npz``, become
        dense. An apostrophe at the end transposes a matrix as in MATLAB, ``F.mat:variable'`` or ``F.npy'``, unless a
        file has this name.

    Returns
    -------
    ndarray
        Not empty. From text, a matrix: int64 or uint64 if every number is an integer in its range, otherwise float64.

    Raises
    ------
    ProtocolError
        If the file or key does not exist (the message lists the existing keys), or the file is damaged, larger than
        `limits.ARRAY_BYTES` when decompressed, or not an array of numbers. The message names the file.
    """
    array = map_array(file)
    return np.array(array) if is_mapped(path_of(file)) else array


def read_stored(file: str | Path) -> NDArray:
    """Read an array of numbers, as by `map_array`, or of strings.

    Raises
    ------
    ProtocolError
        As for `read_array`.
    """
    array = _oriented(file)
    return _strings(array, file) if array.dtype.kind in "US" and array.size else _numbers(array, file)


def _strings(array: NDArray, file: str | Path) -> NDArray:
    """Return strings, from bytes as UTF-8; raise ProtocolError for code points that don't exist.

    NumPy does not check the code points.
    """
    if array.dtype.kind == "U":
        points = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if points.size and points.max() > sys.maxunicode:
            raise ProtocolError(f"{file}: the code point U+{points.max():X} in a string does not exist.")
        return array
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError:  # whether these bytes are acceptable depends on what they are
        return array


def read_csr(file: str | Path) -> Any:
    """Read a sparse matrix that ``scipy.sparse.save_npz`` wrote in any format.

    Returns
    -------
    csr_matrix or csr_array
        Entries may be given in several parts, and need not be sorted.

    Raises
    ------
    ProtocolError
        As for `read_array`; or if the file contains anything else, or indices that do not exist.
    """
    path, sparse = _existing(Path(file)), need("scipy.sparse", "scipy")
    with _reading(path, "a sparse matrix"):
        with containers.npz(path) as archive:
            if not set(archive.files) >= _SPARSE:
                raise ProtocolError(
                    f"{path}: not a sparse matrix of scipy.sparse.save_npz. The file contains: "
                    f"{containers.listed(archive.files)}."
                )
            headers = {key: containers.npz_header(archive, path, key) for key in archive.files}
        limits.check_array(path, sum(prod(shape) * dtype.itemsize for shape, dtype in headers.values()))
        if any(dtype.kind == "f" for key, (_, dtype) in headers.items() if key != "data"):
            raise ProtocolError(f"{path}: the indices of a sparse matrix must be integers.")
        rows = sparse.load_npz(path)
        if rows.format in ("bsr", "csc", "csr"):  # their constructors trust the indices; only csr is not converted
            rows.check_format(full_check=True)
        return rows.tocsr()


class SparseRows:
    """Vectors in compressed sparse rows, an array-like whose slices are dense.

    Parameters
    ----------
    file : str or Path
        A file that ``scipy.sparse.save_npz`` wrote.

    Raises
    ------
    ProtocolError
        As for `read_csr`; or if the values are not numbers.
    """

    def __init__(self, file: str | Path) -> None:
        self._file, self._rows = file, read_csr(file)
        self.shape, self.dtype = self._rows.shape, _numbers(self._rows.data, file).dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, part: slice) -> NDArray:
        n_bytes = len(range(*part.indices(len(self)))) * self.shape[1] * self.dtype.itemsize
        if n_bytes > limits.ARRAY_BYTES:
            raise ProtocolError(
                f"{self._file}: as a dense array, its shape {self.shape} takes {n_bytes / 2**30:.3g} GiB, more than "
                f"{limits.ARRAY_BYTES / 2**30:.3g} GiB. Reduce the dimension, for example with TruncatedSVD."
            )
        dense: NDArray = self._rows[part].toarray()
        return dense


def is_sparse(file: str | Path) -> bool:
    """Return whether a file is an ``.npz`` file of ``scipy.sparse.save_npz``, and not of one of its arrays."""
    path, key = path_and_key(file)
    if path.suffix.lower() != ".npz" or key is not None or _is_transposed(file):
        return False
    return set(npz_keys(path)) >= _SPARSE


def read_lists(file: str | Path) -> list[NDArray[np.int64]]:
    """Read lists of database positions from text, one line per query; an empty line is a query without neighbours.

    Raises
    ------
    ProtocolError
        If the file does not exist or is empty, or a line contains anything but integers.
    """
    path = _existing(Path(file))
    lists = []
    for number, line in enumerate(text.lines(path, "lists of database positions"), start=1):
        try:
            lists.append(np.array(re.split(r"[\s,;]+", line.strip()) if line.strip() else [], dtype=np.int64))
        except (ValueError, OverflowError) as error:
            got = textwrap.shorten(line, 40)
            hint = " Judgments of TREC need the ids of all items as well." if len(line.split()) in (4, 6) else ""
            raise ProtocolError(f"{path}: line {number}: {got!r} is not a list of database positions.{hint}") from error
    if not lists:
        raise ProtocolError(f"{path}: the file is empty. It needs a line of database positions for every query.")
    return lists


def map_array(file: str | Path) -> NDArray:
    """Read an array of numbers as by `read_array`, memory-mapped if possible.

    ``.npy``, ``.fbin`` and related formats, and ``.fvecs`` and related formats can be mapped.
    """
    return _numbers(_oriented(file), file)


def map_rows(file: str | Path) -> NDArray | SparseRows:
    """Return an array as by `map_array`, or sparse rows of which only slices become dense."""
    return SparseRows(file) if is_sparse(file) else map_array(file)


def is_mapped(path: Path) -> bool:
    """Return whether `map_array` maps a file with this extension instead of reading it completely."""
    return path.suffix.lower() in (".npy", *_VECTORS)


def _stored(path: Path, key: str | None) -> NDArray:
    """Return an array in a file, mapped if possible."""
    suffix = path.suffix.lower()
    with _reading(_existing(path), _FORMATS.get(suffix, "a PyTorch file")):
        if suffix in _VECTORS:
            return _VECTORS[suffix].mapped(path)
        if suffix in _TEXT:
            return _text(path)
        if suffix == ".mat":
            return containers.matlab_array(path, key)
        if suffix in (".h5", ".hdf5"):
            return containers.hdf5_array(path, key)
        if suffix == ".npz":
            if key is None and is_sparse(path):
                return SparseRows(path)[:]
            with containers.npz(path) as archive:
                return containers.npz_array(archive, path, key)
        if containers.is_torch(path):
            raise ProtocolError(f"{path}: {containers.torch_conversion(path, key)}")
        if suffix != ".npy":
            raise ProtocolError(f"{path}: unknown extension {path.suffix!r}. Use {_KNOWN}.")
        array = np.lib.format.open_memmap(path, mode="r")
        if array.offset + array.nbytes != path.stat().st_size:
            raise ProtocolError(
                f"{path}: {path.stat().st_size - array.offset:,} bytes of data, but shape {array.shape} needs "
                f"{array.nbytes:,}."
            )
        return np.asarray(array)


def array_shape(file: str | Path) -> tuple[int, ...] | None:
    """Return the shape of an array from the header of its file, or None for formats without one (text and ``.mat``).

    Raises
    ------
    ProtocolError
        If the file or key does not exist, or the file is damaged.
    """
    path, key = path_and_key(file)
    suffix = path.suffix.lower()
    shape: tuple[int, ...]
    if suffix in _VECTORS:
        shape = _VECTORS[suffix].shape(_existing(path))
    elif suffix == ".npy":
        shape = _stored(path, key).shape
    elif suffix == ".npz":
        with _reading(_existing(path), _FORMATS[suffix]), containers.npz(path) as archive:
            is_matrix = key is None and set(archive.files) >= _SPARSE
            shape = SparseRows(path).shape if is_matrix else containers.npz_header(archive, path, key)[0]
    elif suffix in (".h5", ".hdf5"):
        with _reading(_existing(path), _FORMATS[suffix]), containers.hdf5(path, key) as dataset:
            shape = dataset.shape
    else:
        return None
    return shape[::-1] if _is_transposed(file) else shape


def row_count(file: str | Path) -> int | None:
    """Return the number of rows of an array without reading it; None if it is unknown.

    It is known from a header, or from the lines of a text of up to 64 MiB.

    Raises
    ------
    ProtocolError
        As for `array_shape`.
    """
    shape, path = array_shape(file), path_of(file)
    if shape is not None:
        return shape[0]
    if _is_transposed(file) or not is_text_array(path) or _existing(path).stat().st_size > _COUNTED_BYTES:
        return None
    return sum(1 for line in text.raw_lines(path, "an array") if line.strip())


def is_text_array(path: Path) -> bool:
    """Return whether `read_array` reads numbers from text with this name."""
    return path.suffix.lower() in _TEXT


def read_integers(file: str | Path, dtype: DTypeLike) -> NDArray:
    """Read a matrix of integers, separated by blanks, from a text file with any extension.

    Parameters
    ----------
    file : str or Path
    dtype : integer dtype
        The dtype of the result, which is also used while reading.

    Raises
    ------
    ProtocolError
        If the file does not exist, or contains anything but integers in the range of `dtype`.
    """
    path = _existing(Path(file))
    with _reading(path, f"text with {np.dtype(dtype)} integers"):
        return np.loadtxt(path, dtype=dtype, comments=None, ndmin=2)


def as_integers(array: NDArray, name: str) -> NDArray[np.int64]:
    """Return integers as int64, even if they are stored as floats, as in MATLAB.

    Raises
    ------
    ProtocolError
        If a number is not an integer, is beyond the range of int64, or is so large that its float type may have rounded
        it: neighbouring integers become equal above 2,047 in float16 and above 16,777,215 in float32.
    """
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # a signalling NaN
            is_int = np.isfinite(array) & (np.trunc(array) == array)
        if not is_int.all():
            raise ProtocolError(f"{name}: expected integers, got {array[~is_int][0]}.")
        exact = min(2 ** (np.finfo(array.dtype).nmant + 1), _LARGEST_INTEGER)
        rounded = np.abs(array.astype(np.promote_types(array.dtype, np.float32))) >= exact
        if rounded.any():
            raise ProtocolError(
                f"{name}: {array.dtype} rounds integers above {exact - 1:,}, such as {float(array[rounded][0])}. "
                "Pass them with an integer dtype."
            )
    elif array.dtype.kind == "u" and array.max(initial=0) >= 1 << 63:
        raise ProtocolError(f"{name}: expected integers below {1 << 63:,}, got {array.max():,}.")
    return array.astype(np.int64)


def path_of(file: str | Path) -> Path:
    """Return the path of the file, without the key, in ``F.npz:key`` or similar."""
    return path_and_key(file)[0]


def npz_keys(file: str | Path) -> list[str]:
    """Return the names of the arrays in an ``.npz`` file; raise ProtocolError if it is missing or damaged."""
    path = _existing(Path(file))
    with _reading(path, "an .npz file"), containers.npz(path) as archive:
        return list(archive.files)


def is_integer(numbers: NDArray) -> NDArray[np.bool_]:
    """Return a mask of the numbers that are integers small enough for float64 to represent them exactly."""
    wide = numbers.astype(np.promote_types(numbers.dtype, np.float64), copy=False)
    return (np.abs(wide) < _LARGEST_INTEGER) & (np.trunc(wide) == wide)


def _numbers(array: NDArray, file: str | Path) -> NDArray:
    if array.dtype.kind not in "biuf":
        raise ProtocolError(f"{file}: expected an array of numbers, got dtype {array.dtype}.")
    if array.size == 0:
        raise ProtocolError(f"{file}: the array is empty, shape {array.shape}.")
    if array.dtype == bool and array.view(np.uint8).max() > 1:
        raise ProtocolError(f"{file}: the bytes of a Boolean array must be 0 or 1, got {array.view(np.uint8).max()}.")
    return array


def path_and_key(file: str | Path) -> tuple[Path, str | None]:
    """Return a file's path and, if given, the key of an array in it, or the column or form of a list.

    Examples
    --------
    >>> path_and_key("f.npz:key'")[1], path_and_key("f.csv:label")[1], path_and_key("f.txt:id-class")[1]
    ('key', 'label', 'id-class')
    """
    name = str(file)[:-1] if _is_transposed(file) else str(file)
    parts = _WITH_KEY.fullmatch(name) or (None if os.path.exists(name) else _WITH_FORM.fullmatch(name))
    return (Path(parts[1]), parts[2]) if parts else (Path(name), None)


def _is_transposed(file: str | Path) -> bool:
    return str(file).endswith("'") and not os.path.exists(file)


def _oriented(file: str | Path) -> NDArray:
    """Return an array, a matrix in the orientation that the name of its file requests; a list has only one."""
    array = _stored(*path_and_key(file))
    if not _is_transposed(file):
        return array
    if array.ndim > 2:
        raise ProtocolError(f"{file}: only a matrix can be transposed, got shape {array.shape}.")
    return array.T


def _existing(path: Path) -> Path:
    with _reading(path, "a file"):
        if not path.is_file():
            if not path.exists():
                raise ProtocolError(f"{path}: no such file.")
            raise ProtocolError(f"{path}: this is {'a folder' if path.is_dir() else 'a non-regular file'}, not a file.")
        if path.stat().st_size == 0:
            raise ProtocolError(f"{path}: the file is empty.")
    return path


@contextlib.contextmanager
def _reading(path: Path, expected: str) -> Iterator[None]:
    """Convert any error of a reader into a ProtocolError of one line, and suppress warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ProtocolError:
        raise
    except Exception as error:  # a parser may raise anything on a damaged file
        if isinstance(error, ValueError) and _PICKLED.search(str(error)):
            raise ProtocolError(
                f"{path}: pickled Python objects are never loaded. Save an array of numbers."
            ) from error
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = textwrap.shorten(reason, 160).rstrip(".") or type(error).__name__
        raise ProtocolError(f"{path}: can't be read as {expected} ({reason}).") from error


def _text(path: Path) -> NDArray:
    with open(path, encoding="utf-8-sig") as lines:
        first = next((line for line in lines if line.strip()), "")
        if not first:
            raise ProtocolError(f"{path}: all lines are blank.")
        delimiter = next((mark for mark in ",;" if mark in first), None)
        lines.seek(0)
        numbers = np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
        if is_integer(numbers).all():
            return numbers.astype(np.int64)
        for dtype in (np.int64, np.uint64) if (np.trunc(numbers) == numbers).all() else ():  # float64 rounded them
            lines.seek(0)
            with contextlib.suppress(ValueError, DeprecationWarning), warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)
                return np.loadtxt(lines, dtype=dtype, delimiter=delimiter, comments=None, ndmin=2)
    return numbers
