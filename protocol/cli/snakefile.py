"""`protocol snakefile`: print the path of the pipeline's Snakefile."""

import argparse
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.cli._output import show
from protocol.shipped import PROJECT


def path() -> Path:
    """Return the path of the pipeline's Snakefile, in the checkout or in the installed package.

    Raises
    ------
    ProtocolError
        If neither has one.
    """
    snakefile = PROJECT / "workflow" / "Snakefile"
    if not snakefile.is_file():
        raise ProtocolError(f"{snakefile}: no such file. Install the wheel, or run in a checkout.")
    return snakefile


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol snakefile`."""
    show(str(path()))
