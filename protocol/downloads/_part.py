"""A file on its way to its name, in the hands of one process at a time."""

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def alone(part: Path) -> Iterator[IO[bytes]]:
    """Open `part` for reading and writing as the only process that does; others wait until the block ends.

    The system drops the lock with the process, however it dies, and the file stays for the next one to go on with. The
    block may rename or delete the file: who waited for it then gets a new, empty one. An empty one is not left behind.
    """
    import fcntl

    while True:
        with open(part, "r+b", opener=_opened_or_made) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logging.getLogger(__name__).warning("%s: another process writes it; waiting", part)
                fcntl.flock(file, fcntl.LOCK_EX)
            if _names(part, file):
                try:
                    yield file
                finally:
                    if _names(part, file) and not os.fstat(file.fileno()).st_size:
                        part.unlink()
                return


def _opened_or_made(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o666)


def _names(path: Path, file: IO[bytes]) -> bool:
    """Tell whether `path` is still the name of the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def finish(part: IO[bytes], path: Path) -> None:
    """Give the part its final name, its bytes safe on the disk before."""
    part.flush()
    os.fsync(part.fileno())
    os.replace(part.name, path)
