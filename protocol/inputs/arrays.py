"""Read arrays from files of users in several formats, under the policy of `protocol.inputs.limits`."""

import contextlib
import re
import sys
import textwrap
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from protocol.checks import ProtocolError
from protocol.external import Span
from protocol.inputs import big_ann, fvecs, hdf5, limits, matlab, text

_COUNTED_BYTES = 64 << 20
_LARGEST_INTEGER = 2**53
_MOST_KEYS = 20
_USER_BLOCK, _HDF5 = 512, b"\x89HDF"  # offset and magic number of HDF5 in a .mat file
_WITH_KEY = re.compile(r"(.+?\.(?:npz|h5|hdf5|mat|csv|tsv)):(.+)", re.IGNORECASE)


def read_array(file: str | Path) -> NDArray:
    """Read an array of numbers.

    Parameters
    ----------
    file : str or Path
        ``F.npy``, ``F.npz:key``, ``F.h5:dataset`` (also ``F.hdf5``), ``F.mat:variable`` (also version 7.3), ``F.csv``,
        ``F.tsv``, ``F.txt``, ``F.fbin`` and similar formats (`protocol.inputs.big_ann`), or ``F.fvecs``, ``F.ivecs``
        and ``F.bvecs``. The key may be omitted if the file contains a single array. Text has one row per line, with
        numbers separated by commas, semicolons or blanks. Sparse rows, ``F.npz`` of ``scipy.sparse.save_npz``, become
        dense.

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
    path, key = path_and_key(file)
    return _numbers(_reader(path)(path, key), file)


def read_stored(file: str | Path) -> NDArray:
    """Read an array of numbers, as by `map_array`, or of strings.

    Raises
    ------
    ProtocolError
        As for `read_array`.
    """
    path, key = path_and_key(file)
    array = _mapped(path, key)
    return _strings(array, file) if array.dtype.kind in "US" and array.size else _numbers(array, file)


def _strings(array: NDArray, file: str | Path) -> NDArray:
    """Return strings, or raise ProtocolError for code points that don't exist, which NumPy does not check."""
    if array.dtype.kind == "U":
        points = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if points.size and points.max() > sys.maxunicode:
            raise ProtocolError(f"{file}: the code point U+{points.max():X} in a string does not exist.")
    return array


def read_csr(file: str | Path) -> tuple[dict[str, NDArray], tuple[int, int]]:
    """Read compressed sparse rows as ``scipy.sparse.save_npz`` writes them.

    Returns
    -------
    arrays : dict of str to ndarray
        ``indptr`` and ``indices``, and ``data`` if the file has it.
    shape : tuple of int

    Raises
    ------
    ProtocolError
        As for `read_array`; or if ``indptr``, ``indices`` or ``shape`` is missing, or the format is not CSR.
    """
    path = _existing(Path(file))
    with _reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        keys = _npz_keys(archive)
        missing = {"indptr", "indices", "shape"} - set(keys)
        if missing:
            raise ProtocolError(
                f"{path}: a sparse matrix needs the arrays indptr, indices and shape; this file contains: "
                f"{_listed(keys)}."
            )
        parts = ("indptr", "indices", "shape", "format", "data")
        arrays = {key: _npz_array(archive, path, key) for key in parts if key in keys}
    kind = arrays.pop("format", np.array(b"csr")).item()
    kind = kind.decode(errors="replace") if isinstance(kind, bytes) else kind
    shape = arrays.pop("shape")
    if kind != "csr" or shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ProtocolError(f"{path}: a sparse matrix must be 2-D and in csr format, got {kind} of shape {shape}.")
    return arrays, (int(shape[0]), int(shape[1]))


