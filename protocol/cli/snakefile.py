"""`protocol snakefile`: where the pipeline is."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError
from protocol.cli._output import show

_PACKAGE = Path(__file__).parents[1]


def path() -> Path:
    """Return the path of the pipeline's Snakefile: that of the checkout, or in an installed wheel the packaged one.

    Raises
    ------
    ProtocolError
        If there is neither.
    """
    checkout, packaged = _PACKAGE.parent, _PACKAGE / "pipeline"
    for folder in (packaged, checkout):  # a checkout has no packaged one
        if (folder / "workflow" / "rules" / "common.smk").is_file() and (folder / "Snakefile").is_file():
            return folder / "Snakefile"
    raise ProtocolError(
        f"{packaged / 'Snakefile'}: expected the pipeline, got no such file. Install the wheel, or run in a checkout."
    )


def _snakefile(arguments: argparse.Namespace) -> None:
    show(str(path()))


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol snakefile`."""
    command = commands.add_parser(
        "snakefile",
        help="print the path of the pipeline's Snakefile",
        description="Print the path of the pipeline's Snakefile: that of the checkout, or the one that was installed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            It runs in any folder, and writes below results/ there. As a module of another workflow:
              module hashing:
                  snakefile: "the printed path"
                  config: config

            examples:
              snakemake --snakefile "$(protocol snakefile)"
              snakemake --snakefile "$(protocol snakefile)" --configfile my.yaml
            """
        ),
    )
    command.set_defaults(run=_snakefile)
