"""`protocol compare`: compare the scores of experiments, or of a user's own codes."""

import argparse
from pathlib import Path

from protocol.checks import need
from protocol.cli._output import check_outputs, passed, show, write


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol compare`."""
    from protocol.comparison import compare

    need("altair", "report")  # before the files are read
    if arguments.html:
        tables = (Path(file).with_name(name) for file in arguments.files for name in ("metrics.csv", "runs.csv"))
        check_outputs({"--html": arguments.html}, [*arguments.files, *tables])
    comparison = compare(*arguments.files, **passed(arguments, "metrics", "assume", "against"))
    if arguments.html:
        write(arguments.html, comparison.to_html())
    show(f"{comparison!r}")
