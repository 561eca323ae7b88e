"""The user's own plug-ins: files in the folders that the environment variable ``PROTOCOL_PLUGINS`` lists.

The key `plugins` of a config file adds a folder to the variable, so that the jobs of an experiment inherit it. A file
``mean.py`` is imported as ``protocol.plugins.mean``; it can therefore import its neighbours (``from .shared import
NAME``), and digests of code follow such imports.
"""

import functools
import importlib
import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from protocol.checks import ProtocolError

VARIABLE = "PROTOCOL_PLUGINS"
_PACKAGE = Path(__file__).parents[1]
# In every file with a plug-in; other scripts in the folder are not run.
_MARK = re.compile(r"Record(\.declared|\()|\bdeclare\(")
PLUGINS = sys.modules.setdefault("protocol.plugins", ModuleType("protocol.plugins", "The user's own plug-ins."))
"""A package without names of its own, since a file may have any name; `folders` sets where its modules are."""


def add(folder: str | Path) -> None:
    """Add a folder with plug-ins, for this process and those that it starts.

    Raises
    ------
    ProtocolError
        If there is no such folder.
    """
    path = _existing(folder, "plugins")
    if path not in folders():
        os.environ[VARIABLE] = os.pathsep.join([*map(str, folders()), str(path)])


def folders() -> list[Path]:
    """Return the folders with the user's plug-ins; raise ProtocolError if the variable names one that is missing."""
    paths = [_existing(name, VARIABLE) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    PLUGINS.__path__ = list(map(str, paths))
    return paths


def _existing(folder: str | Path, named_in: str) -> Path:
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise ProtocolError(f"{named_in}: no folder {str(folder)!r} (looked in {Path.cwd()}).")
    return path


def path_of(module: str) -> Path | None:
    """Return the file of a module in one of the folders; None if there is none, or the module belongs elsewhere."""
    package, _, name = module.rpartition(".")
    paths = (folder / f"{name}.py" for folder in (folders() if package == PLUGINS.__name__ else ()))
    return next((path for path in paths if path.is_file()), None)


def import_files() -> None:
    """Import each file that registers a plug-in, except those whose names begin with ``_``, as in the package.

    Raises
    ------
    ProtocolError
        With the name and line of a file that can't be imported, or with the names of two files of one name.
    """
    for path in (path for folder in folders() for path in sorted(folder.glob("[!_]*.py"))):
        module = f"{PLUGINS.__name__}.{path.stem}"
        is_imported = getattr(sys.modules.get(module), "__file__", None) == str(path)
        if not is_imported and _registers(path, path.stat().st_mtime_ns):
            if (other := path_of(module)) != path:
                raise ProtocolError(f"{shown(path)}: another file has this name, {other}. Rename one of them.")
            _import(module, path)


def _import(module: str, path: Path) -> None:
    importlib.invalidate_caches()
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [1])[-1]
        problem = error if isinstance(error, ProtocolError) else f"{type(error).__name__}: {error}"
        raise ProtocolError(f"{shown(path)}, line {line}: {' '.join(str(problem).split())}") from error


@functools.cache
def _registers(path: Path, _: int) -> bool:
    """Return whether a file, in its state of a time, registers a plug-in."""
    return _MARK.search(path.read_text(encoding="utf-8", errors="replace")) is not None


def without_record(name: str) -> Path | None:
    """Return the file that has this name or defines a class or function of it, in any case, but registers nothing."""
    definition = re.compile(rf"^(class|def) {re.escape(str(name))}\b", re.IGNORECASE | re.MULTILINE)
    for path in (path for folder in folders() for path in sorted(folder.glob("*.py"))):
        is_named = path.stem == name or definition.search(path.read_text(encoding="utf-8", errors="replace"))
        if is_named and not _registers(path, path.stat().st_mtime_ns):
            return path
    return None


def shown(path: Path) -> str:
    """Return a path as messages show it: relative to the project or to the working directory, if it is in there."""
    folder = _PACKAGE.parent if path.is_relative_to(_PACKAGE) else Path.cwd()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
