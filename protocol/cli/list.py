"""`protocol list`: the names that a config file or a command may use, an explanation of each, and shipped configs."""

import argparse
import operator
from collections.abc import Callable, Sequence
from typing import Any

from protocol import registry
from protocol.checks import one_of
from protocol.cli._explanation import entries, explanation, files
from protocol.cli._output import show
from protocol.registry import folders
from protocol.scores import tables
from protocol.shipped import configs, description

_FURTHER: dict[str, tuple[str, Callable[[Any], str]]] = {
    "dataset": ("files", files),
    "metric": ("undefined values", operator.attrgetter("undefined")),
}
"""What the list of a kind states about each entry after its source: a title and the function that returns it."""
_LISTS = {f"{kind}s": kind for kind in (*registry.PACKAGES, "finding", "convention", "config")}


def listing(kinds: Sequence[str]) -> str:
    """Return the entries of some kinds as text: name, summary and source, and what `_FURTHER` adds."""
    parts = []
    for kind in kinds:
        rows, forms = _rows(kind), ["[{}]"]
        if kind in _FURTHER:
            forms.append(f"{_FURTHER[kind][0]}: {{}}")
        width, lines = max(len(name) for name, *_ in rows), [f"{kind.replace('_', ' ')}s"]
        for name, summary, *further in rows:
            texts = [summary, *(form.format(text) for form, text in zip(forms, further, strict=False))]
            lines += [f"  {name if text is summary else '':<{width}}  {text}" for text in texts]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def markdown(kind: str) -> str:
    """Return the entries of a kind as a Markdown table: name, summary and source, and what `_FURTHER` adds."""
    rows = [[f"`{name}`", *others] for name, *others in _rows(kind)]
    header = ["name", "what it is", "how the papers treat it" if kind == "finding" else "source"]
    if kind in _FURTHER:
        header.append(_FURTHER[kind][0])
    return tables.markdown(header[: len(rows[0])], rows)


def _rows(kind: str) -> list[list[str]]:
    """Return the name, summary and source of each entry, and what `_FURTHER` adds; a config file has no source."""
    if kind == "config":
        return [[name, description(path)] for name, path in configs().items()]
    rows = [[entry.name, entry.summary, entry.source] for entry in entries(kind)]
    if kind in _FURTHER:
        rows = [[*row, _FURTHER[kind][1](entry)] for row, entry in zip(rows, entries(kind), strict=True)]
    return rows


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol list`."""
    kinds = [_LISTS[one_of(arguments.kind, _LISTS, "kind")]] if arguments.kind else list(_LISTS.values())
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
        show("\n\n".join(map(markdown, kinds)) if arguments.markdown else listing(kinds))
