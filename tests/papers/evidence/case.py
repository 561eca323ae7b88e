"""Evidence for or against a claim: rows of tables that experiments would write."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol import papers as claims
from protocol.papers._results import COMBINATION

SUMMARY = [*COMBINATION, "mean", "std", "n_runs"]
COUNTED = ["dataset", "statistic", "value"]
USUAL = dict(
    zip(
        SUMMARY,
        ["cifar10", "gist", "class_label", "standard", "lsh", 12, "none", 0, "mAP", 0.1, 0.01, 10],
        strict=True,
    )
)

Row = dict[str, Any]
"""The columns of a summary that differ from `USUAL`, or a dataset, a statistic and its value."""


@dataclass(frozen=True)
class Case:
    """Evidence under which every part of a claim holds, and evidence under which none does."""

    confirming: list[Row]
    refuting: list[Row]


def judged(number: str, *tables: Path) -> claims.Verdict:
    """Judge one claim on tables."""
    (claim,) = [claim for claim in claims.all_claims() if claim.id == number]
    return claim.judge(claims.Results(tables))


def rows_of(path: Path, rows: list[Row]) -> Path:
    """Write rows of a summary, and return its path."""
    _write(path, SUMMARY, [USUAL | row for row in rows])
    return path


def write(folder: Path, rows: list[Row]) -> list[Path]:
    """Write rows as the tables that they belong into, and return the tables."""
    summary, counted = folder / "made" / "summary.csv", folder / "reference" / "claims" / "datasets.csv"
    rows_of(summary, [row for row in rows if "statistic" not in row])
    _write(counted, COUNTED, [row for row in rows if "statistic" in row])
    return [summary, counted]


def _write(path: Path, columns: list[str], rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
