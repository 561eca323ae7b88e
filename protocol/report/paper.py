"""Figures and tables as a paper takes them: PDF, PNG and SVG with their data, and LaTeX with booktabs and Markdown."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from protocol.report.drawing import pictures
from protocol.report.figure import Figure, Table
from protocol.storage import explained
from protocol.tables import latex, markdown

_SCALE = 3  # of the PNG: 620 pixels become 1,860, enough for the width of a page in print
_LONGEST = 40
"""Characters; a table with a longer cell is one to read on the page, not one for a paper."""


def write_figures(folder: str | Path, figures: Sequence[Figure]) -> None:
    """Write the files of figures; the folder is replaced, and appears only when it is complete."""
    _write_folder(folder, figure_files(figures))


def write_tables(folder: str | Path, tables: Sequence[Table]) -> None:
    """Write the files of the tables of numbers; the folder is replaced, and appears only when it is complete."""
    short = [table for table in tables if all(len(cell) <= _LONGEST for row in table.rows for cell in row)]
    _write_folder(folder, table_files(short))


def figure_files(figures: Sequence[Figure]) -> dict[str, bytes]:
    """Return each figure as ``<name>.svg``, ``.pdf`` and ``.png``, black on white, and its data as ``<name>.csv``.

    Of a figure with choices, the pictures show what is drawn first.
    """
    drawn = pictures([figure.printed for figure in figures], ("svg", "pdf", "png"), scale=_SCALE)
    files: dict[str, bytes] = {}
    for figure, made in zip(figures, drawn, strict=True):
        files |= {f"{figure.name}.{extension}": content for extension, content in made.items()}
        files[f"{figure.name}.csv"] = figure.csv.encode()
    return files


def table_files(tables: Sequence[Table]) -> dict[str, bytes]:
    r"""Return each table as ``<name>.tex``, for ``\input``, and as ``<name>.md``."""
    files = {}
    for table in tables:
        files[f"{table.name}.tex"] = _latex(table).encode()
        files[f"{table.name}.md"] = _markdown(table).encode()
    return files


def _latex(table: Table) -> str:
    return latex(
        table.header,
        table.rows,
        caption=table.caption,
        label=table.name,
        n_labels=table.n_labels,
        strong=table.strong,
        groups=table.groups,
    )


def _markdown(table: Table) -> str:
    """Return a table with its caption; a column's name includes the headings above it."""
    rows = [
        [f"**{text}**" if (down, across) in table.strong else text for across, text in enumerate(row)]
        for down, row in enumerate(table.rows)
    ]
    header = table.flat_header
    return f"{table.caption}\n\n{markdown(header, rows, numbers=header[table.n_labels :])}\n"


def _write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write files into a temporary folder next to `folder`, and rename it to `folder`."""
    target = Path(folder)
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            for name, content in files.items():
                (temporary / name).write_bytes(content)
            temporary.chmod(0o755)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
