"""What a page shows and says, as YAML files describe it: sentences, captions and headers of tables, and charts.

The files next to this module contain a section's title, a sentence or a caption as a Jinja template, and a chart as a
specification in Vega-Lite, so that each can be changed without Python. The sections compute the numbers.

In addition to Vega-Lite, a chart may contain

- ``name:Q``, ``name:O`` and ``name:N`` for a quantitative, ordinal or nominal field; in a tooltip, numbers have four
  significant digits;
- ``$name`` for a value that the section provides: ``$legend``, and the scales ``$colour``, ``$shape`` and
  ``$dodge`` of the series;
- a layer ``lines``, with ``x``, ``y``, ``tooltip`` and optionally ``by`` (the column of the series, ``hasher`` if it is
  missing), ``shift`` (an offset along x), ``order`` and ``size``, for a line and points of each series;
- ``usermeta: {rank: column}``, for series that legends and offsets have in the order of their means in this column, the
  largest first;
- ``{column}`` in a title for the reader's choice.
"""

import functools
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import counted
from protocol.report.figure import PAGE_WIDTH, Figure, Section, between, listed, number, replaced, spread
from protocol.scores.tables import Table
from protocol.styles import KEY, styles

PACKAGE_DATA = "page.yaml"

_TYPES = {"Q": "quantitative", "O": "ordinal", "N": "nominal"}
_FIELD = re.compile("([a-z_A-Z]+):([QON])")
_DIGITS = {"format": ".4~g"}


class Description:
    """The texts, tables, figures and sections that a YAML file describes, by name.

    Every method fills in a template with `values`; all of them are strings, numbers or rows, as the file needs them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @functools.cached_property
    def _content(self) -> dict[str, dict[str, Any]]:
        import yaml

        return dict(yaml.safe_load(self._path.read_text(encoding="utf-8")))

    def text(self, name: str, **values: Any) -> str:
        """Return a text."""
        return filled(self._content["texts"][name], **values)

    def table(
        self, name: str, rows: Iterable[Sequence[str] | Mapping[str, Any]], *, of: str | None = None, **values: Any
    ) -> Table:
        """Return a table.

        Parameters
        ----------
        name : str
        rows : iterable of mapping or of sequence of str
            For a table with ``columns``, the variables of its cells' templates; otherwise its cells.
        of : str, optional
            The name in the YAML file, if several tables have the same description; by default `name`.
        **values
            The variables of the caption, and, in place of what the file states, other parameters of `Table`.
        """
        described = self._content["tables"][of or name]
        header, strong = values.pop("header", list(described.get("columns", ()))), values.pop("strong", frozenset())
        n_labels = values.pop("n_labels", described.get("n_labels", 1))
        cells = [list(row) if not isinstance(row, Mapping) else _cells(described["columns"], row) for row in rows]
        return Table(
            name,
            filled(described["caption"], **values),
            header,
            cells,
            n_labels,
            strong,
            folded=described.get("folded", ""),
        )

    def figure(
        self,
        name: str,
        data: Any,
        choices: Mapping[str, Any] | None = None,
        *,
        of: str | None = None,
        chart: Mapping[str, Any] | None = None,
        sentences: Mapping[str, str] | None = None,
        inches: float = PAGE_WIDTH,
        **values: Any,
    ) -> Figure:
        """Return a figure.

        Parameters
        ----------
        name, data, choices, sentences, inches
            As for `protocol.report.figure.Figure`.
        of : str, optional
            The name in the YAML file, if several figures have the same description; by default `name`.
        chart : mapping, optional
            The values of ``$name`` in the chart.
        **values
            The variables of the title and of the sentence.
        """
        described = self._content["figures"][of or name]
        title, shows = (filled(described[key], **values) for key in ("title", "shows"))
        spec = functools.partial(vega, described["chart"], chart or {})
        folded = described.get("folded", False)
        return Figure(name, title, shows, spec, data, choices or {}, folded, inches, sentences or {})

    def chart(self, name: str, **values: Any) -> dict[str, Any]:
        """Return the chart of a figure as a Vega-Lite specification without data, given the values of ``$name``."""
        return vega(self._content["figures"][name]["chart"], values)

    def section(
        self,
        name: str,
        text: Sequence[str] = (),
        figures: Sequence[Figure] = (),
        tables: Sequence[Table] = (),
        context: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> Section:
        """Return a section; `values` are the variables of its title."""
        described = self._content["sections"][name]
        title, template = filled(described["title"], **values), described.get("template")
        return Section(name, title, text, figures, tables, template, context or {}, described.get("folded", False))


def _cells(columns: Mapping[str, str | None], row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row; a column without a template shows the value of its name."""
    return [str(row[name]) if cell is None else filled(cell, **row) for name, cell in columns.items()]


