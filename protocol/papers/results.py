"""The results by which claims are judged: summary tables of experiments, and stored reference results."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from protocol.checks import ProtocolError, one_of
from protocol.scores.statistics import shared_variance
from protocol.scores.summary import COMBINATION, REQUIRED, summary_of
from protocol.scores.tables import read_text

if TYPE_CHECKING:
    import pandas as pd


class Mean(NamedTuple):
    """A mean over runs, with their standard deviation and number; `shared` is their `shared_variance`."""

    mean: float
    std: float
    n_runs: int
    shared: float = math.nan


@dataclass(frozen=True)
class Difference:
    """A mean difference between runs, and half the width of its interval at a level of 95 %.

    The interval of a difference that can't be tested has an infinite width, so the difference decides nothing.
    """

    mean: float
    half_width: float

    @classmethod
    def of_means(cls, upper: Mean, lower: Mean | None = None) -> Self:
        """Return the difference of two means, or a mean difference, with an interval of no width for single runs.

        The variance of each mean contains `protocol.scores.statistics.shared_variance`, and the interval is that of
        Student's t distribution. The number of degrees of freedom is Welch's, because summaries don't contain the
        covariance of the runs.
        """
        means = [upper] if lower is None else [upper, lower]
        mean = upper.mean - (0.0 if lower is None else lower.mean)
        rows = [row for row in means if row.std > 0 and row.n_runs > 1]
        if len(rows) < len(means):
            return cls(mean, 0)
        variances = [row.std**2 * (1 / row.n_runs + row.shared) for row in rows]
        if not math.isfinite(sum(variances)):
            return cls(mean, math.inf)
        from scipy.special import stdtrit

        squares = [variance**2 / (row.n_runs - 1) for variance, row in zip(variances, rows, strict=True)]
        degrees_of_freedom = sum(variances) ** 2 / sum(squares)
        return cls(mean, float(stdtrit(degrees_of_freedom, 0.975)) * sum(variances) ** 0.5)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half_width

    def exceeds(self, bound: float) -> bool | None:
        """Return whether the difference is above a bound; None if its interval contains the bound."""
        if 0 < abs(self.mean - bound) <= self.half_width:
            return None
        return self.mean > bound

    def __str__(self) -> str:
        if not self.half_width:
            return f"{self.mean:.6g}"
        if math.isinf(self.half_width):
            return f"{self.mean:.4g}; not tested: n_queries is unknown, or not below n_database"
        none = "; no difference shown" if self.low <= 0 <= self.high else ""
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]{none}"


_COLUMNS = ("folder", *COMBINATION, *Mean._fields)
_COUNTED = ("dataset", "statistic", "value")


class Results:
    """Rows of summary tables, read when they are first needed.

    Parameters
    ----------
    tables : iterable of Path
        CSV files. Those with the columns of an experiment's ``summary.csv`` give rows; the extension columns may be
        missing. Those that begin with ``dataset,statistic,value`` give statistics. Other files are ignored.
    """

    def __init__(self, tables: Iterable[str | Path] = ()) -> None:
        self._paths = [Path(path) for path in tables]

    @classmethod
    def in_folder(cls, folder: str | Path) -> Self:
        """Return the results of every experiment in a folder, and the stored reference results in its ``reference/``.

        The folder may also be that of one experiment; then only its rows are returned.

        Raises
        ------
        ProtocolError
            If there is no such folder.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise ProtocolError(f'{folder}: no such folder. Run an experiment first, or pass results="DIR".')
        patterns = "summary.csv", "*/summary.csv", "reference/*/*.csv"
        return cls(path for pattern in patterns for path in sorted(folder.glob(pattern)))

    def frame(self, **columns: Any) -> "pd.DataFrame":
        """Return the rows of a combination: each keyword is a column, with the required value or several values.

        The columns are the folder of a row's table, those of `COMBINATION`, and those of `Mean`. A combination that is
        in several tables with the same mean is returned from the first one only.
        """
        rows = having(self._content[0], **columns)
        same = rows[[*COMBINATION, "n_runs"]].assign(mean=rows["mean"].map("{:.5g}".format)).duplicated()
        return rows[~same].reset_index(drop=True)

    def statistics(self, dataset: str) -> "pd.DataFrame":
        """Return the statistics of a dataset as a table: ``dataset``, ``statistic`` and the columns of `Mean`."""
        return having(self._content[1], dataset=dataset).reset_index(drop=True)

    @cached_property
    def _content(self) -> "tuple[pd.DataFrame, pd.DataFrame]":
        import pandas as pd

        rows: list[dict[str, Any]] = []
        statistics: list[Any] = []
        for path in self._paths:
            table = read_text(path)
            columns = tuple(table[0]) if table else ()
            of_experiment = path.name == "summary.csv" and path.parents[1].name != "reference"
            if columns[:3] == _COUNTED:
                statistics += [(row["dataset"], row["statistic"], *_counted(row)) for row in table]
            elif of_experiment or set(REQUIRED) <= set(columns):
                for row in summary_of(table, path):
                    shared = shared_variance(row.get("n_queries"), row.get("n_database"))
                    rows.append({"folder": str(path.parent)} | row | {"shared": shared})
        counted = pd.DataFrame(statistics, columns=[*_COUNTED[:2], *Mean._fields])
        return pd.DataFrame(rows, columns=_COLUMNS).dropna(subset="mean"), counted


def _counted(row: Mapping[str, str]) -> Mean:
    """Return a statistic: a number, or a mean over runs with a standard error and the sizes of their partitions."""
    if not row.get("standard_error"):
        return Mean(float(row["value"]), 0.0, 1)
    n_runs, sizes = int(row["n_runs"]), (int(row["n_queries"]), int(row["n_database"]))
    return Mean(float(row["value"]), float(row["standard_error"]) * n_runs**0.5, n_runs, shared_variance(*sizes))


def having(table: "pd.DataFrame", **columns: Any) -> "pd.DataFrame":
    """Return the rows of a table with these values; a list or tuple means one of its values."""
    for name, value in columns.items():
        one_of(name, table.columns, "column")
        table = table[table[name].isin(value) if isinstance(value, list | tuple) else table[name] == value]
    return table
