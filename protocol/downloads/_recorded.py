"""The lock file: checksums recorded at the first download of files without an official checksum.

It contains one JSON object per line, sorted, so that diffs are readable and any line may be deleted.
"""

import json
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.downloads._part import finish, locked


def recorded(lock: Path, file: str) -> str | None:
    """Return the checksum recorded for `file` (``dataset/name``), or None.

    Raises
    ------
    ProtocolError
        If a line of the lock file can't be read; the message gives its number.
    """
    return _read(lock).get(file, {}).get("sha256")


def record(lock: Path, file: str, *, sha256: str, size: int) -> None:
    """Add a file's checksum to the lock file; jobs that record at the same time wait for one another."""
    with locked(lock.with_name(f"{lock.name}.part")) as part:
        entries = _read(lock) | {file: {"file": file, "sha256": sha256, "size": size}}
        part.truncate(0)
        part.write("".join(f"{json.dumps(entries[name])}\n" for name in sorted(entries)).encode())
        finish(part, lock)


def _read(lock: Path) -> dict[str, dict]:
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
