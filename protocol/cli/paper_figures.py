"""`protocol paper-figures`: redraw figures and tables of the papers from the results in a folder."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from protocol.cli._output import show

if TYPE_CHECKING:
    from protocol.papers.figures import Drawn


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol paper-figures`."""
    from protocol.checks import one_of
    from protocol.papers.figures import DRAWINGS, FigureData
    from protocol.provenance.storage import check_writable, replacing
    from protocol.report import figure_files, table_files

    for name in arguments.name:
        one_of(name, [*DRAWINGS], "figure")
    check_writable(arguments.output)
    data = FigureData.in_folder(arguments.results)
    drawn = {name: DRAWINGS[name](data) for name in arguments.name or DRAWINGS}
    files = figure_files([figure for one in drawn.values() for figure in one.figures])
    files |= table_files([table for one in drawn.values() for table in one.tables])
    for name, content in files.items():
        with replacing(arguments.output / name) as path:
            path.write_bytes(content)
    show("\n".join(_lines(drawn)))


def _lines(drawn: "dict[str, Drawn]") -> Iterator[str]:
    """Yield the name of each of the papers' figures, the names of the files drawn for it, and the missing results."""
    for name, one in drawn.items():
        yield name
        yield from (f"  {figure.name}" for figure in one.figures)
        yield from (f"  {table.name}" for table in one.tables)
        if one.missing:
            yield f"  missing: {one.missing}"
