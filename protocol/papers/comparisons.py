"""The results by which claims are judged, and their comparison: the key ``compare`` of a claim, a list of `Comparison`.

Results are summary tables of experiments, and stored reference results.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from protocol import registry
from protocol.checks import ProtocolError
from protocol.scores.statistics import shared_variance
from protocol.scores.summary import COMBINATION, REQUIRED, at, summary_of
from protocol.scores.tables import DataFrame, read_text

LEADERBOARD = ("reference", "cifar10", "summary.csv")
"""The stored leaderboard, which is no evidence on claims: its options are the same in all runs, not selected."""
AS_PRINTED = "as printed"
"""The reading that a paper itself states; other readings are conventions that it does not define, or corrections."""
_AGGREGATES = {"share": "mean", "largest": "max", "smallest": "min", "count": "sum", "median": "median"}
"""The methods of pandas that compute a number from the values of an expression."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of stored results.

    Parameters
    ----------
    rows, statistics
        The source: the values that columns of summaries must have (`Results.frame`), or a dataset of counted
        statistics.
    matching
        For a column, a regular expression that its values must match. Columns for its named groups replace it, with NaN
        for an empty group.
    rename
        For a column, other names of its values.
    paper, otherwise
        The values of columns with the paper's data or training. If there are points with them, only these count; if
        not, those with the values ``otherwise`` count, and are a substitute.
    fullest
        Columns that separate tables: only the rows of the one with the most hashers count.
    sides
        By name, the values of columns that a row must have. Sides are joined on all other columns of ``by``, by default
        the folder and the combination of the row. A column of ``by`` that a side lacks, such as a radius, is not
        compared.
    best, order
        Whether a side is the row with the largest mean instead of the last one; the columns by which points are
        ordered.
    steps, pairs
        A column of ``by``: a point is compared with the next one along it (whose values end in ``_next``), or with
        every other one that differs only in it (``_other``). The values that ``rows`` lists for a column are in this
        order.
    only, points
        A condition for points; the fewest points for which there are values.
    each, reading
        Columns that separate points, and the text of a reading. Their values are inserted into it, and into the names.
    values
        By name, a number, ``number`` of points, or an aggregate of an expression in sides and columns, such as
        ``count of worst > best``: ``count``, ``share``, ``largest``, ``smallest``, ``median`` or ``list``. ``each of``
        is a value for every point; ``difference of a - b`` has an interval, as has ``largest difference of a``;
        ``decided count of a - b > 0.01`` (or ``<=``) counts such differences. Numbers with the same name add up.
    substitute
        The substitute for the paper's data, if no rows are the paper's.
    """

    sides: Mapping[str, Mapping[str, Any]]
    values: Mapping[str, Any]
    rows: Mapping[str, Any] = field(default_factory=dict)
    statistics: str = ""
    matching: Mapping[str, str] = field(default_factory=dict)
    rename: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    paper: Mapping[str, Any] | None = None
    otherwise: Mapping[str, Any] = field(default_factory=dict)
    fullest: Sequence[str] = ()
    by: Sequence[str] = ()
    best: bool = False
    order: Sequence[str] = ()
    steps: str = ""
    pairs: str = ""
    only: str = ""
    points: int = 1
    each: Sequence[str] = ()
    reading: str = AS_PRINTED
    substitute: str = ""


def compared(entries: Sequence[Mapping[str, Any]], results: "Results") -> tuple[dict[str, dict[str, Any]], str]:
    """Return the values of comparisons by reading and name, and the substitutes for the paper's data."""
    readings, substitutes = dict[str, dict[str, Any]](), dict[str, None]()
    for table in (Comparison(**entry) for entry in entries):
        points, is_substitute = _points(table, results)
        groups = [group for _, group in points.groupby(table.each, sort=False)] if table.each else [points]
        for group in groups:
            if len(group) < max(1, table.points):
                continue
            reading = readings.setdefault(table.reading.format(**group.iloc[0].to_dict()), {})
            for name, value in _values(group, table).items():
                reading[name] = reading.pop(name) + value if name in reading else value
            substitutes |= dict.fromkeys([table.substitute] * is_substitute)
    return readings, ", ".join(filter(None, substitutes))


