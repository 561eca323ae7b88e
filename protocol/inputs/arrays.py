"""Read arrays from files of users in several formats, within the limits of `protocol.inputs.text`.

NumPy, SciPy and h5py parse the files. Nothing is ever unpickled. Any error of a reader becomes one line with the file.
"""

import contextlib
import os
import re
import shlex
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from protocol.checks import ProtocolError, need
from protocol.inputs import fvecs, text

_COUNTED_BYTES = 64 << 20
_LARGEST_INTEGER = 2**53
_MOST_KEYS = 20
_PICKLED = re.compile("object arrays|python objects", re.IGNORECASE)
_SPARSE = {"data", "format", "shape"}
_DOUBLE = 8  # bytes
_WITH_KEY = re.compile(r"(.+?\.(?:npz|h5|hdf5|mat|csv|tsv|pt|pth)):(.+)", re.IGNORECASE)

FORMS = ("id", "id-class", "id-classes", "id-columns", "class", "classes", "columns")
"""The forms of a line of a list: whether it begins with an id, and has one class, several, or a column for each."""
_WITH_FORM = re.compile(rf"(.+):({'|'.join(FORMS)})")

_TEXT = (".csv", ".tsv", ".txt")
_VECTORS = (*fvecs.BIG_ANN, *fvecs.TYPES)
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
        ``F.tsv``, ``F.txt``, ``F.fbin`` and similar formats (`protocol.inputs.fvecs`), or ``F.fvecs``, ``F.ivecs``
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
        `protocol.inputs.text.ARRAY_BYTES` when decompressed, or not an array of numbers. The message names the file.
    """
    array = map_array(file)
    return np.array(array) if is_mapped(path_of(file)) else array


def read_stored(file: str | Path) -> NDArray:
    """Read an array of numbers, as by `map_array`, or of strings, from bytes as UTF-8.

    Raises
    ------
    ProtocolError
        As for `read_array`.
    """
    array = _oriented(file)
    if array.dtype.kind not in "US" or not array.size:
        return _numbers(array, file)
    with contextlib.suppress(UnicodeDecodeError):  # whether such bytes are acceptable depends on what they are
        return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
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
        with _npz(path) as archive:
            if not set(archive.files) >= _SPARSE:
                raise ProtocolError(
                    f"{path}: not a sparse matrix of scipy.sparse.save_npz. The file contains: "
                    f"{_listed(archive.files)}."
                )
            text.check_array(path, sum(member.file_size for member in archive.zip.infolist()))
        rows = sparse.load_npz(path)
        if rows.format in ("bsr", "csc", "csr"):  # their constructors trust the indices; only csr is not converted
            rows.check_format(full_check=True)
        return rows.tocsr()


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


def is_mapped(path: Path) -> bool:
    """Return whether `map_array` maps a file with this extension instead of reading it completely."""
    return path.suffix.lower() in (".npy", *_VECTORS)


def _stored(path: Path, key: str | None) -> NDArray:
    """Return an array in a file, mapped if possible."""
    expected, read, _ = _FORMATS.get(path.suffix.lower(), ("a PyTorch file", _unknown, None))
    with _reading(_existing(path), expected):
        return read(path, key)


def array_shape(file: str | Path) -> tuple[int, ...] | None:
    """Return the shape of an array from the header of its file, or None for formats without one (text and ``.mat``).

    Raises
    ------
    ProtocolError
        If the file or key does not exist, or the file is damaged.
    """
    path, key = path_and_key(file)
    expected, _, read = _FORMATS.get(path.suffix.lower(), ("", None, None))
    if read is None:
        return None
    with _reading(_existing(path), expected):
        shape: tuple[int, ...] = read(path, key)
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
    with _reading(path, "an .npz file"), _npz(path) as archive:
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
        if not path.exists():
            raise ProtocolError(f"{path}: no such file.")
        if not path.is_file():
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


# Readers, each of a path and a key. They may raise anything on a damaged file.


def _text(path: Path, key: str | None) -> NDArray:
    with open(path, encoding="utf-8-sig") as lines:
        first = next((line for line in lines if line.strip()), "")
        if not first:
            raise ProtocolError(f"{path}: all lines are blank.")
        mark = next((mark for mark in ",;" if mark in first), None)
        for dtype in (np.int64, np.uint64):  # float64 would round large integers
            lines.seek(0)
            with contextlib.suppress(ValueError, DeprecationWarning), warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)
                return np.loadtxt(lines, dtype=dtype, delimiter=mark, comments=None, ndmin=2)
        lines.seek(0)
        numbers = np.loadtxt(lines, delimiter=mark, comments=None, ndmin=2)
        return numbers.astype(np.int64) if is_integer(numbers).all() else numbers


def _npy(path: Path, key: str | None) -> NDArray:
    return np.asarray(np.lib.format.open_memmap(path, mode="r"))


def _npz(path: Path) -> Any:
    """Open an .npz file, as `numpy.load` does after it has looked at the first bytes."""
    return np.lib.npyio.NpzFile(path, allow_pickle=False)  # type: ignore[arg-type]


def _npz_array(path: Path, key: str | None) -> NDArray:
    with _npz(path) as archive:
        if key is not None or not set(archive.files) >= _SPARSE:
            text.check_array(path, _npz_header(archive, path, key)[1])
            return np.asarray(archive[_chosen(path, key, archive.files)])
    rows = read_csr(path)
    text.check_array(path, prod(rows.shape) * rows.dtype.itemsize)
    return np.asarray(rows.toarray())


def _npz_shape(path: Path, key: str | None) -> tuple[int, ...]:
    with _npz(path) as archive:
        if key is None and set(archive.files) >= _SPARSE:
            return tuple(archive["shape"].tolist())
        return _npz_header(archive, path, key)[0]


def _npz_header(archive: Any, path: Path, key: str | None) -> tuple[tuple[int, ...], int]:
    """Return the shape of an array of an open .npz file, and its bytes."""
    with archive.zip.open(f"{_chosen(path, key, archive.files)}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    return shape, prod(shape) * dtype.itemsize


@contextlib.contextmanager
def _hdf5(path: Path, key: str | None) -> Iterator[Any]:
    """Open a dataset, the only one if `key` is None; refuse one that is too large."""
    h5py, names = need("h5py", "hdf5"), list[str]()
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        dataset = file[_chosen(path, key and key.strip("/"), [name for name in names if not name.startswith("#refs#")])]
        if not dataset.size:
            raise ProtocolError(f"{path}: the array is empty, shape {dataset.shape}.")
        text.check_array(path, max(dataset.size, prod(dataset.chunks or ())) * dataset.dtype.itemsize)
        yield dataset


def _hdf5_array(path: Path, key: str | None) -> NDArray:
    """Return a dataset; strings of any length become NumPy strings."""
    with _hdf5(path, key) as dataset:
        if dataset.dtype != object:
            return np.asarray(dataset[()])
        values = np.asarray(dataset.asstr("utf-8", "backslashreplace")[()])
        return text.string_array(values.ravel().tolist(), str(path)).reshape(values.shape)


def _hdf5_shape(path: Path, key: str | None) -> tuple[int, ...]:
    with _hdf5(path, key) as dataset:
        shape: tuple[int, ...] = dataset.shape
        return shape


def _matlab_array(path: Path, key: str | None) -> NDArray:
    """Return a variable or a field of a struct, ``result.codes``, of any version of MATLAB, as the type it has there.

    Version 7.3 stores columns first. Text and cell arrays of text become strings, without blanks at their ends.
    """
    io = need("scipy.io", "scipy")
    warnings.simplefilter("error", np.exceptions.ComplexWarning)  # mat_dtype would make complex numbers real
    if io.matlab.matfile_version(path)[0] == 2:  # version 7.3, which is HDF5
        return _matlab_hdf5(path, key)
    shapes = {name: (shape, kind) for name, shape, kind in io.whosmat(path)}
    arrays = [name for name, (_, kind) in shapes.items() if kind != "struct"]
    structs = shapes.keys() - arrays if key not in arrays else ()  # no limit: up to version 7, the format has one
    fields = _fields(io.loadmat(path, variable_names=list(structs), mat_dtype=True))
    name = _chosen(path, key, [*arrays, *fields])
    if name in arrays:
        text.check_array(path, _DOUBLE * prod(shapes[name][0]))
        fields = io.loadmat(path, variable_names=name, mat_dtype=True)
    value = fields[name]
    if hasattr(value, "toarray"):
        return np.asarray(value.toarray())
    if value.dtype == object:
        value = _cells(value, f"{path}: {name}")
    return np.strings.rstrip(value) if value.dtype.kind == "U" else value


def _cells(cells: NDArray, name: str) -> NDArray[np.str_]:
    """Return the texts of a cell array."""
    if not all(cell.dtype.kind == "U" and cell.size <= 1 for cell in cells.flat):
        raise ProtocolError(f"{name} is a cell array, but not of text.")
    return text.string_array(["".join(cell.flat) for cell in cells.flat], name)


def _matlab_hdf5(path: Path, key: str | None) -> NDArray:
    with _hdf5(path, key and key.replace(".", "/")) as dataset:
        kind = dataset.attrs.get("MATLAB_class", b"")
        if kind in (b"char", b"cell"):
            raise ProtocolError(f"{path}: {dataset.name} is text of version 7.3. Save it with -v7.")
        array = np.asarray(dataset[()]).T
        return array.astype(bool) if kind == b"logical" else array


def _fields(variables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return variables and the fields of structs by name, such as ``result.codes``, those of structs in them too."""
    fields: dict[str, Any] = {}
    for name, value in variables.items():
        if getattr(value, "size", 0) == 1 and value.dtype.names:
            fields |= _fields({field: value[field].item() for field in value.dtype.names}, f"{prefix}{name}.")
        elif not name.startswith("__"):
            fields[prefix + name] = value
    return fields


