"""The parts of a section of the report: figures with their data, tables, sentences."""

import functools
import math
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from protocol.checks import need
from protocol.scores.tables import Table

if TYPE_CHECKING:
    import pandas as pd

PACKAGE_DATA = "charts.yaml"
PAGE_WIDTH, COLUMN_WIDTH = 6.9, 3.3
"""Widths in print, in inches: of the text of a page, and of one of its two columns."""
ABSENT = "\N{EN DASH}"
"""The text of an empty cell of a table."""
ROWS = "rows"
"""The name by which a chart refers to its figure's data."""
SHARED = ("feature", "ground_truth", "split", "n_bits")
"""The columns for which the reader chooses one value for all figures of a page."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_SMALL = 1e-3
_STATIC_WIDTH = 620


@functools.cache
def style(medium: str) -> dict[str, Any]:
    """Return the configuration of Vega for a medium, ``page`` or ``print``."""
    content = need("yaml", "report").safe_load(Path(__file__).with_name(PACKAGE_DATA).read_bytes())
    return dict(content[medium])


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with a sentence about its result, and its data.

    Parameters
    ----------
    name : str
        The figure's name on the page and in file names.
    title : str
    shows : str
        One sentence about the figure; any result in it is computed from the data.
    sentences : mapping of str to str, optional
        The sentence for each value of the first choice outside `SHARED`, if `shows` depends on it.
    chart : altair.Chart, or a function that returns a specification in Vega-Lite
        A function is called only if the figure is drawn. A chart of Altair reads the data named `ROWS`; ``{column}`` in
        titles is replaced by the reader's choice.
    data : DataFrame
        The rows of all choices, in the order in which they are offered.
    choices : mapping of str to value
        The columns from which the reader chooses a value, in this order, with the value that is drawn first. Columns in
        `SHARED` are chosen once for all figures of the page.
    folded : bool, default=False
        Whether the page hides the figure until the reader opens it.
    inches : float, default=6.9
        The width in print: that of a page or of a column.
    """

    name: str
    title: str
    shows: str
    chart: Any
    data: "pd.DataFrame"
    choices: Mapping[str, Any] = field(default_factory=dict)
    folded: bool = False
    inches: float = PAGE_WIDTH
    sentences: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> dict[str, Any]:
        """The chart as a Vega-Lite specification without data, in the page's colours."""
        chart = self.chart() if callable(self.chart) else self.chart.to_dict()
        spec = {"$schema": _SCHEMA, **chart, "config": style("page"), "description": self.title}
        # Vega-Lite can't fit a chart with several panels to a width, so the page's script sets the width of a panel.
        return spec if "spec" in spec else spec | {"autosize": {"type": "fit-x", "contains": "padding"}}

    @property
    def drawn(self) -> "pd.DataFrame":
        """The rows that are drawn first."""
        chosen = np.ones(len(self.data), dtype=bool)
        for column, value in self.choices.items():
            chosen &= (self.data[column] == value).to_numpy()
        return self.data[chosen]

    @property
    def static(self) -> dict[str, Any]:
        """The specification with the rows that are drawn first and a fixed width."""
        import json

        values = json.loads(self.drawn.to_json(orient="records", double_precision=12))
        spec = _filled(self.spec, self.choices, self.drawn) | {"data": {"values": values}}
        for part in (spec, spec.get("spec", {})):
            if part.get("width") == "container":
                part["width"] = _STATIC_WIDTH
        return spec

    @property
    def numbers(self) -> list[str]:
        """The numeric columns of the data."""
        return list(self.data.select_dtypes("number"))

    @property
    def csv(self) -> str:
        """The data as CSV with six significant digits."""
        return self.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")

    @property
    def csv_link(self) -> str:
        """The data as a link address (a data URL)."""
        return "data:text/csv;charset=utf-8," + quote(self.csv, safe="[]@,()/+:;=")


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Parameters
    ----------
    name, title : str
    text : sequence of str
        Paragraphs.
    figures : sequence of Figure
    tables : sequence of Table
    template : str, optional
        The name of a template for content that is neither a figure nor a table.
    context : mapping
        The variables of this template.
    folded : bool, default=False
        Whether the page hides the section until the reader opens it.
    """

    name: str
    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    template: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    folded: bool = False


def number(value: float) -> str:
    """Return a score as text: four decimals, or three significant digits if it is tiny.

    Examples
    --------
    >>> number(0.61234), number(0.00001234), number(float("nan")), number(0.0)
    ('0.6123', '1.23e-05', 'undefined', '0.0000')
    """
    if np.isnan(value):
        return "undefined"
    return f"{value:.3g}" if 0 < abs(value) < _SMALL else f"{value:.4f}"


def decimals(deviations: Iterable[float]) -> int:
    """Return how many decimals show two digits of the median standard deviation: 2 to 4, or 4 if there is none.

    Examples
    --------
    >>> decimals([0.021]), decimals([0.0012, 0.0034, 0.2]), decimals([float("nan")])
    (3, 4, 4)
    """
    known = [value for value in deviations if value > 0]
    return min(4, max(2, 1 - math.floor(math.log10(statistics.median(known))))) if known else 4


def spread(mean: float, std: float, digits: int | None = None) -> str:
    """Return a mean with its standard deviation, if there is one, to the same number of decimals.

    By default, these are `decimals` of the deviation.

    Examples
    --------
    >>> spread(0.1694, 0.00098), spread(0.1694, 0.0001, 3), spread(0.00012, 0.00001), spread(0.5, float("nan"))
    ('0.1694 ± 0.0010', '0.169 ± < 0.001', '0.00012 ± 1e-05', '0.5000')
    """
    if np.isnan(mean) or abs(mean) < _SMALL:
        return number(mean) + ("" if np.isnan(std) or np.isnan(mean) else f" ± {number(std)}")
    digits = decimals([std]) if digits is None else digits
    shown, least = f"{std:.{digits}f}", f"{10.0**-digits:.{digits}f}"
    shown = f"< {least}" if std > 0 and float(shown) == 0 else shown
    return f"{mean:.{digits}f}" + ("" if np.isnan(std) else f" ± {shown}")


def between(values: Collection[int]) -> str:
    """Return the smallest and the largest of some integers as text, or the one value that all of them have.

    Examples
    --------
    >>> between([3, 10, 3]), between([5000, 5000])
    ('3 to 10', '5,000')
    """
    least, greatest = min(values), max(values)
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def replaced(value: Any, text: Callable[[str], Any], mapping: Callable[[Mapping], Mapping] = lambda own: own) -> Any:
    """Return a specification with each text, and each mapping before its parts, replaced by what a function returns.

    Examples
    --------
    >>> replaced({"title": ["a", 1]}, str.upper)
    {'title': ['A', 1]}
    """
    match value:
        case str():
            return text(value)
        case Mapping():
            return {key: replaced(part, text, mapping) for key, part in mapping(value).items()}
        case list():
            return [replaced(part, text, mapping) for part in value]
    return value


def _filled(spec: Any, choices: Mapping[str, Any], rows: "pd.DataFrame") -> Any:
    """Return a specification with each ``{column}`` replaced by the choice, and scales of the series in `rows` alone.

    The series are in the order of their means in the column that the specification ranks them by.
    """
    rank = spec.get("usermeta", {}).get("rank")

    def text(value: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: str(choices.get(match[1], match[0])), value)

    def mapping(value: Mapping[str, Any]) -> Mapping[str, Any]:
        domain = (value.get("scale") or {}).get("domain", ())
        if value.get("type") != "nominal" or value.get("field") not in rows or not domain:
            return value
        if rank:
            means = rows.groupby(value["field"], sort=False)[rank].mean().round(6)
            drawn = list(map(domain.index, means.sort_values(ascending=False, kind="stable").index))
        else:
            there = set(rows[value["field"]])
            drawn = [i for i, name in enumerate(domain) if name in there]
        return {**value, "scale": {key: [own[i] for i in drawn] for key, own in value["scale"].items()}}

    return replaced(spec, text, mapping)


def scaling(svg: str) -> str:
    """Return an SVG that shrinks with the page, and is never larger than its `viewBox`, without superfluous digits."""
    sized = re.compile(r'(<svg[^>]*?) width="(\d+(?:\.\d+)?)" height="[^"]*"')
    svg = sized.sub(r'\1 style="width:100%;max-width:\2px"', svg, count=1).replace(' opacity="1"', "")
    return re.sub(r' (?:d|transform|x2|y2)="[^"]*"', lambda part: re.sub(r"(\.\d\d)\d+", r"\1", part[0]), svg)