class SparseRows:
    """Vectors in compressed sparse rows, an array-like whose slices are dense.

    Parameters
    ----------
    file : str or Path
        A file that ``scipy.sparse.save_npz`` wrote.

    Raises
    ------
    ProtocolError
        As for `read_csr`; or if the arrays do not fit together or refer to columns that do not exist.
    """

    def __init__(self, file: str | Path) -> None:
        arrays, (n, d) = read_csr(file)
        self._file, self.shape, self._data = file, (n, d), _numbers(arrays.get("data", np.empty(0)), file)
        ends, columns, self.dtype = arrays["indptr"], arrays["indices"], self._data.dtype
        integers = ends.dtype.kind in "iu" and columns.dtype.kind in "iu"
        if not integers or columns.ndim != 1 or columns.shape != self._data.shape:
            raise ProtocolError(f"{file}: indptr and indices must be integers, with as many indices as data.")
        if n < 1 or ends.shape != (n + 1,) or ends[0] != 0 or ends[-1] != columns.size or (ends[1:] < ends[:-1]).any():
            raise ProtocolError(
                f"{file}: indptr must be n + 1 = {n + 1:,} ascending integers from 0 to {columns.size:,}."
            )
        if columns.min() < 0 or columns.max() >= d:
            raise ProtocolError(
                f"{file}: indices must be from 0 to {d - 1:,}, got {columns.min():,} to {columns.max():,}."
            )
        self._ends, self._columns = ends.astype(np.int64), columns

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray:
        start, stop, step = part.indices(len(self))
        ends = self._ends[start : max(start, stop) + 1]
        n_bytes = (ends.size - 1) * self.shape[1] * self.dtype.itemsize
        if n_bytes > limits.ARRAY_BYTES:
            raise ProtocolError(
                f"{self._file}: as a dense array, its shape {self.shape} takes {n_bytes / 2**30:.3g} GiB, more than "
                f"{limits.ARRAY_BYTES / 2**30:.3g} GiB. Reduce the dimension, for example with TruncatedSVD."
            )
        rows, entries = np.zeros((ends.size - 1, self.shape[1]), self.dtype), slice(ends[0], ends[-1])
        row = np.repeat(np.arange(len(rows)), np.diff(ends))
        np.add.at(rows, (row, self._columns[entries]), self._data[entries])  # an entry may be given in several parts
        return rows[::step]


def is_sparse(file: str | Path) -> bool:
    """Return whether a file is an ``.npz`` file of ``scipy.sparse.save_npz``, and not of one of its arrays."""
    path, key = path_and_key(file)
    return path.suffix.lower() == ".npz" and key is None and {"indptr", "shape"} <= set(npz_keys(path))


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
    path, key = path_and_key(file)
    return _numbers(_mapped(path, key), file)


def map_rows(file: str | Path) -> NDArray | SparseRows:
    """Return an array as by `map_array`, or sparse rows of which only slices become dense."""
    return SparseRows(file) if is_sparse(file) else map_array(file)


def is_mapped(path: Path) -> bool:
    """Return whether `map_array` maps a file with this extension instead of reading it completely."""
    return path.suffix.lower() in (".npy", *_VECTORS)


def _mapped(path: Path, key: str | None) -> NDArray:
    """Return an array in a file, mapped if possible."""
    suffix = path.suffix.lower()
    if suffix in _VECTORS:
        with _reading(_existing(path), f"vectors of {suffix}"):
            return _VECTORS[suffix].mapped(path)
    if suffix != ".npy":
        return _reader(path)(path, key)
    with _reading(_existing(path), "an .npy file"), open(path, "rb") as stream:
        _check_header(stream, path, path.stat().st_size)
        if not np.prod(_header(stream, path)[0]):
            return _npy(path, key)  # an empty array can't be mapped
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def span_of(file: str | Path, array: NDArray | SparseRows, values: np.dtype[Any]) -> Span | None:
    """Return the location of an array that `map_rows` returned, to be read as `values`, or None.

    The result is None unless the rows follow one another in the file, and their numbers are integers or floats of at
    most eight bytes.
    """
    if isinstance(array, SparseRows):
        return None
    mapped = array.base
    if not isinstance(mapped, np.memmap) or array.nbytes != mapped.nbytes or not array.flags.c_contiguous:
        return None
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        return None
    return Span(path_of(file), mapped.offset, array.shape, array.dtype, values)


