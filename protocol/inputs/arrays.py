"""One door for arrays: files, arrays of any library, data frames, tensors and lists become checked NumPy arrays."""

import os
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs import formats, text
from protocol.inputs.validation import LARGEST_INTEGER, non_empty, numbers

ARRAYS = (".npy", ".npz", ".h5", ".hdf5", ".mat")
"""The extensions of files of arrays, in which lists may be stored as well."""
_WITH_KEY = re.compile(r"(.+?\.(?:npz|h5|hdf5|mat|csv|tsv|pt|pth)):(.+)", re.IGNORECASE)
FORMS = ("id", "id-class", "id-classes", "id-columns", "class-id", "columns-id", "class", "classes", "columns")
"""The forms of a line of a list: whether it has an id, and has one class, several, or a column for each."""
_WITH_FORM = re.compile(rf"(.+):({'|'.join(FORMS)})")


# Files


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


def path_of(file: str | Path) -> Path:
    """Return the path of the file, without the key, in ``F.npz:key`` or similar."""
    return path_and_key(file)[0]


def user_path(value: Any, kind: str, where: str) -> Path:
    """Return the path of an existing ``"file"``, which `value` may name with an array in it, or ``"folder"``.

    Raises
    ------
    ProtocolError
        If it does not exist or is of another type; the message begins with `where`.
    """
    if not isinstance(value, str) or not value:
        raise ProtocolError(f"{where}: expected the path of a {kind}, got {value!r}.")
    path = path_of(value)
    if not (path.is_file() if kind == "file" else path.is_dir()):
        problem = f"not a {kind}" if path.exists() else f"no such {kind}"
        raise ProtocolError(f"{where}: {value}: {problem} (looked in {Path.cwd()}).")
    return path


def _is_transposed(file: str | Path) -> bool:
    return str(file).endswith("'") and not os.path.exists(file)


def read_array(file: str | Path) -> NDArray:
    """Read an array of numbers.

    Parameters
    ----------
    file : str or Path
        ``F.npy``, ``F.npz:key``, ``F.h5:dataset`` (also ``F.hdf5``), ``F.mat:variable`` (also version 7.3), ``F.csv``,
        ``F.tsv``, ``F.txt``, ``F.fbin`` and similar formats (`protocol.inputs.formats`), or ``F.fvecs``, ``F.ivecs``
        and ``F.bvecs``. The key may be omitted if the file contains a single array. Text has one row per line, with
        numbers separated by commas, semicolons or blanks; a header, and ids in the first column that it names, are left
        out (`protocol.inputs.formats.below_header`; `numbers_with_ids` returns the ids). Sparse rows, ``F.npz`` of
        ``scipy.sparse.save_npz``, become dense. An apostrophe at the end transposes a matrix as in MATLAB,
        ``F.mat:variable'`` or ``F.npy'``, unless a file has this name.

    Returns
    -------
    ndarray
        Not empty; mapped from ``.npy``, ``.fbin``, ``.fvecs`` and similar files. From text, a matrix: int64 or uint64
        if every number is an integer in its range, otherwise float64.

    Raises
    ------
    ProtocolError
        If the file or key does not exist (the message lists the existing keys), or the file is damaged, larger than
        `protocol.inputs.text.ARRAY_BYTES` when decompressed, or not an array of numbers. The message names the file.
    """
    array, ids = numbers_with_ids(str(file), str(file))
    if ids is not None:
        text.INPUTS.info("%s: its rows are taken in their order, and its ids are not used", file)
    return array


def _ids(stored: formats.Opened, file: str | Path) -> NDArray[np.str_] | None:
    return np.array(stored.ids, dtype=np.str_) if stored.ids and not _is_transposed(file) else None


def read_stored(file: str | Path) -> NDArray:
    """Read an array of numbers, as by `read_array`, or of strings.

    A matrix has the orientation that the name of its file requests; a list has only one.
    """
    with formats.opened(*path_and_key(file)) as stored:
        return _oriented(stored.read(), file)


