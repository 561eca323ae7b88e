"""Read an array from files that may contain several: .npz, HDF5 and MATLAB. Nothing is ever unpickled.

NumPy, h5py and SciPy parse them. Before an array is read, the size that the file declares for it is compared with
`protocol.inputs.limits`. These functions may raise anything on a damaged file; `protocol.inputs.arrays` converts that.
"""

import contextlib
import json
import pickletools
import re
import shlex
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.inputs import limits, text

_MOST_KEYS = 20
_USER_BLOCK, _HDF5 = 512, b"\x89HDF"  # offset and magic number of HDF5 in a .mat file
_DOUBLE = 8  # bytes
_PICKLE_BYTES = 1 << 24
_REFERENCED = "#refs#"  # the group in which MATLAB stores the elements of cell arrays


def npz(path: Path) -> Any:
    """Open an .npz file, as `numpy.load` does after it has looked at the first bytes."""
    return np.lib.npyio.NpzFile(path, allow_pickle=False)  # type: ignore[arg-type]


def npz_array(archive: Any, path: Path, key: str | None) -> NDArray:
    """Return an array of an open .npz file; zipfile verifies its checksum."""
    key = chosen(path, key, archive.files)
    shape, dtype = npz_header(archive, path, key)
    limits.check_array(path, prod(shape) * dtype.itemsize)
    return np.asarray(archive[key])


def npz_header(archive: Any, path: Path, key: str | None) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and dtype of an array of an open .npz file; refuse one whose size differs from its header's."""
    key = chosen(path, key, archive.files)
    member = archive.zip.getinfo(key if key in archive.zip.namelist() else f"{key}.npy")
    with archive.zip.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        declared, actual = prod(shape) * dtype.itemsize, member.file_size - stream.tell()
    if dtype.hasobject:
        raise ValueError("Object arrays are pickled")
    if declared != actual or min(shape, default=0) < 0:
        raise ProtocolError(f"{path}: {actual:,} bytes of data, but shape {shape} needs {declared:,}.")
    return shape, dtype


def hdf5_array(path: Path, key: str | None) -> NDArray:
    """Return a dataset, the only one if `key` is None; strings of any length become NumPy strings."""
    h5py = need("h5py", "hdf5")
    with hdf5(path, key) as dataset:
        strings = h5py.check_string_dtype(dataset.dtype)
        if strings is None or strings.length is not None:
            return np.asarray(dataset[()])
        values = np.asarray(dataset.asstr("utf-8", "backslashreplace")[()])
        return text.string_array(values.ravel().tolist(), str(path)).reshape(values.shape)