def array_shape(file: str | Path) -> tuple[int, ...] | None:
    """Return the shape of an array from the header of its file, or None for formats without one (text and ``.mat``).

    Raises
    ------
    ProtocolError
        If the file or key does not exist, or the file is damaged.
    """
    path, key = path_and_key(file)
    match path.suffix.lower():
        case ".npy":
            with _reading(_existing(path), "an .npy file"), open(path, "rb") as stream:
                return _header(stream, path)[0]
        case ".npz" if is_sparse(file):
            return tuple(_npz(path, "shape").tolist())
        case ".npz":
            with (
                _reading(_existing(path), "an .npz file"),
                zipfile.ZipFile(path) as archive,
                archive.open(_npz_member(archive, path, _chosen(path, key, _npz_keys(archive)))) as stream,
            ):
                return _header(stream, path)[0]
        case ".h5" | ".hdf5":
            return _from_hdf5(hdf5.shape, _existing(path), key)
        case suffix if suffix in _VECTORS:
            shape: tuple[int, int] = _VECTORS[suffix].shape(_existing(path))
            return shape
        case _:
            return None


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
    if not is_text_array(path) or _existing(path).stat().st_size > _COUNTED_BYTES:
        return None
    return sum(1 for line in text.raw_lines(path, "an array") if line.strip())


def is_text_array(path: Path) -> bool:
    """Return whether `read_array` reads numbers from text with this name."""
    return _READERS.get(path.suffix.lower()) is _text


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
    with _reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        return _npz_keys(archive)


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
    """Return a file's path and, if given, the key of an array in it, as in ``F.npz:key``."""
    parts = _WITH_KEY.fullmatch(str(file))
    return (Path(parts[1]), parts[2]) if parts else (Path(file), None)


def _existing(path: Path) -> Path:
    with _reading(path, "a file"):
        if not path.is_file():
            if not path.exists():
                raise ProtocolError(f"{path}: no such file.")
            raise ProtocolError(f"{path}: this is {'a folder' if path.is_dir() else 'a non-regular file'}, not a file.")
        if path.stat().st_size == 0:
            raise ProtocolError(f"{path}: the file is empty.")
    return path


def _reader(path: Path) -> Callable[[Path, str | None], NDArray]:
    _existing(path)
    try:
        return _READERS[path.suffix.lower()]
    except KeyError:
        raise ProtocolError(f"{path}: unknown extension {path.suffix!r}. Use {_KNOWN}.") from None


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
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = textwrap.shorten(reason, 160).rstrip(".") or type(error).__name__
        raise ProtocolError(f"{path}: can't be read as {expected} ({reason}).") from error


