"""The parts of a section of the report: figures with their data, tables and sentences, as YAML files describe them.

``page.yaml`` contains a section's title, a sentence or a caption as a Jinja template, and a chart as a specification in
Vega-Lite, so that each can be changed without Python. The sections compute the numbers. ``charts.yaml`` has the style
of all charts.

In addition to Vega-Lite, a chart may contain

- ``name:Q``, ``name:O`` and ``name:N`` for a quantitative, ordinal or nominal field; in a tooltip, numbers have four
  significant digits;
- ``$name`` for a value that the section provides, such as the scales ``$colour`` and ``$shape`` of the series;
- a layer ``lines`` for a line and points of each hasher, and its name at the right end: ``x``, ``y``, ``tooltip``,
  ``size`` and optionally ``order`` (the column along which a line runs, by default that of ``x``) and ``shift`` (along
  x);
- ``{column}`` in a title for the reader's choice.
"""

import functools
import itertools
import json
import math
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from protocol.checks import counted, listed, need, rounded
from protocol.scores.summary import at
from protocol.scores.tables import DataFrame, Table
from protocol.styles import styles

PACKAGE_DATA = "[cp]*.yaml"
PAGE_WIDTH, COLUMN_WIDTH = 6.9, 3.3
"""Widths in print, in inches: of the text of a page, and of one of its two columns."""
ABSENT = "\N{EN DASH}"
"""The text of an empty cell of a table."""
SHARED = ("feature", "ground_truth", "split", "n_bits")
"""The columns for which the reader chooses one value for all figures of a page."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_STATIC_WIDTH = 620
_TYPES = {"Q": "quantitative", "O": "ordinal", "N": "nominal"}
_FIELD = re.compile("([a-z_A-Z]+):([QON])")


@functools.cache
def data_of(name: str) -> dict[str, Any]:
    """Return the content of a YAML file of this package."""
    return dict(need("yaml", "report").safe_load(Path(__file__).with_name(name).read_bytes()))


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with a sentence about its result, and its data.

    Parameters
    ----------
    name : str
        The figure's name on the page and in file names.
    title : str
    shows : str
        What the figure shows, whatever the reader chooses.
    chart : mapping
        A specification in Vega-Lite without data; ``{column}`` in titles is replaced by the reader's choice.
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
    chart: Mapping[str, Any]
    data: DataFrame
    choices: Mapping[str, Any] = field(default_factory=dict)
    folded: bool = False
    inches: float = PAGE_WIDTH

    @property
    def spec(self) -> dict[str, Any]:
        """The chart as a Vega-Lite specification without data, in the page's colours."""
        spec = {"$schema": _SCHEMA, **self.chart, "config": data_of("charts.yaml")["page"], "description": self.title}
        # Vega-Lite can't fit a chart with several panels to a width, so the page's script sets the width of a panel.
        return spec if "spec" in spec else spec | {"autosize": {"type": "fit-x", "contains": "padding"}}

    @property
    def drawn(self) -> DataFrame:
        """The rows that are drawn first."""
        return at(self.data, **self.choices)

    @property
    def choice(self) -> str:
        """The choices that are drawn first, in words."""
        return in_words(self.choices)

    @property
    def static(self) -> dict[str, Any]:
        """The specification with the rows that are drawn first and a fixed width."""
        values = json.loads(self.drawn.to_json(orient="records", double_precision=12))
        spec = replaced(self.spec, str, self._with_choices) | {"data": {"values": values}}
        for part in (spec, spec.get("spec", {})):
            if part.get("width") == "container":
                part["width"] = _STATIC_WIDTH
        return spec

    def _with_choices(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        if not isinstance(title := part.get("title"), str):
            return part
        filled = re.sub(r"\{(\w+)\}", lambda match: str(self.choices.get(match[1], match[0])), title)
        return {**part, "title": filled}

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
        return "data:text/csv;charset=utf-8," + quote(self.csv, safe=" []@,()/+:;=")


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


def in_words(choices: Mapping[str, Any]) -> str:
    """Return a selection in words, as the page's script does.

    Examples
    --------
    >>> in_words({"feature": "gist", "split": "improved", "n_bits": 32})
    'gist, improved split, 32 bits'
    """
    units = {"split": " split", "n_bits": " bits"}
    return ", ".join(f"{value}{units.get(column, '')}" for column, value in choices.items())


def decimals(deviations: Iterable[float]) -> int:
    """Return how many decimals show the first digit of the median deviation: 2 to 4, or 4 if there is none.

    Examples
    --------
    >>> decimals([0.021]), decimals([0.0012, 0.0034, 0.2]), decimals([float("nan")])
    (2, 3, 4)
    """
    known = [value for value in deviations if value > 0]
    return min(4, max(2, -math.floor(math.log10(statistics.median(known))))) if known else 4


def spreads(means: Iterable[float], stds: Iterable[float]) -> list[str]:
    """Return the means in a column with their standard deviations, if there are any, all to the same decimals.

    These are the `decimals` of the deviations; if every mean is smaller, the largest has two significant digits.

    Examples
    --------
    >>> spreads([0.1694, 0.0003, 0.02], [0.00098, 0.0, 0.0001])
    ['0.1694 ± 0.0010', '0.0003 ± 0.0000', '0.0200 ± 0.0001']
    >>> spreads([0.5, 0.0003, float("nan")], [0.02, 0.03, float("nan")])
    ['0.50 ± 0.02', '< 0.01 ± 0.03', 'undefined']
    >>> spreads([0.0049, 0.0009], [0.02, 0.03]), spreads([0.5, -0.001], [0.02, float("nan")])
    (['0.0049 ± 0.0200', '0.0009 ± 0.0300'], ['0.50 ± 0.02', '> -0.01'])
    """
    means, stds = [*means], [*stds]
    digits, largest = decimals(stds), max((abs(mean) for mean in means if not math.isnan(mean)), default=0)
    if 0 < largest < 10.0**-digits:
        digits = 1 - math.floor(math.log10(largest))
    texts = [["undefined" if math.isnan(value) else _fixed(value, digits) for value in own] for own in (means, stds)]
    return [mean if math.isnan(std) else f"{mean} ± {shown}" for mean, shown, std in zip(*texts, stds, strict=True)]


def brackets(low: Any, high: Any, digits: int = 3) -> str:
    """Return an interval in brackets; empty if there is none."""
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]" if math.isfinite(low) else ""


