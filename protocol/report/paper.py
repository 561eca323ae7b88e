"""Figures and tables as a paper takes them: PDF, PNG and SVG, and LaTeX with booktabs."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from protocol.report.drawing import pictures
from protocol.report.results import Results
from protocol.report.sections import sections
from protocol.storage import explained
from protocol.tables import latex

_SCALE = 3  # of the PNG: 620 pixels become 1,860, enough for the width of a page in print
_LONGEST = 40
"""Characters; a table with a longer cell is one to read on the page, not one for a paper."""


def write_figures(folder: str | Path, results: Results) -> None:
    """Write every figure, as it is drawn first, as ``<name>.svg``, ``.pdf`` and ``.png``; black on white.

    The folder appears only when it is whole.
    """
    figures = [figure for section in sections(results) for figure in section.figures]
    drawn = pictures([figure.printed for figure in figures], ("svg", "pdf", "png"), scale=_SCALE)
    with _new_folder(folder) as path:
        for figure, made in zip(figures, drawn, strict=True):
            for extension, content in made.items():
                (path / f"{figure.name}.{extension}").write_bytes(content)


def write_tables(folder: str | Path, results: Results) -> None:
    r"""Write every table of numbers as ``<name>.tex``, for ``\input``; the folder appears only when it is whole."""
    with _new_folder(folder) as path:
        for table in (table for section in sections(results) for table in section.tables):
            if max((len(cell) for row in table.rows for cell in row), default=0) <= _LONGEST:
                text = latex(
                    table.header,
                    table.rows,
                    caption=table.caption,
                    label=table.name,
                    n_labels=table.n_labels,
                    strong=table.strong,
                )
                (path / f"{table.name}.tex").write_text(text)


@contextlib.contextmanager
def _new_folder(folder: str | Path) -> Iterator[Path]:
    """Give a temporary folder beside `folder`, and rename it to `folder` when the block ends without an error."""
    target = Path(folder)
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield temporary
            temporary.chmod(0o755)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
