"""What an audit can find, and how it is written down."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.storage import replacing

_EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or that a reader must know.

    Parameters
    ----------
    name : str
        What it is, for example ``train-in-database``.
    severity : {"error", "warning"}
        An error makes numbers wrong or incomparable; a warning is inherent in the declared protocol, or a matter of
        convention.
    count : int
        Items (or queries, or classes) concerned.
    examples : tuple of int
        The first few of them.
    consequence : str
        One sentence.
    """

    name: str
    severity: str
    count: int
    examples: tuple[int, ...]
    consequence: str


def found(name: str, severity: str, items: NDArray, consequence: str) -> list[Finding]:
    """Return a finding about `items`, or nothing where there are none."""
    if not len(items):
        return []
    return [Finding(name, severity, len(items), tuple(int(item) for item in items[:_EXAMPLES]), consequence)]


def write_findings(path: str | Path, findings: Mapping[str, Sequence[Finding]]) -> None:
    """Write findings as CSV, one row each, with the file they were made in."""
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("file", "finding", "severity", "count", "examples", "consequence"))
        for place, made in findings.items():
            for finding in made:
                examples = " ".join(map(str, finding.examples))
                writer.writerow((place, finding.name, finding.severity, finding.count, examples, finding.consequence))


def shared(a: NDArray, b: NDArray) -> NDArray:
    """Return the rows that two partitions share."""
    return np.intersect1d(a, b)
