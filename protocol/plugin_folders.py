"""The folders with the user's own plug-ins, which the environment variable ``PROTOCOL_PLUGINS`` lists.

The key `plugins` of a config file adds a folder to the variable, so that the jobs of an experiment inherit it.
"""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from protocol import plugins
from protocol.checks import ProtocolError

VARIABLE = "PROTOCOL_PLUGINS"
_MARK = "Record("  # in every file that registers a plug-in; other scripts in the folder are not run


def add(folder: str | Path) -> None:
    """Add a folder with plug-ins, for this process and those that it starts.

    Raises
    ------
    ProtocolError
        If there is no such folder.
    """
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise ProtocolError(f"plugins: no folder {str(folder)!r} (looked in {Path.cwd()}).")
    if path not in folders():
        os.environ[VARIABLE] = os.pathsep.join([*map(str, folders()), str(path)])


def folders() -> list[Path]:
    """Return the folders with the user's plug-ins."""
    found = [Path(name).resolve() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    plugins.__path__[:] = map(str, found)
    return found


def files() -> Iterator[Path]:
    """Yield the files that register plug-ins; those whose names begin with ``_`` are left out, as in the package."""
    for folder in folders():
        for path in sorted(folder.glob("[!_]*.py")):
            if _registers(path, path.stat().st_mtime_ns):
                yield path


@functools.cache
def _registers(path: Path, _: int) -> bool:
    """Return whether a file, in its state of a time, registers a plug-in."""
    return _MARK in path.read_text(encoding="utf-8", errors="replace")


def path_of(module: str) -> Path | None:
    """Return the file of a module in one of the folders; None if there is none, or the module belongs elsewhere."""
    package, _, name = module.rpartition(".")
    paths = (folder / f"{name}.py" for folder in folders() if package == plugins.__name__)
    return next((path for path in paths if path.is_file()), None)
