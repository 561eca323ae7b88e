"""Finds the plug-ins: one file in a room's folder, one `register` call, no list to edit.

The name of a metric may hold numbers: ``mAP@K[all]`` is asked for as ``mAP@1000[all]``, ``precision@rR`` as
``precision@r2``, ``F_beta@rR`` as ``F0.5@r2``; `get` then binds ``cutoff=1000``, ``radius=2``, ``beta=0.5``.
"""

import functools
import hashlib
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from protocol.checks import ProtocolError, known

ROOMS = MappingProxyType(
    {
        "dataset": "datasets",
        "feature": "features",
        "ground_truth": "groundtruth",
        "split": "splits",
        "hasher": "hashers",
        "metric": "metrics",
    }
)
_PACKAGE = Path(__file__).parent
_FRONT_DOORS = {"cli.py", "__main__.py"}
_IMPORTED = re.compile(r"^\s*(?:from|import) protocol\.(\w+)", re.MULTILINE)
_CHECKED = {"downloads"}  # what it gives is held against a checksum, so that other code there gives nothing else
# What stands for a number in a registered name, and what is asked for in its place: the group's name is the keyword.
_NUMBERS = {
    "@K": "@(?P<cutoff>[1-9][0-9]*)",
    "@rR": "@r(?P<radius>[0-9]+)",
    "F_beta": "F(?P<beta>[0-9]+(?:[.][0-9]+)?)",
}


@dataclass(frozen=True)
class Entry:
    """One plug-in: what `get` returns (`plugin`), and what it says of itself."""

    kind: str
    name: str
    plugin: Any
    source: str
    module: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The one-line meaning: the fact `summary` where several names share a plug-in, else the docstring's start."""
        return self.facts.get("summary") or (inspect.getdoc(self.plugin) or "").split("\n")[0]


_entries: dict[tuple[str, str], Entry] = {}


def register(kind: str, name: str, *, source: str, **facts: Any) -> Callable[[Any], Any]:
    """Return a decorator that enters a plug-in under `name` and hands it back unchanged.

    Parameters
    ----------
    kind : {"dataset", "feature", "ground_truth", "split", "hasher", "metric"}
    name : str
        The field's name; what results and settings call it.
    source : str
        Paper and equation, or the page that defines it.
    **facts
        What else the kind declares, for example ``deviations``, or ``range`` and ``empty`` of a metric.

    Raises
    ------
    ProtocolError
        If the kind is unknown or another plug-in has the name.
    """
    known(kind, ROOMS, "kind")
    module = sys._getframe(1).f_globals["__name__"]  # the plug-in's file, also where the plug-in is a plain object

    def enter(plugin: Any) -> Any:
        taken = _entries.get((kind, name))
        if taken is not None and taken.module != module:
            raise ProtocolError(f"{kind} {name!r} is registered twice: in {taken.module} and in {module}")
        _entries[kind, name] = Entry(kind, name, plugin, source, module, MappingProxyType(facts))
        return plugin

    return enter


@functools.cache
def _scan(kind: str) -> None:
    room = importlib.import_module(f"protocol.{ROOMS[known(kind, ROOMS, 'kind')]}")
    for module in sorted(pkgutil.iter_modules(room.__path__), key=lambda found: found.name):
        if not module.name.startswith("_"):
            importlib.import_module(f"{room.__name__}.{module.name}")


def entries(kind: str) -> Iterator[Entry]:
    """Yield the plug-ins of a kind, sorted by name."""
    _scan(kind)
    yield from (entry for (of, _), entry in sorted(_entries.items()) if of == kind)


def names(kind: str) -> list[str]:
    """Return the names of a kind's plug-ins, sorted."""
    return [entry.name for entry in entries(kind)]


def _pattern(name: str) -> str:
    """Return the regular expression of what a registered name is asked for as, its numbers as named groups."""
    pattern = re.escape(name)
    for mark, number in _NUMBERS.items():
        pattern = pattern.replace(mark, number)
    return pattern


@functools.cache
def _find(kind: str, name: str) -> tuple[Entry, dict[str, float]]:
    _scan(kind)
    if (kind, name) in _entries:
        return _entries[kind, name], {}
    for entry in entries(kind):
        if match := re.fullmatch(_pattern(entry.name), name):
            texts = match.groupdict()
            return entry, {keyword: int(text) if text.isdigit() else float(text) for keyword, text in texts.items()}
    known(name, names(kind), kind)
    raise ProtocolError(f"{kind} {name!r} has no number in it")  # pragma: no cover - known() refuses first


def entry(kind: str, name: str) -> Entry:
    """Return what the plug-in called `name` says of itself; errors as `get`."""
    return _find(kind, name)[0]


def get(kind: str, name: str) -> Any:
    """Return a plug-in: a hasher's class, a metric's function, ...; numbers in the name are bound to their keywords.

    Raises
    ------
    ProtocolError
        If no plug-in has the name; the known ones are listed. If the name has a letter where a number belongs.

    Examples
    --------
    >>> get("hasher", "lsh")(n_bits=8, seed=0)
    LSH(n_bits=8, seed=0)
    """
    found, numbers = _find(kind, name)
    if any(mark in name for mark in _NUMBERS):
        raise ProtocolError(
            f"{kind} {name!r}: put a number where the name has K or R or beta, as in mAP@100[all] or F0.5@r2"
        )
    return functools.partial(found.plugin, **numbers) if numbers else found.plugin


def _digest(paths: list[Path]) -> str:
    content = hashlib.sha256()
    for path in sorted(_with_imported_rooms(paths)):
        content.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def _with_imported_rooms(paths: list[Path]) -> set[Path]:
    """Return sources and those of the rooms they import, and so on, but for rooms of plug-ins and for `_CHECKED`."""
    found, rooms = set(paths), set(ROOMS.values()) | _CHECKED
    while paths:
        named = {name for path in paths if path.suffix == ".py" for name in _IMPORTED.findall(path.read_text())}
        paths = [path for room in sorted(named - rooms) for path in (_PACKAGE / room).glob("*.py")]
        rooms |= named
        found.update(paths)
    return found


def _hall() -> list[Path]:
    return [path for path in _PACKAGE.glob("*.py") if path.name not in _FRONT_DOORS]


def digest(kind: str, *plugins: str) -> str:
    """Return a digest of the sources behind plug-ins.

    These are their files, their room's private modules, the rooms that these import, and the hall.
    Snakemake does not see an edit inside an imported package; a rule that takes this as a parameter reruns when, and
    only when, code it depends on changed.

    Raises
    ------
    ProtocolError
        If a name is unknown, so that a misspelt one fails before any job starts.
    """
    room = _PACKAGE / ROOMS[known(kind, ROOMS, "kind")]
    own = {Path(importlib.import_module(entry(kind, name).module).__file__ or "") for name in plugins}
    return _digest([*own, *room.glob("_*.py"), *_hall()])


def room_digest(*rooms: str) -> str:
    """Return a digest of every source in the named folders of the package (``"ranking"``, ...), as `digest`."""
    files = [path for room in rooms for path in (_PACKAGE / room).rglob("*") if path.suffix in (".py", ".j2")]
    return _digest(files + _hall())
