"""`protocol compare`: the scores of experiments, or of a user's own codes, side by side."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from protocol.cli._output import check_outputs, show
from protocol.identity import PROTOCOL


def _compare(arguments: argparse.Namespace) -> None:
    from protocol.comparison import compare

    if arguments.html:
        from protocol.storage import check_writable

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
        from protocol.storage import replacing

        with replacing(arguments.html) as path:
            path.write_text(found.to_html())
    show(f"{found!r}")


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol compare`."""
    command = commands.add_parser(
        "compare",
        help="compare the scores of experiments, or of your own codes",
        description="Compare scores that were computed under the same protocol, and only those.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            files:
              the summary.csv of an experiment, or the output of `protocol evaluate --json`. Two scores are in one table
              only if the dataset, ground truth, kind of relevance, split, sizes, and the treatment of undefined values
              and of ties are recorded in both files and equal.
            assumptions:
              a field that a file does not record has to be recorded (`protocol evaluate --dataset NAME`, and so on), or
              assumed: --assume dataset takes the value of the other files, --assume dataset=cifar10 a value of yours.
              The tables print every assumption. Two recorded values that differ are never compared.
            differences:
              where the same runs (metrics.csv and runs.csv next to summary.csv) or the same queries (--per-query of
              `protocol evaluate`) have values in both, the differences from one method are tested in pairs.

            examples:
              protocol compare results/cifar10/summary.csv results/other/summary.csv
              protocol compare results/cifar10/summary.csv mine.json --metric mAP --html comparison.html
              protocol compare results/cifar10/summary.csv mine.json --assume dataset split=standard
              protocol compare itq.json mine.json --against itq --margin 0.005
            """
        ),
    )
    command.add_argument("files", nargs="+", metavar="F", help="two files or more")
    command.add_argument("--metric", nargs="+", action="extend", default=[], metavar="NAME", help="these metrics only")
    command.add_argument(
        "--assume",
        nargs="+",
        action="extend",
        default=[],
        metavar="FIELD",
        help=f"fields that agree although a file does not record them, or FIELD=VALUE: {', '.join(PROTOCOL)}",
    )
    command.add_argument("--against", metavar="METHOD", help="take the differences from this method (the best)")
    command.add_argument(
        "--margin", type=float, metavar="M", help="test whether a method is no worse, or equal, within this difference"
    )
    command.add_argument("--html", type=Path, metavar="F.html", help="write a page that opens offline, too")
    command.set_defaults(run=_compare)
