"""`protocol snakefile`: print the path of the pipeline's Snakefile."""

import argparse
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.cli._output import show

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
    raise ProtocolError(f"{packaged / 'Snakefile'}: no such file. Install the wheel, or run in a checkout.")


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol snakefile`."""
    show(str(path()))
