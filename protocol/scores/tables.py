r"""Tables as CSV, text, Markdown and LaTeX.

The library tabulate lays out Markdown and LaTeX. It escapes nothing in Markdown, and either everything or nothing in
LaTeX, so the cells are escaped here. Plain text is laid out here, because scores must be printable with NumPy alone.
CSV is written by the standard library, or by pandas for data frames.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import need, printable
from protocol.provenance.checksums import verified
from protocol.provenance.storage import replacing

if TYPE_CHECKING:
    import pandas as pd

DIGITS = "%.9g"
"""The format of results: precise enough to distinguish results, but not to show the rounding errors of a sum."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_LATEX = {"±": r"$\pm$", "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{EN DASH}": "--", "“": "``", "”": "''"}
_LATEX |= {"≤": r"$\leq$", "≥": r"$\geq$", "†": r"$^{\dagger}$"}
_DAGGER = _LATEX["†"]


def write_csv(
    path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, checksum: bool = False
) -> None:
    """Write rows as CSV in UTF-8; the file appears only when it is complete. `checksum` as in `storage.replacing`."""
    with replacing(path, checksum=checksum) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(map(safe, row) for row in rows)


def safe(cell: Any) -> Any:
    """Return a cell for CSV that a spreadsheet doesn't evaluate: text that begins like a formula gets an apostrophe.

    Numbers remain numbers, also as text. `unsafe` returns the original text.

    Examples
    --------
    >>> [safe("=1+1.jpg"), safe("'=1.jpg"), safe("-0.5"), safe(-0.5)]
    ["'=1+1.jpg", "''=1.jpg", '-0.5', -0.5]
    """
    if not (isinstance(cell, str) and _FORMULA.match(cell)):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def unsafe(cell: str) -> str:
    """Return the text that `safe` wrote."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write_table(path: str | Path, table: "pd.DataFrame") -> None:
    """Write a stage's data frame as CSV, without the index and with floats of nine digits, and its checksum."""
    with replacing(path, checksum=True) as temporary:
        table.to_csv(temporary, index=False, float_format=DIGITS, lineterminator="\n")


def read_table(path: str | Path, **options: Any) -> "pd.DataFrame":
    """Return a CSV file that a stage wrote as a data frame; its checksum is verified before pandas reads it.

    `options` are those of ``pandas.read_csv``. Raises the errors of `protocol.provenance.checksums.verified`.
    """
    import pandas as pd

    return pd.read_csv(io.BytesIO(verified(path)), **options)


def text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as plain text: one line per row, columns aligned to the left with two spaces between them.

    Examples
    --------
    >>> print(text(["hasher", "mAP"], [["lsh", "0.1000"], ["pca_rr", "0.25"]]))
    hasher  mAP
    lsh     0.1000
    pca_rr  0.25
    """
    lines = [list(map(printable, line)) for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()) -> str:
    r"""Return a table as GitHub Markdown; in cells, bars are escaped and newlines become ``<br>``.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    numbers : collection of str, default=()
        The columns that are aligned to the right.

    Examples
    --------
    >>> print(markdown(["hasher", "mAP"], [["a|b", "0.1"]], numbers=["mAP"]))
    | hasher | mAP |
    |---|---:|
    | a\|b | 0.1 |
    """
    library = need("tabulate", "report")
    rule = "|".join("---:" if name in numbers else "---" for name in header)
    row = library.DataRow("| ", " | ", " |")
    line = library.Line(f"|{rule}|", "", "", "")
    layout = library.TableFormat(None, line, None, None, row, row, padding=0, with_header_hide=None)
    cells = [[printable(cell, keep="\n").replace("|", r"\|").replace("\n", "<br>") for cell in one] for one in rows]
    return library.tabulate(cells, header, tablefmt=layout, disable_numparse=True, stralign=None)


def latex(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    label: str,
    n_labels: int = 1,
    strong: Collection[tuple[int, int]] = (),
    second: Collection[tuple[int, int]] = (),
    groups: Sequence[Sequence[tuple[str, int]]] = (),
    wide: bool = False,
) -> str:
    r"""Return a table as LaTeX; it requires the package booktabs.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    caption : str
    label : str
        The table's name in ``\ref{tab:...}``.
    n_labels : int, default=1
        The number of columns at the left that are left-aligned; the others are right-aligned.
    strong, second : collection of (row, column), default=()
        The cells in bold, and those that are underlined.
    groups : sequence of sequences of (str, int), default=()
        Lines above the header, from top to bottom: headings, each with the number of columns that it spans.
    wide : bool, default=False
        Whether the table spans both columns of a page with two.

    Examples
    --------
    >>> print(latex(["hasher", "8 bits"], [["pca_rr", "0.5 ± 0.1"]], caption="100 % of it.", label="t"))
    \begin{table}
    \centering
    \caption{100 \% of it.}
    \label{tab:t}
    \smallskip
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
    library = need("tabulate", "report")
    columns = "l" * n_labels + "r" * (len(header) - n_labels)
    top = "\n".join([f"\\begin{{tabular}}{{{columns}}}", r"\toprule", *(_spanning(line) for line in groups)])
    bottom = "\\bottomrule\n\\end{tabular}"
    rules = [library.Line(rule, "", "", "") for rule in (top, r"\midrule", bottom)]
    row = library.DataRow("", " & ", r" \\")
    layout = library.TableFormat(rules[0], rules[1], None, rules[2], row, row, padding=0, with_header_hide=None)
    cells = [list(map(escaped, own)) for own in rows]
    # A mark has no width, so that the digits in a column stay aligned.
    cells = [[cell.replace(_DAGGER, rf"\rlap{{{_DAGGER}}}") for cell in own] for own in cells]
    for command, marked in (("textbf", strong), ("underline", second)):
        for down, across in marked:
            cells[down][across] = rf"\{command}{{{cells[down][across]}}}"
    body = library.tabulate(cells, list(map(escaped, header)), tablefmt=layout, disable_numparse=True, stralign=None)
    kind = "table*" if wide else "table"
    above = f"\\begin{{{kind}}}\n\\centering\n\\caption{{{escaped(caption)}}}\n\\label{{tab:{label}}}\n\\smallskip\n"
    return f"{above}{body}\n\\end{{{kind}}}\n"


def _spanning(headings: Sequence[tuple[str, int]]) -> str:
    r"""Return a line of headings, with a rule below each that is not empty.

    Examples
    --------
    >>> print(_spanning([("", 1), ("S1", 2)]))
     & \multicolumn{2}{c}{S1} \\
    \cmidrule(lr){2-3}
    """
    cells, rules, start = [], [], 1
    for heading, width in headings:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escaped(heading)}}}" if heading else " & " * (width - 1))
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if heading else []
        start += width
    return f"{' & '.join(cells)} \\\\\n{' '.join(rules)}"


def escaped(words: str) -> str:
    r"""Return text in which LaTeX prints every character literally, even at the start of a row of a table.

    Examples
    --------
    >>> escaped("mAP@5 & 2^n_bits"), escaped("[ours]")
    ('mAP@5 \\& 2\\^{}n\\_bits', '{[}ours]')
    """
    rules = need("tabulate", "report").LATEX_ESCAPE_RULES
    text = words.translate(str.maketrans(rules | _LATEX))
    return f"{{{text[0]}}}{text[1:]}" if text[:1] in ("[", "*") else text  # LaTeX would read them as arguments of \\\\