def _fixed(value: float, digits: int) -> str:
    """Return a number to some decimals; one that would become 0 as a bound, such as "< 0.001"."""
    text, least = f"{value:z.{digits}f}", f"{10.0**-digits:.{digits}f}"
    return text if float(text) or value == 0 else f"< {least}" if value > 0 else f"> -{least}"


def between(values: Collection[int]) -> str:
    """Return the smallest and the largest of some integers as text, or the one value that all of them have.

    Examples
    --------
    >>> between([3, 10, 3]), between([5000, 5000])
    ('3 to 10', '5,000')
    """
    least, greatest = min(values), max(values)
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"


def cells(mask: DataFrame, n_labels: int = 1) -> frozenset[tuple[int, int]]:
    """Return the rows and columns of a table, whose first columns are labels, at which a data frame is true."""
    return frozenset((int(down), int(across) + n_labels) for down, across in np.argwhere(mask.to_numpy()))


def replaced(value: Any, text: Callable[[str], Any], mapping: Callable[[Mapping], Mapping] = lambda part: part) -> Any:
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


def scaling(svg: str) -> str:
    """Return an SVG that shrinks with the page, and is never larger than its `viewBox`, without superfluous parts."""
    sized = re.compile(r'(<svg[^>]*?) width="(\d+(?:\.\d+)?)" height="[^"]*"')
    svg = sized.sub(r'\1 style="width:100%;max-width:\2px"', svg, count=1)
    hidden = r'<path class="foreground"[^>]* display="none"/>'  # the names and roles of parts of one image are not read
    unused = rf'{hidden}| (?:aria-[a-z]+|role|pointer-events)="[^"]*"| class="(?!marks)[^"]*"| opacity="1"'
    svg = re.sub(unused, "", svg)
    return re.sub(r' (?:d|transform|x2|y2)="[^"]*"', lambda part: re.sub(r"(\.\d\d)\d+", r"\1", part[0]), svg)


