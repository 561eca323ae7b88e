"""`protocol list`: the names that a config file or a command may use, the record of each, and shipped files."""

import argparse
import dataclasses
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import ProtocolError, one_of
from protocol.cli._output import show
from protocol.registry import folders
from protocol.shipped import SNAKEFILE, configs, description
from protocol.terminal import width

if TYPE_CHECKING:
    from protocol.splits import SplitProtocol

_NOT_SHOWN = ("name", "summary", "template", "plugin", "module", "files", "statistics", "check")
_LETTERS = {"radius": "R", "cutoff": "K", "beta": "beta"}  # of a metric's parameters, as in its name
_LISTS = {f"{kind}s": kind for kind in (*registry.PACKAGES, "finding", "convention", "config")}


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


def files(dataset: Any) -> str:
    """Return the names of a dataset's files, with instructions for those that must be obtained by hand."""
    by_instruction: dict[str, list[str]] = {}
    for file in dataset.files:
        by_instruction.setdefault(file.by_hand, []).append(file.name)
    parts = [", ".join(names) + (f" (by hand: {how})" if how else "") for how, names in by_instruction.items()]
    return "; ".join(parts) or "none to download"


def entries(kind: str) -> "Iterator[Any]":
    """Yield the plug-ins of a kind, the findings or the conventions."""
    if kind in registry.PACKAGES:
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
        for entry in entries(kind):
            rows[entry.name].append(
                f"files: {files(entry)}" if kind == "dataset" else f"undefined values: {entry.undefined}"
            )
    left, lines = max(map(len, rows)), [f"{kind.replace('_', ' ')}s"]
    layout = textwrap.TextWrapper(width(10**6), subsequent_indent=" " * (left + 4), break_on_hyphens=False)
    for name, texts in rows.items():
        pairs = itertools.zip_longest([name], texts, fillvalue="")
        lines += [layout.fill(f"  {label:<{left}}  {text}") for label, text in pairs]
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
    if kind in registry.PACKAGES:
        entry: Any = registry.entry(kind, name)
    else:
        by_name = {one.name: one for one in entries(kind)}
        entry = by_name[one_of(name, by_name, kind, listing=f"protocol list {kind}s")]
    plugin: Any = getattr(entry, "plugin", None)
    described = getattr(plugin, "func", plugin)  # a metric may be a functools.partial
    has_docstring = inspect.isfunction(described) or inspect.isclass(described)
    text, fields = str(inspect.getdoc(described)) if has_docstring else "", list(properties(entry))
    if has_docstring:
        parameters = inspect.signature(plugin).parameters.values()
        options = [f"{one.name}={one.default!r}" for one in parameters if one.default is not one.empty]
        fields.append(("options", ", ".join(options) or "none"))
    if not text.startswith(entry.summary):
        text = f"{entry.summary}\n\n{text}".rstrip()
    layout = textwrap.TextWrapper(width(), subsequent_indent="    ", break_on_hyphens=False)
    record = [layout.fill(f"{title}: {value}") for title, value in fields]
    return "\n".join([f"{kind.replace('_', ' ')} {name}", "", text, "", *record])


def properties(entry: Any) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each field of a record that is set."""
    for field in dataclasses.fields(entry):
        value = getattr(entry, field.name)
        if field.name not in _NOT_SHOWN and value not in ("", (), None):
            words = re.sub(r"\{(\w+)[^}]*\}", lambda mark: _LETTERS.get(mark[1], mark[1]), _words(value))
            yield field.name.replace("_", " "), words
    if consequence := getattr(entry, "consequence", ""):  # of a finding
        yield "consequence", consequence
    match entry:
        case registry.DatasetRecord():
            yield "files", files(entry)
        case registry.SplitRecord():
            yield from ((part.replace("_", " "), _partition(part, entry.plugin)) for part in entry.plugin.partitions)


def _partition(part: str, split: "SplitProtocol") -> str:
    """Return where the items of a partition come from: the name of the class, and its fields that are set."""
    items = split.partitions[part]
    origin = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(items).__name__).lower()
    fields = {name.replace("_", " "): value for name, value in vars(items).items() if value not in (None, "all")}
    fields |= {"without": ", ".join(split.database_without)} if origin == "rest" else {}
    return ", ".join([origin, *(f"{name} {_words(value)}" for name, value in fields.items())])


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        texts = [f"{item:g}" if isinstance(item, float | int) else str(item) for item in value]
        return (" " if texts[0].endswith(".") else ", ").join(texts)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
