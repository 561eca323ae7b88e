"""Charts as static pictures, and the files of a paper: figures with their data, and tables as LaTeX and as Markdown.

Figures are drawn for print: as wide as a column or a page, black on white, and in fonts and sizes that journals accept.
Panels in a row may be a twentieth wider or narrower, because Vega-Lite can't fit them to a width.
"""

import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError, need
from protocol.provenance.storage import explained
from protocol.report.figure import COLUMN_WIDTH, Figure, data_of, replaced
from protocol.scores.tables import Table, escaped

_CLIP = re.compile(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))')
_POINTS = 72  # per inch; vl-convert draws a pixel as a point
_PNG_DPI = 300
_AXIS = 60  # points beside the panels of a chart, for the axis with its labels
_MOST_POINTS = 130  # the height of a panel
_OF_STEP = 0.6  # the height of a row, as a share of that on the page


def pictures(
    specs: Sequence[Mapping[str, Any]], formats: Sequence[str] = ("svg",), *, ppi: float = 72
) -> list[dict[str, bytes]]:
    """Return charts as pictures.

    Parameters
    ----------
    specs : sequence of mapping
        Vega-Lite specifications with their data.
    formats : sequence of {"svg", "pdf", "png"}
    ppi : float, default=72
        Pixels per inch of PNG pictures, which they record; at 72, a point is a pixel.

    Returns
    -------
    list of dict of str to bytes
        The pictures by format, in the order of `specs`.

    Raises
    ------
    ProtocolError
        If a specification can't be drawn.
    """
    library = need("vl_convert", "report")
    clips: dict[str, str] = {}

    def numbered(name: re.Match[str]) -> str:  # Vega counts the pictures of a process
        return clips.setdefault(name[0], f"clip{len(clips)}")

    draw = {
        "svg": lambda spec: _CLIP.sub(numbered, library.vegalite_to_svg(spec)).encode(),
        "pdf": library.vegalite_to_pdf,
        "png": functools.partial(library.vegalite_to_png, ppi=ppi),
    }
    drawn = []
    for number, spec in enumerate(specs, 1):
        try:
            drawn.append({name: draw[name](spec) for name in formats})
        except ValueError as error:
            raise ProtocolError(f"figure {number}: can't be drawn: {' '.join(str(error).split())}.") from error
    return drawn


def figure_files(figures: Sequence[Figure]) -> dict[str, bytes]:
    r"""Return each figure as ``<name>.svg``, ``.pdf`` and ``.png``, black on white, and its data as ``<name>.csv``.

    Pictures are about as wide as the `inches` of their figure; the SVG states points. The PDF has embedded fonts, and
    text remains text. ``<name>.tex``, for ``\input``, places the PDF on the page, with a caption; it needs the package
    graphicx. Of a figure with choices, the pictures show what is drawn first.
    """
    files: dict[str, bytes] = {}
    size = rb'(<svg[^>]*?) width="([0-9.]+)" height="([0-9.]+)"'
    drawn = pictures(list(map(_printed, figures)), ("svg", "pdf", "png"), ppi=_PNG_DPI)
    for figure, content_of in zip(figures, drawn, strict=True):
        content_of["svg"] = re.sub(size, rb'\1 width="\2pt" height="\3pt"', content_of["svg"], count=1)
        files |= {f"{figure.name}.{extension}": content for extension, content in content_of.items()}
        kind, width = ("figure", r"\columnwidth") if figure.inches <= COLUMN_WIDTH else ("figure*", r"\textwidth")
        latex = (
            f"\\begin{{{kind}}}\n\\centering\n\\includegraphics[width={width}]{{{figure.name}}}\n"
            f"\\caption{{{escaped(figure.shows)}}}\n\\label{{fig:{figure.name}}}\n\\end{{{kind}}}\n"
        )
        files |= {f"{figure.name}.csv": figure.csv.encode(), f"{figure.name}.tex": latex.encode()}
    return files


def table_files(tables: Iterable[Table]) -> dict[str, bytes]:
    r"""Return each table as ``<name>.tex``, for ``\input``, and as ``<name>.md``."""
    formats = {"tex": Table.latex, "md": Table.markdown}
    return {f"{table.name}.{end}": text(table).encode() for table in tables for end, text in formats.items()}


def file_name(*parts: object) -> str:
    """Return the name of a figure's or table's files, without characters that LaTeX or a shell treat specially.

    Examples
    --------
    >>> file_name("scores", "mAP@1000[all]", "class_label", "1-recall@5")
    'scores-mAP-1000-all-class-label-1-recall-5'
    """
    return re.sub(r"[\W_]+", "-", "-".join(map(str, parts))).strip("-")


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Replace a folder by one with these files, which appears only when it is complete."""
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


def _printed(figure: Figure) -> dict[str, Any]:
    """Return a figure's specification in black, as wide as its `inches`, and with texts and points of print's size."""

    def smaller(part: Mapping[str, Any]) -> Mapping[str, Any]:
        return {key: value for key, value in part.items() if key not in ("fontSize", "size", "strokeWidth")}

    spec = replaced(figure.static, lambda text: "black" if text == "currentColor" else text, smaller)
    spec |= {"config": data_of("charts.yaml")["print"]}
    for part in (spec, spec.get("spec", {})):
        if part.get("width") is not None:
            part["width"] = int(figure.inches * _POINTS) - (_AXIS if "spec" in spec else 0)
        match part.get("height"):
            case int(height):
                part["height"] = min(height, _MOST_POINTS)
            case {"step": step, **others}:
                part["height"] = others | {"step": _OF_STEP * step}
    return spec
