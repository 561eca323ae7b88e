"""Files for a paper: figures as PDF, PNG and SVG with their data, and tables as LaTeX with booktabs and as Markdown."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from protocol.provenance.storage import explained
from protocol.report.figure import COLUMN_WIDTH, Figure, Table
from protocol.report.paper.printing import printed_pictures
from protocol.scores.tables import escaped


def write_figures(folder: str | Path, figures: Sequence[Figure]) -> None:
    """Write the files of figures; the folder is replaced, and appears only when it is complete."""
    _write_folder(folder, figure_files(figures))


def write_tables(folder: str | Path, tables: Sequence[Table]) -> None:
    """Write the files of tables; the folder is replaced, and appears only when it is complete."""
    _write_folder(folder, table_files(tables))


def figure_files(figures: Sequence[Figure]) -> dict[str, bytes]:
    r"""Return each figure as ``<name>.svg``, ``.pdf`` and ``.png``, black on white, and its data as ``<name>.csv``.

    ``<name>.tex``, for ``\input``, places the PDF on the page, with a caption. Of a figure with choices, the pictures
    show what is drawn first.
    """
    files: dict[str, bytes] = {}
    for figure, made in zip(figures, printed_pictures(figures), strict=True):
        files |= {f"{figure.name}.{extension}": content for extension, content in made.items()}
        files |= {f"{figure.name}.csv": figure.csv.encode(), f"{figure.name}.tex": _latex_figure(figure).encode()}
    return files


def table_files(tables: Sequence[Table]) -> dict[str, bytes]:
    r"""Return each table as ``<name>.tex``, for ``\input``, and as ``<name>.md``."""
    files = {}
    for table in tables:
        files[f"{table.name}.tex"] = table.latex().encode()
        files[f"{table.name}.md"] = table.markdown().encode()
    return files


def file_name(*parts: object) -> str:
    """Return the name of a figure's or table's files, without characters that LaTeX or a shell treat specially.

    Examples
    --------
    >>> file_name("scores", "mAP@1000[all]", "class_label", "1-recall@5")
    'scores-mAP-1000-all-class-label-1-recall-5'
    """
    return re.sub(r"[\W_]+", "-", "-".join(map(str, parts))).strip("-")


def _latex_figure(figure: Figure) -> str:
    """Return a figure as LaTeX, which needs the package graphicx."""
    kind, width = ("figure", r"\columnwidth") if figure.inches <= COLUMN_WIDTH else ("figure*", r"\textwidth")
    return (
        f"\\begin{{{kind}}}\n\\centering\n\\includegraphics[width={width}]{{{figure.name}}}\n"
        f"\\caption{{{escaped(figure.shows)}}}\n\\label{{fig:{figure.name}}}\n\\end{{{kind}}}\n"
    )


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