@functools.cache
def _template(source: str) -> Any:
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701 - the page escapes every text
    filters = {"between": between, "counted": counted, "listed": listed, "number": number, "spread": spread}
    environment.filters |= filters | {"as": format}
    return environment.from_string(source)


def filled(template: str, **values: Any) -> str:
    """Return a text with the values of its variables.

    Examples
    --------
    >>> filled("{{ n | counted('run') }}, {{ share | as('.1%') }}", n=2, share=0.5)
    '2 runs, 50.0%'
    """
    return str(_template(template).render(values))


def series_scales(series: Iterable[str] | Mapping[str, str], **legend: Any) -> dict[str, Any]:
    """Return the values of a chart that depend on its series: their scales and a legend of lines with their markers.

    Parameters
    ----------
    series : iterable of str, or mapping of str to str
        The names that the figure shows; of a mapping, the values determine the styles, such as the names of the
        hashers in the configuration.
    **legend
        Further properties of the legend.
    """
    shown = dict(series) if isinstance(series, Mapping) else {name: name for name in series}
    of_name = styles(shown.values())
    own = [of_name[name] for name in shown.values()]
    parts = {"colour": [style.colour for style in own], "shape": [style.marker for style in own]}
    keys = json.dumps({name: style.key for name, style in zip(shown, own, strict=True)})
    return {
        **{part: {"domain": list(shown), "range": values} for part, values in parts.items()},
        "dodge": {"domain": list(shown)},
        "legend": {"symbolType": {"expr": f"{keys}[datum.value]"}, **KEY, **legend},
    }


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
    full = (typed or {}) | {key: part for key, part in value.items() if not (key == "field" and typed)}
    if "tooltip" in value:
        full["tooltip"] = [_tooltip(field) for field in value["tooltip"]]
    if "layer" in value:
        layers = [_series_lines(**part["lines"]) if "lines" in part else [part] for part in value["layer"]]
        full["layer"] = list(itertools.chain(*layers))
    return full


def _typed(field: Any) -> dict[str, str] | None:
    """Return a field with its type, or None if it is something else."""
    match = _FIELD.fullmatch(field) if isinstance(field, str) else None
    return {"field": match[1], "type": _TYPES[match[2]]} if match else None


def _tooltip(field: str) -> dict[str, str]:
    return {**(_typed(field) or {})} | (_DIGITS if field.endswith(":Q") else {})


def _series_lines(
    x: Any, y: Any, tooltip: Sequence[str] = (), by: str = "hasher", shift: Any = None, order: Any = None, **points: Any
) -> list[dict[str, Any]]:
    """Return the layers of lines and points, each series in its style; `points` are properties of the points.

    The symbols of the legend of the colours also have the markers. Vega-Lite ignores the missing legend of the shapes
    unless the chart resolves it independently.
    """
    series = {"field": f"{by}:N", "title": None}
    shared = {"x": x, "y": y, "color": series | {"scale": "$colour", "legend": "$legend"}}
    shared |= {"xOffset": shift} if shift else {}
    line = {"order": order} if order else {}
    shape = {"shape": series | {"scale": "$shape", "legend": None}} | ({"tooltip": tooltip} if tooltip else {})
    mark = {"type": "point", "filled": True, "opacity": 1, **points}
    return [{"mark": "line", "encoding": shared | line}, {"mark": mark, "encoding": shared | shape}]


PAGE = Description(Path(__file__).with_name(PACKAGE_DATA))
