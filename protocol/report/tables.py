"""The result tables: one row per value, and their mean and standard deviation over runs."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.storage import replacing

if TYPE_CHECKING:
    import pandas as pd

CELL = ("dataset", "feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric")
COLUMNS = (*CELL[:4], "run", *CELL[4:], "value")
_DIGITS = "%.9g"  # enough to tell any two results apart, not so many that the last bits of a sum show


def write_rows(path: str | Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows in the order of `COLUMNS` as CSV; the value, last in a row, with nine digits."""
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*row[:-1], _DIGITS % row[-1]) for row in rows)


def write_table(path: str | Path, table: "pd.DataFrame") -> None:
    """Write a table as CSV with nine digits."""
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False, float_format=_DIGITS, lineterminator="\n")


def collect(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Return the rows of several score tables as one, sorted by cell and run, whatever the order of the paths."""
    import pandas as pd

    table = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    return table.sort_values([*COLUMNS[:-1]], kind="stable", ignore_index=True)


def summarise(metrics: "pd.DataFrame") -> "pd.DataFrame":
    """Return mean, standard deviation and number of runs of each cell.

    The standard deviation is that of a sample (n - 1 in the denominator); of a single run it is missing.
    """
    groups = metrics.groupby(list(CELL), sort=True)["value"]
    return groups.agg(mean="mean", std="std", n_runs="size").reset_index()
