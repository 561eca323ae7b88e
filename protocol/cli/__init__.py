"""The command line: `protocol`, or `python -m protocol`; a file for each command."""

import argparse
import sys
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from protocol import __version__
from protocol.checks import ProtocolError, missing_extra
from protocol.cli import audit, check, claims, compare, evaluate, snakefile
from protocol.cli import list as list_


class _Parser(argparse.ArgumentParser):
    """A parser that refuses in one line, as everything else here does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="protocol",
        description="Reproduce, audit and compare the evaluation protocols of learning to hash.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            examples:
              protocol list                 everything there is
              protocol list hashers         the hashers: name, one line, source
              protocol list hashers itq     one of them, with its options
              protocol list metrics         the metrics, as config files and results name them
              protocol check my.yaml        check a config file and print what it would run
              protocol list conventions     how papers and tools score
              protocol evaluate --help      score codes of your own
              protocol compare --help       compare the scores of experiments, or of your own codes
              protocol audit --help         find leaks in a split of your own
              protocol claims               what the papers claim, and what of it holds
              protocol snakefile            the path of the pipeline, for Snakemake

            The pipeline itself is run by Snakemake, in a checkout without --snakefile:
              snakemake --snakefile "$(protocol snakefile)"             the embedded default, from images to report
              snakemake --snakefile "$(protocol snakefile)" -n metrics  what one stage would run
            """
        ),
    )
    parser.add_argument("--version", action="version", version=f"protocol {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (list_, check, evaluate, compare, audit, claims, snakefile):
        command.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status: 0, or 2 after one line on standard error where the input can't be used."""
    parsed = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status = parsed.run(parsed) or 0
        sys.stdout.flush()
    except ProtocolError as error:
        sys.stderr.write(f"protocol: {error}\n")
        return 2
    except ModuleNotFoundError as error:
        explained = missing_extra(error)
        if explained is None:
            raise
        sys.stderr.write(f"protocol: {explained}\n")
        return 2
    except BrokenPipeError:  # `protocol list | head`
        sys.stderr.close()
        return 0
    except OSError as error:  # the disk behind standard output is full, say
        sys.stderr.write(f"protocol: {error}\n")
        sys.stdout = None  # or else the interpreter would try to write the rest once more
        return 2
    return status


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the code that it comes from."""
    sys.stderr.write(f"protocol: {message}\n")
