"""`protocol list`: the names that a config file or a command may use, and what each stands for."""

import argparse
import dataclasses
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from protocol import registry, tables
from protocol.checks import missing_extra, one_of
from protocol.cli._output import show

if TYPE_CHECKING:
    from protocol.auditing import Kind
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
    return tables.markdown(header, [[f"`{name}`", *others] for name, *others in _rows(kind)])


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
        from protocol.auditing import KINDS

        return iter(KINDS)
    from protocol.evaluation import CONVENTIONS

    return iter(CONVENTIONS)


def page(kind: str, name: str) -> str:
    """Return what a plug-in, convention or finding declares, and the options of a plug-in with types and defaults."""
    if kind in registry.PACKAGES:
        found: Any = registry.entry(kind, name)
    else:
        found = {entry.name: entry for entry in _entries(kind)}[one_of(name, [e.name for e in _entries(kind)], kind)]
    shown = {"summary": found.summary, "source": found.source}
    if kind in registry.PACKAGES:
        shown |= {
            own.name: _words(getattr(found, own.name))
            for own in dataclasses.fields(found)
            if own.name not in (*shown, "name", "plugin", "module", "files", "statistics", "check", "iterations")
        }
    shown |= {"files": _files(found)} if kind == "dataset" else {}
    lines = [f"{kind.replace('_', ' ')} {name}"]
    for title, text in shown.items():
        lines += _paragraph(f"  {title.replace('_', ' ')}: ", text) if text else []
    return "\n".join([*lines, *_options(kind, name)])


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value or "")


def _paragraph(title: str, text: str) -> list[str]:
    return textwrap.wrap(text, 120, initial_indent=title, subsequent_indent="    ", break_on_hyphens=False)


def _options(kind: str, name: str) -> list[str]:
    """Return the options of a plug-in: name, allowed values, default, and what the docstring says of it."""
    if kind not in registry.PACKAGES or kind == "metric":
        return []
    try:
        from protocol.configuration.options import options, plain
    except ModuleNotFoundError as error:
        reason = missing_extra(error)
        if reason is None:
            raise
        return [f"  options: {reason}"]
    lines = ["  options:"]
    for option in options(kind, name).values():
        form = option.form or option.expected
        default = "" if "default" in form else f", default {plain(option.default)}"
        lines.append(f"    {option.name}: {form}{default}")
        lines += textwrap.wrap(
            option.description, 114, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
        )
    return lines if len(lines) > 1 else ["  options: none"]


def _list(arguments: argparse.Namespace) -> None:
    if arguments.name is not None:
        show(page(_LISTS[arguments.what], arguments.name))
        return
    kinds = [_LISTS[arguments.what]] if arguments.what else list(_LISTS.values())
    text = "\n\n".join(map(markdown, kinds)) if arguments.markdown else listing(kinds)
    show(text)


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol list`."""
    command = commands.add_parser(
        "list",
        help="list datasets, features, ground truths, splits, hashers, metrics, conventions and findings",
        description="List the names that a config file or a command may use, or one of them with its options.",
    )
    command.add_argument("what", nargs="?", choices=list(_LISTS), help="one kind only (default: all)")
    command.add_argument("name", nargs="?", help="one of that kind, with its options")
    command.add_argument("--markdown", action="store_true", help="print tables as the README holds them")
    command.set_defaults(run=_list)
