"""Script of the process that reads an untrusted HDF5 file, because HDF5 may crash or hang on a damaged file.

`protocol.inputs.hdf5` runs it; it imports only NumPy and h5py. Its argument is a request as JSON: ``path``, ``key`` (or
null), ``limit`` (maximum size of the array in bytes) and ``data`` (whether to send the numbers). It writes a line of
JSON with ``shape`` and ``dtype``, or with ``keys``, the keys in the file, if the requested key is not one of them; then
the numbers. If the file is refused, it writes the reason to stderr and ends with the exit code 65.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from math import prod
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 32 << 20
_MEMORY = 3  # times the limit of an array: a chunk may be in memory compressed, decompressed and as a copy
_MOST_KEYS = 1000
_REFUSED = 65


class RefusedError(Exception):
    """The file, or a dataset in it, is refused; the message states the expected and the actual content."""


def main() -> None:
    """Reply to the request."""
    request, out = json.loads(sys.argv[1]), sys.stdout.buffer
    _limit_memory(_MEMORY * request["limit"])
    try:
        with h5py.File(request["path"], "r") as file:
            dataset = _dataset(file, request["key"])
            if isinstance(dataset, list):
                out.write(json.dumps({"keys": dataset}).encode() + b"\n")
            else:
                _check(dataset, request["limit"])
                out.write(json.dumps({"shape": dataset.shape, "dtype": dataset.dtype.str}).encode() + b"\n")
                for block in _blocks(dataset) if request["data"] else ():
                    out.write(block.data.cast("B"))
            out.flush()
    except BrokenPipeError:
        pass
    except Exception as error:  # noqa: BLE001 - h5py may raise anything on a damaged file
        reason = str(error)
        if not isinstance(error, RefusedError):
            reason = " ".join(reason.split())[:160] or type(error).__name__
            reason = f"can't be read as an HDF5 file ({reason})."
        with contextlib.suppress(BrokenPipeError):
            out.flush()
        sys.stderr.write(reason)
        sys.stderr.flush()
        os._exit(_REFUSED)
    os._exit(0)  # skip HDF5's cleanup, which may crash after a damaged file; everything has been sent


def _dataset(file: h5py.File, key: str | None) -> h5py.Dataset | list[str]:
    """Return the dataset with the given key, or the only one; if there is none, the names of all datasets."""
    if key is None:
        names, links = _names(file)
        if not names and links:
            raise RefusedError(f"contains {links[0]}, which is never followed.")
        return file[names[0]] if len(names) == 1 else names
    found: Any = file
    for part in key.strip("/").split("/"):
        link = found.get(part, getlink=True) if isinstance(found, h5py.Group) else None
        if link is None:
            return _names(file)[0]
        if not isinstance(link, h5py.HardLink):
            raise RefusedError(f"{_link(part, link)} is never followed.")
        found = found[part]
    return found if isinstance(found, h5py.Dataset) else _names(file)[0]


def _names(file: h5py.File) -> tuple[list[str], list[str]]:
    """Return the names of the datasets, each once, and the links in the root group."""
    names: list[str] = []

    def add(name: str, item: h5py.HLObject) -> bool | None:
        if isinstance(item, h5py.Dataset):
            names.append(name)
        return len(names) >= _MOST_KEYS or None  # anything but None ends the walk

    file.visititems(add)
    links = {name: file.get(name, getlink=True) for name in file}
    return sorted(names), [_link(name, link) for name, link in links.items() if not isinstance(link, h5py.HardLink)]


def _link(name: str, link: h5py.SoftLink | h5py.ExternalLink) -> str:
    if isinstance(link, h5py.ExternalLink):
        return f"{name!r}, an external link to {link.filename!r}"
    return f"{name!r}, a soft link"


def _check(dataset: h5py.Dataset, limit: int) -> None:
    """Refuse a dataset that is not an array of numbers, or whose numbers are not all in its own file."""
    if dataset.dtype.kind not in "biuf":
        raise RefusedError(f"expected an array of numbers, got dtype {dataset.dtype}.")
    if dataset.shape is None or not dataset.size:
        raise RefusedError(f"the array is empty, shape {dataset.shape}.")
    if dataset.is_virtual:
        raise RefusedError("virtual datasets, which are read from other files, are refused.")
    if dataset.id.get_create_plist().get_external_count():
        raise RefusedError("datasets in external storage, which are read from other files, are refused.")
    n_bytes = prod(dataset.shape) * dataset.dtype.itemsize
    chunk = prod(dataset.chunks or ()) * dataset.dtype.itemsize
    if max(n_bytes, chunk) > limit:
        raise RefusedError(
            f"the array takes {max(n_bytes, chunk) / 2**30:.3g} GiB uncompressed, more than {limit / 2**30:.3g} GiB. "
            "Save it as .npy."
        )
    if not _is_written(dataset):
        raise RefusedError("some numbers of the array were never written.")


def _is_written(dataset: h5py.Dataset) -> bool:
    if dataset.chunks is None:
        return bool(dataset.id.get_space_status() == h5py.h5d.SPACE_STATUS_ALLOCATED)
    n_chunks = prod(-(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True))
    return bool(dataset.id.get_num_chunks() >= n_chunks)


def _blocks(dataset: h5py.Dataset) -> Iterator[NDArray]:
    """Yield the numbers in order, in blocks of some megabytes that contain complete rows of chunks."""
    if not dataset.shape:
        yield np.asarray(dataset[()])
        return
    row_bytes = prod(dataset.shape[1:]) * dataset.dtype.itemsize
    step = max(1, _BLOCK_BYTES // max(1, row_bytes))
    if dataset.chunks:
        step = -(-step // dataset.chunks[0]) * dataset.chunks[0]
    for start in range(0, dataset.shape[0], step):
        yield np.ascontiguousarray(dataset[start : start + step])


def _limit_memory(n_bytes: int) -> None:
    """Limit the memory of this process, because a damaged file can make HDF5 allocate absurd amounts."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not available on every system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_AS, (n_bytes + (1 << 30), resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
