"""Files between stages: HDF5 with a provenance record, either complete or absent, and verified before it is read.

A file is written under another name in the same folder, flushed to disk and renamed, so an interrupted job leaves no
file that looks finished. The checksum of the complete file is verified before HDF5 opens it (`checksums`).
The provenance record lists the maker of the file (name, parameters, seed), the digests of its inputs and the versions
of libraries. The digest of the content depends only on the arrays and the provenance, not on the layout of HDF5.
"""

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.provenance import checksums

if TYPE_CHECKING:
    import h5py

_CHUNK_BYTES = 1 << 20
_PACKED: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
_SMALL = 1024  # bytes of an array for which compression is not worth its time
LIBRARIES = {name: name for name in ("h5py", "numba", "numpy", "scipy", "torch")}
LIBRARIES |= {"hashing-protocol": "protocol", "opencv-python-headless": "cv2", "scikit-learn": "sklearn"}
"""The libraries on which results depend, and the module of each."""


@contextlib.contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn a system error on writing `path` into a ProtocolError that gives the cause; leave errors of other files."""
    path = Path(path)
    try:
        yield
    except (OSError, RuntimeError) as error:  # HDF5 raises RuntimeError, with the number in its text
        in_text = re.search(r"errno = (\d+)", str(error))
        number = getattr(error, "errno", None) or (int(in_text[1]) if in_text else 0)
        file = Path(os.fsdecode(getattr(error, "filename", None) or path))
        if not number or not (file in (path, *path.parents) or file.name.startswith(f".{path.name}.")):
            raise
        raise ProtocolError(f"{path}: can't be written: {os.strerror(number)}.") from error


@contextlib.contextmanager
def replacing(path: str | Path, *, checksum: bool = False) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and rename it to `path` only when the block ends without an error.

    Parameters
    ----------
    path : str or Path
    checksum : bool, default=False
        Whether to write the file's checksum next to it (`protocol.provenance.checksums.checksum_path`), as stages do.

    Raises
    ------
    ProtocolError
        If the file can't be written (disk full, no permission, no folder). The message gives the cause and what to do.
        No temporary file is left behind.

    Notes
    -----
    Symbolic links are followed. Existing non-regular files (for example devices) are never overwritten.
    """
    path = named = Path(path)
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        raise ProtocolError(f"{path}: can't be written: it exists and is not a regular file.")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
    try:
        with explained(path):
            yield Path(temporary)
            with open(temporary, "rb+") as finished:
                os.fsync(finished.fileno())
            digest = file_sha256(temporary) if checksum else ""
            os.umask(mask := os.umask(0))
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        if checksum:
            write_text(checksums.checksum_path(named), checksums.checksum_line(named, digest))
    finally:
        Path(temporary).unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, checksum: bool = False) -> None:
    """Write a text file in UTF-8, as `replacing`: an earlier one is replaced only when it is complete."""
    with replacing(path, checksum=checksum) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_writable(folder: str | Path) -> None:
    """Raise ProtocolError if `folder` is not writable or can't be created; write nothing."""
    nearest = next(path for path in (Path(folder).absolute(), *Path(folder).absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise ProtocolError(f"{folder}: can't be written: {nearest} is a file.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ProtocolError(f"{folder}: can't be written: no permission to write in {nearest}.")


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes_of(rows: NDArray) -> "bytes | memoryview":
    """Return the bytes of rows in C order."""
    return np.ascontiguousarray(rows).data.cast("B") if rows.size else b""


def _digest_of(array: "NDArray | h5py.Dataset", content: "hashlib._Hash") -> str:
    """Return the digest of an array's dtype, shape and bytes, from that of the bytes."""
    return hashlib.sha256(f"{array.dtype.str} {array.shape} {content.hexdigest()}".encode()).hexdigest()


def array_digest(array: NDArray) -> str:
    """Return the SHA-256 of an array's dtype, shape and bytes in C order."""
    return _digest_of(array, hashlib.sha256(_bytes_of(array)))


def provenance(
    maker: str,
    *,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, str | Path],
    seed: int | None = None,
    notes: Iterable[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return the provenance record of a file.

    Parameters
    ----------
    maker : str
        The stage and the plug-in, for example ``"hasher itq"``.
    parameters : mapping
        Everything on which the result depends besides the inputs, serialisable as JSON.
    inputs : mapping of str to path
        The files it was made from; the record contains their digests and inherits their notes.
    seed : int or None
        None if nothing is random.
    notes : iterable of str
        Remarks for readers of this file and of all files that are made from it.
    **more
        Further fields, serialisable as JSON.
    """
    records = {name: read_provenance(path) for name, path in inputs.items()}
    inherited = (note for source in records.values() for note in source["notes"])
    return {
        "maker": maker,
        "parameters": dict(parameters),
        "seed": seed,
        "inputs": {name: source["digest"] for name, source in records.items()},
        "versions": dict(versions()),
        "notes": list(dict.fromkeys([*inherited, *notes])),
        **more,
    }


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed libraries that results depend on.

    Installers name the folder of a package's metadata after the version; reading that is a tenth of parsing the files.
    """
    folders = (file for path in sys.path if os.path.isdir(path) for file in os.listdir(path))
    named = [file.removesuffix(".dist-info").rpartition("-") for file in folders if file.endswith(".dist-info")]
    found = {name.lower().replace("_", "-"): version for name, _, version in reversed(named)}
    known = {"python": platform.python_version()}
    for name, module in LIBRARIES.items():
        if name in found:
            known[name] = found[name]
        elif importlib.util.find_spec(module) is not None:
            from importlib import metadata

            with contextlib.suppress(metadata.PackageNotFoundError):
                known[name] = metadata.version(name)
    return known


def decoded(texts: NDArray) -> NDArray[np.str_]:
    """Return the texts of an array that `Writer.put` stored as UTF-8; other arrays are returned unchanged."""
    return np.char.decode(texts, "utf-8") if texts.dtype.kind == "S" else texts


class Writer:
    """An HDF5 file that is being written: arrays are stored at once or in blocks of rows. Created by `writing`."""

    def __init__(self, file: "h5py.File", *, compress: bool) -> None:
        self._file, self._packing = file, _PACKED if compress else {}
        self._arrays: dict[str, h5py.Dataset] = {}
        self._contents: dict[str, hashlib._Hash] = {}

    def put(self, name: str, values: Any) -> None:
        """Write a complete array; strings are stored as UTF-8."""
        array = np.asarray(values)
        array = np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array
        packing = self._packing if array.nbytes > _SMALL else {}
        self._arrays[name] = self._file.create_dataset(name, data=array, **packing)
        self._contents[name] = hashlib.sha256(_bytes_of(array))

    def append(self, name: str, rows: NDArray) -> None:
        """Append rows to an array, which the first call creates. The file does not depend on the size of the blocks.

        Raises
        ------
        ProtocolError
            If the rows differ in dtype or shape from the earlier ones.
        """
        shape = rows.shape[1:]
        if name not in self._contents:
            rows_of_chunk = max(1, _CHUNK_BYTES // max(1, rows.dtype.itemsize * prod(shape)))
            sizes = {"shape": (0, *shape), "maxshape": (None, *shape), "chunks": (rows_of_chunk, *shape)}
            self._arrays[name] = self._file.create_dataset(name, dtype=rows.dtype, **sizes, **self._packing)
            self._contents[name] = hashlib.sha256()
        array = self._arrays[name]
        before, now = f"{array.dtype} {array.shape[1:]}", f"{rows.dtype} {shape}"
        if now != before:
            raise ProtocolError(f"array {name!r}: expected rows of {before} as before, got {now}.")
        if len(rows):
            array.resize(len(array) + len(rows), axis=0)
            array[-len(rows) :] = rows
            self._contents[name].update(_bytes_of(rows))

    def _finish(self, provenance: Mapping[str, Any]) -> None:
        digests = {name: _digest_of(self._arrays[name], content) for name, content in self._contents.items()}
        for name, digest in digests.items():
            self._arrays[name].attrs["sha256"] = digest
        self._file.attrs["provenance"] = json.dumps(provenance, sort_keys=True)
        self._file.attrs["digest"] = _content_digest(digests, self._file.attrs["provenance"])


@contextlib.contextmanager
def writing(path: str | Path, provenance: Mapping[str, Any], *, compress: bool = False) -> Iterator[Writer]:
    """Yield a writer of one HDF5 file, which appears under `path` only when the block ends without an error.

    `compress` suits counts, which are mostly zero; features and codes would not shrink, and would be slower to read.
    The provenance is written at the end of the block, so fields may be added to it until then.

    Raises
    ------
    ProtocolError
        If the file can't be written. No temporary file is left behind.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "x.h5")
    ...     with writing(path, provenance("doctest", parameters={}, inputs={})) as file:
    ...         for block in range(3):
    ...             file.append("X", np.full((2, 4), block))
    ...     with streamed(path, "X") as X:
    ...         print(X.shape, X[4:6, 0])
    (6, 4) [2 2]
    """
    h5py = need("h5py", "hdf5")
    with replacing(path) as temporary:
        with h5py.File(temporary, "w", userblock_size=checksums.USER_BLOCK) as file:
            writer = Writer(file, compress=compress)
            yield writer
            writer._finish(provenance)
        checksums.seal(temporary)


def write(
    path: str | Path, arrays: Mapping[str, Any], provenance: Mapping[str, Any], *, compress: bool = False
) -> None:
    """Write complete arrays and a provenance record as one HDF5 file, see `writing`; names may contain ``/``."""
    with writing(path, provenance, compress=compress) as file:
        for name, values in sorted(arrays.items()):
            file.put(name, values)


def _content_digest(digests: Mapping[str, str], provenance: str) -> str:
    """Return the digest of a file's content, from the digests of its arrays and its provenance record."""
    return hashlib.sha256((json.dumps(digests, sort_keys=True) + provenance).encode()).hexdigest()


@contextlib.contextmanager
def _verified(path: str | Path) -> "Iterator[h5py.File]":
    """Verify a file and open it; HDF5 only ever reads bytes that were verified."""
    h5py = need("h5py", "hdf5")
    checksums.verify_sealed(path)
    with h5py.File(path, "r") as file:
        yield file


@contextlib.contextmanager
def opened(path: str | Path) -> "Iterator[dict[str, h5py.Dataset]]":
    """Yield the arrays of a file by name, to be read by slices of rows. Raises the errors of `read`."""
    with _verified(path) as file:
        yield _arrays(file)


def _arrays(item: "h5py.Group | h5py.Dataset") -> "dict[str, h5py.Dataset]":
    """Return all arrays of a group by their names in it, which takes long in files with many groups; an array as ""."""
    if hasattr(type(item), "dtype"):
        return {"": item}
    below = {name: _arrays(part) for name, part in item.items()}
    return {f"{name}/{rest}".rstrip("/"): array for name, arrays in below.items() for rest, array in arrays.items()}


def _named(file: "h5py.File", path: str | Path, name: str) -> "dict[str, h5py.Dataset]":
    """Return an array, or all arrays of a group, the part of their names before a ``/``."""
    item = file.get(name)
    if item is None:
        raise ProtocolError(f"{path}: no array {name!r}; it contains {', '.join(sorted(_arrays(file)))}.")
    return {f"{name}/{part}".rstrip("/"): array for part, array in sorted(_arrays(item).items())}


def read(path: str | Path, names: Sequence[str] | None = None) -> dict[str, NDArray]:
    """Return the named arrays of a file, also by the names of groups (all if None).

    Raises
    ------
    ProtocolError
        If the file is missing, was altered since `writing` wrote it, or lacks an array (the message lists those that
        it has).
    """
    with _verified(path) as file:
        selected = dict(sorted(_arrays(file).items())) if names is None else {}
        for name in names or ():
            selected |= _named(file, path, name)
        return {name: array[...] for name, array in selected.items()}


def read_group(path: str | Path, group: str) -> dict[str, NDArray]:
    """Return the arrays of a file whose names begin with ``group/``, by the rest of their names, as `read` does."""
    (arrays,) = read_groups(path, [group])
    return arrays


def read_groups(path: str | Path, groups: Iterable[str]) -> Iterator[dict[str, NDArray]]:
    """Yield the arrays of each group, as `read_group` returns them, and verify the file once."""
    with _verified(path) as file:
        for group in groups:
            yield {name.removeprefix(f"{group}/"): array[...] for name, array in _named(file, path, group).items()}


@contextlib.contextmanager
def streamed(path: str | Path, name: str) -> "Iterator[h5py.Dataset]":
    """Yield one array of a file, to be read by slices of rows. Raises the errors of `read`.

    The name of a group also works if the group contains only one array.
    """
    with _verified(path) as file:
        array, *others = _named(file, path, name).values()
        if others:
            raise ProtocolError(f"{path}: several arrays {name!r}; it contains {', '.join(sorted(_arrays(file)))}.")
        yield array


def grouped(arrays: Mapping[str, NDArray]) -> dict[str, dict[str, NDArray]]:
    """Return arrays by the part of their names before the first ``/``.

    Examples
    --------
    >>> grouped({"a/x": 1, "a/y/z": 2, "b/x": 3})
    {'a': {'x': 1, 'y/z': 2}, 'b': {'x': 3}}
    """
    groups: dict[str, dict[str, NDArray]] = {}
    for name, array in arrays.items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = array
    return groups


def flattened(groups: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the arrays of groups under names with a ``/``, the inverse of `grouped`; other arrays keep their names.

    Examples
    --------
    >>> flattened({"a": {"x": 1, "y": 2}, "b": 3})
    {'a/x': 1, 'a/y': 2, 'b': 3}
    """
    flat: dict[str, Any] = {}
    for group, arrays in groups.items():
        is_group = isinstance(arrays, Mapping)
        flat |= {f"{group}/{name}": array for name, array in arrays.items()} if is_group else {group: arrays}
    return flat


def read_provenance(path: str | Path) -> dict[str, Any]:
    """Return a file's provenance record, with the digest of its content as ``"digest"``; raise the errors of `read`."""
    with _verified(path) as file:
        try:
            return {**json.loads(file.attrs["provenance"]), "digest": str(file.attrs["digest"])}
        except (RecursionError, TypeError, ValueError) as error:
            raise ProtocolError(f"{path}: the provenance record is not a JSON object. Make the file again.") from error