def _listed(keys: Iterable[str]) -> str:
    """Return the first keys on one line, even if they contain unusual characters."""
    ordered = [key if key.isprintable() else ascii(key) for key in sorted(keys)]
    more = len(ordered) - _MOST_KEYS
    return ", ".join(ordered[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "") or "nothing"


def _chosen(path: Path, key: str | None, keys: Sequence[str]) -> str:
    """Return the key of the array to read: the requested one, or the only one."""
    if key is None and len(keys) == 1:
        return keys[0]
    if key is None:
        raise ProtocolError(f"{path}: name one of its arrays as {path.name}:KEY. The file contains: {_listed(keys)}.")
    if key not in keys:
        raise ProtocolError(f"{path}: no array {key!r}. The file contains: {_listed(keys)}.")
    return key


def _within_limit(path: Path, n_bytes: int) -> None:
    if n_bytes > limits.ARRAY_BYTES:
        raise ProtocolError(
            f"{path}: the array takes {n_bytes / 2**30:.3g} GiB uncompressed, more than "
            f"{limits.ARRAY_BYTES / 2**30:.3g} GiB. Save it as .npy."
        )


def _check_header(stream: IO[bytes], path: Path, n_bytes: int) -> None:
    """Refuse an array in NumPy's format unless the size in its header equals the `n_bytes` of the stream."""
    shape, dtype = _header(stream, path)
    if dtype.hasobject:
        raise ProtocolError(f"{path}: pickled Python objects are never loaded. Save an array of numbers.")
    declared, actual = prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    if declared != actual or min(shape, default=0) < 0:
        raise ProtocolError(f"{path}: {actual:,} bytes of data, but shape {shape} needs {declared:,}.")
    stream.seek(0)


def _header(stream: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and dtype of an array in NumPy's format."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ProtocolError(f"{path}: NumPy's format must be 1.0 or 2.0, got {'.'.join(map(str, version))}.")
    shape, _, dtype = readers[version](stream)
    return shape, dtype


def _numpy_array(stream: IO[bytes], path: Path, n_bytes: int) -> NDArray:
    _check_header(stream, path, n_bytes)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _npy(path: Path, key: str | None) -> NDArray:
    with _reading(path, "an .npy file"), open(path, "rb") as stream:
        return _numpy_array(stream, path, path.stat().st_size)


def _npz_keys(archive: zipfile.ZipFile) -> list[str]:
    return [name.removesuffix(".npy") for name in archive.namelist()]


def _npz_array(archive: zipfile.ZipFile, path: Path, key: str) -> NDArray:
    member = _npz_member(archive, path, key)
    _within_limit(path, member.file_size)
    with archive.open(member) as stream:
        array = _numpy_array(stream, path, member.file_size)
        stream.read(1)  # at the end of the stream, its checksum is verified
        return array


def _npz_member(archive: zipfile.ZipFile, path: Path, key: str) -> zipfile.ZipInfo:
    """Return the member of an archive that contains an array; refuse members that NumPy does not write."""
    members = [member for member in archive.infolist() if member.filename in (key, f"{key}.npy")]
    if len(members) > 1:
        raise ProtocolError(f"{path}: {len(members)} arrays have the name {key!r}.")
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ProtocolError(
            f"{path}: arrays must be stored or deflated, got the compression {members[0].compress_type}."
        )
    return members[0]


def _npz(path: Path, key: str | None) -> NDArray:
    if key is None and is_sparse(path):
        return SparseRows(path)[:]
    with _reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        return _npz_array(archive, path, _chosen(path, key, _npz_keys(archive)))


def _hdf5(path: Path, key: str | None) -> NDArray:
    return _from_hdf5(hdf5.read, path, key)


def _from_hdf5(request: Callable[..., Any], path: Path, key: str | None) -> Any:
    """Read an HDF5 file in another process; if the key is wrong, list the arrays in the file."""
    with _reading(path, "an HDF5 file"):
        try:
            return request(path, key, limit=limits.ARRAY_BYTES)
        except hdf5.UnknownKeyError as found:
            return request(path, _chosen(path, key, found.keys), limit=limits.ARRAY_BYTES)


def _matlab(path: Path, key: str | None) -> NDArray:
    with _reading(path, "a .mat file"), open(path, "rb") as stream:
        stream.seek(_USER_BLOCK)
        if stream.read(len(_HDF5)) == _HDF5:
            return _hdf5(path, key).T  # version 7.3 is HDF5 and stores columns first
        # Mapped, so that other large variables in the file take no memory.
        variables = matlab.variables(np.memmap(path, dtype=np.uint8, mode="r").data)
        if key not in variables:
            variables |= matlab.fields(variables, limits.ARRAY_BYTES)
        variable = variables[_chosen(path, key, list(variables))]
        _within_limit(path, variable.n_bytes)
        return variable.read()


def _text(path: Path, key: str | None) -> NDArray:
    with _reading(path, "text with numbers"), open(path, encoding="utf-8-sig") as lines:
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


def _vectors(path: Path, key: str | None) -> NDArray:
    return np.array(_mapped(path, key))


_KNOWN = (
    "F.npy, F.npz:key, F.h5:dataset, F.mat:variable, F.csv, F.tsv, F.txt, F.fbin, F.f16bin, F.u8bin, F.i8bin, F.ibin, "
    "F.fvecs, F.ivecs or F.bvecs"
)
_VECTORS: Any = MappingProxyType(dict.fromkeys(big_ann.TYPES, big_ann) | dict.fromkeys(fvecs.TYPES, fvecs))
_READERS: Any = MappingProxyType(
    {
        ".npy": _npy,
        ".npz": _npz,
        ".h5": _hdf5,
        ".hdf5": _hdf5,
        ".mat": _matlab,
        ".csv": _text,
        ".tsv": _text,
        ".txt": _text,
        **dict.fromkeys(_VECTORS, _vectors),
    }
)