def _chosen(path: Path, key: str | None, keys: Sequence[str]) -> str:
    """Return the key of the array to read: the requested one, or the only one."""
    if key is None and len(keys) == 1:
        return keys[0]
    if key is None:
        raise ProtocolError(f"{path}: name one of its arrays as {path.name}:KEY. The file contains: {_listed(keys)}.")
    if key not in keys:
        raise ProtocolError(f"{path}: no array {key!r}. The file contains: {_listed(keys)}.")
    return key


def _listed(keys: Iterable[str]) -> str:
    """Return the first keys on one line, even if they contain unusual characters."""
    ordered = [key if key.isprintable() else ascii(key) for key in sorted(keys)]
    more = len(ordered) - _MOST_KEYS
    return ", ".join(ordered[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "") or "nothing"


def _unknown(path: Path, key: str | None) -> NDArray:
    """Raise ProtocolError for a format that is not read; for a file of PyTorch, with the way to convert it."""
    suffix = path.suffix.lower()
    if suffix in (".pt", ".pth"):
        raise ProtocolError(f"{path}: {_torch_conversion(path, key)}")
    raise ProtocolError(f"{path}: unknown extension {path.suffix!r}. Use {_KNOWN}.")


def _torch_conversion(path: Path, key: str | None) -> str:
    """Return how to convert a tensor of a PyTorch file into .npy."""
    name, index = (f"{path.stem}_{key}.npy", f"[{key!r}]") if key else (f"{path.stem}.npy", "")
    code = (
        f"import numpy, torch; numpy.save({str(path.with_name(name))!r}, "
        f'torch.load({str(path)!r}, map_location="cpu", weights_only=True){index}.detach().numpy())'
    )
    several = "" if key else f" If it contains several tensors, name one as {path.name}:KEY."
    return f"PyTorch files are not read.{several} Convert it: python -c {shlex.quote(code)}"


_Read = Callable[[Path, str | None], Any]
_FORMATS: Mapping[str, tuple[str, _Read, _Read | None]] = MappingProxyType(
    {
        ".npy": ("an .npy file", _npy, lambda path, key: _npy(path, key).shape),
        ".npz": ("an .npz file", _npz_array, _npz_shape),
        ".mat": ("a .mat file", _matlab_array, None),
        ".h5": ("an HDF5 file", _hdf5_array, _hdf5_shape),
        ".hdf5": ("an HDF5 file", _hdf5_array, _hdf5_shape),
    }
    | dict.fromkeys(_TEXT, ("text with numbers", _text, None))
    | {
        suffix: (f"vectors of {suffix}", lambda path, key: fvecs.mapped(path), lambda path, key: fvecs.shape(path))
        for suffix in _VECTORS
    }
)
"""The formats by file extension: their names in error messages, and the functions that read an array or its shape."""
