"""The formats of arrays in files: `opened` gives the shape of an array, and reads its values.

NumPy, SciPy and h5py parse the files. Nothing is ever unpickled. Any error of a reader becomes one line with the file.

- TEXMEX (.fvecs, .ivecs, .bvecs): a record contains the dimension as int32 and then as many values; all records of a
  file have the same dimension.
- big-ann-benchmarks (.fbin, .ibin and similar): a file contains the number of vectors and their dimension as uint32,
  and then the values, one vector after another. In a file of nearest neighbours (.ibin), their distances may follow as
  float32. See ``xbin_mmap`` and ``knn_result_read`` in ``benchmark/dataset_io.py``.

Numbers of both are little-endian.
"""

import contextlib
import csv
import re
import shlex
import textwrap
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path, PurePosixPath
from string import digits
from types import MappingProxyType
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, abridged, counted, need, one_of
from protocol.inputs import text
from protocol.inputs.validation import is_integer

PACKAGE_DATA = "conversions.toml"
TEXT = (".csv", ".tsv", ".txt")
TEXMEX = MappingProxyType({".fvecs": "<f4", ".ivecs": "<i4", ".bvecs": "u1"})
"""The type of the values in the formats of TEXMEX, by file extension."""
BIG_ANN = MappingProxyType({".fbin": "<f4", ".f16bin": "<f2", ".u8bin": "u1", ".i8bin": "i1", ".ibin": "<i4"})
"""The type of the values in the formats of big-ann-benchmarks, by file extension."""
_MOST_KEYS, _FEWEST = 20, 3
_MISSING = {"na", "n/a", "null", "none"}
_DECIMAL_COMMA = re.compile(r"(?:^[+-]?\d+,\d+(?=[;\t])|[;\t]\s*[+-]?\d+,\d+)(?:[eE][+-]?\d+)?\s*(?:[;\t]|$)")
_QUOTED = re.compile(r'"[^"]*"')
_PICKLED = re.compile("object arrays|python objects", re.IGNORECASE)
_SPARSE = {"data", "format", "shape"}
_DOUBLE, _HEADER_BYTES, _BLOCK_BYTES = 8, 8, 16 << 20
_LARGEST = 1 << 20  # dimensions; files in other formats appear to have absurd ones


class Opened(NamedTuple):
    """An array in an open file."""

    shape: tuple[int, ...] | None
    """None for ``.mat``, whose shape is unknown until the values are read."""
    read: Callable[[], NDArray]
    """Returns the values, memory-mapped if possible."""
    ids: Sequence[str] = ()
    """The ids next to the rows of a text, if there are any."""


@contextlib.contextmanager
def opened(path: Path, key: str | None) -> Iterator[Opened]:
    """Open the array `key` of a file, its only one if that is None, until the block ends.

    Raises
    ------
    ProtocolError
        If the file or key does not exist (the message lists the existing keys), or the file is damaged, or larger than
        `protocol.inputs.text.ARRAY_BYTES` when decompressed.
    """
    expected, open_format = _FORMATS.get(path.suffix.lower(), ("a file of another format", refuse_unread))
    with reading(path, expected), contextlib.ExitStack() as files:
        yield open_format(path, key, files)


