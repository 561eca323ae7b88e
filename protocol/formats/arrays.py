"""Arrays from a user's files: refused where they are not what they say, and nothing in them is ever run.

A file may come from anywhere. So nothing is unpickled, and what a file declares is held against a limit, and against
what it has, before any memory is taken: a few kilobytes of zip or HDF5 can unpack to terabytes.
"""

import contextlib
import csv
import re
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

from protocol.checks import ProtocolError, need
from protocol.formats import big_ann, matlab

LIMIT = 4 << 30
"""Bytes that a packed array may unpack to; larger ones are for ``.npy``, which can't grow on reading."""

_LARGEST_INTEGER = 2**53
_MOST_KEYS = 20
_USER_BLOCK, _HDF5 = 512, b"\x89HDF"  # where MATLAB has HDF5 start, and with what
_WITH_KEY = re.compile(r"(.+?\.(?:npz|h5|hdf5|mat)):(.+)", re.IGNORECASE)


def read_array(file: str | Path) -> NDArray:
    """Read an array of numbers.

    Parameters
    ----------
    file : str or Path
        ``F.npy``, ``F.npz:key``, ``F.h5:dataset`` (also ``F.hdf5``), ``F.mat:variable`` (also version 7.3), ``F.csv``,
        ``F.tsv``, ``F.txt``, or ``F.fbin`` and its like (`protocol.formats.big_ann`). The key may be left out where the
        file holds one array only. Text has a row a line, its numbers between commas, semicolons or blanks.

    Returns
    -------
    ndarray
        Not empty; from text a matrix, int64 where every number is whole and float64 otherwise.

    Raises
    ------
    ProtocolError
        If there is no such file or key (the known ones are listed), the file is damaged, larger than `LIMIT` once
        unpacked, or holds something else than an array of numbers. Says which file, what was wanted and what came.
    """
    path, key = _split(file)
    return _numbers(_reader(path)(path, key), file)


def read_labels(file: str | Path) -> NDArray:
    """Read class labels: an array of numbers as `read_array`, or strings.

    Strings come from ``F.npy``, ``F.npz:key`` and text with a label a line, which may be quoted as in CSV.

    Raises
    ------
    ProtocolError
        As `read_array`.
    """
    path, key = _split(file)
    try:
        array = _reader(path)(path, key)
    except ProtocolError:
        words = _words(path) if _READERS.get(path.suffix.lower()) is _text and path.is_file() else []
        if not words:
            raise
        return np.array(words)
    return array if array.dtype.kind in "US" and array.size else _numbers(array, file)


def read_csr(file: str | Path) -> tuple[dict[str, NDArray], tuple[int, int]]:
    """Read compressed sparse rows as ``scipy.sparse.save_npz`` writes them.

    Returns
    -------
    arrays : dict of str to ndarray
        ``indptr`` and ``indices``, and ``data`` where the file has it.
    shape : tuple of int

    Raises
    ------
    ProtocolError
        As `read_array`; if ``indptr``, ``indices`` or ``shape`` is missing, or the format is another one.
    """
    path = _existing(Path(file))
    with _reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        keys = _npz_keys(archive)
        missing = {"indptr", "indices", "shape"} - set(keys)
        if missing:
            raise ProtocolError(
                f"{path}: wanted compressed sparse rows, arrays indptr, indices and shape, came {_listed(keys)}"
            )
        wanted = ("indptr", "indices", "shape", "format", "data")
        arrays = {key: _npz_array(archive, path, key) for key in wanted if key in keys}
    kind = arrays.pop("format", np.array(b"csr")).item()
    kind = kind.decode(errors="replace") if isinstance(kind, bytes) else kind
    shape = arrays.pop("shape")
    if kind != "csr" or shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ProtocolError(f"{path}: wanted compressed sparse rows (csr) of a matrix, came {kind} of shape {shape}")
    return arrays, (int(shape[0]), int(shape[1]))


