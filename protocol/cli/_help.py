"""The argument parser: short help that fits on a screen, complete help with `--help-all`, and one-line errors.

The texts and options of each command are declared in a TOML file next to its module.
"""

import argparse
import contextlib
import functools
import math
import re
import sys
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from protocol.checks import ProtocolError, as_options, close, listed, one_of
from protocol.terminal import coloured, width

_SPELT = {"_": "-", "neighbour": "neighbor", "centre": "center", "colour": "color", "is(e|ation)": r"iz\1", "ies$": "y"}
"""Regular expressions of spellings of an option, with the one by which options are compared."""


_DASHES = "-\N{EN DASH}\N{EM DASH}"  # the others come from pages on which -- became one character
_TYPES = {"int": int, "float": float, "path": Path}


class Parser(argparse.ArgumentParser):
    """An argument parser with short and complete help.

    `--help` prints the common options and the examples. `--help-all` adds the rare options, by group, and the details.

    Parameters
    ----------
    description : str
        Paragraphs, one on each line.
    examples : str
        Commands, each with a comment after two spaces or more.
    details : str, default=""
        Sections of text, each a title and indented lines.
    options, rare : mapping, default={}
        By name, the keywords of `argparse.ArgumentParser.add_argument`, with the name of a type; those of `rare` by the
        title of their group.
    everything : bool, default=False
        Whether the help is complete.
    **texts
        Passed on to `argparse.ArgumentParser`.
    """

    def __init__(
        self,
        *,
        description: str,
        examples: str,
        details: str = "",
        options: Mapping[str, Any] = MappingProxyType({}),
        rare: Mapping[str, Any] = MappingProxyType({}),
        everything: bool = False,
        **texts: Any,
    ) -> None:
        more = filled(f"More with --help-all: {'; '.join(rare)}.") if rare else ""
        epilog = f"examples:\n{textwrap.indent(textwrap.dedent(examples).strip(), '  ')}\n\n"
        super().__init__(
            description="\n".join(map(filled, description.strip().split("\n"))),
            epilog=epilog + (textwrap.dedent(details).strip() if everything else more),
            formatter_class=functools.partial(_Layout, max_help_position=28, width=width() - 2),
            allow_abbrev=False,
            exit_on_error=False,
            **texts,
        )
        text = "show every option, the file formats and more examples" if details else argparse.SUPPRESS
        self.add_argument("--help-all", action="help", help=text)
        for title, declared in {"": options, **rare}.items():
            group = self.add_argument_group(title) if title else self
            for name, keywords in declared.items():
                typed = {"type": _TYPES[keywords["type"]]} if "type" in keywords else {}
                hidden = {"help": argparse.SUPPRESS} if title and not everything else {}
                group.add_argument(name, **keywords | typed | hidden)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the values of options and arguments; raise ProtocolError, in one line, if some can't be used.

        British and American spellings of an option, and its singular and plural, are the same. A command that passes
        its arguments on to another program takes them as they are.
        """
        words = list(args)
        passed_on = [action.dest for action in self._actions if action.nargs == argparse.REMAINDER]
        if passed_on and not {"-h", "--help", "--help-all"}.intersection(words[:1]):
            return argparse.Namespace(**{passed_on[0]: words}), []
        try:
            parsed, others = super().parse_known_args(self._declared(words), namespace)
        except argparse.ArgumentError as error:
            if error.argument_name is None:  # from Python 3.13 for missing arguments
                self.error(error.message)
            raise ProtocolError(f"{error.argument_name}: {error.message}.") from error
        for word in filter("--".__ne__, others):
            is_by_name = "--query-codes" in self._option_string_actions and not self._get_positional_actions()
            hint = " Files are passed as --query-codes FILE." if is_by_name and re.search("[./]", word) else ""
            raise ProtocolError(f"Unexpected argument {word!r}.{hint} See `{self.prog} --help`.")
        return parsed, []

    def _declared(self, words: Sequence[str]) -> list[str]:
        """Return arguments with options as they are declared, up to ``--`` or a command, whose parser does the rest."""
        ends = (n for n, word in enumerate(words) if word == "--" or (self._subparsers and word[:1] != "-"))
        own = next(ends, len(words))
        return [*map(self._respelt, words[:own]), *words[own:]]

    def _respelt(self, word: str) -> str:
        """Return an argument with the option in it as it is declared; raise ProtocolError if it is not."""
        option, equals, value = word.partition("=")
        known = self._option_string_actions
        if option in known or not _is_option(word):
            return word
        alike = [name for name in known if _compared(name) == _compared(option)]
        if len(alike) == 1 and (known[alike[0]].nargs != 0 or option[-1:].lower() == alike[0][-1]):  # no --helps
            return f"{alike[0]}{equals}{value}"
        raise ProtocolError(f"Unknown option {option}. {self._hint(option)}")

    def _hint(self, option: str) -> str:
        """Return the options that an unknown one may stand for: those that contain it as a word, or are close to it."""
        names = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        bare = option.lstrip(_DASHES)
        longer = [name for name in names if len(bare) > 1 and f"-{bare}-" in f"-{name}-"]
        near = [f"--{name}" for name in longer[:3] or close(bare, names)]
        return f"Did you mean {listed(near, 'or')}?" if near else f"See `{self.prog} --help-all`."

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        if action.option_strings and not text:
            raise argparse.ArgumentError(action, "the value is empty")
        try:
            return super()._get_value(action, text)
        except argparse.ArgumentError as error:  # of `int` or `float`
            expected = "an integer" if action.type is int else "a number"
            raise ProtocolError(f"{action.option_strings[-1]} must be {expected}, got {text!r}.") from error

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ProtocolError if a value is not one of the choices."""
        if action.choices is not None:
            is_command = isinstance(action, argparse._SubParsersAction)
            name, listing = ("command", "protocol --help") if is_command else (action.option_strings[0], "")
            one_of(value, action.choices, name, listing=listing)

    def error(self, message: str) -> NoReturn:
        """Raise ProtocolError: arguments are missing."""
        missing = message.rpartition(": ")[2].split(", ")
        if self._subparsers:
            raise ProtocolError("A command is missing. `protocol --help` lists them.")
        verb = "is" if len(missing) == 1 else "are"
        raise ProtocolError(f"{listed(missing)} {verb} missing. See `{self.prog} --help`.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help, with headings in bold on a terminal."""
        file = file or sys.stdout
        file.write(coloured(message, file))


def filled(text: str) -> str:
    """Return a paragraph in lines of the terminal's width."""
    return textwrap.fill(text, width() - 2, break_on_hyphens=False)


def _is_option(word: str) -> bool:
    """Return whether an argument is an option: it begins with a hyphen, has no blank, and is not a number."""
    if len(word) < 2 or word[0] not in _DASHES or " " in word:
        return False
    with contextlib.suppress(ValueError):
        return not math.isfinite(float(word))
    return True


def _compared(option: str) -> str:
    """Return the spelling of an option by which options are compared.

    Examples
    --------
    >>> _compared("--relevant_neighbour"), _compared("--binarise")
    ('--relevant-neighbor', '--binarize')
    """
    for spelling, other in _SPELT.items():
        option = re.sub(spelling, other, option.lower())
    return option.removesuffix("s")


class _Layout(argparse.RawDescriptionHelpFormatter):
    """The layout of help, whose lines do not end within a word."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def declaration(name: str) -> dict[str, Any]:
    """Return what the TOML file of a command declares: the arguments of `Parser`, and its help in one line."""
    declared = read(name)
    declared.pop("output", None)  # what it prints
    included = read(declared.pop("include")) if "include" in declared else {}
    for part in ("options", "rare"):
        declared[part] = declared.get(part, {}) | included.get(part, {})
    # An error message suggests the option after the command.
    declared["options"]["--debug"] = {"action": "store_true", "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    return declared


def with_hyphens(message: str, arguments: argparse.Namespace) -> str:
    """Return a message of a function in which parameters that are options of the command are written as options.

    These are a parameter with a value or an underscore, and in its first sentence, a parameter with which it begins,
    unless a file is called like it, and one that is needed.
    """
    declared = declaration(arguments.command)
    groups = (declared["options"], *declared["rare"].values())
    options = [name for group in groups for name in group if name.startswith("--")]
    names = "|".join(name[2:].replace("-", "[-_ ]") for name in options if f"'{name[2:]}'" not in repr(arguments))
    snake = "|".join(name[2:].replace("-", "_") for name in options if "-" in name[2:]) or "(?!)"
    values = "|".join(re.escape(value.rsplit(":", 1)[0]) for value in re.findall("'([^']+)'", repr(arguments)))
    passed = rf"{values}|(?<![\w\"'./:-])(?:({names})=\"?([\w-]+)\"?|({snake}))(?![\w/'\"]|\.\w)"
    if not message.startswith("Unknown option"):  # of a plug-in, whose options may be called like the command's
        message = re.sub(passed, _as_option, as_options(message, "{}={}"))
    message = message.replace('hp.Outputs(..., "cosine")', "--ranking cosine")
    several = re.compile(r"(\w+)=\[((?:'\w+=\w+'(?:, )?)+)\]")  # values of an option that takes several
    message = several.sub(lambda mark: f"--{mark[1]} " + mark[2].replace("', '", " ").strip("'"), message)
    before, after = "^|(?<=and )|(?<=or )|(?<=needs )|(?<=need )", r":| and | as well| (?:has|must|needs?|is|are)\b"
    first, stop, others = message.partition(". ")
    first = re.sub(f"(?:{before})({names})(?={after})", lambda mark: f"--{re.sub('[_ ]', '-', mark[1])}", first)
    return re.sub("^(--[^ ]+) are missing", r"\1 is missing", first) + stop + others


def _as_option(parameter: re.Match[str]) -> str:
    name, value, alone = parameter.groups("")
    value = value.removeprefix("True")  # of a flag, which takes no value
    return f"--{(name or alone).replace('_', '-')} {value}".rstrip() if name + alone else parameter[0]  # a file's name


def read(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of this folder."""
    return tomllib.loads(Path(__file__).with_name(f"{name.replace('-', '_')}.toml").read_text("utf-8"))
