"""Read arrays from untrusted HDF5 files in a separate process, because a damaged file may crash or hang HDF5.

Crashes, hangs and errors are reported on one line. Nothing outside the file is read: external links, external storage
and virtual datasets are refused, and so is storage that was never written, which HDF5 reads as zeros.
"""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need

SECONDS = 60.0
"""Seconds allowed for a reply, in addition to the size of the file or of the array over `BYTES_PER_SECOND`."""

BYTES_PER_SECOND = 10 << 20

_CHILD = Path(__file__).with_name("_hdf5_child.py")
_LENGTH = struct.Struct("<q")


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
    with Reader() as reader:
        return reader.read(path, key, limit=limit)


def shape(path: Path, key: str | None, *, limit: int) -> tuple[int, ...]:
    """Return the shape of a dataset; errors as in `read`."""
    with Reader() as reader:
        return reader.shape(path, key, limit=limit)


class Reader:
    """A reading process; it can read several files, one after another, until one of them crashes it."""

    def __init__(self) -> None:
        need("h5py", "hdf5")
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def is_alive(self) -> bool:
        """Whether the process can read another file."""
        return self._process.poll() is None

    def read(self, path: Path, key: str | None, *, limit: int) -> NDArray:
        """Return a dataset; see the function `read`."""
        described = self._described(path, key, limit, data=True)
        array = np.empty(tuple(described["shape"]), np.dtype(described["dtype"]))
        with self._watched(path, array.nbytes):
            self._fill(path, array.reshape(-1).view(np.uint8).data)
        return array

    def shape(self, path: Path, key: str | None, *, limit: int) -> tuple[int, ...]:
        """Return the shape of a dataset; see the function `read`."""
        return tuple(self._described(path, key, limit, data=False)["shape"])

    def _described(self, path: Path, key: str | None, limit: int, *, data: bool) -> dict[str, Any]:
        request = {"path": os.fspath(path), "key": key, "limit": limit, "data": data}
        with self._watched(path, path.stat().st_size):
            stdin = self._pipe("stdin")
            with contextlib.suppress(BrokenPipeError):
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
            reply = self._reply(path)
        if "keys" in reply:
            raise UnknownKeyError(reply["keys"])
        return reply

    def _fill(self, path: Path, content: memoryview) -> None:
        """Read the blocks of an array into its memory."""
        stdout, at = self._pipe("stdout"), 0
        while at < len(content):
            (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
            if length < 0:
                self._reply(path)
            end = at + length
            while at < end:
                n_read = stdout.readinto(content[at:end])
                if not n_read:
                    raise EOFError
                at += n_read

    def _reply(self, path: Path) -> dict[str, Any]:
        line = self._pipe("stdout").readline()
        if not line.endswith(b"\n"):
            raise EOFError
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise ProtocolError(f"{path}: {_printable(reply['error'])}")
        return reply

    def _exactly(self, n_bytes: int) -> bytes:
        content: bytes = self._pipe("stdout").read(n_bytes)
        if len(content) < n_bytes:
            raise EOFError
        return content

    def _pipe(self, name: str) -> Any:
        return getattr(self._process, name)

    @contextlib.contextmanager
    def _watched(self, path: Path, n_bytes: int) -> Iterator[None]:
        """Kill the process if it takes too long; convert its termination into a one-line error."""
        seconds = SECONDS + n_bytes / BYTES_PER_SECOND
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except EOFError as error:
            code = self._process.wait()
            got = f"one that takes longer than {seconds:.0f} s" if late.is_set() else f"one that {_ended(code)}"
            raise ProtocolError(f"{path}: expected an HDF5 file that can be read, got {got}.") from error
        finally:
            timer.cancel()


def _ended(code: int) -> str:
    """Return a description of how the reading process ended."""
    if code >= 0:
        return f"ends the process that reads it (exit code {code})"
    return f"crashes the HDF5 library ({signal.Signals(-code).name})"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
