"""`protocol snakefile`: print the path of the pipeline's Snakefile."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.checks import ProtocolError
from protocol.cli._output import show

if TYPE_CHECKING:
    from protocol.cli._help import Parser

_PACKAGE = Path(__file__).parents[1]


def path() -> Path:
    """Return the path of the pipeline's Snakefile, in the checkout or in the installed package.

    Raises
    ------
    ProtocolError
        If neither has one.
    """
    checkout, packaged = _PACKAGE.parent, _PACKAGE / "pipeline"
    for folder in (packaged, checkout):  # only a wheel has the folder `pipeline`
        if (folder / "workflow" / "rules" / "common.smk").is_file() and (folder / "Snakefile").is_file():
            return folder / "Snakefile"
    raise ProtocolError(
        f"{packaged / 'Snakefile'}: expected the pipeline, got no such file. Install the wheel, or run in a checkout."
    )


def _snakefile(arguments: argparse.Namespace) -> None:
    show(str(path()))


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol snakefile`."""
    command = commands.add_parser(
        "snakefile",
        help="print the path of the Snakefile",
        description="Print the path of the pipeline's Snakefile, in the checkout or in the installed package. "
        "Snakemake can run it in any folder, and writes the results to results/ in that folder.",
        examples="""
            snakemake --snakefile "$(protocol snakefile)"                         run the default experiment
            snakemake --snakefile "$(protocol snakefile)" --configfile my.yaml    run your own experiment
            snakemake --snakefile "$(protocol snakefile)" -n metrics              list the jobs of one stage
        """,
        details="""
            as a module of another workflow:
              module hashing:
                  snakefile: "the printed path"
                  config: config
        """,
    )
    command.set_defaults(run=_snakefile)