@contextlib.contextmanager
def hdf5(path: Path, key: str | None) -> Iterator[Any]:
    """Open a dataset, the only one if `key` is None; refuse one that is not entirely in the file, or too large."""
    h5py = need("h5py", "hdf5")
    with h5py.File(path, "r") as file:
        dataset = file.get(key) if key else None
        if not isinstance(dataset, h5py.Dataset):
            names: list[str] = []
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            keys = [name for name in names if not name.startswith(_REFERENCED)]
            dataset = file[chosen(path, key, keys)]
        if dataset.file.filename != file.filename or dataset.is_virtual or dataset.external:
            raise ProtocolError(f"{path}: {dataset.name} refers to another file. Copy the array into this file.")
        if not dataset.size:
            raise ProtocolError(f"{path}: the array is empty, shape {dataset.shape}.")
        chunk = prod(dataset.chunks or ())
        limits.check_array(path, max(dataset.size, chunk) * dataset.dtype.itemsize)
        if dataset.chunks is None:
            is_written = dataset.id.get_space_status() == h5py.h5d.SPACE_STATUS_ALLOCATED
        else:
            sizes = zip(dataset.shape, dataset.chunks, strict=True)
            is_written = dataset.id.get_num_chunks() >= prod(-(-size // chunk) for size, chunk in sizes)
        if not is_written:  # HDF5 would read these values as zeros
            raise ProtocolError(f"{path}: some values of the array were never written.")
        yield dataset


def matlab_array(path: Path, key: str | None) -> NDArray:
    """Return a variable or a field of a struct, ``result.codes``, of any version of MATLAB, as the type it has there.

    Text and cell arrays of text become strings, without blanks at their ends.
    """
    with open(path, "rb") as stream:
        stream.seek(_USER_BLOCK)
        if stream.read(len(_HDF5)) == _HDF5:
            return _matlab_hdf5(path, key)
    io = need("scipy.io", "scipy")
    warnings.simplefilter("error", np.exceptions.ComplexWarning)  # mat_dtype would make complex numbers real
    declared = {name: (shape, kind) for name, shape, kind in io.whosmat(path)}
    structs = [name for name, (shape, kind) in declared.items() if kind == "struct" and prod(shape) == 1]
    arrays = [name for name in declared if name not in structs]
    fields: dict[str, Any] = {}
    if structs and key not in arrays:
        # No limit: up to version 7, the format itself has one of 4 GiB.
        loaded = io.loadmat(path, variable_names=structs, mat_dtype=True)
        fields = _fields({name: loaded[name] for name in structs})
    name = chosen(path, key, [*arrays, *fields])
    if name in fields:
        value = fields[name]
    else:
        limits.check_array(path, _DOUBLE * prod(declared[name][0]))
        value = io.loadmat(path, variable_names=[name], mat_dtype=True)[name]
    if hasattr(value, "toarray"):
        limits.check_array(path, _DOUBLE * prod(value.shape))
        value = value.toarray()
    if value.dtype == object:
        if not all(item.dtype.kind == "U" and item.size <= 1 for item in value.flat):
            raise ProtocolError(f"{path}: {name} is a cell array, but not of text.")
        value = text.string_array(["".join(item.flat) for item in value.flat], str(path))
    return np.strings.rstrip(value) if value.dtype.kind == "U" else value


def _fields(structs: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of structs by name, such as ``result.codes``, those of structs within them too."""
    fields: dict[str, Any] = {}
    for name, struct in structs.items():
        if struct.dtype.names and struct.size == 1:
            fields |= _fields({f"{name}.{field}": struct[field].item() for field in struct.dtype.names})
        else:
            fields[name] = struct
    return fields


def _matlab_hdf5(path: Path, key: str | None) -> NDArray:
    """Return a variable of version 7.3, which stores columns first, and text as the numbers of its characters."""
    with hdf5(path, key and key.replace(".", "/")) as dataset:
        array = np.asarray(dataset[()]).T
        kind = _matlab_class(dataset)
        if kind == "char":
            array = np.array(_rows_of_text(array))
        elif kind == "cell":
            items = [dataset.file[item] for item in array.flat]
            if any(_matlab_class(item) != "char" for item in items):
                raise ProtocolError(f"{path}: {dataset.name} is a cell array, but not of text.")
            words = ["" if "MATLAB_empty" in item.attrs else "".join(_rows_of_text(item[()].T)) for item in items]
            array = text.string_array(words, str(path))
        return array.astype(bool) if kind == "logical" else array


def _matlab_class(item: Any) -> str:
    kind = item.attrs.get("MATLAB_class", "")
    return kind.decode() if isinstance(kind, bytes) else str(kind)


def _rows_of_text(characters: NDArray) -> list[str]:
    return [row.astype("<u2").tobytes().decode("utf-16-le").rstrip() for row in characters]


def is_torch(path: Path) -> bool:
    """Return whether a file has an extension of PyTorch; ``.bin`` is also used for other files, which are not zips."""
    return path.suffix.lower() in (".pt", ".pth", ".ckpt") or (
        path.suffix.lower() == ".bin" and zipfile.is_zipfile(path)
    )


def torch_conversion(path: Path, key: str | None) -> str:
    """Return how to convert a tensor of a PyTorch file into .npy; its pickle is listed, but never loaded."""
    pickled = b""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, contextlib.ExitStack() as streams:
            names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            pickled = b"".join(streams.enter_context(archive.open(name)).read(_PICKLE_BYTES) for name in names)
    is_tensor, keys = _tensors(pickled)
    key = key or next(iter(keys), None)
    suffix, index = ("", "") if key is None else ("_" + re.sub(r"\W+", "_", key), f"[{json.dumps(key)}]")
    to_numpy = ".float().numpy()" if b"BFloat16Storage" in pickled else ".numpy()"  # NumPy has no bfloat16
    code = (
        f"import numpy, torch; numpy.save({json.dumps(str(path.with_name(f'{path.stem}{suffix}.npy')))}, "
        f'torch.load({json.dumps(str(path))}, map_location="cpu", weights_only=True){index}.detach(){to_numpy})'
    )
    contents = f" The tensors in this one: {listed(keys)}." if keys else ""
    contents += "" if is_tensor or keys else " If this one contains several tensors, put a key before .detach()."
    return f"PyTorch files are not read.{contents} Convert it: python -c {shlex.quote(code)}"


def _tensors(pickled: bytes) -> tuple[bool, list[str]]:
    """Return whether a pickle is a tensor, and the keys of the tensors if it is a flat dictionary."""
    functions: set[Any] = set()  # positions in the pickle's memory of the functions that rebuild tensors
    keys, first, word, n_containers, is_function = list[str](), None, None, 0, False
    for operation, argument, _ in pickletools.genops(pickled) if pickled else ():
        name = operation.name
        if name.endswith("BINPUT"):
            functions |= {argument} if is_function else set()
        elif name not in ("PROTO", "MARK"):
            is_function = name == "GLOBAL" and str(argument).startswith("torch._utils _rebuild")
            if word is not None and (is_function or (name.endswith("BINGET") and argument in functions)):
                keys.append(word)
            word = str(argument) if name == "BINUNICODE" else None
            first = first or ("tensor" if is_function else name)
            n_containers += name in ("EMPTY_DICT", "EMPTY_LIST")
    return first == "tensor", keys if first == "EMPTY_DICT" and n_containers == 1 else []


def listed(keys: Iterable[str]) -> str:
    """Return the first keys on one line, even if they contain unusual characters."""
    ordered = [key if key.isprintable() else ascii(key) for key in sorted(keys)]
    more = len(ordered) - _MOST_KEYS
    return ", ".join(ordered[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "") or "nothing"


def chosen(path: Path, key: str | None, keys: Sequence[str]) -> str:
    """Return the key of the array to read: the requested one, or the only one."""
    if key is None and len(keys) == 1:
        return keys[0]
    if key is None:
        raise ProtocolError(f"{path}: name one of its arrays as {path.name}:KEY. The file contains: {listed(keys)}.")
    if key not in keys:
        raise ProtocolError(f"{path}: no array {key!r}. The file contains: {listed(keys)}.")
    return key
