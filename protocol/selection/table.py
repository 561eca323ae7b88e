"""The table of a setting's selections: one row for each point of each grid."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from protocol import storage
from protocol.metrics import DIGITS
from protocol.selection.grid import described

_CELL = ("dataset", "feature", "ground_truth", "split", "run", "hasher")
COLUMNS = (*_CELL, "n_bits", "metric", "options", "default", "chosen", "score")


def write_table(path: str | Path, selections: Iterable[str | Path]) -> None:
    """Write the scores of selections as CSV in the order of `COLUMNS`; bytes don't depend on the order of the files.

    Points of a grid stay in its order. ``default`` marks the point that the hasher would have taken without a grid,
    ``chosen`` the one that is taken.
    """
    rows = sorted((row for file in selections for row in _rows(file)), key=lambda row: row[: COLUMNS.index("options")])
    with storage.replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def _rows(path: str | Path) -> Iterator[tuple[Any, ...]]:
    passport, found = storage.read_passport(path), storage.grouped(storage.read(path))
    parameters = passport["parameters"]
    cell = tuple(parameters[name] for name in _CELL)
    for n_bits, arrays in found.items():
        for point, score in zip(passport["points"], arrays["scores"], strict=True):
            marks = (point == passport["default"], point == passport["chosen"][n_bits])
            yield (*cell, int(n_bits), parameters["metric"], described(point), *marks, DIGITS % score)