def read_lists(file: str | Path) -> list[NDArray[np.int64]]:
    """Read lists of database positions from text, a query a line; an empty line is a query without neighbours.

    Raises
    ------
    ProtocolError
        If there is no such file, it is empty, or a line holds something else than whole numbers.
    """
    path = _existing(Path(file))
    lists = []
    with _reading(path, "text"), open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                lists.append(np.array(re.split(r"[\s,;]+", line.strip()) if line.strip() else [], dtype=np.int64))
            except (ValueError, OverflowError) as error:
                came = textwrap.shorten(line, 40)
                raise ProtocolError(f"{path}: line {number}: wanted database positions, came {came!r}") from error
    if not lists:
        raise ProtocolError(f"{path}: wanted a line of database positions for every query, came an empty file")
    return lists


def map_array(file: str | Path) -> NDArray:
    """Read an array of numbers as `read_array`, but leave one in an ``.npy`` file on the disk until it is looked at."""
    path, _ = _split(file)
    if path.suffix.lower() != ".npy":
        return read_array(file)
    with _reading(_existing(path), "an .npy file"), open(path, "rb") as stream:
        _check_header(stream, path, path.stat().st_size)
        return _numbers(np.load(path, mmap_mode="r", allow_pickle=False), file)


def array_shape(file: str | Path) -> tuple[int, ...] | None:
    """Return the shape of an array from the header of its file, or None for formats without one (text and ``.mat``).

    Raises
    ------
    ProtocolError
        If there is no such file or key, or the file is damaged.
    """
    path, key = _split(file)
    match path.suffix.lower():
        case ".npy":
            with _reading(_existing(path), "an .npy file"), open(path, "rb") as stream:
                return _header(stream, path)[0]
        case ".npz":
            with _reading(_existing(path), "an .npz file"), zipfile.ZipFile(path) as archive:
                name = _chosen(path, key, _npz_keys(archive))
                with archive.open(name if name in archive.namelist() else f"{name}.npy") as stream:
                    return _header(stream, path)[0]
        case ".h5" | ".hdf5":
            h5py = need("h5py", "hdf5")
            with _reading(_existing(path), "an HDF5 file"), h5py.File(path, "r") as opened:
                return tuple(_dataset(opened, path, key).shape or ())
        case suffix if suffix in big_ann.TYPES:
            return big_ann.shape(_existing(path))
        case _:
            return None


def read_integers(file: str | Path, dtype: DTypeLike) -> NDArray:
    """Read a matrix of whole numbers from text, blanks between, whatever the file's extension.

    Parameters
    ----------
    file : str or Path
    dtype : integer dtype
        Of the result, and of what is in memory while it is read.

    Raises
    ------
    ProtocolError
        If there is no such file, or it holds something else than whole numbers in the range of `dtype`.
    """
    path = _existing(Path(file))
    with _reading(path, f"whole numbers of {np.dtype(dtype)} as text"):
        return np.loadtxt(path, dtype=dtype, comments=None, ndmin=2)


def as_integers(array: NDArray, name: str) -> NDArray[np.int64]:
    """Return integers as int64, also if they are stored as floats, as in MATLAB.

    Raises
    ------
    ProtocolError
        If one is not an integer, or so large that its float type may have rounded it: above 2,047 as float16, or
        16,777,215 as float32, neighbouring integers become equal.
    """
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (np.trunc(array) == array)
        if not whole.all():
            raise ProtocolError(f"{name}: expected integers, got {array[~whole][0]}.")
        exact = min(2 ** (np.finfo(array.dtype).nmant + 1), _LARGEST_INTEGER)
        rounded = np.abs(array.astype(np.promote_types(array.dtype, np.float32))) >= exact
        if rounded.any():
            raise ProtocolError(
                f"{name}: expected integers up to {exact - 1:,}, since {array.dtype} merges larger ones by rounding, "
                f"got {float(array[rounded][0])}. Pass them with an integer dtype."
            )
    return array.astype(np.int64)


