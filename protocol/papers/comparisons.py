"""Comparisons of stored results: the key ``compare`` of a claim, a list of tables with these keys.

``rows``, ``statistics``, ``printed`` or ``from``
    The source: values of columns that rows of summaries must have (`Results.frame`); a dataset of counted statistics; a
    claim whose expected values are compared; or a function in the paper's folder that returns rows and the substitutes
    for the paper's data, given the results and ``arguments``.
``matching``
    For a column, a regular expression that its values must match; it is replaced by columns for the named groups.
``sides``
    By name, the values of columns that a row must have. Sides are joined on all other columns of ``by``, by default the
    table and the combination of the row; a column of ``by`` that a side lacks, such as a radius, does not matter to it.
``best``, ``order``
    Whether a side is the row with the largest mean instead of the last one; the columns by which points are ordered.
``steps``, ``pairs``
    A column of ``by``: a point is compared with the next one along it (whose values end in ``_next``), or with every
    other one that differs only in it (``_other``).
``only``, ``points``
    A condition for points; the fewest points for which there are values.
``each``, ``reading``
    Columns that separate points, and the text of a reading. Their values are inserted into it, and into the names.
``values``
    By name, ``number`` of points; or one of `AGGREGATES` of an expression in sides and columns, such as ``count of
    worst > best``. ``each of`` is a value for every point, ``mapping of`` has them by the first column of ``by``,
    ``difference of a - b`` has an interval, ``decided count of a - b > 0.01`` (or ``<=``) counts such
    differences, and ``names of`` lists points as in ``label``.
``shown``
    Whether the table only adds to the values of earlier ones. Numbers with the same name add up.
``substitute``
    The substitute for the paper's data.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, one_of
from protocol.papers.claim import AS_PRINTED, Difference, Evidence, number_of
from protocol.papers.results import Mean, having
from protocol.scores.summary import COMBINATION

if TYPE_CHECKING:
    import pandas as pd

Table = Mapping[str, Any]

AGGREGATES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "count": lambda values: int(values.sum()),
        "share": lambda values: float(values.mean()),
        "tally": lambda values: f"{values.sum()} of {len(values)}",
        "largest": lambda values: values.max(),
        "smallest": lambda values: values.min(),
        "median": lambda values: float(values.median()),
        "list": lambda values: values.tolist(),
    }
)
_AGGREGATES = (*AGGREGATES, "number", "each", "mapping", "difference", "decided count", "names")
_SOURCES = ("rows", "statistics", "printed", "from")
_KEYS = (
    *(*_SOURCES, "arguments", "matching", "sides", "by", "best", "order", "steps", "pairs", "only", "points"),
    *("each", "reading", "values", "label", "shown", "substitute"),
)
_MEAN = Mean._fields


def compared(tables: Sequence[Table], source: "Callable[[Table], tuple[pd.DataFrame, Collection[str]]]") -> Evidence:
    """Return the values of tables; `source` returns the rows of one, and the substitutes for the paper's data.

    Raises
    ------
    ProtocolError
        If a key, a column or an expression of a table is wrong. The message names it.
    """
    readings: dict[str, dict[str, Any]] = {}
    substitutes, of_tables = set[str](), dict[str, None]()
    for table in tables:
        _check(table)
        rows, of_rows = source(table)
        groups = _groups(rows, table)
        for group in groups if readings or not table.get("shown") else ():
            with _explained("reading", text := table.get("reading", AS_PRINTED)):
                reading = readings.setdefault(text.format(**group.iloc[0].to_dict()), {})
            for name, value in _values(group, table).items():
                reading[name] = reading.pop(name) + value if name in reading else value
            substitutes |= set(of_rows)
            of_tables |= {table["substitute"]: None} if table.get("substitute") else {}
    return Evidence(readings, ", ".join([*of_tables, *sorted(substitutes)]))


def _check(table: Table) -> None:
    for key in table:
        one_of(key, _KEYS, "key in compare")
    missing = [key for key in ("sides", "values") if key not in table]
    if missing or not any(key in table for key in _SOURCES):
        raise ProtocolError(f"compare: the key {' or '.join(missing or _SOURCES)} is missing.")
    for name, text in table["values"].items():
        one_of(text.partition(" of ")[0], _AGGREGATES, f"aggregate of {name!r}")


@contextlib.contextmanager
def _explained(key: str, expression: str) -> Iterator[None]:
    """Turn an error of an expression into a ProtocolError that contains the expression."""
    try:
        yield
    except (KeyError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise ProtocolError(f"{key}: {expression!r} can't be computed: {' '.join(str(error).split())}.") from error


def _groups(rows: "pd.DataFrame", table: Table) -> "list[pd.DataFrame]":
    """Return the points of a table, separated by the columns ``each``; groups of too few points are left out."""
    points = _points(rows, table)
    each = table.get("each")
    groups = [group for _, group in points.groupby(each, sort=False)] if each and len(points) else [points]
    return [group for group in groups if len(group) >= table.get("points", 1)]


def _points(rows: "pd.DataFrame", table: Table) -> "pd.DataFrame":
    """Return a row for each point at which all sides have a value."""
    rows, by = _matched(rows, table)
    for column in (*by, *table.get("order", ()), *table.get("each", ())):
        one_of(column, rows.columns, "column in compare")
    points = _joined(rows, table, by)
    if points.empty:
        return points
    for column in reversed(table.get("order", [])):
        listed = table.get("rows", {}).get(column)
        points = points.sort_values(column, kind="stable", key=lambda of: of.map(listed.index) if listed else of)
    by = [column for column in by if column in points]
    if "steps" in table:
        points = _steps(points, one_of(table["steps"], rows.columns, "column in steps"), by)
    elif "pairs" in table:
        one_of(table["pairs"], rows.columns, "column in pairs")
        points = _pairs(points, [column for column in by if column != table["pairs"]])
    if "only" not in table:
        return points
    with _explained("only", table["only"]):
        return points.query(table["only"], engine="python")


def _matched(rows: "pd.DataFrame", table: Table) -> "tuple[pd.DataFrame, list[str]]":
    """Return the rows that match ``matching``, with columns for the named groups, and the columns of a point."""
    by = ["folder", *COMBINATION]
    for column, pattern in table.get("matching", {}).items():
        text = rows[one_of(column, rows.columns, "column in matching")].astype(str)
        rows = rows[text.str.fullmatch(pattern)].drop(columns=column)
        words = text[rows.index].str.extract(f"^(?:{pattern})$")
        numbers = {name: text.astype(float) for name, text in words.items() if not text.str.contains(r"\D").any()}
        rows = rows.assign(**dict(words.items()) | numbers)
        by = [name for name in by if name != column] + [*words]
    return rows, table.get("by", by)


def _joined(rows: "pd.DataFrame", table: Table, by: Sequence[str]) -> "pd.DataFrame":
    """Return the points at which all sides have a row, with a column for the mean of each; empty if a side is."""
    if table.get("best"):
        rows = rows.sort_values("mean", kind="stable")
    points: Any = None
    for name, columns in table["sides"].items():
        side = having(rows, **columns).drop_duplicates(by, keep="last").sort_index()
        if side.empty:
            return side
        fixed = [column for column, value in columns.items() if not isinstance(value, list)]
        side = side.drop(columns=[column for column in by if column in fixed or side[column].isna().all()])
        means = [_column(name, column) for column in _MEAN]
        side[means] = side[[*_MEAN]]
        if points is None:
            points = side
        else:
            keys = [column for column in by if column in side]
            points = points.merge(side[[*keys, *means]], on=[*points.columns.intersection(keys, sort=False)])
    return points


def _column(side: str, column: str) -> str:
    return side if column == "mean" else f"{side}_{column}"


def _steps(points: "pd.DataFrame", along: str, by: Sequence[str]) -> "pd.DataFrame":
    """Return all points but the last ones along a column, each with the values of the next one."""
    if along not in points:
        return points[:0]
    shared = [column for column in by if column != along]
    points = points.sort_values([*shared, along], kind="stable")
    groups = points.groupby(shared, sort=False)
    return points.join(groups.shift(-1).add_suffix("_next"))[groups.cumcount(ascending=False) > 0]


def _pairs(points: "pd.DataFrame", shared: list[str]) -> "pd.DataFrame":
    """Return all pairs of points with the same values in some columns."""
    points = points.assign(position=range(len(points)))
    return points.merge(points, on=shared, suffixes=("", "_other")).query("position < position_other")


def _values(points: "pd.DataFrame", table: Table) -> dict[str, Any]:
    """Return the values of points by name."""
    rows, values = points.to_dict("records"), dict[str, Any]()
    for name, text in table["values"].items():
        aggregate, _, expression = text.partition(" of ")
        with _explained(name, text):
            names = [name.format(**row) for row in rows]
            if aggregate == "each":
                values |= dict(zip(names, points.eval(expression, engine="python"), strict=True))
            elif aggregate == "difference":
                values |= dict(zip(names, _differences(rows, *expression.split(" - ")), strict=True))
            elif (value := _aggregated(aggregate, expression, points, table)) != "":
                values[names[0]] = value
    return values


def _aggregated(aggregate: str, expression: str, points: "pd.DataFrame", table: Table) -> Any:
    """Return the value of all points together; a list of names may be empty."""
    if aggregate == "number":
        return len(points)
    if aggregate == "decided count":
        upper, lower, bound = re.split(" - | > | <= ", expression)
        above = [one.exceeds(float(bound)) for one in _differences(points.to_dict("records"), upper, lower)]
        return number_of([None if one is None else one is ("<=" not in expression) for one in above])
    if aggregate == "names":
        rows = points.query(expression, engine="python").to_dict("records")
        return ", ".join(table["label"].format(**row) for row in rows)
    numbers = points.eval(expression, engine="python")
    if aggregate == "mapping":
        return dict(zip(points[table["by"][0]], numbers, strict=True))
    return AGGREGATES[aggregate](numbers)


def _differences(rows: Sequence[Mapping[Any, Any]], upper: str, lower: str) -> list[Difference]:
    return [Difference.of_means(_mean(row, upper), _mean(row, lower)) for row in rows]


def _mean(row: Mapping[Any, Any], side: str) -> Mean:
    return Mean(*(row[_column(side, column)] for column in _MEAN))
