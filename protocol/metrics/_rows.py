"""The long table of scores: one row per value."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from protocol.storage import replacing

COLUMNS = (
    "dataset",
    "feature",
    "ground_truth",
    "split",
    "run",
    "hasher",
    "n_bits",
    "extension",
    "extension_bits",
    "metric",
    "value",
)
DIGITS = "%.9g"  # enough to tell any two results apart, not so many that the last bits of a sum show


def write_rows(path: str | Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows in the order of `COLUMNS` as CSV; the value, last in a row, with nine digits."""
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*row[:-1], DIGITS % row[-1]) for row in rows)