def _oriented(array: NDArray, file: str | Path) -> NDArray:
    if array.size == 0:
        raise ProtocolError(f"{file}: the array is empty, shape {array.shape}.")
    if not _is_transposed(file):
        return array
    if array.ndim > 2:
        raise ProtocolError(f"{file}: only a matrix can be transposed, got shape {array.shape}.")
    return array.T


def shape_with_ids(file: str | Path) -> tuple[tuple[int, ...] | None, NDArray[np.str_] | None]:
    """Return the shape of an array without its values, and the ids next to its rows, as `numbers_with_ids`.

    The shape is None for ``.mat`` and unknown formats.

    Raises
    ------
    ProtocolError
        If the file or key does not exist, or the file is damaged.
    """
    path, key = path_and_key(file)
    if path.suffix.lower() not in formats.EXTENSIONS:
        return None, None
    with formats.opened(path, key) as stored:
        return (stored.shape[::-1] if stored.shape and _is_transposed(file) else stored.shape), _ids(stored, file)


def npz_keys(file: str | Path) -> list[str]:
    """Return the names of the arrays in an ``.npz`` file; raise ProtocolError if it is missing or damaged."""
    path = Path(file)
    with formats.reading(path, "an .npz file"), formats.open_npz(path) as archive:
        return list(archive.files)


def read_lists(file: str | Path) -> list[NDArray[np.int64]]:
    """Read lists of database positions from text, one line per query; an empty line is a query without neighbours.

    Raises
    ------
    ProtocolError
        If the file does not exist or is empty, or a line contains anything but integers.
    """
    lists = []
    for number, line in enumerate(text.lines(Path(file), "lists of database positions"), start=1):
        try:
            lists.append(np.array(re.split(r"[\s,;]+", line.strip()) if line.strip() else [], dtype=np.int64))
        except (ValueError, OverflowError) as error:
            if len(line.split()) in (4, 6):
                hint = "need the ids of all queries and database items (--query-ids and --database-ids)"
                raise ProtocolError(f"{file}: these look like TREC judgments, which {hint}.") from error
            where = f"{file}, line {number}: {textwrap.shorten(line, 40)!r}"
            raise ProtocolError(f"{where} is not a list of database positions.") from error
    if not lists:
        raise ProtocolError(f"{file}: the file is empty. It needs a line of database positions for every query.")
    return lists


# Values in memory, or the names of files


def is_file(values: Any) -> bool:
    """Return whether an input is the name of a file."""
    return isinstance(values, (str, os.PathLike))


def named(values: Any, role: str) -> str:
    """Return the name of an input in error messages: the name of its file, or its role."""
    return str(values) if is_file(values) else role


def numbers_from(values: Any, role: str) -> NDArray:
    """Return an array of numbers of any shape; a file is memory-mapped if its format allows it.

    Parameters
    ----------
    values : array_like, str or Path
        Anything that `as_numpy` converts, or a file that `read_array` reads.
    role : str
        The name in error messages, such as "query vectors".

    Raises
    ------
    ProtocolError
        If the file can't be read, or the values are not an array of numbers.
    """
    return read_array(values) if is_file(values) else numbers(as_numpy(values, role), role)


def numbers_with_ids(values: Any, role: str) -> tuple[NDArray, NDArray[np.str_] | None]:
    """Return an array of numbers, as `numbers_from`, and the ids of its rows; None if a text has none next to them."""
    if not is_file(values):
        return numbers(as_numpy(values, role), role), None
    with formats.opened(*path_and_key(values)) as stored:
        return numbers(_oriented(stored.read(), values), str(values)), _ids(stored, values)


def matrix_from(values: Any, role: str, columns: str = "d") -> NDArray:
    """Return a non-empty matrix of numbers (n, d), as `numbers_from`; `columns` is what error messages call d."""
    return non_empty(numbers_from(values, role), named(values, role), columns)


