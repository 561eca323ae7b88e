r"""Tables as CSV, text, Markdown and LaTeX.

The library tabulate lays out the same formats, but escapes nothing in Markdown, and either everything or nothing in
LaTeX; scores must also be printable with NumPy alone. CSV is written by the standard library, or by pandas for data
frames.
"""

import csv
import functools
import importlib.util
import io
import itertools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, need, printable
from protocol.inputs.text import FORMULA, lines
from protocol.provenance.checksums import checksum_path, verified, verify
from protocol.provenance.storage import replacing
from protocol.terminal import width

if TYPE_CHECKING:
    from pandas import DataFrame, Series
else:  # for annotations, without an import of pandas
    DataFrame = Series = Any

PACKAGE_DATA = "tables.html.j2"
DIGITS = "%.9g"
"""The format of results: precise enough to distinguish results, but not to show the rounding errors of a sum."""
_TOGETHER = re.compile("(?<=[±<>])[ \N{NO-BREAK SPACE}]|[ \N{NO-BREAK SPACE}](?=±)")
_LATEX = {character: f"\\{character}" for character in "&%$#_{}"}
_LATEX |= {"^": r"\^{}", "~": r"\textasciitilde{}", "\\": r"\textbackslash{}", "<": r"\ensuremath{<}"}
_LATEX |= {">": r"\ensuremath{>}", "≤": r"$\leq$", "≥": r"$\geq$", "±": r"$\pm$", "†": r"$^{\dagger}$"}
_LATEX |= {"\N{MINUS SIGN}": "$-$", "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{EN DASH}": "--", "“": "``", "”": "''"}
_DAGGER = _LATEX["†"]
_MOST_IN_COLUMN = 5  # numbers in a row of a LaTeX table that fits into one of two columns of a page


def write_csv(
    path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, checksum: bool = False
) -> None:
    """Write rows as CSV in UTF-8; the file appears only when it is complete. `checksum` as in `storage.replacing`."""
    with replacing(path, checksum=checksum) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(map(safe, row) for row in rows)


@functools.lru_cache(maxsize=1 << 14, typed=True)  # the same cells are in row after row
def safe(cell: Any) -> Any:
    """Return a cell for CSV that a spreadsheet doesn't evaluate: text that begins like a formula gets an apostrophe.

    Numbers remain numbers, also as text. `protocol.inputs.text.unsafe` returns the original text.

    Examples
    --------
    >>> [safe("=1+1.jpg"), safe("'=1.jpg"), safe("-0.5"), safe(-0.5)]
    ["'=1+1.jpg", "''=1.jpg", '-0.5', -0.5]
    """
    if isinstance(cell, str) and FORMULA.match(cell):
        try:
            float(cell)
        except ValueError:
            return f"'{cell}"
    return cell


def write_table(path: str | Path, table: DataFrame) -> None:
    """Write a stage's data frame as CSV, without the index and with floats of nine digits, and its checksum."""
    with replacing(path, checksum=True) as temporary:
        table.to_csv(temporary, index=False, float_format=DIGITS, lineterminator="\n")


def read_table(path: str | Path, *, required: bool = True, **options: Any) -> DataFrame:
    """Return a CSV file that a stage wrote as a data frame; its checksum is verified before pandas reads it.

    Unless it is `required`, the checksum may be missing, as those of the stored reference results. `options` are those
    of ``pandas.read_csv``. Raises the errors of `protocol.provenance.checksums.verified`.
    """
    import pandas as pd

    has_checksum = required or checksum_path(path).exists()
    return pd.read_csv(io.BytesIO(verified(path)) if has_checksum else path, **options)


