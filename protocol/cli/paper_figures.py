"""`protocol paper-figures`: redraw figures and tables of the papers from the results in a folder."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.cli._output import show

if TYPE_CHECKING:
    from protocol.cli._help import Parser
    from protocol.papers.figures import Drawn


def _paper_figures(arguments: argparse.Namespace) -> None:
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
    show("\n".join(line for name, one in drawn.items() for line in _lines(name, one)))


def _lines(name: str, drawn: "Drawn") -> Iterator[str]:
    """Yield the name of a paper's figure, the names of the files drawn for it, and the missing results."""
    yield name
    yield from (f"  {figure.name}" for figure in drawn.figures)
    yield from (f"  {table.name}" for table in drawn.tables)
    if drawn.missing:
        yield f"  missing: {drawn.missing}"


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol paper-figures`."""
    command = commands.add_parser(
        "paper-figures",
        help="redraw figures and tables of the papers from your results",
        description="Draw figures and tables of the papers from the results in a folder, and print which results are "
        "missing.",
        examples="""
            protocol paper-figures --output paper
            protocol paper-figures ramap_figure_4 ramap_figure_6 \\
                                   --results results/cifar10_learned --output paper
        """,
        details="""
            names:
              ramap_figure_4, ramap_figure_5, ramap_figure_6, ramap_figure_7, mlgap_figure_1, mlgap_table_1,
              mlgap_figure_8, talr_table_1, talr_table_2, talr_table_3, talr_figure_3, talr_alpha, thesis_figure_3_8

            results:
              DIR is the folder of all results, or of one experiment. The command reads summary.csv and the
              display/ folders of every experiment, and the tables in DIR/reference/.

            files:
              NAME.svg, .pdf, .png and .csv (the values that are drawn) for a figure; NAME.tex (booktabs) and
              NAME.md for a table. Existing files with these names are replaced.
        """,
    )
    command.add_argument("name", nargs="*", metavar="NAME", help="draw only these figures and tables")
    command.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="the folder of results (results)"
    )
    command.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder for the files")
    command.set_defaults(run=_paper_figures)