def path_of(file: str | Path) -> Path:
    """Return the path of the file in ``F.npz:key`` or the like."""
    return _split(file)[0]


def npz_keys(file: str | Path) -> list[str]:
    """Return the names of the arrays in an ``.npz`` file; ProtocolError if it is missing or damaged."""
    path = _existing(Path(file))
    with _reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        return _npz_keys(archive)


def is_whole(numbers: NDArray) -> NDArray[np.bool_]:
    """Return which numbers are integers, and small enough for a float64 to distinguish them from their neighbours."""
    wide = numbers.astype(np.promote_types(numbers.dtype, np.float64), copy=False)
    return (np.abs(wide) < _LARGEST_INTEGER) & (np.trunc(wide) == wide)


def _numbers(array: NDArray, file: str | Path) -> NDArray:
    if array.dtype.kind not in "biuf":
        raise ProtocolError(f"{file}: wanted an array of numbers, came dtype {array.dtype}")
    if array.size == 0:
        raise ProtocolError(f"{file}: wanted an array of numbers, came an empty one, shape {array.shape}")
    return array


def _split(file: str | Path) -> tuple[Path, str | None]:
    """Return a file's path and, where one is given, the key of an array in it."""
    parts = _WITH_KEY.fullmatch(str(file))
    return (Path(parts[1]), parts[2]) if parts else (Path(file), None)


def _existing(path: Path) -> Path:
    with _reading(path, "a file"):
        if not path.is_file():
            came = "a folder" if path.is_dir() else "something else" if path.exists() else "no such file"
            raise ProtocolError(f"{path}: wanted a file, came {came}")
        if path.stat().st_size == 0:
            raise ProtocolError(f"{path}: wanted an array, came an empty file")
    return path


def _reader(path: Path) -> Callable[[Path, str | None], NDArray]:
    try:
        reader = _READERS[path.suffix.lower()]
    except KeyError:
        raise ProtocolError(f"{path}: expected a file {_KNOWN}, got the extension {path.suffix!r}.") from None
    _existing(path)
    return reader


@contextlib.contextmanager
def _reading(path: Path, wanted: str) -> Iterator[None]:
    """Turn what a reader says of a damaged file into one line, and let it warn of nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ProtocolError:
        raise
    except Exception as error:  # a parser may raise anything on a damaged file
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = textwrap.shorten(reason, 160) or type(error).__name__
        raise ProtocolError(f"{path}: wanted {wanted}, which it can't be read as: {reason}") from error


def _listed(keys: Iterable[str]) -> str:
    """Return the first keys in a line, whatever characters they are made of."""
    ordered = [key if key.isprintable() else ascii(key) for key in sorted(keys)]
    return ", ".join(ordered[:_MOST_KEYS]) + (", ..." if len(ordered) > _MOST_KEYS else "") or "nothing"


def _chosen(path: Path, key: str | None, keys: Sequence[str]) -> str:
    """Return the key of the array to read: the one asked for, or the only one."""
    if key is None and len(keys) == 1:
        return keys[0]
    if key is None:
        raise ProtocolError(f"{path}: wanted {path.name}:KEY, came no key; it has: {_listed(keys)}")
    if key not in keys:
        raise ProtocolError(f"{path}: wanted the array {key!r}, came a file without; it has: {_listed(keys)}")
    return key


def _within_limit(path: Path, n_bytes: int) -> None:
    if n_bytes > LIMIT:
        raise ProtocolError(
            f"{path}: wanted at most {LIMIT / 2**30:.3g} GiB unpacked, came {n_bytes / 2**30:.3g} GiB; "
            "save a larger array as .npy"
        )


def _check_header(stream: IO[bytes], path: Path, n_bytes: int) -> None:
    """Refuse an array in numpy's format, in a stream of `n_bytes`, unless its header asks for just as many."""
    shape, dtype = _header(stream, path)
    if dtype.hasobject:
        raise ProtocolError(f"{path}: wanted an array of numbers, came pickled Python objects, which are never loaded")
    declared, came = prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    if declared != came or min(shape, default=0) < 0:
        raise ProtocolError(f"{path}: wanted {declared} bytes of data as shape {shape} says, came {came}")
    stream.seek(0)


