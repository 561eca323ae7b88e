"""The argument parser: short help that fits on a screen, complete help with `--help-all`, and one-line errors.

The texts and options of each command are declared in a TOML file next to its module.
"""

import argparse
import functools
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

_LARGEST_WIDTH = 100
_TYPES = {"int": int, "float": float, "path": Path}


class Parser(argparse.ArgumentParser):
    """An argument parser with short and complete help.

    `--help` prints the common options and the examples. `--help-all` adds the rare options, by group, and the details.

    Parameters
    ----------
    examples : str
        Commands, each with a comment after two spaces or more.
    details : str, default=""
        Sections of text, each a title and indented lines.
    tasks : mapping of str to sequence of str, default={}
        The names of the subcommands by the heading under which the help lists them.
    **options
        Passed on to `argparse.ArgumentParser`.
    """

    def __init__(
        self,
        *,
        examples: str,
        details: str = "",
        tasks: Mapping[str, Sequence[str]] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        layout = functools.partial(argparse.RawDescriptionHelpFormatter, max_help_position=28, width=_width())
        super().__init__(formatter_class=layout, **options)
        self._rare: list[str] = []
        self._tasks = tasks
        self._examples = textwrap.indent(textwrap.dedent(examples).strip(), "  ")
        self._details = textwrap.dedent(details).strip()
        self.add_argument(
            "--help-all",
            action=_HelpAll,
            nargs=0,
            dest=argparse.SUPPRESS,
            default=argparse.SUPPRESS,
            help="show every option, the file formats and more examples" if details else argparse.SUPPRESS,
        )

    def add_declared(self, declared: dict[str, dict[str, Any]], title: str = "") -> None:
        """Add the arguments or options that a TOML file declares.

        Parameters
        ----------
        declared : dict of str to dict
            By name, the keywords of `argparse.ArgumentParser.add_argument`. The type is one of `_TYPES`.
        title : str, default=""
            The title of a group that only `--help-all` prints.
        """
        self._rare += [title] if title else []
        group = self.add_argument_group(title) if title else self
        for name, keywords in declared.items():
            if "type" in keywords:
                keywords["type"] = _TYPES[keywords["type"]]
            group.add_argument(name, **keywords)

    def format_help(self, *, everything: bool = False) -> str:
        """Return the short help, or the complete help if `everything` is true."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        paragraphs = (self.description or "").split("\n")
        formatter.add_text("\n".join(textwrap.fill(paragraph, _width()) for paragraph in paragraphs))
        for title, actions in self._sections(everything).items():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(f"examples:\n{self._examples}")
        if everything:
            formatter.add_text(self._details)
        elif self._rare:
            formatter.add_text(textwrap.fill(f"More with --help-all: {'; '.join(self._rare)}.", _width()))
        text = formatter.format_help()
        for task in list(self._tasks)[1:]:
            text = text.replace(f"\n\n{task}:\n", f"\n{task}:\n")  # so that the help fits on a screen
        return text

    def _sections(self, everything: bool) -> dict[str | None, list[argparse.Action]]:
        """Return the commands by task, and the arguments and options by group, without the rare ones or all."""
        commands = [command for action in self._actions for command in getattr(action, "_choices_actions", ())]
        sections: dict[str | None, list[argparse.Action]] = {
            task: [command for command in commands if command.dest in names] for task, names in self._tasks.items()
        }
        hidden = [] if everything else self._rare
        groups = [group for group in self._action_groups if group.title not in hidden]
        return sections | {group.title: group._group_actions for group in groups[bool(commands) :]}

    def error(self, message: str) -> NoReturn:
        """Raise ProtocolError."""
        from protocol.checks import ProtocolError

        raise ProtocolError(f"{message} (see {self.prog} --help)")


class _HelpAll(argparse.Action):
    """The option that prints the complete help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        if isinstance(parser, Parser):
            sys.stdout.write(parser.format_help(everything=True))
        parser.exit()


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _LARGEST_WIDTH) - 2


def add_command(commands: "argparse._SubParsersAction[Parser]", name: str) -> None:
    """Add the command that a TOML file declares."""
    declared = _read(name.replace("-", "_"))
    included = _read(declared.pop("include")) if "include" in declared else {}
    options, rare = (declared.pop(part, {}) | included.get(part, {}) for part in ("options", "rare"))
    command = commands.add_parser(name, **declared)
    for title, group in {"": options, **rare}.items():
        command.add_declared(group, title)
    # An error message suggests the option after the command.
    command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def _read(name: str) -> dict[str, Any]:
    with open(Path(__file__).with_name(f"{name}.toml"), "rb") as file:
        return tomllib.load(file)
