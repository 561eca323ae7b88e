"""The result tables: one row per value, and their mean and standard deviation over runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.metrics import COLUMNS, DIGITS
from protocol.storage import replacing

if TYPE_CHECKING:
    import pandas as pd

_CELL = [column for column in COLUMNS if column not in ("run", "value")]


def write_table(path: str | Path, table: "pd.DataFrame") -> None:
    """Write a table as CSV with nine digits."""
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False, float_format=DIGITS, lineterminator="\n")


def collect(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Return the rows of several score tables as one, sorted by cell and run, whatever the order of the paths."""
    import pandas as pd

    table = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    return table.sort_values([*COLUMNS[:-1]], kind="stable", ignore_index=True)


def summarise(metrics: "pd.DataFrame") -> "pd.DataFrame":
    """Return mean, standard deviation and number of runs of each cell.

    The standard deviation is that of a sample (n - 1 in the denominator); of a single run it is missing.
    """
    groups = metrics.groupby(_CELL, sort=True)["value"]
    return groups.agg(mean="mean", std="std", n_runs="size").reset_index()