def _header(stream: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and dtype of an array in numpy's format."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ProtocolError(f"{path}: expected NumPy's format 1.0 or 2.0, got {'.'.join(map(str, version))}.")
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
    names = set(archive.namelist())
    member = archive.getinfo(key if key in names else f"{key}.npy")
    _within_limit(path, member.file_size)
    with archive.open(member) as stream:
        return _numpy_array(stream, path, member.file_size)  # a stream ends where the member says, whatever follows


def _npz(path: Path, key: str | None) -> NDArray:
    with _reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        return _npz_array(archive, path, _chosen(path, key, _npz_keys(archive)))


def _hdf5(path: Path, key: str | None) -> NDArray:
    h5py = need("h5py", "hdf5")
    with _reading(path, "an HDF5 file"), h5py.File(path, "r") as file:
        dataset = _dataset(file, path, key)
        if dataset.dtype.kind not in "biuf":
            raise ProtocolError(f"{path}: wanted an array of numbers, came dtype {dataset.dtype}")
        _within_limit(path, prod(dataset.shape or ()) * dataset.dtype.itemsize)
        return np.asarray(dataset[()])


def _dataset(file: Any, path: Path, key: str | None) -> Any:
    """Return the dataset of an open HDF5 file that a key names."""
    h5py = need("h5py", "hdf5")
    found: dict[str, Any] = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found[_chosen(path, key.strip("/") if key else None, list(found))]


def _matlab(path: Path, key: str | None) -> NDArray:
    with _reading(path, "a .mat file"), open(path, "rb") as stream:
        stream.seek(_USER_BLOCK)
        if stream.read(len(_HDF5)) == _HDF5:
            return _hdf5(path, key).T  # version 7.3 is HDF5 and stores columns first
        # Mapped, so that a large variable beside the one that is asked for takes no memory.
        variables = matlab.variables(np.memmap(path, dtype=np.uint8, mode="r").data)
        variable = variables[_chosen(path, key, list(variables))]
        _within_limit(path, variable.n_bytes)
        return variable.read()


def _text(path: Path, key: str | None) -> NDArray:
    with _reading(path, "numbers as text"), open(path, encoding="utf-8-sig") as lines:
        first = next((line for line in lines if line.strip()), "")
        if not first:
            raise ProtocolError(f"{path}: wanted numbers as text, came blank lines")
        delimiter = next((mark for mark in ",;" if mark in first), None)
        lines.seek(0)
        numbers = np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
    return numbers.astype(np.int64) if is_whole(numbers).all() else numbers


def _words(path: Path) -> list[str]:
    """Return the labels of a text with one a line, or [] if it is something else."""
    with _reading(path, "labels as text"), open(path, encoding="utf-8-sig", newline="") as lines:
        rows = [row for row in csv.reader(lines) if row and any(map(str.strip, row))]
    one_each = all(len(row) == 1 for row in rows) and any(map(str.isalpha, "".join(row[0] for row in rows)))
    return [row[0].strip() for row in rows] if one_each else []


def _vectors(path: Path, key: str | None) -> NDArray:
    with _reading(path, f"vectors of {path.suffix}"):
        return big_ann.read(path)


_KNOWN = (
    "F.npy, F.npz:key, F.h5:dataset, F.mat:variable, F.csv, F.tsv, F.txt, F.fbin, F.f16bin, F.u8bin, F.i8bin or F.ibin"
)
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
        **dict.fromkeys(big_ann.TYPES, _vectors),
    }
)
