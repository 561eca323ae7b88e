"""Comparisons of stored results: the key ``compare`` of a claim, a list of tables with these keys.

``rows`` or ``statistics``
    The source: the values that columns of summaries must have (`Results.frame`), or a dataset of counted statistics.
``matching``
    For a column, a regular expression that its values must match. Columns for its named groups replace it, with NaN for
    an empty group.
``rename``
    For a column, other names of its values.
``paper``, ``otherwise``
    The values of columns with the paper's data or training. If there are points with them, only these count; if not,
    those with the values ``otherwise`` count, and are a substitute.
``fullest``
    Columns that separate tables: only the rows of the one with the most hashers count.
``sides``
    By name, the values of columns that a row must have. Sides are joined on all other columns of ``by``, by default the
    folder and the combination of the row. A column of ``by`` that a side lacks, such as a radius, is not compared.
``best``, ``order``
    Whether a side is the row with the largest mean instead of the last one; the columns by which points are ordered.
``steps``, ``pairs``
    A column of ``by``: a point is compared with the next one along it (whose values end in ``_next``), or with every
    other one that differs only in it (``_other``). The values that ``rows`` lists for a column are in this order.
``only``, ``points``
    A condition for points; the fewest points for which there are values.
``each``, ``reading``
    Columns that separate points, and the text of a reading. Their values are inserted into it, and into the names.
``values``
    By name, a number, ``number`` of points, or one of `AGGREGATES` of an expression in sides and columns, such as
    ``count of worst > best``. ``each of`` is a value for every point; ``difference of a - b`` has an interval, as has
    ``largest difference of a``; ``decided count of a - b > 0.01`` (or ``<=``) counts such differences. Numbers with the
    same name add up.
``substitute``
    The substitute for the paper's data, if no rows are the paper's.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, one_of
from protocol.papers.results import Difference, Mean, Results, having
from protocol.scores.summary import COMBINATION

if TYPE_CHECKING:
    import pandas as pd

Table = Mapping[str, Any]

AS_PRINTED = "as printed"
"""The reading that a paper itself states; other readings are conventions that it does not define, or corrections."""

AGGREGATES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "count": lambda values: int(values.sum()),
        "share": lambda values: float(values.mean()),
        "largest": lambda values: values.max(),
        "smallest": lambda values: values.min(),
        "median": lambda values: float(values.median()),
        "list": lambda values: values.tolist(),
    }
)
_AGGREGATES = (*AGGREGATES, "number", "each", "difference", "largest difference", "decided count")
_KEYS = (
    *("rows", "statistics", "matching", "rename", "paper", "otherwise", "fullest", "sides", "by", "best", "order"),
    *("steps", "pairs", "only", "points", "each", "reading", "values", "substitute"),
)


def compared(tables: Sequence[Table], results: Results) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the values of tables by reading and name, and the substitutes for the paper's data.

    Raises
    ------
    ProtocolError
        If a key, a column or an expression of a table is wrong. The message names it.
    """
    readings: dict[str, dict[str, Any]] = {}
    substitutes: dict[str, None] = {}
    for table in tables:
        points, is_substitute = _points(table, results)
        each = table.get("each")
        groups = [group for _, group in points.groupby(each, sort=False)] if each and len(points) else [points]
        for group in groups:
            if len(group) < table.get("points", 1):
                continue
            with _explained("reading", text := table.get("reading", AS_PRINTED)):
                reading = readings.setdefault(text.format(**group.iloc[0].to_dict()), {})
            for name, value in _values(group, table).items():
                reading[name] = reading.pop(name) + value if name in reading else value
            if is_substitute and table.get("substitute"):
                substitutes[table["substitute"]] = None
    return readings, ", ".join(substitutes)


