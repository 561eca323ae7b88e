"""Read arrays from untrusted HDF5 files in a separate process, because a damaged file may crash or hang HDF5.

Crashes, hangs and errors are reported on one line. Nothing outside the file is read: external links, external storage
and virtual datasets are refused, and so is storage that was never written, which HDF5 reads as zeros.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.inputs import limits

PACKAGE_DATA = "_hdf5_child.py"
_CHILD = Path(__file__).with_name(PACKAGE_DATA)
_REFUSED = 65  # exit code of a child that has written the reason to stderr


class UnknownKeyError(Exception):
    """The requested key does not exist; `keys` are those in the file."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__(keys)
        self.keys = keys


def read(path: Path, key: str | None, *, limit: int) -> NDArray:
    """Return a dataset.

    Parameters
    ----------
    path : Path
    key : str or None
        None for the only dataset of the file.
    limit : int
        Maximum size of the array in bytes.

    Raises
    ------
    UnknownKeyError
        If the file has no such dataset, or several and no key is given.
    ProtocolError
        If the dataset is damaged, too large, not an array of numbers, or not entirely in this file.
    """
    with _child(path, key, limit, data=True) as (child, described):
        array = np.empty(tuple(described["shape"]), np.dtype(described["dtype"]))
        with _watched(child, path, array.nbytes):
            if child.stdout.readinto(array.reshape(-1).view(np.uint8).data) < array.nbytes:
                raise EOFError
    return array


def shape(path: Path, key: str | None, *, limit: int) -> tuple[int, ...]:
    """Return the shape of a dataset; errors as in `read`."""
    with _child(path, key, limit, data=False) as (_, described):
        return tuple(described["shape"])


@contextlib.contextmanager
def _child(path: Path, key: str | None, limit: int, *, data: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a process that reads a file, and the shape and dtype that it found."""
    need("h5py", "hdf5")
    request = {"path": os.fspath(path), "key": key, "limit": limit, "data": data}
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": environment,
    }
    with subprocess.Popen([sys.executable, "-P", str(_CHILD), json.dumps(request)], **pipes) as child:
        try:
            with _watched(child, path, path.stat().st_size):
                line = child.stdout.readline()  # type: ignore[union-attr]
                if not line.endswith(b"\n"):
                    raise EOFError
            described = json.loads(line)
            if "keys" in described:
                raise UnknownKeyError(described["keys"])
            yield child, described
        finally:
            child.kill()


@contextlib.contextmanager
def _watched(child: Any, path: Path, n_bytes: int) -> Iterator[None]:
    """Kill the process if it takes too long; raise a one-line error if it terminates."""
    seconds, began = limits.HDF5_SECONDS + n_bytes / limits.HDF5_BYTES_PER_SECOND, time.monotonic()
    timer = threading.Timer(seconds, child.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    except EOFError as error:
        code = child.wait()
        if code == _REFUSED:
            raise ProtocolError(f"{path}: {child.stderr.read().decode(errors='replace')}") from error
        if time.monotonic() - began >= seconds:
            reason = f"it takes longer than {seconds:.0f} s"
        elif code >= 0:
            reason = f"it ends the process that reads it (exit code {code})"
        else:
            reason = f"it crashes the HDF5 library ({signal.Signals(-code).name})"
        raise ProtocolError(f"{path}: can't be read as an HDF5 file: {reason}.") from error
    finally:
        timer.cancel()
