"""The command line: `protocol`, or `python -m protocol`; each command has a module, and a TOML file with its help.

Nothing from the package is imported before `main` runs, so that an interruption or an error during an import is also
reported in one line.
"""

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.cli._help import Parser

_REFUSED = 2
_INTERRUPTED, _CLOSED_PIPE = 130, 141  # 128 plus the number of SIGINT or SIGPIPE, as shells report it


def _parser(words: Sequence[str] = (), *, everything: bool = False) -> "Parser":
    """Return the parser of the command line, with complete help if requested.

    If the first word is a command, there are no others: reading the declarations of all takes 30 ms.
    """
    from protocol.cli._help import Parser, declaration, read
    from protocol.provenance import VERSION

    whole = read("protocol")
    tasks: dict[str, list[str]] = whole.pop("tasks")
    commands = [name for names in tasks.values() for name in names]
    declared = {name: declaration(name) for name in {*words[:1]} & {*commands} or commands}
    whole["options"]["--version"]["version"] = f"protocol {VERSION}"
    lines = [whole["description"], ""]
    for task, names in tasks.items():
        lines += [f"{task}:", *(f"  {name:<17}{declared[name]['help']}" for name in names if name in declared)]
    parser = Parser(prog="protocol", **whole | {"description": "\n".join(lines)})
    added = parser.add_subparsers(prog="protocol", required=True, dest="command", help=argparse.SUPPRESS)
    for name, texts in declared.items():
        added.add_parser(name, everything=everything, **texts)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status.

    The status is 0 on success, 1 for an audit or an attribution that finds errors or a result that can't be verified, 2
    if the input can't be used or anything else fails (with one line on standard error), 3 if an audit is undetermined,
    130 if the user interrupts, and 141 if standard output is a closed pipe.
    """
    parsed = argparse.Namespace(debug=False)
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - it stays open until the process ends
    try:
        if sys.stdout is None:
            _report("standard output is closed.")
            return _REFUSED
        words = sys.argv[1:] if arguments is None else arguments
        parsed = _parser(words, everything="--help-all" in words).parse_args(words)
        from protocol.cli._output import readings
        from protocol.progress import lines

        with warnings.catch_warnings(), readings(), lines(f"protocol {parsed.command}"):
            warnings.showwarning = lambda message, *_, **__: _report(str(message))  # without its location
            command = importlib.import_module(f"protocol.cli.{parsed.command.replace('-', '_')}")
            status = command.run(parsed) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # `protocol list | head`
        sys.stdout = None
        return _CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - one line, whatever it is
        return _failed(error, parsed)
    return int(status)


def _failed(error: BaseException, parsed: argparse.Namespace) -> int:
    """Print the line that explains an error, with ``--debug`` after its traceback, and return the exit status."""
    if parsed.debug:
        import traceback

        traceback.print_exception(error)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # on a full disk, for example; the interpreter would try again
        sys.stdout = None
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__  # a library may raise an error of its own when interrupted
    _report(_explained(cause or error, parsed))
    return _REFUSED if cause is None else _INTERRUPTED


def _explained(error: BaseException, parsed: argparse.Namespace) -> str:
    """Return the line that explains an error of a command."""
    from protocol.checks import ProtocolError, missing_extra
    from protocol.cli._help import with_hyphens

    match error:
        case ProtocolError() if "command" in parsed:
            return with_hyphens(str(error), parsed)
        case ProtocolError() | OSError():
            return str(error)
        case KeyboardInterrupt():
            return "interrupted."
        case ModuleNotFoundError() if explained := missing_extra(error):
            return str(explained)
        case MemoryError():
            return f"not enough memory for this input ({error or 'no memory is left'})."
        case UnicodeEncodeError():
            character = error.object[error.start]
            return f"output: the encoding {error.encoding} has no character {character!a}. Set PYTHONIOENCODING=utf-8."
        case UnicodeError():
            return f"the input is not text in UTF-8 ({error})."
    return f"unexpected {type(error).__name__}: {error}. Please report it with the traceback of --debug."


def _report(message: str) -> None:
    """Print one line on standard error."""
    from protocol.checks import brief, printable
    from protocol.terminal import coloured

    sys.stderr.write(coloured(f"protocol: {brief(printable(message))}\n", sys.stderr))
