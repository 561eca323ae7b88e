"""The command line: `protocol`, or `python -m protocol`."""

import argparse
import sys
import textwrap
from collections.abc import Sequence

from protocol import __version__, registry
from protocol.checks import ProtocolError

_LISTS = {f"{kind}s": kind for kind in registry.ROOMS}


def listing(kinds: Sequence[str]) -> str:
    """Return the plug-ins of some kinds as text: name, one line, source."""
    parts = []
    for kind in kinds:
        entries = list(registry.entries(kind))
        width = max(len(entry.name) for entry in entries)
        rows = [f"  {entry.name:<{width}}  {entry.summary}\n  {'':<{width}}  [{entry.source}]" for entry in entries]
        parts.append("\n".join([f"{kind.replace('_', ' ')}s", *rows]))
    return "\n\n".join(parts)


def markdown(kind: str) -> str:
    """Return the plug-ins of a kind as the README's table: name, one line, source."""
    rows = [f"| `{entry.name}` | {entry.summary} | {entry.source} |" for entry in registry.entries(kind)]
    return "\n".join(["| name | what it is | source |", "|---|---|---|", *rows])


def _list(arguments: argparse.Namespace) -> None:
    kinds = [_LISTS[arguments.what]] if arguments.what else list(registry.ROOMS)
    text = "\n\n".join(map(markdown, kinds)) if arguments.markdown else listing(kinds)
    sys.stdout.write(text + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="protocol",
        description="Reproduce, audit and compare the evaluation protocols of learning to hash.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            examples:
              protocol list                 everything there is
              protocol list hashers         the hashers: name, one line, source
              protocol list metrics         the metrics, as settings and results name them

            The pipeline itself is run by Snakemake, from the project's folder:
              snakemake --cores all         the embedded default, from images to report
              snakemake -n evaluate         what one stage would run
            """
        ),
    )
    parser.add_argument("--version", action="version", version=f"protocol {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command = commands.add_parser(
        "list",
        help="list datasets, features, ground truths, splits, hashers and metrics",
        description="List what a setting may name: the name, one line, and where it comes from.",
    )
    command.add_argument("what", nargs="?", choices=list(_LISTS), help="one kind only (default: all)")
    command.add_argument("--markdown", action="store_true", help="print tables as the README holds them")
    command.set_defaults(run=_list)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or 2 after one line on standard error where the input can't be used."""
    parsed = _parser().parse_args(arguments)
    try:
        parsed.run(parsed)
    except ProtocolError as error:
        sys.stderr.write(f"protocol: {error}\n")
        return 2
    except BrokenPipeError:  # `protocol list | head`
        sys.stderr.close()
    return 0