def _points(table: Comparison, results: "Results") -> tuple[DataFrame, bool]:
    """Return a row for each point at which all sides have a value, and whether the rows are a substitute."""
    rows = results.statistics(table.statistics) if table.statistics else results.frame(**table.rows)
    rows, by = _matched(rows, table)
    if table.paper is not None and len(points := _points_of(at(rows, **table.paper), table, by)):
        return points, False
    return _points_of(at(rows, **table.otherwise), table, by), True


def _points_of(rows: DataFrame, table: Comparison, by: Sequence[str]) -> DataFrame:
    if table.fullest and len(rows):
        fullest = rows.groupby(table.fullest, sort=False)["hasher"].nunique().idxmax()
        rows = at(rows, **dict(zip(table.fullest, fullest, strict=True)))
    points = _joined(rows, table, by)
    if points.empty:
        return points.assign(**dict.fromkeys(table.each))
    points = _sorted(points, table.order, table)
    shared = [column for column in by if column in points and column not in (table.steps, table.pairs)]
    if table.steps:
        points = _steps(points, shared, table)
    elif table.pairs:
        points = points.assign(position=range(len(points)))
        points = points.merge(points, on=shared, suffixes=("", "_other")).query("position < position_other")
    return points.query(table.only, engine="python") if table.only else points


def _matched(rows: DataFrame, table: Comparison) -> tuple[DataFrame, list[str]]:
    """Return the rows that match, with columns for the named groups and other names, and the columns of a point."""
    by = ["folder", *COMBINATION]
    for column, pattern in table.matching.items():
        text = rows[column].astype(str)
        rows = rows[text.str.fullmatch(pattern)].drop(columns=column)
        words = text[rows.index].str.extract(f"^(?:{pattern})$").replace("", None)
        numbers = {name: text.astype(float) for name, text in words.items() if not text.str.contains(r"\D").any()}
        rows = rows.assign(**dict(words.items()) | numbers)
        by = [name for name in by if name != column] + [*words]
    return rows.replace(table.rename), list(table.by) or by


def _joined(rows: DataFrame, table: Comparison, by: Sequence[str]) -> DataFrame:
    """Return the points at which all sides have a row, with a column for the mean of each; empty if a side is."""
    rows = rows.sort_values("mean", kind="stable") if table.best else rows
    points: Any = None
    for name, columns in table.sides.items():
        side = at(rows, **columns).drop_duplicates(by, keep="last").sort_index()
        if side.empty:
            return side
        fixed = [column for column, value in columns.items() if not isinstance(value, list)]
        side = side.drop(columns=[column for column in by if column in fixed or side[column].isna().all()])
        side[_columns(name)] = side[[*Mean._fields]]
        keys = [column for column in by if column in side]
        right = side[[*keys, *_columns(name)]]
        points = side if points is None else points.merge(right, on=[column for column in points if column in keys])
    return points


def _columns(side: str) -> list[str]:
    """Return the columns of a side: its mean, which has the name of the side, and the others of `Mean`."""
    return [side, *(f"{side}_{column}" for column in Mean._fields[1:])]


def _sorted(points: DataFrame, columns: Sequence[str], table: Comparison) -> DataFrame:
    """Return points sorted by columns; a column whose values ``rows`` lists has their order."""
    for column in reversed(columns):
        listed = table.rows.get(column)
        ranks = {value: rank for rank, value in enumerate(listed)} if isinstance(listed, list) else None
        points = points.sort_values(column, kind="stable", key=lambda of: of.map(ranks) if ranks else of)
    return points


def _steps(points: DataFrame, shared: Sequence[str], table: Comparison) -> DataFrame:
    """Return all points but the last ones along the column ``steps``, each with the values of the next one."""
    if table.steps not in points:
        return points[:0]
    points = _sorted(points, [*shared, table.steps], table)
    groups = points.groupby(shared, sort=False)
    return points.join(groups.shift(-1).add_suffix("_next"))[groups.cumcount(ascending=False) > 0]


