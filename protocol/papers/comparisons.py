"""Comparisons of stored results: the key ``compare`` of a claim, a list of tables with these keys.

``rows``, ``statistics``, ``printed`` or ``from``
    The source: values of columns that rows of summaries must have (`Results.rows`); a dataset of counted statistics; a
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

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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
_MEAN = Mean._fields


def compared(tables: Sequence[Table], source: "Callable[[Table], tuple[pd.DataFrame, Collection[str]]]") -> Evidence:
    """Return the values of tables; `source` returns the rows of one, and the substitutes for the paper's data."""
    readings: dict[str, dict[str, Any]] = {}
    substitutes, of_tables = set[str](), dict[str, None]()
    for table in tables:
        rows, of_rows = source(table)
        points = _points(rows, table)
        if not len(points) or (table.get("shown") and not readings):
            continue
        each = table.get("each", [])
        for _, group in points.groupby(each, sort=False) if each else [(None, points)]:
            if len(group) >= table.get("points", 1):
                words = group.iloc[0].to_dict()
                reading = readings.setdefault(table.get("reading", AS_PRINTED).format(**words), {})
                for name, value in _values(group, table).items():
                    reading[name] = reading.pop(name) + value if name in reading else value
                substitutes |= set(of_rows)
                of_tables |= {table["substitute"]: None} if table.get("substitute") else {}
    return Evidence(readings, ", ".join([*of_tables, *sorted(substitutes)]))


def _points(rows: "pd.DataFrame", table: Table) -> "pd.DataFrame":
    """Return a row for each point at which all sides have a value."""
    by = ["folder", *COMBINATION]
    for column, pattern in table.get("matching", {}).items():
        rows = rows[rows[column].str.fullmatch(pattern)]
        words = rows.pop(column).str.extract(f"^(?:{pattern})$")
        numbers = {name: text.astype(float) for name, text in words.items() if not text.str.contains(r"\D").any()}
        rows = rows.assign(**dict(words.items()) | numbers)
        by = [name for name in by if name != column] + [*words]
    by = table.get("by", by)
    if table.get("best"):
        rows = rows.sort_values("mean", kind="stable")
    points: Any = None
    for name, columns in table["sides"].items():
        side = having(rows, **columns).drop_duplicates(by, keep="last").sort_index()
        if side.empty:
            return side
        fixed = [column for column, value in columns.items() if not isinstance(value, list)]
        side = side.drop(columns=[column for column in by if column in fixed or side[column].isna().all()])
        side = side.assign(**{_column(name, column): side[column] for column in _MEAN})
        keys = [column for column in by if column in side]
        if points is None:
            points = side
        else:
            shared = [column for column in keys if column in points]
            points = points.merge(side[[*keys, *(_column(name, column) for column in _MEAN)]], on=shared)
    for column in reversed(table.get("order", [])):
        listed = table.get("rows", {}).get(column)
        points = points.sort_values(column, kind="stable", key=lambda of: of.map(listed.index) if listed else of)
    by = [column for column in by if column in points]
    if "steps" in table:
        points = _steps(points, table["steps"], by)
    elif "pairs" in table:
        points = _pairs(points, [column for column in by if column != table["pairs"]])
    return points.query(table["only"], engine="python") if "only" in table else points


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
    rows, found = points.to_dict("records"), dict[str, Any]()
    for name, text in table["values"].items():
        aggregate, _, expression = text.partition(" of ")
        names = [name.format(**row) for row in rows]
        if aggregate == "number":
            found[names[0]] = len(rows)
        elif aggregate in ("difference", "decided count"):
            upper, lower, *bound = re.split(" - | > | <= ", expression)
            differences = [Difference.of_means(_mean(row, upper), _mean(row, lower)) for row in rows]
            if aggregate == "difference":
                found |= dict(zip(names, differences, strict=True))
            else:
                above = [difference.exceeds(float(bound[0])) for difference in differences]
                found[names[0]] = number_of([None if one is None else one is ("<=" not in expression) for one in above])
        elif aggregate == "each":
            found |= dict(zip(names, points.eval(expression, engine="python"), strict=True))
        elif aggregate == "mapping":
            found[names[0]] = dict(zip(points[table["by"][0]], points.eval(expression, engine="python"), strict=True))
        elif aggregate == "names":
            labels = [
                table["label"].format(**row) for row in points.query(expression, engine="python").to_dict("records")
            ]
            found |= {names[0]: ", ".join(labels)} if labels else {}
        else:
            found[names[0]] = AGGREGATES[aggregate](points.eval(expression, engine="python"))
    return found


def _mean(row: Mapping[Any, Any], side: str) -> Mean:
    return Mean(*(row[_column(side, column)] for column in _MEAN))
