"""The results by which data claims are judged: summary tables of experiments, and stored reference results."""

import math
from collections.abc import Iterable
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


_COLUMNS = ("folder", *COMBINATION, *Mean._fields)


class Results:
    """Rows of summary tables, read when they are first needed.

    Parameters
    ----------
    tables : iterable of Path
        CSV files. Those with the columns of an experiment's ``summary.csv`` give rows; the extension columns may be
        missing. Those with ``dataset,statistic,value`` give counts of loaded data. Other files are ignored.
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
        import pandas as pd

        values = {name: value for (of, name), value in self._content[1].items() if of == dataset}
        rows = [(dataset, name, *Mean(value, 0.0, 1)) for name, value in values.items()]
        return pd.DataFrame(rows, columns=["dataset", "statistic", *Mean._fields])

    def statistic(self, dataset: str, name: str) -> float | None:
        """Return a statistic of loaded data; None if it was not counted."""
        return self._content[1].get((dataset, name))

    @cached_property
    def _content(self) -> "tuple[pd.DataFrame, dict[tuple[str, str], float]]":
        import pandas as pd

        rows: list[dict[str, Any]] = []
        statistics: dict[tuple[str, str], float] = {}
        for path in self._paths:
            table = read_text(path)
            columns = list(table[0]) if table else []
            of_experiment = path.name == "summary.csv" and path.parents[1].name != "reference"
            if columns == ["dataset", "statistic", "value"]:
                statistics |= {(row["dataset"], row["statistic"]): float(row["value"]) for row in table}
            elif of_experiment or set(REQUIRED) <= set(columns):
                for row in summary_of(table, path):
                    shared = shared_variance(row.get("n_queries"), row.get("n_database"))
                    rows.append({"folder": str(path.parent)} | row | {"shared": shared})
        return pd.DataFrame(rows, columns=_COLUMNS).dropna(subset="mean"), statistics


def having(table: "pd.DataFrame", **columns: Any) -> "pd.DataFrame":
    """Return the rows of a table with these values; a list or tuple means one of its values."""
    for name, value in columns.items():
        one_of(name, table.columns, "column")
        table = table[table[name].isin(value) if isinstance(value, list | tuple) else table[name] == value]
    return table