@contextlib.contextmanager
def _explained(key: str, expression: str) -> Iterator[None]:
    """Turn an error of an expression into a ProtocolError that contains the expression."""
    try:
        yield
    except (KeyError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise ProtocolError(f"{key}: {expression!r} can't be computed: {' '.join(str(error).split())}.") from error


def _points(table: Table, results: Results) -> "tuple[pd.DataFrame, bool]":
    """Return a row for each point at which all sides have a value, and whether the rows are a substitute."""
    for key in table:
        one_of(key, _KEYS, "key in compare")
    if missing := [key for key in ("sides", "values") if key not in table]:
        raise ProtocolError(f"compare: the key {missing[0]} is missing.")
    statistics = table.get("statistics")
    rows = results.statistics(statistics) if statistics else results.frame(**table["rows"])
    rows, by = _matched(rows, table)
    along = [table[key] for key in ("steps", "pairs") if table.get(key)]
    for column in (*by, *along, *table.get("order", ()), *table.get("each", ())):
        one_of(column, rows.columns, "column in compare")
    if "paper" in table and len(points := _points_of(having(rows, **table["paper"]), table, by)):
        return points, False
    return _points_of(having(rows, **table.get("otherwise", {})), table, by), True


def _points_of(rows: "pd.DataFrame", table: Table, by: Sequence[str]) -> "pd.DataFrame":
    if "fullest" in table and len(rows):
        fullest = rows.groupby(table["fullest"], sort=False)["hasher"].nunique().idxmax()
        rows = having(rows, **dict(zip(table["fullest"], fullest, strict=True)))
    points = _joined(rows, table, by)
    if points.empty:
        return points
    points = _sorted(points, table.get("order", []), table)
    by = [column for column in by if column in points]
    if table.get("steps"):
        points = _steps(points, table["steps"], by, table)
    elif table.get("pairs"):
        points = points.assign(position=range(len(points)))
        shared = [column for column in by if column != table["pairs"]]
        points = points.merge(points, on=shared, suffixes=("", "_other")).query("position < position_other")
    if "only" in table:
        with _explained("only", table["only"]):
            points = points.query(table["only"], engine="python")
    return points


def _matched(rows: "pd.DataFrame", table: Table) -> "tuple[pd.DataFrame, list[str]]":
    """Return the rows that match, with columns for the named groups and other names, and the columns of a point."""
    by = ["folder", *COMBINATION]
    for column, pattern in table.get("matching", {}).items():
        text = rows[one_of(column, rows.columns, "column in matching")].astype(str)
        rows = rows[text.str.fullmatch(pattern)].drop(columns=column)
        words = text[rows.index].str.extract(f"^(?:{pattern})$").replace("", None)
        numbers = {name: text.astype(float) for name, text in words.items() if not text.str.contains(r"\D").any()}
        rows = rows.assign(**dict(words.items()) | numbers)
        by = [name for name in by if name != column] + [*words]
    return rows.replace(table.get("rename", {})), table.get("by", by)


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
        means = [_column(name, column) for column in Mean._fields]
        side[means] = side[[*Mean._fields]]
        if points is None:
            points = side
        else:
            keys = [column for column in by if column in side]
            points = points.merge(side[[*keys, *means]], on=[*points.columns.intersection(keys, sort=False)])
    return points


def _column(side: str, column: str) -> str:
    return side if column == "mean" else f"{side}_{column}"


def _sorted(points: "pd.DataFrame", columns: Sequence[str], table: Table) -> "pd.DataFrame":
    """Return points sorted by columns; a column whose values ``rows`` lists has their order."""
    for column in reversed(columns):
        listed = table.get("rows", {}).get(column)
        in_order = isinstance(listed, list)
        points = points.sort_values(column, kind="stable", key=lambda of: of.map(listed.index) if in_order else of)
    return points


def _steps(points: "pd.DataFrame", along: str, by: Sequence[str], table: Table) -> "pd.DataFrame":
    """Return all points but the last ones along a column, each with the values of the next one."""
    if along not in points:
        return points[:0]
    shared = [column for column in by if column != along]
    points = _sorted(points, [*shared, along], table)
    groups = points.groupby(shared, sort=False)
    return points.join(groups.shift(-1).add_suffix("_next"))[groups.cumcount(ascending=False) > 0]


def _values(points: "pd.DataFrame", table: Table) -> dict[str, Any]:
    """Return the values of points by name."""
    rows, values = points.to_dict("records"), dict[str, Any]()
    for name, text in table["values"].items():
        if not isinstance(text, str):
            values[name] = text
            continue
        aggregate, _, expression = text.partition(" of ")
        one_of(aggregate, _AGGREGATES, f"aggregate of {name!r}")
        with _explained(name, text):
            names = [name.format(**row) for row in rows]
            if aggregate == "number":
                values[names[0]] = len(points)
            elif aggregate == "each":
                values |= dict(zip(names, points.eval(expression, engine="python"), strict=True))
            elif aggregate == "difference":
                values |= dict(zip(names, _differences(rows, *expression.split(" - ")), strict=True))
            elif aggregate == "largest difference":
                values[names[0]] = max(_differences(rows, expression), key=lambda one: abs(one.mean))
            elif aggregate == "decided count":
                values[names[0]] = _decided_count(rows, expression)
            else:
                values[names[0]] = AGGREGATES[aggregate](points.eval(expression, engine="python"))
    return values


def _decided_count(rows: Sequence[Mapping[Any, Any]], expression: str) -> int | str:
    """Return for how many points a difference is above a bound, or is not; a text if none is and some are undecided."""
    upper, lower, bound = re.split(" - | > | <= ", expression)
    above = [one.exceeds(float(bound)) for one in _differences(rows, upper, lower)]
    outcomes = [None if one is None else one is ("<=" not in expression) for one in above]
    undecided = None in outcomes and True not in outcomes
    return f"no difference shown at {outcomes.count(None)}" if undecided else outcomes.count(True)


def _differences(rows: Sequence[Mapping[Any, Any]], *sides: str) -> list[Difference]:
    """Return the difference of two sides at each point, or the interval of one side that is a difference itself."""
    return [
        Difference.of_means(*(Mean(*(row[_column(one, c)] for c in Mean._fields)) for one in sides)) for row in rows
    ]
