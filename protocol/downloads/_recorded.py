"""The checksums of files that have no official one, recorded at their first download.

The lock file has one JSON object a line, sorted, so that it reads well in a diff and any line may be deleted.
"""

import json
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.downloads._part import alone, finish


def recorded(lock: Path, file: str) -> str | None:
    """Return the checksum recorded for `file` (``dataset/name``), or None.

    Raises
    ------
    ProtocolError
        If a line of the lock file can't be read: says which.
    """
    return _read(lock).get(file, {}).get("sha256")


def record(lock: Path, file: str, *, sha256: str, size: int) -> None:
    """Add a file's checksum to the lock file; jobs that record at the same time wait for one another."""
    with alone(lock.with_name(f"{lock.name}.part")) as part:
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
                f'{lock}, line {number}: wanted {{"file": ..., "sha256": ..., "size": ...}}, came {line!r}; restore '
                "it, or delete it to record the file's checksum anew"
            ) from error
    return entries