class Description:
    """The texts, tables, figures and sections that ``page.yaml`` describes, by name.

    Every method fills in a template with `values`; all of them are strings, numbers or rows, as the file needs them.
    """

    def text(self, name: str, **values: Any) -> str:
        """Return a text."""
        return rendered(data_of("page.yaml")["texts"][name], **values)

    def table(
        self, name: str, rows: Iterable[Any], header: Sequence[str] = (), strong: Any = frozenset(), **values: Any
    ) -> Table:
        """Return a table; `values` are the variables of its caption.

        Parameters
        ----------
        name : str
        rows : iterable of mapping or of sequence of str
            For a table with ``columns``, the variables of its cells' templates; otherwise its cells.
        header, strong
            As for `protocol.scores.tables.Table`; the header of a table with ``columns`` are their names.
        """
        described = data_of("page.yaml")["tables"][name]
        columns, folded = described.get("columns", {}), described.get("folded", "")
        cells = [_cells(columns, row) if isinstance(row, Mapping) else list(row) for row in rows]
        header, n_labels = list(header or columns), described.get("n_labels", 1)
        return Table(name, rendered(described["caption"], **values), header, cells, n_labels, strong, folded=folded)

    def figure(
        self, name: str, data: Any, choices: Any = None, *, of: str = "", chart: Any = None, **values: Any
    ) -> Figure:
        """Return a figure; `values` are the variables of its title and of its sentence.

        Parameters
        ----------
        name, data, choices
            As for `Figure`.
        of : str, optional
            The name in the YAML file, if several figures have the same description; by default `name`.
        chart : mapping, optional
            The values of ``$name`` in the chart.
        """
        described = data_of("page.yaml")["figures"][of or name]
        title, shows = (rendered(described[key], **values) for key in ("title", "shows"))
        spec, folded = self.chart(of or name, **chart or {}), described.get("folded", False)
        return Figure(name, title, shows, spec, data, choices or {}, folded)

    def chart(self, name: str, **values: Any) -> dict[str, Any]:
        """Return the chart of a figure as a Vega-Lite specification without data, given the values of ``$name``."""
        return vega(data_of("page.yaml")["figures"][name]["chart"], values)

    def section(
        self, name: str, text: Any = (), figures: Any = (), tables: Any = (), context: Any = None, **values: Any
    ) -> Section:
        """Return a section; `values` are the variables of its title."""
        described = data_of("page.yaml")["sections"][name]
        title, template = rendered(described["title"], **values), described.get("template")
        return Section(name, title, text, figures, tables, template, context or {}, described.get("folded", False))


def _cells(columns: Mapping[str, str | None], row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row; a column without a template shows the value of its name."""
    return [str(row[name]) if cell is None else rendered(cell, **row) for name, cell in columns.items()]


@functools.cache
def _template(source: str) -> Any:
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701 - the page escapes every text
    filters = {"between": between, "counted": counted, "listed": listed, "number": rounded, "spreads": spreads}
    environment.filters |= filters | {"as": format}
    return environment.from_string(source)


def rendered(template: str, **values: Any) -> str:
    """Return a text with the values of its variables.

    Examples
    --------
    >>> rendered("{{ n | counted('run') }}, {{ share | as('.1%') }}", n=2, share=0.5)
    '2 runs, 50.0%'
    """
    return str(_template(template).render(values))


def series_scales(series: Mapping[str, str]) -> dict[str, Any]:
    """Return the scales of the colours and markers of the series that a chart shows.

    Parameters
    ----------
    series : mapping of str to str
        For each name that the figure shows, the name that determines its style, such as that of a hasher in the
        configuration.
    """
    colours, markers = zip(*map(styles(series.values()).__getitem__, series.values()), strict=True)
    return {part: {"domain": [*series], "range": [*own]} for part, own in (("colour", colours), ("shape", markers))}


def vega(value: Any, values: Mapping[str, Any]) -> Any:
    """Return a described chart as a Vega-Lite specification without data.

    Examples
    --------
    >>> vega({"x": "radius:O", "y": {"field": "value:Q", "title": "$title"}}, {"title": "mAP"})
    {'x': {'field': 'radius', 'type': 'ordinal'}, 'y': {'field': 'value', 'type': 'quantitative', 'title': 'mAP'}}
    """

    def text(value: str) -> Any:
        return values[value[1:]] if value.startswith("$") else _typed(value) or value

    return replaced(value, text, _in_full)


def _in_full(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a chart with the type of its field, its tooltip's fields, and its layers of lines."""
    typed = _typed(value.get("field"))
    full = typed | {key: part for key, part in value.items() if key != "field" or not typed}
    if "tooltip" in value:
        numbers = {"format": ".4~g"}
        full["tooltip"] = [_typed(one) | (numbers if one.endswith(":Q") else {}) for one in value["tooltip"]]
    if "layer" in value:
        layers = [_series_lines(**part["lines"]) if "lines" in part else [part] for part in value["layer"]]
        full["layer"] = list(itertools.chain(*layers))
    return full


def _typed(field: Any) -> dict[str, str]:
    """Return a field with its type, or {} if it is something else."""
    match = _FIELD.fullmatch(field) if isinstance(field, str) else None
    return {"field": match[1], "type": _TYPES[match[2]]} if match else {}


def _series_lines(x: Any, y: Any, order: str = "", **values: Any) -> list[dict[str, Any]]:
    """Return the layers that ``charts.yaml`` describes: lines and points of each hasher in its style, and its name."""
    across, up = (axis["field"].partition(":")[0] for axis in (x, y))
    values = {"shift": 0, "x": x, "y": y, "order": order or across} | values
    values |= {
        "across": f"scale('x', datum.{across})",
        "up": f"scale('y', datum.{up})",
        "defined": f"isValid(datum.{up})",
    }
    layers = data_of("charts.yaml")["lines"]
    return list(replaced(layers, lambda text: values.get(text[1:], text) if text[:1] == "$" else text))


PAGE = Description()