def items_from(values: Any, role: str) -> NDArray:
    """Return a list of items: row numbers (int64), or ids (str), shape (n,).

    Parameters
    ----------
    values : array_like, shape (n,)
    role : str
        The name in error messages.

    Raises
    ------
    ProtocolError
        If the values are neither integers nor strings.

    Examples
    --------
    >>> items_from([4.0, 2.0], "query"), items_from(["b.png"], "query")
    (array([4, 2]), array(['b.png'], dtype='<U5'))
    """
    array = as_numpy(values, role)
    if array.ndim != 1:
        raise ProtocolError(f"{role}: expected row numbers or ids, shape (n,), got shape {array.shape}.")
    if not array.size:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind in "iuf":
        return as_integers(array, role)
    if array.dtype.kind != "U":
        hint = " numpy.flatnonzero gives the row numbers of a mask." if array.dtype == bool else ""
        raise ProtocolError(f"{role}: expected row numbers or ids (str), got dtype {array.dtype}.{hint}")
    return array


def as_numpy(values: Any, name: str) -> NDArray:
    """Return an array of any library as a NumPy array.

    Parameters
    ----------
    values : array_like
        A NumPy array, a (nested) list, a PyTorch tensor on any device, any object with ``__array__`` or ``__dlpack__``
        in CPU memory (JAX, TensorFlow, pandas), or a sparse matrix with ``toarray``, which becomes dense.
    name : str
        The name in the error message.

    Returns
    -------
    ndarray
        An array of any dtype; objects in pandas or in a list become numbers or strings if all of them are.

    Raises
    ------
    ProtocolError
        If the values are not an array, have a type that NumPy lacks, such as bfloat16, have masked entries, or are in
        the memory of another device.

    Examples
    --------
    >>> as_numpy([[1, 0], [0, 1]], "codes")
    array([[1, 0],
           [0, 1]])
    """
    try:
        array = _converted(values)
    except Exception as error:  # every library raises its own errors
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ProtocolError(f"{name}: expected an array, got {type(values).__name__} ({reason}).") from error
    if np.ma.is_masked(array):
        raise ProtocolError(f"{name}: {np.ma.count_masked(array):,} entries are masked. Fill or remove them.")
    array = np.asarray(array)
    if array.dtype.kind in "ST" or (array.dtype.kind == "U" and isinstance(values, (list, tuple))):
        array = np.array(values, dtype=object)  # so that a number or a NaN among strings does not become a string
    return _without_objects(array)


def _converted(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):  # PyTorch
        return values.detach().cpu().to_dense().numpy()
    if hasattr(values, "toarray"):
        return values.toarray()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return np.asarray(values)


def _without_objects(array: NDArray) -> NDArray:
    """Return an object array, as from pandas, as numbers or strings if all its values are; otherwise unchanged."""
    if array.dtype != object or not array.size:
        return array
    values = array.ravel().tolist()
    kinds = set(map(type, values))
    if all(issubclass(kind, (str, bytes)) for kind in kinds):
        texts = [value.decode(errors="backslashreplace") if isinstance(value, bytes) else value for value in values]
        return np.array(texts, dtype=str).reshape(array.shape)
    if all(issubclass(kind, (bool, int, float, np.bool_, np.integer, np.floating)) for kind in kinds):
        return np.array(values).reshape(array.shape)
    return array


def as_integers(array: NDArray, name: str, expected: str = "integers") -> NDArray[np.int64]:
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
            raise ProtocolError(f"{name}: expected {expected}, got {array[~is_int][0]}.")
        exact = min(2 ** (np.finfo(array.dtype).nmant + 1), LARGEST_INTEGER)
        rounded = np.abs(array.astype(np.promote_types(array.dtype, np.float32))) >= exact
        if rounded.any():
            above = f"above {exact - 1:,}, such as {float(array[rounded][0])}"
            raise ProtocolError(f"{name}: {array.dtype} rounds integers {above}. Pass them with an integer dtype.")
    elif array.dtype.kind == "u" and array.max(initial=0) >= 1 << 63:
        raise ProtocolError(f"{name}: expected integers below {1 << 63:,}, got {array.max():,}.")
    return array.astype(np.int64)
