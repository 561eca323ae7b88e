"""`protocol list`: what a setting or a command may name."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from protocol import registry

if TYPE_CHECKING:
    from protocol.audit import Kind
    from protocol.evaluation import Convention

_LISTS = {f"{kind}s": kind for kind in (*registry.ROOMS, "finding", "convention")}


def listing(kinds: Sequence[str]) -> str:
    """Return what there is of some kinds as text: name, one line, source."""
    parts = []
    for kind in kinds:
        entries = list(_entries(kind))
        width = max(len(entry.name) for entry in entries)
        rows = [f"  {entry.name:<{width}}  {entry.summary}\n  {'':<{width}}  [{entry.source}]" for entry in entries]
        parts.append("\n".join([f"{kind.replace('_', ' ')}s", *rows]))
    return "\n\n".join(parts)


def markdown(kind: str) -> str:
    """Return what there is of a kind as the README's table: name, one line, source."""
    rows = [f"| `{entry.name}` | {entry.summary} | {entry.source} |" for entry in _entries(kind)]
    source = "how the papers treat it" if kind == "finding" else "source"
    return "\n".join([f"| name | what it is | {source} |", "|---|---|---|", *rows])


def _entries(kind: str) -> "Iterator[registry.Entry | Convention | Kind]":
    if kind in registry.ROOMS:
        return registry.entries(kind)
    if kind == "finding":
        from protocol.audit import KINDS

        return iter(KINDS)
    from protocol.evaluation import CONVENTIONS

    return iter(CONVENTIONS)


def _list(arguments: argparse.Namespace) -> None:
    kinds = [_LISTS[arguments.what]] if arguments.what else list(_LISTS.values())
    text = "\n\n".join(map(markdown, kinds)) if arguments.markdown else listing(kinds)
    sys.stdout.write(text + "\n")


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol list`."""
    command = commands.add_parser(
        "list",
        help="list datasets, features, ground truths, splits, hashers, metrics, conventions and findings",
        description="List what a setting or a command may name, or find: the name, one line, and where it comes from.",
    )
    command.add_argument("what", nargs="?", choices=list(_LISTS), help="one kind only (default: all)")
    command.add_argument("--markdown", action="store_true", help="print tables as the README holds them")
    command.set_defaults(run=_list)
