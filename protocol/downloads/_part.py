"""Partial files: lock one for a single process, and rename it when it is complete."""

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def locked(part: Path) -> Iterator[IO[bytes]]:
    """Open `part` for reading and writing and lock it; other processes wait until the block ends.

    The operating system releases the lock when the process ends, however it ends, and the file remains for the next
    process, which can resume. The block may rename or delete the file: the next process in line then gets a new, empty
    file. An empty file is removed at the end.
    """
    import fcntl

    while True:
        with open(part, "r+b", opener=_opened) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logging.getLogger(__name__).warning("%s: waiting for another process that is writing this file", part)
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is_path_of(part, file):
                try:
                    yield file
                finally:
                    if _is_path_of(part, file) and not os.fstat(file.fileno()).st_size:
                        part.unlink()
                return


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o666)


def _is_path_of(path: Path, file: IO[bytes]) -> bool:
    """Return whether `path` is still the name of the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def finish(part: IO[bytes], path: Path) -> None:
    """Rename the part to its final name, after its content has been flushed to disk."""
    part.flush()
    os.fsync(part.fileno())
    os.replace(part.name, path)
