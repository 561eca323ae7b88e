"""`protocol list`: what a setting or a command may name."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from protocol import registry

if TYPE_CHECKING:
    from protocol.audit import Kind
    from protocol.evaluation import Convention

_LISTS = {f"{kind}s": kind for kind in (*registry.PACKAGES, "finding", "convention")}


def listing(kinds: Sequence[str]) -> str:
    """Return what there is of some kinds as text: name, one line, source; and of a dataset its files."""
    parts = []
    for kind in kinds:
        rows = _rows(kind)
        width, lines = max(len(name) for name, *_ in rows), [f"{kind.replace('_', ' ')}s"]
        for name, summary, source, *files in rows:
            own = (summary, f"[{source}]", *(f"files: {of_dataset}" for of_dataset in files))
            lines += [f"  {name if line is summary else '':<{width}}  {line}" for line in own]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def markdown(kind: str) -> str:
    """Return what there is of a kind as the README's table: name, one line, source; and of a dataset its files."""
    source = "how the papers treat it" if kind == "finding" else "source"
    header = ["name", "what it is", source, *(["files"] if kind == "dataset" else [])]
    rows = [f"| `{name}` | {' | '.join(others)} |" for name, *others in _rows(kind)]
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *rows])


def _rows(kind: str) -> list[list[str]]:
    """Return of each entry its name, one line, its source, and of a dataset its files."""
    return [
        [entry.name, entry.summary, entry.source, *([_files(entry)] if kind == "dataset" else [])]
        for entry in _entries(kind)
    ]


def _files(dataset: Any) -> str:
    """Return the names of a dataset's files: those that are fetched, and with what to do those that are not."""
    named: dict[str, list[str]] = {}
    for file in dataset.files:
        named.setdefault(file.by_hand, []).append(file.name)
    parts = [", ".join(names) + (f" (by hand: {how})" if how else "") for how, names in named.items()]
    return "; ".join(parts) or "none to fetch"


def _entries(kind: str) -> "Iterator[registry.Record | Convention | Kind]":
    if kind in registry.PACKAGES:
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