def _values(points: DataFrame, table: Comparison) -> dict[str, Any]:
    """Return the values of points by name."""
    rows, values = points.to_dict("records"), dict[str, Any]()
    for name, text in table.values.items():
        if not isinstance(text, str):
            values[name] = text
            continue
        aggregate, _, expression = text.partition(" of ")
        value = _aggregate(points, rows, aggregate, expression)
        names = [name.format(**row) for row in rows]
        values |= dict(zip(names, value, strict=True)) if aggregate in ("each", "difference") else {names[0]: value}
    return values


def _aggregate(points: DataFrame, rows: Sequence[Mapping[Any, Any]], aggregate: str, expression: str) -> Any:
    """Return an aggregate of an expression: for ``each`` and ``difference`` a value of each point."""
    match aggregate:
        case "number":
            return len(points)
        case "difference":
            return _differences(rows, *expression.split(" - "))
        case "largest difference":
            return max(_differences(rows, expression), key=lambda one: abs(one.mean))
        case "decided count":
            return _decided_count(rows, expression)
    values = points.eval(expression, engine="python")
    return values.tolist() if aggregate in ("each", "list") else getattr(values, _AGGREGATES[aggregate])().item()


def _decided_count(rows: Sequence[Mapping[Any, Any]], expression: str) -> int | str:
    """Return for how many points a difference is above a bound, or is not; a text if none is and some are undecided."""
    upper, lower, bound = re.split(" - | > | <= ", expression)
    above = [one.exceeds(float(bound)) for one in _differences(rows, upper, lower)]
    outcomes = [None if one is None else one is ("<=" not in expression) for one in above]
    undecided = None in outcomes and True not in outcomes
    return f"no difference shown at {outcomes.count(None)}" if undecided else outcomes.count(True)


def _differences(rows: Sequence[Mapping[Any, Any]], *sides: str) -> "list[Difference]":
    """Return the difference of two sides at each point, or the interval of one side that is a difference itself."""
    return [Difference.of_means(*(Mean(*map(row.__getitem__, _columns(side))) for side in sides)) for row in rows]


class Mean(NamedTuple):
    """A mean over runs, with their standard deviation and number; `shared` is their `shared_variance`."""

    mean: float
    std: float
    n_runs: int
    shared: float = math.nan


_ZERO = Mean(0.0, 0.0, 2)


@dataclass(frozen=True)
class Difference:
    """A mean difference between runs, and half the width of its interval at a level of 95%.

    The interval of a difference that can't be tested has an infinite width, so the difference decides nothing.
    """

    mean: float
    half_width: float

    @classmethod
    def of_means(cls, upper: Mean, lower: Mean = _ZERO) -> Self:
        """Return the difference of two means, or a mean difference, with an interval of no width for single runs.

        The variance of each mean contains `protocol.scores.statistics.shared_variance`, and the interval is that of
        Student's t distribution. The number of degrees of freedom is Welch's, because summaries don't contain the
        covariance of the runs.
        """
        mean, means = upper.mean - lower.mean, (upper, lower)
        is_known = all(row.n_runs > 1 and row.std >= 0 for row in means)
        rows = [row for row in means if row.std > 0]  # runs of a deterministic method don't vary
        if not (is_known and rows):
            return cls(mean, 0)
        variances = [row.std**2 * (1 / row.n_runs + row.shared) for row in rows]
        if not math.isfinite(sum(variances)):
            return cls(mean, math.inf)
        from scipy.special import stdtrit

        squares = [variance**2 / (row.n_runs - 1) for variance, row in zip(variances, rows, strict=True)]
        return cls(mean, float(stdtrit(sum(variances) ** 2 / sum(squares), 0.975)) * sum(variances) ** 0.5)

    @property
    def ends(self) -> tuple[float, float]:
        """The lower and the upper end of the interval."""
        return self.mean - self.half_width, self.mean + self.half_width

    def exceeds(self, bound: float) -> bool | None:
        """Return whether the difference is above a bound; None if its interval contains the bound."""
        return None if 0 < abs(self.mean - bound) <= self.half_width else self.mean > bound

    def __str__(self) -> str:
        if not self.half_width:
            return f"{self.mean:.6g}"
        if math.isinf(self.half_width):
            return f"{self.mean:.4g}; not tested: n_queries is unknown, or not below n_database"
        low, high = self.ends
        none = "; no difference shown" if low <= 0 <= high else ""
        return f"{self.mean:.4g} [{low:.4g}, {high:.4g}]{none}"