@contextlib.contextmanager
def reading(path: Path, expected: str) -> Iterator[None]:
    """Check that a file exists, convert any error of its reader into a ProtocolError of one line, suppress warnings."""
    try:
        text.check_regular(path, "a file")
        if path.stat().st_size == 0:
            raise ProtocolError(f"{path}: the file is empty.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ProtocolError:
        raise
    except Exception as error:  # a parser may raise anything on a damaged file
        raise ProtocolError(f"{path}: {_problem(error, expected)}.") from error


def _problem(error: Exception, expected: str) -> str:
    """Return what is wrong with a file, given the error of its reader."""
    if isinstance(error, ValueError) and _PICKLED.search(str(error)):
        return "pickled Python objects are never loaded. Save numbers"
    if "magic string" in str(error):  # NumPy's
        return f"not {expected}"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    reason = textwrap.shorten(reason, 160).rstrip(".") or type(error).__name__
    return f"can't be read as {expected} ({reason})"


# Text and NumPy


def _text(path: Path, key: str | None, files: contextlib.ExitStack) -> Opened:
    if key is not None:
        raise ProtocolError(f"{path}: all columns are read as numbers, so {key!r} can't be chosen. Leave it out.")
    with open(path, encoding="utf-8-sig") as stream:
        lines = [line for line in stream if line.strip()]
    if not lines:
        raise ProtocolError(f"{path}: all lines are blank.")
    width = len(lines[-1].split()) - 1
    if width > 1 and lines[0].split() == [str(len(lines) - 1), str(width)]:
        text.INPUTS.info("%s: the first line gives the numbers of rows and columns, as in word2vec's files", path)
        lines[0] = " ".join(["id", *map(str, range(width))])
    lines, ids = below_header(path, lines)
    mark = _mark(lines[0])
    return Opened((len(lines), len(lines[0].split(mark))), lambda: _numbers(path, lines, mark), ids)


def _mark(line: str) -> str | None:
    """Return what separates the fields of a line; None for blanks."""
    return next((mark for mark in ",;" if mark in _QUOTED.sub("", line)), None)


def _split(path: Path, lines: Sequence[str], mark: str | None, n_ids: int = -1) -> Iterator[list[str]]:
    """Yield the fields of each line, which may contain the mark in quotes; all after the first `n_ids` as one text.

    Raises
    ------
    ProtocolError
        If a quote is not closed, or a field in quotes after the first `n_ids` contains the mark.
    """
    if not any('"' in line for line in lines):
        yield from (line.split(mark, n_ids) for line in lines)
        return
    mark = mark or ("\t" if "\t" in lines[-1] else " ")
    for line in lines:
        try:
            row = next(csv.reader([line.rstrip()], delimiter=mark, skipinitialspace=True, strict=True))
        except csv.Error as error:
            problem = f"the quotes of the line {line[:60].strip()!r} do not match ({error})"
            raise ProtocolError(f"{path}: {problem}.") from error
        if n_ids >= 0 and any(mark in field for field in row[n_ids:]):
            hint = f"a number in quotes contains {mark!r}. Write a point for a decimal comma"
            raise ProtocolError(f"{path}: in the line {line[:60].strip()!r}, {hint}.")
        yield row if n_ids < 0 else [*row[:n_ids], *filter(None, [mark.join(row[n_ids:])])]


def below_header(path: Path, lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines below a header, without the ids in front, and these ids; all lines if there is no header.

    An index of pandas is the ids, unless it only counts the rows, 0, 1, ..., n - 1, or other ids follow. Words are ids
    under any name if all of them differ.

    A header has as many fields as the next line, all different. None of them is a number or a missing value, unless an
    empty one above an index is first, or they are 0, 1, ..., n - 1 (`protocol.inputs.text.is_numbered`).

    Raises
    ------
    ProtocolError
        If another column of words or labels is next to others, only an id is in a line, a line 0, 1, ..., n - 1 may be
        a header or a row, or a column may be none of numbers: one that counts the rows, or has another name than
        others.
    """
    if any(_DECIMAL_COMMA.search(line.replace('"', "")) for line in lines[: text.EXAMINED]):
        how = rf"tr ',;\t' '.,,' < {shlex.quote(str(path))} > {shlex.quote(f'{path.stem}_points.csv')}"
        raise ProtocolError(f"{path}: decimal commas. Write points and separate the fields by commas: {how}")
    mark, line = _mark(lines[0]), lines[0].lstrip("# ").rstrip()
    first, *rest = _split(path, [line, *lines[1 : 1 + text.EXAMINED]], mark)
    names = [name.strip().lower() for name in first]
    are_names = _are_names(path, names, rest)
    rows, header = (rest, names) if are_names else ([names, *rest], [])
    n_ids = _check_words(path, header, rows)
    _check_columns(path, header[n_ids:], rows, n_ids)
    rows = [*_split(path, lines[are_names:], mark, n_ids)]
    if (shortest := min(map(len, rows))) <= n_ids:
        number = _line(path, [*map(len, rows)].index(shortest), len(rows))
        raise ProtocolError(f"{path}, line {number}: nothing but an id.")
    ids = [text.without_dot(text.unsafe(row[n_ids - 1].strip())) for row in rows] if n_ids else []
    ids = [] if n_ids == 1 and header[:1] == [""] and ids[0] == "0" and text.is_running(ids) else ids
    if are_names or ids:
        said = f" with ids{', without the first column, which counts them' * (n_ids - 1)}" * bool(ids)
        text.INPUTS.info("%s: %s rows%s%s", path, f"{len(rows):,}", said, f" (header {line[:60]!r})" * are_names)
    return [row[-1] for row in rows], ids


def _line(path: Path, row: int, n_rows: int) -> int:
    """Return the number of the line of a row in a text that ends with `n_rows` rows."""
    return [number for number, line in enumerate(text.lines(path, "text"), 1) if line.strip()][row - n_rows]


def _check_words(path: Path, header: list[str], rows: list[list[str]]) -> int:
    """Return the number of columns in front that are no numbers of the array: ids, or an index and ids.

    Raises
    ------
    ProtocolError
        If other columns are words, or called labels.
    """
    columns = [*zip(*rows, strict=False)]
    names = header or rows[0]
    words = {at for at, column in enumerate(columns) if not any(map(text.is_number, column))}
    labels = {at for at, name in enumerate(header) if len(names) > 1 and name in text.LABEL_COLUMNS}
    if words and (uneven := [row for row in rows if len(row) > len(names)]):
        what = f"{','.join(uneven[0])[:60].strip()!r} has {len(uneven[0])} fields, but the first line {len(names)}"
        raise ProtocolError(f"{path}: the line {what}. Put an id that contains the separator in quotes.")
    n_ids = _n_ids(header, columns, words - labels)
    others = words - {*range(n_ids)}
    if not labels and len(others) in (0, len(columns) - n_ids):
        return n_ids
    repeated = Counter(columns[0]).most_common(1)[0][0]
    if others == {0} and 2 * len({*columns[0]}) > len(rows):
        hint = "Correct it, or save the first column apart if it has labels"
        raise ProtocolError(f"{path}: the id {repeated[:60]!r} occurs more than once. {hint}.")
    raise ProtocolError(_divided(path, names, sorted(words | labels | {*range(n_ids)}), rows, has_header=bool(header)))


def _n_ids(header: list[str], columns: Sequence[Sequence[str]], words: Container[int]) -> int:
    """Return the number of columns in front with ids, or with an index and ids: words of which none is repeated.

    The header may also call words or whole numbers ids.
    """
    names, is_index = header or [""] * len(columns), header[:1] == [""]
    at = int(is_index and len(columns) > 2 and columns[0][0] == "0" and text.is_running(columns[0]))
    is_named = bool(header) and text.is_id_name(names[at]) and (at in words or text.are_ids(columns[at]))
    is_proved = at in words and text.are_ids(columns[at]) and len(columns) > 1 < len(columns[0]) + len(header)
    return at + 1 if is_named or is_proved or names[at] in text.ID_COLUMNS else int(is_index)


def _check_columns(path: Path, names: list[str], rows: list[list[str]], n_ids: int) -> None:
    """Raise ProtocolError if the first column counts the rows, or some names of columns are not numbered like most."""
    stems = Counter(name.rstrip(digits) for name in names if name[-1:].isdecimal())
    stem, n_numbered = stems.most_common(1)[0] if stems else ("", 0)
    columns = list(zip(*rows, strict=False))
    are_fractions = [any(map(text.is_fraction, column)) for column in columns]
    is_other = [not (name.startswith(stem) and name[len(stem) :].isdecimal()) for name in names]
    numbers = [float(field) for field in columns[0] if text.is_number(field)]
    ascend = len(numbers) == len(rows) >= _FEWEST and bool((np.diff(numbers) == 1).all()) and not are_fractions[0]
    may_be_other = not n_ids and (not names or is_other[0]) and not columns[0][0].strip().startswith("+")
    if ascend and may_be_other and any(are_fractions[1:]):
        hint = f"Write a header that begins with id if it is no feature, or +{rows[0][0]} in its first row if it is one"
        raise ProtocolError(f"{path}: the first column counts the rows, so it may be ids or a feature. {hint}.")
    by_name = zip(names, is_other, are_fractions[n_ids:], strict=False)
    odd = [name for name, other, has_fractions in by_name if other and not has_fractions]
    if odd and 2 * n_numbered > len(names) > 2:
        is_id = f"; name {odd[0][:60]} id if it has ids" * (not n_ids and odd[0] == names[0])
        what = f"{', '.join(odd)[:60]} among {stem}0, {stem}1, ... may be other columns, or numbers like them"
        raise ProtocolError(f"{path}: {what}. Delete them, or name them {stem}{n_numbered} and so on{is_id}.")


def _divided(path: Path, names: list[str], columns: list[int], rows: list[list[str]], *, has_header: bool) -> str:
    """Return that some columns are no numbers of an array, and the command that saves them as another file."""
    named = [n for n in columns if names[n]] or columns
    read = f"'{path}', dtype=str, keep_default_na=False"  # so that zeros in front are kept
    read += ", sep=None, engine='python'" * (path.suffix != ".csv")
    read, saved = read + ", header=None" * (not has_header), "index=False" + ", header=False" * (not has_header)
    vectors, labels = (f"{path.stem}_{name}.csv" for name in ("vectors", "labels"))
    are_unique = len({row[named[0]] for row in rows}) == len(rows)
    options = [f"--ids {labels}"] * are_unique + [f"--labels {labels}"] * (len(named) > are_unique)
    shown = ", ".join(names[n] or f"column {n + 1}" for n in named)
    code = f"import pandas as pd; t = pd.read_csv({read}); t.iloc[:, {named}].to_csv('{labels}', {saved}); "
    code += f"t.drop(columns=t.columns[{columns}]).to_csv('{vectors}', {saved})"
    then = f"name {vectors} instead; for init, --features {vectors} {' '.join(options)}"
    return f'{path}: ids or labels ({shown}) are next to numbers. Divide it: python -c "{code}", and {then}.'


def _are_names(path: Path, first: list[str], rest: list[list[str]]) -> bool:
    is_numbered, is_word = text.is_numbered(first, rest), first[0] not in _MISSING and not text.is_number(first[0])
    columns = [any(map(text.is_number, column)) for column in zip(*rest, strict=False)]
    n_words = [*columns, True].index(True)
    may_be_header = text.is_numbered(["id"] * (n_words or is_word) + first[n_words or is_word :], rest)
    if is_numbered is False and may_be_header:  # below names that may be anything
        if not n_words:
            hint = "Name the column id if it has ids, or delete the line if it is a feature"
            raise ProtocolError(f"{path}: the first line begins with {first[0][:60]!r}, above numbers. {hint}.")
        is_numbered = True if len(first) > n_words + 2 else None
    if is_numbered is None:
        hint = "Delete it if it is a header, or write +0 for 0 in it if it is a row."
        raise ProtocolError(f"{path}: the first line {','.join(first)[:60]!r} may be a header or a row. {hint}")
    are_different = len({*first} - _MISSING) == len(first) in map(len, rest[:1])
    return is_numbered or (are_different and not (first[0] and any(map(text.is_number, first))))


def _numbers(path: Path, lines: Sequence[str], mark: str | None) -> NDArray:
    for dtype in (np.int64, np.uint64):  # float64 would round large integers
        with contextlib.suppress(ValueError, DeprecationWarning), warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            return np.loadtxt(lines, dtype=dtype, delimiter=mark, comments=None, ndmin=2)
    try:
        numbers = np.loadtxt(lines, delimiter=mark, comments=None, ndmin=2)
    except ValueError as error:
        rows = [line.split(mark) for line in lines]
        for at, row in enumerate(rows):
            problems = [f"{field.strip()[:60]!r} is not a number" for field in row if not text.is_number(field)]
            if len(row) != len(rows[0]):
                problems = [f"{counted(len(row), 'field')}, but {len(rows[0])} in the first row"]
            if problems:
                raise ProtocolError(f"{path}, line {_line(path, at, len(rows))}: {problems[0]}.") from error
        raise
    return numbers.astype(np.int64) if is_integer(numbers).all() else numbers


def _npy(path: Path, key: str | None, files: contextlib.ExitStack) -> Opened:
    array = np.lib.format.open_memmap(path, mode="r")
    return Opened(array.shape, lambda: np.asarray(array))


def open_npz(path: Path) -> Any:
    """Open an .npz file, as `numpy.load` does after it has looked at the first bytes."""
    return np.lib.npyio.NpzFile(path, allow_pickle=False)  # type: ignore[arg-type]


def _npz(path: Path, key: str | None, files: contextlib.ExitStack) -> Opened:
    archive = files.enter_context(open_npz(path))
    if key is None and set(archive.files) >= _SPARSE:
        n_rows, n_columns = archive["shape"].tolist()
        text.check_array(path, n_rows * n_columns * archive["data"].dtype.itemsize)
        return Opened((n_rows, n_columns), lambda: np.asarray(read_csr(path).toarray()))
    name = _key_among(archive.files, key, path)
    with archive.zip.open(f"{name}.npy") as stream:
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    text.check_array(path, prod(shape) * dtype.itemsize)
    return Opened(shape, lambda: np.asarray(archive[name]))


def read_csr(file: str | Path) -> Any:
    """Read a sparse matrix that ``scipy.sparse.save_npz`` wrote in any format.

    Returns
    -------
    csr_matrix or csr_array
        Entries may be given in several parts, and need not be sorted.

    Raises
    ------
    ProtocolError
        As for `opened`; or if the file contains anything else, or indices that do not exist.
    """
    path, sparse = Path(file), need("scipy.sparse", "scipy")
    with reading(path, "a sparse matrix"):
        with open_npz(path) as archive:
            if not set(archive.files) >= _SPARSE:
                content = f"The file contains: {abridged(sorted(archive.files), _MOST_KEYS)}."
                raise ProtocolError(f"{path}: not a sparse matrix of scipy.sparse.save_npz. {content}")
            text.check_array(path, sum(member.file_size for member in archive.zip.infolist()))
        rows = sparse.load_npz(path)
        if rows.format in ("bsr", "csc", "csr"):  # their constructors trust the indices; only csr is not converted
            rows.check_format(full_check=True)
        return rows.tocsr()


# HDF5 and MATLAB


def _dataset(path: Path, key: str | None, files: contextlib.ExitStack) -> Any:
    """Open a dataset of HDF5, the only one if `key` is None; refuse one that is too large."""
    h5py, names = need("h5py", "hdf5"), list[str]()
    file = files.enter_context(h5py.File(path, "r"))
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    names = [name for name in names if not name.startswith("#refs#")]
    dataset = file[_key_among(names, key and key.strip("/"), path)]
    if not dataset.size:
        raise ProtocolError(f"{path}: the array is empty, shape {dataset.shape}.")
    text.check_array(path, max(dataset.size, prod(dataset.chunks or ())) * dataset.dtype.itemsize)
    return dataset


def _hdf5(path: Path, key: str | None, files: contextlib.ExitStack) -> Opened:
    dataset = _dataset(path, key, files)
    if dataset.dtype == object:  # strings of any length
        return Opened(dataset.shape, lambda: np.asarray(dataset.asstr("utf-8", "backslashreplace")[()], np.str_))
    return Opened(dataset.shape, lambda: np.asarray(dataset[()]))


def _variable(path: Path, key: str | None, files: contextlib.ExitStack) -> NDArray:
    """Return a variable or a field of a struct, ``result.codes``, of any version of MATLAB, as the type it has there.

    Version 7.3 stores columns first. Text and cell arrays of text become strings, without blanks at their ends.
    """
    io = need("scipy.io", "scipy")
    warnings.simplefilter("error", np.exceptions.ComplexWarning)  # mat_dtype would make complex numbers real
    if io.matlab.matfile_version(path)[0] == 2:  # version 7.3, which is HDF5
        return _variable_of_hdf5(path, key, files)
    names = [key.partition(".")[0]] if key else None
    read = partial(io.loadmat, path, mat_dtype=True)
    variables = _fields(read(variable_names=names)) or _fields(read())  # all of them for the message
    value = variables[_key_among(list(variables), key, path)]
    if hasattr(value, "toarray"):
        text.check_array(path, _DOUBLE * prod(value.shape))
        return np.asarray(value.toarray())
    if value.dtype == object:
        if not all(cell.dtype.kind == "U" and cell.size <= 1 for cell in value.flat):
            raise ProtocolError(f"{path}: a cell array, but not of text.")
        value = np.array(["".join(cell.flat) for cell in value.flat], dtype=np.str_)
    return np.strings.rstrip(value) if value.dtype.kind == "U" else value


def _variable_of_hdf5(path: Path, key: str | None, files: contextlib.ExitStack) -> NDArray:
    dataset = _dataset(path, key and key.replace(".", "/"), files)
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


def _key_among(keys: Sequence[str], key: str | None, path: Path) -> str:
    """Return the key of the array to read: the requested one, or the only one."""
    matching = [name for name in keys if key in (None, name)]
    if len(matching) != 1:
        problem = f"name one of its arrays as {path.name}:KEY" if key is None else f"no array {key!r}"
        raise ProtocolError(f"{path}: {problem}. The file contains: {abridged(sorted(keys), _MOST_KEYS)}.")
    return matching[0]


# TEXMEX and big-ann-benchmarks


def _texmex(path: Path, key: str | None, files: contextlib.ExitStack) -> Opened:
    content = np.memmap(path, np.uint8, mode="r")
    records = _records(content, _record(content[:4].tobytes(), str(path)), str(path))
    return Opened(records["vector"].shape, lambda: np.asarray(_vectors(records, str(path))))


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
    n_bytes = record.itemsize * max(1, _BLOCK_BYTES // record.itemsize)
    while block := start + stream.read(n_bytes - len(start)):
        start = b""
        yield _vectors(_records(np.frombuffer(block, np.uint8), record, name), name)


def _record(start: bytes, name: str) -> np.dtype:
    """Return the type of the records of a file, from its extension and its first four bytes, the dimension."""
    values = TEXMEX[one_of(PurePosixPath(name).suffix.lower(), TEXMEX, f"{name}: extension")]
    d = int.from_bytes(start, "little", signed=True)
    if not 1 <= d <= _LARGEST:
        raise ProtocolError(f"{name}: the dimension must be from 1 to {_LARGEST:,}, got {d:,}.")
    return np.dtype([("dimension", "<i4"), ("vector", values, (d,))])


def _records(content: NDArray[np.uint8], record: np.dtype, name: str) -> NDArray:
    """Return bytes as complete records."""
    if n_bytes := len(content) % record.itemsize:
        raise ProtocolError(f"{name}: the last record has {n_bytes:,} of {record.itemsize:,} bytes.")
    return content.view(record)


def _vectors(records: NDArray, name: str) -> NDArray:
    """Return the vectors of records, after a check of their dimensions."""
    vectors, dimensions = records["vector"], records["dimension"]
    others = dimensions[dimensions != vectors.shape[1]]
    if others.size:
        raise ProtocolError(f"{name}: a record has dimension {others[0]:,}, but the first has {vectors.shape[1]:,}.")
    return vectors


def _big_ann(path: Path, key: str | None, files: contextlib.ExitStack) -> Opened:
    suffix, size = path.suffix.lower(), path.stat().st_size
    if size < _HEADER_BYTES:
        raise ProtocolError(f"{path}: {size} bytes, too few for the header of {_HEADER_BYTES} bytes.")
    (n, d), dtype = np.fromfile(path, "<u4", count=2).tolist(), np.dtype(BIG_ANN[suffix])
    n_bytes = _HEADER_BYTES + n * d * dtype.itemsize
    if size != n_bytes and not (suffix == ".ibin" and size == n_bytes + 4 * n * d):  # distances of neighbours follow
        raise ProtocolError(f"{path}: {size:,} bytes, but {n:,} vectors of {d:,} {dtype.name} take {n_bytes:,}.")
    if not n * d:
        return Opened((n, d), lambda: np.empty((n, d), dtype))  # an empty file can't be mapped
    return Opened((n, d), lambda: np.asarray(np.memmap(path, dtype, "r", _HEADER_BYTES, (n, d))))


# PyTorch and others


_DECLARED = tomllib.loads(Path(__file__).with_name(PACKAGE_DATA).read_text("utf-8"))["conversion"]
_CONVERSIONS = {extension: one["code"] for one in _DECLARED for extension in one["extensions"]}
"""The Python code that converts a file of another format into one that is read, by extension."""
_PICKLES = (".pkl", ".pickle", ".joblib")
UNREAD = frozenset([*_CONVERSIONS, *_PICKLES])
"""The extensions of formats that are not read, but can be converted."""


def refuse_unread(path: Path, key: str | None = None, files: contextlib.ExitStack | None = None) -> NoReturn:
    """Raise ProtocolError for a format that is not read, with the way to convert it if there is one."""
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        how = f"Save the array where it was made: numpy.save({path.stem + '.npy'!r}, array)"
        raise ProtocolError(f"{path}: pickles are not read, because they can run code. {how}.")
    if suffix not in _CONVERSIONS:
        raise ProtocolError(f"{path}: unknown extension {path.suffix!r}. Use {', '.join(sorted(EXTENSIONS))}.")
    code = _CONVERSIONS[suffix]
    target = f"{path.stem}_{key}" if key else path.stem
    to = path.with_name(target + (".csv" if "to_csv" in code else ".npy"))
    code = code.format(file=repr(str(path)), to=repr(str(to)), key=f"[{key!r}]" if key else "")
    quoted = shlex.quote(code) if set('"$`\\') & {*code} else f'"{code}"'
    several = f" If it contains several tensors, name one as {path.name}:KEY." * ("torch" in code and not key)
    kind = "PyTorch files" if "torch" in code else f"{suffix} files"
    raise ProtocolError(f"{path}: {kind} are not read.{several} Convert it: python -c {quoted}")


_FORMATS: Mapping[str, tuple[str, Callable[[Path, str | None, contextlib.ExitStack], Opened]]] = MappingProxyType(
    {
        ".npy": ("an .npy file", _npy),
        ".npz": ("an .npz file", _npz),
        ".mat": ("a .mat file", lambda path, key, files: Opened(None, lambda: _variable(path, key, files))),
    }
    | dict.fromkeys((".h5", ".hdf5"), ("an HDF5 file", _hdf5))
    | dict.fromkeys(TEXT, ("text with numbers", _text))
    | {suffix: (f"vectors of {suffix}", _texmex) for suffix in TEXMEX}
    | {suffix: (f"vectors of {suffix}", _big_ann) for suffix in BIG_ANN}
)
"""The formats by file extension: their names in error messages, and what opens an array."""
EXTENSIONS = frozenset(_FORMATS)
"""The extensions of all formats."""
