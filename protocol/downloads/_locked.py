"""Files that one process at a time writes: partial downloads, and the record of the checksums of first downloads."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from protocol.checks import ProtocolError


@contextlib.contextmanager
def locked(part: Path) -> Iterator[IO[bytes]]:
    """Open `part` for reading and writing and lock it; other processes wait until the block ends.

    The operating system releases the lock when the process ends, however it ends, and the file remains for the next
    process, which can resume. The block may rename or delete the file: the next process in line then gets a new, empty
    file. An empty file is removed at the end.
    """
    import fcntl

    while True:
        with open(part, "r+b", opener=lambda path, flags: os.open(path, flags | os.O_CREAT, 0o666)) as file:
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


def recorded(lock: Path, file: str) -> str | None:
    """Return the checksum recorded for `file` (``dataset/name``), or None.

    The lock file has one JSON object per line, sorted, so that diffs are readable and any line may be deleted.

    Raises
    ------
    ProtocolError
        If a line of the lock file can't be read; the message gives its number.
    """
    return _entries(lock).get(file, {}).get("sha256")


def record(lock: Path, file: str, *, sha256: str, size: int) -> None:
    """Add a file's checksum to the lock file; jobs that record at the same time wait for one another."""
    with locked(lock.with_name(f"{lock.name}.part")) as part:
        entries = _entries(lock) | {file: {"file": file, "sha256": sha256, "size": size}}
        part.truncate(0)
        part.write("".join(f"{json.dumps(entries[name])}\n" for name in sorted(entries)).encode())
        finish(part, lock)


def _entries(lock: Path) -> dict[str, dict]:
    entries = {}
    for number, line in enumerate(lock.read_text().splitlines() if lock.exists() else (), start=1):
        try:
            entry = json.loads(line)
            entries[entry["file"]] = {key: entry[key] for key in ("file", "sha256", "size")}
        except (ValueError, KeyError, TypeError) as error:
            raise ProtocolError(
                f'{lock}: line {number}: expected {{"file": ..., "sha256": ..., "size": ...}}, got {line!r}. Restore '
                "the line, or delete it to record the checksum again."
            ) from error
    return entries