class Results:
    """Rows of summary tables, read when they are first needed.

    Parameters
    ----------
    tables : iterable of Path
        CSV files. Those with the columns of an experiment's ``summary.csv`` give rows; the extension columns may be
        missing. Those that begin with ``dataset,statistic,value`` give statistics. Other files are ignored.
    """

    def __init__(self, tables: Iterable[str | Path] = ()) -> None:
        self.paths = [Path(path) for path in tables]

    @classmethod
    def in_folder(cls, folder: str | Path | None = None) -> Self:
        """Return the results of every experiment in a folder, and the stored reference results in its ``reference/``.

        It may also be the folder of one experiment; then only its rows are returned. The default is ``results``, and
        nothing if that folder does not exist.

        Raises
        ------
        ProtocolError
            If there is no such folder.
        """
        is_default, folder = folder is None, Path(folder or "results")
        if not (is_default or folder.is_dir()):
            raise ProtocolError(f"{folder}: no such folder. Run an experiment first, or name another folder.")
        patterns = "summary.csv", "*/summary.csv", "reference/*/*.csv"
        return cls(path for pattern in patterns for path in sorted(folder.glob(pattern)))

    def frame(self, **columns: Any) -> DataFrame:
        """Return the rows of a combination: each keyword is a column, with the required value or several values.

        The columns are the folder of a row's table, those of `COMBINATION`, and those of `Mean`. A combination that is
        in several tables with the same mean is returned from the first one only.
        """
        rows = at(self._content[0], **columns)
        same = rows[[*COMBINATION, "n_runs"]].assign(mean=rows["mean"].map("{:.5g}".format)).duplicated()
        return rows[~same].reset_index(drop=True)

    def statistics(self, dataset: str) -> DataFrame:
        """Return the statistics of a dataset as a table: ``dataset``, ``statistic`` and the columns of `Mean`."""
        return at(self._content[1], dataset=dataset).reset_index(drop=True)

    @cached_property
    def _content(self) -> tuple[DataFrame, DataFrame]:
        import pandas as pd

        # No claim is about unseen classes or a long tail.
        dividing = {name for name in registry.names("split") if registry.get("split", name).options}
        rows, statistics = list[dict[str, Any]](), list[Any]()
        for path in (path for path in self.paths if path.parts[-3:] != LEADERBOARD):
            table = read_text(path)
            columns = tuple(*table[:1])
            of_experiment = path.name == "summary.csv" and path.parents[1].name != "reference"
            if columns[:3] == ("dataset", "statistic", "value"):
                statistics += [(row["dataset"], row["statistic"], *_counted(row)) for row in table]
            elif of_experiment or set(REQUIRED) <= set(columns):
                for row in summary_of(table, path):
                    shared = shared_variance(row.get("n_queries"), row.get("n_database"))
                    rows.append({"folder": str(path.parent)} | row | {"shared": shared})
        counted = pd.DataFrame(statistics, columns=["dataset", "statistic", *Mean._fields])
        means = pd.DataFrame(rows, columns=["folder", *COMBINATION, *Mean._fields]).dropna(subset="mean")
        return means[~means["split"].isin(dividing)], counted


def _counted(row: Mapping[str, str]) -> Mean:
    """Return a statistic: a number, or a mean over runs with a standard error and the sizes of their partitions."""
    if not row.get("standard_error"):
        return Mean(float(row["value"]), 0.0, 1)
    n_runs, sizes = int(row["n_runs"]), (int(row["n_queries"]), int(row["n_database"]))
    return Mean(float(row["value"]), float(row["standard_error"]) * n_runs**0.5, n_runs, shared_variance(*sizes))
