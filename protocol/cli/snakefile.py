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
    packaged, checkout = (folder / "workflow" / "Snakefile" for folder in (_PACKAGE / "pipeline", _PACKAGE.parent))
    for snakefile in (packaged, checkout):  # only a wheel has the folder `pipeline`
        if snakefile.is_file():
            return snakefile
    raise ProtocolError(f"{packaged}: no such file. Install the wheel, or run in a checkout.")


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol snakefile`."""
    show(str(path()))
