"""`protocol list`: the names that a config file or a command may use, the record of each, and shipped files."""

import argparse
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.cli._output import show
from protocol.registry import folders
from protocol.shipped import SNAKEFILE, configs, description
from protocol.terminal import width

_NOT_SHOWN = ("name", "summary", "template", "plugin", "module", "files", "statistics", "check")
_LETTERS = {"radius": "R", "cutoff": "K", "beta": "beta"}  # of a metric's parameters, as in its name
_LISTS = {f"{kind}s": kind for kind in (*registry.REGISTRIES, "finding", "convention", "config")}


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol list`."""
    if arguments.kind == "snakefile":
        if others := {arguments.name, arguments.plugins} - {None}:
            got = repr(min(map(str, others)))
            raise ProtocolError(f"`protocol list snakefile` prints one path and takes no name or option, got {got}.")
        show(str(SNAKEFILE))
        return
    kinds = list(_LISTS.values())
    if arguments.kind:
        plural = f"{arguments.kind}s"
        kinds = [_LISTS[plural if plural in _LISTS else one_of(arguments.kind, [*_LISTS, "snakefile"], "kind")]]
    if arguments.plugins is not None:
        folders.add(arguments.plugins)
    if folders.folders():
        registry.user_plugins()
    if kinds == ["config"] and arguments.name is not None:
        path = configs()[one_of(arguments.name, configs(), "config", listing="protocol list configs")]
        show(path.read_text(encoding="utf-8").rstrip())
    elif arguments.name is not None:
        show(explanation(kinds[0], arguments.name))
    else:
        show("\n\n".join(map(listing, kinds)))


def entries(kind: str) -> Iterator[Any]:
    """Yield the plug-ins of a kind, the findings or the conventions."""
    if kind in registry.REGISTRIES:
        yield from registry.entries(kind)
    elif kind == "finding":
        from protocol.auditing import KIND_OF

        yield from KIND_OF.values()
    else:
        from protocol.evaluation import CONVENTIONS

        yield from CONVENTIONS


def listing(kind: str) -> str:
    """Return the entries of a kind as text: name, summary and source; for a dataset its files, for a metric 0/0."""
    if kind == "config":
        rows = {name: [description(path)] for name, path in configs().items()}
    else:
        rows = {entry.name: [entry.summary, f"[{entry.source}]"] for entry in entries(kind)}
    if kind in ("dataset", "metric"):
        title, key = {"dataset": ("files", "files"), "metric": ("undefined values", "undefined")}[kind]
        for entry in entries(kind):
            rows[entry.name].append(f"{title}: {dict(properties(entry))[key]}")
    left = max(map(len, rows)) + 4
    layout = textwrap.TextWrapper(width(10**6), subsequent_indent=" " * left, break_on_hyphens=False)
    lines = [f"{kind.replace('_', ' ')}s"]
    for name, texts in rows.items():
        titles = [f"  {name}", *[""] * len(texts)]
        lines += [layout.fill(f"{title:<{left}}{text}") for title, text in zip(titles, texts, strict=False)]
    return "\n".join(lines)


def explanation(kind: str, name: str) -> str:
    """Return the record of one name as text, after the docstring of what it names.

    Parameters
    ----------
    kind : str
        A kind of plug-in, ``"finding"`` or ``"convention"``.
    name : str
        A name that `protocol list` prints; a metric may have numbers in place of K and R.

    Raises
    ------
    ProtocolError
        If there is no such name; the message lists the closest ones.
    """
    if kind in registry.REGISTRIES:
        entry: Any = registry.entry(kind, name)
    else:
        by_name = {one.name: one for one in entries(kind)}
        entry = by_name[one_of(name, by_name, kind, listing=f"protocol list {kind}s")]
    plugin: Any = getattr(entry, "plugin", None)
    text, fields = entry.summary, list(properties(entry))
    if callable(plugin):
        docstring = str(inspect.getdoc(getattr(plugin, "func", plugin)))  # a metric may be a functools.partial
        text = docstring if docstring.startswith(text) else f"{text}\n\n{docstring}"
        parameters = inspect.signature(plugin).parameters.values()
        options = [f"{one.name}={one.default!r}" for one in parameters if one.default is not one.empty]
        fields.append(("options", ", ".join(options) or "none"))
    layout = textwrap.TextWrapper(width(), subsequent_indent="    ", break_on_hyphens=False)
    record = [layout.fill(f"{title}: {value}") for title, value in fields]
    return "\n".join([f"{kind.replace('_', ' ')} {name}", "", text, "", *record])


def properties(entry: Any) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each field of a record that is set."""
    names = [field.name for field in dataclasses.fields(entry) if field.name not in _NOT_SHOWN]
    for name in (*names, "consequence"):  # of a finding, a property
        if (value := getattr(entry, name, None)) not in ("", (), None):
            words = re.sub(r"\{(\w+)[^}]*\}", lambda mark: _LETTERS.get(mark[1], mark[1]), _words(value))
            yield name.replace("_", " "), words
    if isinstance(entry, registry.DatasetRecord):
        yield "files", _files(entry)
    if isinstance(entry, registry.SplitRecord):
        yield from _partitions(entry.plugin)


def _files(dataset: registry.DatasetRecord) -> str:
    """Return the names of a dataset's files, each group with how to get it by hand."""
    names_of = dict[str, list[str]]()
    for file in dataset.files:
        names_of.setdefault(f" (by hand: {file.by_hand})" if file.by_hand else "", []).append(file.name)
    return "; ".join(", ".join(names) + by_hand for by_hand, names in names_of.items()) or "none to download"


def _partitions(split: Any) -> Iterator[tuple[str, str]]:
    """Yield each partition of a split, and the items of which it consists."""
    for part, items in split.partitions.items():
        origin = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(items).__name__).lower()
        values = {name: value for name, value in vars(items).items() if value not in (None, "all")}
        values |= {"without": split.database_without} if origin == "rest" else {}
        drawn = ", equally many items of each class while these last" if split.balanced else ", whatever their classes"
        origin += drawn * (origin == "drawn" and not values)
        fields = (f"{name.replace('_', ' ')} {_words(value)}" for name, value in values.items())
        yield part.replace("_", " "), ", ".join([origin, *fields])


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        texts = [f"{item:g}" if isinstance(item, float | int) else str(item) for item in value]
        return (" " if texts[0].endswith(".") else ", ").join(texts)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