def read_text(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of any CSV file as text by column; a missing cell is "". The checksum is verified if it has one.

    Raises
    ------
    ProtocolError
        If the file can't be read, was altered or is empty, or if a row is longer than the header.
    """
    verify(path, required=False)
    reader = csv.DictReader(lines(Path(path), "a table"), restval="", strict=True)
    try:
        rows, header = list(reader), reader.fieldnames
    except csv.Error as error:
        raise ProtocolError(f"{path}: can't be read as a table ({error}).") from error
    if header is None:
        raise ProtocolError(f"{path}: the file is empty.")
    too_long = next((line for line, row in enumerate(rows, 2) if None in row), None)
    if too_long is not None:
        n_cells = len(header) + len(rows[too_long - 2][None])
        raise ProtocolError(f"{path}, line {too_long}: {n_cells} cells, but the header has {len(header)}.")
    return rows


def templates(folder: Path) -> Any:
    """Return the environment of the Jinja templates of pages in a folder, which escape all text (`printable_text`).

    They can import the macros of `PACKAGE_DATA`.
    """
    jinja2 = need("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=printable_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_code"] = _with_code
    return environment


def printable_text(value: Any) -> Any:
    """Return a value for a page, with control characters in text escaped, since names may come from any file."""
    return printable(value, keep="\n\t") if type(value) is str else value


def _with_code(text: str) -> Any:
    """Return text for the page, with everything between two backticks as code, and links to parts of the page.

    Examples
    --------
    >>> str(_with_code("a < `b` ([c](#d))"))
    'a &lt; <code>b</code> (<a href="#d">c</a>)'
    """
    import markupsafe

    escaped = re.sub("`([^`]+)`", r"<code>\1</code>", str(markupsafe.escape(printable_text(text))))
    escaped = re.sub(r"\[([^]]+)\]\(#([a-z-]+)\)", r'<a href="#\2">\1</a>', escaped)
    return markupsafe.Markup(escaped)  # noqa: S704 - it is escaped


def html(parts: Iterable["str | Table"]) -> str | None:
    """Return paragraphs and tables as HTML without styles; None if the package jinja2 is not installed."""
    if importlib.util.find_spec("jinja2") is None:
        return None
    return str(templates(Path(__file__).parent).get_template(PACKAGE_DATA).module.show_parts(parts))


def filled(paragraph: str) -> str:
    """Return a paragraph as lines of the terminal's width, all with the indent of the first."""
    indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
    return textwrap.fill(paragraph, width(), subsequent_indent=indent, break_on_hyphens=False)


def text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as plain text: columns aligned to the left with two spaces between them.

    The widest columns are wrapped at blanks, but not around ±, until the lines fit the terminal's width.

    Examples
    --------
    >>> print(text(["hasher", "mAP"], [["lsh", "0.1000"], ["pca_rr", "0.25"]]))
    hasher  mAP
    lsh     0.1000
    pca_rr  0.25
    """
    lines = [[_TOGETHER.sub("\N{NO-BREAK SPACE}", printable(cell)) for cell in line] for line in (header, *rows)]
    widths, printed = _widths(lines), []
    for line in lines:
        cells = [
            textwrap.wrap(cell, columns, break_on_hyphens=False) if len(cell) > columns else [cell]
            for cell, columns in zip(line, widths, strict=True)
        ]
        printed += ["  ".join(map(str.ljust, part, widths)) for part in itertools.zip_longest(*cells, fillvalue="")]
    return _TOGETHER.sub(" ", "\n".join(map(str.rstrip, printed)))


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of the columns with which lines fit the terminal's width, as far as words allow it."""
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [max(len(word) for cell in column for word in cell.split(" ")) for column in columns]
    most = width() - 2 * (len(widths) - 1)
    while sum(widths) > most and widths != least:
        widths[max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))] -= 1
    return widths


