"""The results by which data claims are judged: summary tables of experiments, and stored reference results."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from protocol.checks import ProtocolError
from protocol.provenance.checksums import verify

COMBINATION = (
    "dataset",
    "feature",
    "ground_truth",
    "split",
    "hasher",
    "n_bits",
    "extension",
    "extension_bits",
    "metric",
)
_NUMBERS = {"n_bits": int, "extension_bits": int, "n_runs": int, "mean": float, "std": float}
_PLAIN = {"extension": "none", "extension_bits": "0"}  # tables without extension codes may lack these columns
_NEEDED = {*COMBINATION, "mean", "n_runs"} - set(_PLAIN)
_DATASET_COLUMNS = ["dataset", "statistic", "value"]


@dataclass(frozen=True)
class Row:
    """The mean of one metric over runs, with the combination that it belongs to, and the folder of its table."""

    folder: str
    dataset: str
    feature: str
    ground_truth: str
    split: str
    hasher: str
    n_bits: int
    extension: str
    extension_bits: int
    metric: str
    mean: float
    n_runs: int
    std: float | None = None


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
        self._read: tuple[list[Row], dict[tuple[str, str], float]] | None = None

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
            raise ProtocolError(
                f"{folder}: expected a folder of results, got no such folder. Run an experiment first, or give "
                "--results DIR."
            )
        patterns = "summary.csv", "*/summary.csv", "reference/*/*.csv"
        return cls(path for pattern in patterns for path in sorted(folder.glob(pattern)))

    def rows(self, **columns: Any) -> list[Row]:
        """Return the rows of a combination: each keyword is a column, with the required value or several values.

        A combination that is in several tables with the same mean is returned from the first one only.
        """
        allowed = {
            name: value if isinstance(value, tuple | list | set) else (value,) for name, value in columns.items()
        }
        found = (
            row for row in self._content()[0] if all(getattr(row, name) in value for name, value in allowed.items())
        )
        unique: dict[tuple[Any, ...], Row] = {}
        for row in found:
            unique.setdefault((*(getattr(row, name) for name in COMBINATION), f"{row.mean:.5g}", row.n_runs), row)
        return list(unique.values())

    def statistic(self, dataset: str, name: str) -> float | None:
        """Return a statistic of loaded data; None if it was not counted."""
        return self._content()[1].get((dataset, name))

    def _content(self) -> tuple[list[Row], dict[tuple[str, str], float]]:
        if self._read is None:
            rows: list[Row] = []
            statistics: dict[tuple[str, str], float] = {}
            for path in self._paths:
                _read_table(path, rows, statistics)
            self._read = rows, statistics
        return self._read


def _read_table(path: Path, rows: list[Row], statistics: dict[tuple[str, str], float]) -> None:
    verify(path, required=False)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            columns = table.fieldnames or []
            if columns == _DATASET_COLUMNS:
                statistics.update({(row["dataset"], row["statistic"]): float(row["value"]) for row in table})
            elif set(columns) >= _NEEDED:
                rows.extend(_rows(path, table))
            elif path.name == "summary.csv" and path.parent.parent.name != "reference":
                raise ProtocolError(
                    f"{path}: expected the columns of a summary, {', '.join(sorted(_NEEDED))}, got "
                    f"{', '.join(columns) or 'an empty file'}. Make it again with `snakemake -- metrics`."
                )
    except (OSError, UnicodeDecodeError) as error:
        raise ProtocolError(f"{path}: expected a readable table, got an error: {error}") from error


def _rows(path: Path, table: "csv.DictReader[str]") -> Iterator[Row]:
    """Yield the rows of a table, except those without a mean, whose metric was undefined in every run."""
    for content in table:
        if content["mean"] == "":
            continue
        cells = _PLAIN | {name: text for name, text in content.items() if name in _NEEDED or name in _PLAIN}
        if content.get("std"):  # missing for a single run
            cells["std"] = content["std"]
        try:
            yield Row(
                str(path.parent),
                **{name: _NUMBERS.get(name, str)(text or "") for name, text in cells.items()},
            )
        except ValueError as error:
            raise ProtocolError(
                f"{path}: line {table.line_num}: expected numbers under {', '.join(_NUMBERS)}, got "
                f"{', '.join(str(cells.get(name)) for name in _NUMBERS)}. Make it again with `snakemake -- metrics`."
            ) from error
