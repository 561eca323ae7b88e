"""`protocol compare`: the scores of experiments, or of a user's own codes, side by side."""

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any


def _compare(arguments: argparse.Namespace) -> None:
    from protocol.report.comparison import compare, text_of

    parts = compare(arguments.files, arguments.metric)
    if arguments.html:
        from protocol.report.page import render
        from protocol.storage import replacing

        with replacing(arguments.html) as path:
            path.write_text(render("Comparison", parts))
    sys.stdout.write(text_of(parts) + "\n")


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol compare`."""
    command = commands.add_parser(
        "compare",
        help="compare the scores of experiments, or of your own codes",
        description="Compare scores, and only those that one protocol gave.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            files:
              the summary.csv of an experiment, or the output of `protocol evaluate --json`. A table has only numbers of
              the same dataset, ground truth, split, size and convention; those that a file does not record are named.

            examples:
              protocol compare results/cifar10/summary.csv results/cifar10_s1/summary.csv
              protocol compare results/cifar10/summary.csv mine.json --metric mAP --html comparison.html
            """
        ),
    )
    command.add_argument("files", nargs="+", metavar="F", help="two files or more")
    command.add_argument("--metric", nargs="+", action="extend", default=[], metavar="NAME", help="these metrics only")
    command.add_argument("--html", type=Path, metavar="F.html", help="write a page that opens offline, too")
    command.set_defaults(run=_compare)