@dataclass(frozen=True)
class Table:
    r"""A table of text, with a caption, for a terminal, GitHub, a page or a paper.

    Parameters
    ----------
    name : str
        The table's name in file names and in ``\ref{tab:...}``.
    caption : str
        Describes the numbers and their convention.
    header : sequence of str
    rows : sequence of sequences of str
    n_labels : int, default=1
        Number of columns, from the left, that contain words.
    strong : set of (row, column), default=empty
        The cells with the best value of their column.
    second : set of (row, column), default=empty
        The cells with the second best value of their column.
    groups : sequence of sequences of (str, int), default=()
        Lines above the header, from the top: headings, each with the number of columns that it spans.
    folded : str, default=""
        A title, under which the page hides the tables that have it until the reader opens it.
    by_metric : mapping, default={}
        The cells for each metric that the reader of the page can select, for its script.
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_labels: int = 1
    strong: frozenset[tuple[int, int]] = frozenset()
    groups: Sequence[Sequence[tuple[str, int]]] = ()
    folded: str = ""
    second: frozenset[tuple[int, int]] = frozenset()
    by_metric: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flat_header(self) -> list[str]:
        """The header as one line: each name follows the headings above it."""
        lines = [[heading for heading, n in line for _ in range(n)] for line in self.groups]
        return [" ".join(filter(None, names)) for names in zip(*lines, self.header, strict=True)]

    def text(self) -> str:
        """Return the caption, if there is one, and the table as `text`."""
        return "\n".join([*filter(None, [filled(self.caption)]), text(self.header, self.rows)])

    def markdown(self) -> str:
        r"""Return the caption and the table as GitHub Markdown; a column's name includes the headings above it.

        In cells, bars are escaped and newlines become ``<br>``. Columns of numbers are aligned to the right.

        Examples
        --------
        >>> print(Table("t", "Scores.", ["hasher", "mAP"], [["a|b", "0.1"]]).markdown())
        Scores.
        <BLANKLINE>
        | hasher | mAP |
        |---|---:|
        | a\|b | 0.1 |
        <BLANKLINE>
        """
        rule = "|".join("---" if column < self.n_labels else "---:" for column in range(len(self.header)))
        escaped = {ord("|"): r"\|", ord("\n"): "<br>"}
        rows = [[printable(cell, keep="\n").translate(escaped) for cell in row] for row in self.rows]
        lines = (f"| {' | '.join(line)} |" for line in (self.flat_header, *self._marked(rows, "**{}**", "<u>{}</u>")))
        return "\n".join([self.caption, "", next(lines), f"|{rule}|", *lines, ""])

    def latex(self) -> str:
        r"""Return the table as LaTeX, which requires the package booktabs; one with many numbers spans both columns.

        Examples
        --------
        >>> print(Table("t", "100 % of it.", ["hasher", "8 bits"], [["pca_rr", "0.5 ± 0.1"]]).latex())
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
        n_numbers = len(self.header) - self.n_labels
        columns = "l" * self.n_labels + "r" * n_numbers
        # A mark has no width, so that the digits in a column stay aligned.
        cells = [[escaped(cell).replace(_DAGGER, rf"\rlap{{{_DAGGER}}}") for cell in line] for line in self.rows]
        cells = self._marked(cells, r"\textbf{{{}}}", r"\underline{{{}}}")
        header, *body = (rf"{' & '.join(line)} \\" for line in (map(escaped, self.header), *cells))
        kind = "table*" if n_numbers > _MOST_IN_COLUMN else "table"
        caption = [rf"\caption{{{escaped(self.caption)}}}", rf"\label{{tab:{self.name}}}", r"\smallskip"]
        head = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *map(_spanning, self.groups), header, r"\midrule"]
        ends = [r"\bottomrule", r"\end{tabular}", rf"\end{{{kind}}}", ""]
        return "\n".join([rf"\begin{{{kind}}}", r"\centering", *caption, *head, *body, *ends])

    def _marked(self, rows: Sequence[Sequence[str]], strong: str, second: str) -> list[list[str]]:
        """Return the rows with the best and the second best values in these formats."""
        formats = dict.fromkeys(self.second, second) | dict.fromkeys(self.strong, strong)
        return [
            [formats.get((down, across), "{}").format(cell) for across, cell in enumerate(row)]
            for down, row in enumerate(rows)
        ]


def _spanning(headings: Sequence[tuple[str, int]]) -> str:
    r"""Return a line of headings, with a rule below each that is not empty.

    Examples
    --------
    >>> print(_spanning([("", 1), ("S1", 2)]))
     & \multicolumn{2}{c}{S1} \\
    \cmidrule(lr){2-3}
    """
    cells, rules, start = [], [], 1
    for heading, n in headings:
        cells.append(rf"\multicolumn{{{n}}}{{c}}{{{escaped(heading)}}}" if heading else " & " * (n - 1))
        rules += [rf"\cmidrule(lr){{{start}-{start + n - 1}}}"] if heading else []
        start += n
    return f"{' & '.join(cells)} \\\\\n{' '.join(rules)}"


def escaped(words: str) -> str:
    r"""Return text in which LaTeX prints every character literally, even at the start of a row of a table.

    Examples
    --------
    >>> escaped("mAP@5 & 2^n_bits"), escaped("[ours]")
    ('mAP@5 \\& 2\\^{}n\\_bits', '{[}ours]')
    """
    text = words.translate({ord(character): command for character, command in _LATEX.items()})
    return f"{{{text[0]}}}{text[1:]}" if text[:1] in ("[", "*") else text  # LaTeX would read them as arguments of \\\\
