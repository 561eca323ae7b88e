"""Figures and tables as a paper takes them: PDF, PNG and SVG, and LaTeX with booktabs."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from protocol.report.figure import Table
from protocol.report.results import Results
from protocol.report.sections import sections
from protocol.storage import explained

_SCALE = 3  # of the PNG: 620 pixels become 1,860, enough for the width of a page in print
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{EN DASH}": "--",
    "“": "``",
    "”": "''",
} | {character: f"\\{character}" for character in "&%$#_{}"}
_LONGEST = 40
"""Characters; a table with a longer cell is one to read on the page, not one for a paper."""


def write_figures(folder: str | Path, results: Results) -> None:
    """Write every figure, as it is drawn first, as ``<name>.svg``, ``.pdf`` and ``.png``; black on white.

    The folder appears only when it is whole.
    """
    import vl_convert

    with _new_folder(folder) as path:
        for figure in (figure for section in sections(results) for figure in section.figures):
            spec = figure.printed
            (path / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(spec))
            (path / f"{figure.name}.pdf").write_bytes(vl_convert.vegalite_to_pdf(spec))
            (path / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))


def write_tables(folder: str | Path, results: Results) -> None:
    r"""Write every table of numbers as ``<name>.tex``, for ``\input``; the folder appears only when it is whole."""
    with _new_folder(folder) as path:
        for table in (table for section in sections(results) for table in section.tables):
            if max((len(cell) for row in table.rows for cell in row), default=0) <= _LONGEST:
                (path / f"{table.name}.tex").write_text(latex(table))


def latex(table: Table) -> str:
    r"""Return a table as LaTeX, which needs the package booktabs.

    Examples
    --------
    >>> print(latex(Table("t", "100 % of it.", ["hasher", "8 bits"], [["pca_rr", "0.5 ± 0.1"]])))
    \begin{table}
    \centering
    \caption{100 \% of it.}
    \label{tab:t}
    \begin{tabular}{lr}
    \toprule
    hasher & 8 bits \\
    \midrule
    pca\_rr & 0.5 $\pm$ 0.1 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    columns = "l" * table.n_labels + "r" * (len(table.header) - table.n_labels)
    body = [
        [
            rf"\textbf{{{escaped(cell)}}}" if (down, across) in table.strong else escaped(cell)
            for across, cell in enumerate(row)
        ]
        for down, row in enumerate(table.rows)
    ]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line([escaped(name) for name in table.header]),
        r"\midrule",
        *map(_line, body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Return text whose every character LaTeX prints as it is.

    Examples
    --------
    >>> escaped("mAP@5 & 2^n_bits")
    'mAP@5 \\& 2\\textasciicircum{}n\\_bits'
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


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
