"""`protocol compare`: compare the scores of experiments, or of a user's own codes."""

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.cli._output import check_outputs, show
from protocol.scores.identity import PROTOCOL

if TYPE_CHECKING:
    from protocol.cli._help import Parser


def _compare(arguments: argparse.Namespace) -> None:
    from protocol.comparison import compare

    if arguments.html:
        from protocol.provenance.storage import check_writable

        tables = (Path(file).with_name(name) for file in arguments.files for name in ("metrics.csv", "runs.csv"))
        check_outputs({"--html": arguments.html}, [*arguments.files, *tables])
        check_writable(arguments.html.parent)
    found = compare(
        *arguments.files,
        metrics=arguments.metric,
        assume=arguments.assume,
        against=arguments.against,
        margin=arguments.margin,
    )
    if arguments.html:
        from protocol.provenance.storage import replacing

        with replacing(arguments.html) as path:
            path.write_text(found.to_html())
    show(f"{found!r}")


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol compare`."""
    command = commands.add_parser(
        "compare",
        help="compare the scores of experiments, or of your own codes",
        description="Compare scores in tables. Only scores computed under the same protocol are compared.",
        examples="""
            protocol compare results/cifar10/summary.csv results/other/summary.csv
            protocol compare results/cifar10/summary.csv mine.json --metric mAP --html comparison.html
            protocol compare results/cifar10/summary.csv mine.json --assume dataset split=standard
            protocol compare itq.json mine.json --against itq --margin 0.005
        """,
        details=f"""
            files:
              The summary.csv of an experiment, or the output of `protocol evaluate --json`. Two scores are in
              one table only if both files record the same dataset, ground truth, kind of relevance, split,
              sizes, and treatment of ties and of undefined values.

            assumptions:
              A field that a file does not record must be assumed, or recorded with `protocol evaluate
              --dataset NAME` and the like. --assume dataset takes the value of the other files, and
              --assume dataset=cifar10 the given value. The tables print every assumption. Scores whose
              recorded values differ are never compared. The fields are
{textwrap.fill(", ".join(PROTOCOL) + ".", 86, initial_indent=" " * 14, subsequent_indent=" " * 14)}

            differences:
              If both files have values for the same runs (metrics.csv and runs.csv next to summary.csv) or
              the same queries (`protocol evaluate --per-query`), paired tests compare each method with the
              one of --against.
        """,
    )
    command.add_argument(
        "files", nargs="+", metavar="F", help="two files or more: summary.csv, or the JSON of `evaluate`"
    )
    command.add_argument(
        "--metric", nargs="+", action="extend", default=[], metavar="NAME", help="compare only these metrics"
    )
    command.add_argument(
        "--assume",
        nargs="+",
        action="extend",
        default=[],
        metavar="FIELD",
        help="FIELD or FIELD=VALUE: assume a value for a file that does not record one",
    )
    command.add_argument("--against", metavar="METHOD", help="the method that the others are compared with (the best)")
    command.add_argument(
        "--margin", type=float, metavar="M", help="test for non-inferiority and equivalence within this difference"
    )
    command.add_argument("--html", type=Path, metavar="F.html", help="also write a page that opens offline")
    command.set_defaults(run=_compare)
