"""What `protocol list NAME` prints: the record of one name, and the docstring of what it names."""

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import one_of

if TYPE_CHECKING:
    from protocol.auditing import Kind
    from protocol.evaluation import Convention
    from protocol.splits import SplitProtocol

_NOT_SHOWN = ("name", "summary", "template", "plugin", "module", "files", "statistics", "check")
_LETTERS = {"radius": "R", "cutoff": "K", "beta": "beta"}  # of a metric's parameters, as in its name


def files(dataset: Any) -> str:
    """Return the names of a dataset's files, with instructions for those that must be obtained by hand."""
    by_instruction: dict[str, list[str]] = {}
    for file in dataset.files:
        by_instruction.setdefault(file.by_hand, []).append(file.name)
    parts = [", ".join(names) + (f" (by hand: {how})" if how else "") for how, names in by_instruction.items()]
    return "; ".join(parts) or "none to download"


def entries(kind: str) -> "Iterator[registry.Record | Convention | Kind]":
    """Yield the plug-ins of a kind, the findings or the conventions."""
    if kind in registry.PACKAGES:
        yield from registry.entries(kind)
    elif kind == "finding":
        from protocol.auditing import KIND_OF

        yield from KIND_OF.values()
    else:
        from protocol.evaluation import CONVENTIONS

        yield from CONVENTIONS


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
    layout = textwrap.TextWrapper(100, subsequent_indent="    ", break_on_hyphens=False)
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
    """Return in words which items a partition of a split contains."""
    from protocol.splits import Drawn, Listed, Official, SameAs

    match items := split.partitions[part]:
        case Drawn(size=int(size)):
            return f"{size:,} items drawn at random, balanced over the classes"
        case Drawn(per_class=int(size)):
            return f"{size:,} items of each class drawn at random"
        case Drawn():
            return "items drawn at random; the key split_sizes of the config file sets their number"
        case Official():
            return f"the official split {items.part!r}, {items.size:,} items"
        case Listed():
            return f"the items in your own file{'' if items.required else ' (optional)'}"
        case SameAs():
            return f"the same items as in the partition {items.part!r}"
    others = ", ".join(split.database_without).replace("_", " ") or "no partition"
    return "all items except those of " + re.sub(", ([^,]*)$", r" and \1", others)


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        texts = [f"{item:g}" if isinstance(item, float | int) else str(item) for item in value]
        return (" " if texts[0].endswith(".") else ", ").join(texts)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
