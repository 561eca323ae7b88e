"""The points of a grid, the choice among them, and the table of their scores."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.scores.tables import DIGITS, write_csv

_COMBINATION = ("dataset", "feature", "ground_truth", "sample", "run", "hasher")
COLUMNS = (*_COMBINATION, "n_bits", "metric", "options", "default", "chosen", "score")


def points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of a grid's values; those of the last option vary fastest.

    A grid without options has one point, the empty one.

    Examples
    --------
    >>> points({"alpha": [1.0, 1.5], "n_neighbors": [3, 4]})[:3]
    [{'alpha': 1.0, 'n_neighbors': 3}, {'alpha': 1.0, 'n_neighbors': 4}, {'alpha': 1.5, 'n_neighbors': 3}]
    """
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def described(point: Mapping[str, Any]) -> str:
    """Return a point as text, its name in tables and messages.

    Examples
    --------
    >>> described({"alpha": 1.5, "n_neighbors": 3})
    'alpha=1.5 n_neighbors=3'
    """
    return " ".join(f"{option}={value}" for option, value in point.items())


def best(scores: ArrayLike) -> int:
    """Return the index of the largest score, the first if several are equal; NaN (undefined) is never chosen.

    Raises
    ------
    ProtocolError
        If no score is defined.

    Examples
    --------
    >>> best([0.1, float("nan"), 0.3, 0.3])
    2
    """
    values = np.asarray(scores, dtype=np.float64)
    if np.isnan(values).all():
        raise ProtocolError(
            f"selection: the metric is undefined for all {values.size:,} grid points. Choose another metric."
        )
    return int(np.nanargmax(values))


def selection_provenance(
    hasher: Callable[..., Any],
    grid: Sequence[Mapping[str, Any]],
    scores: Mapping[int, ArrayLike],
    made_of: Mapping[int, Mapping[str, Any]],
    *,
    place: Mapping[str, Any],
    options: Mapping[str, Any],
    inputs: Mapping[str, str | Path],
) -> dict[str, Any]:
    """Return the provenance record of a selection.

    Parameters
    ----------
    hasher : callable
        The hasher's class.
    grid : sequence of mapping
        The points that were searched.
    scores : mapping of int to array_like of float
        For each code length, the scores of all points.
    made_of : mapping of int to mapping
        As for `protocol.provenance.reuse.unchanged`.
    place : mapping
        The dataset, feature, sample, run, hasher and criterion.
    options : mapping
        The options of the hasher that were not searched.
    inputs : mapping of str to path
    """
    defaults = hasher().get_params()
    return storage.provenance(
        "selection",
        parameters={**place, "n_bits": sorted(scores), "options": dict(options)},
        inputs=inputs,
        points=list(grid),
        default={option: defaults[option] for option in grid[0]},
        chosen={n_bits: grid[best(of_length)] for n_bits, of_length in sorted(scores.items())},
        fits={n_bits: {"made_of": origin} for n_bits, origin in made_of.items()},
    )


def write_table(path: str | Path, selections: Iterable[str | Path]) -> None:
    """Write the scores of selections as CSV with the columns `COLUMNS`, independent of the order of the files.

    The points of a grid remain in its order. ``default`` marks the point with the hasher's default options, ``chosen``
    the selected point.
    """
    rows = sorted((row for file in selections for row in _rows(file)), key=lambda row: row[: COLUMNS.index("options")])
    write_csv(path, COLUMNS, rows, checksum=True)


def _rows(path: str | Path) -> Iterator[tuple[Any, ...]]:
    provenance, found = storage.read_provenance(path), storage.grouped(storage.read(path))
    parameters = provenance["parameters"]
    combination = tuple(parameters[name] for name in _COMBINATION)
    for n_bits, arrays in found.items():
        for point, score in zip(provenance["points"], arrays["scores"], strict=True):
            marks = (point == provenance["default"], point == provenance["chosen"][n_bits])
            yield (*combination, int(n_bits), parameters["metric"], described(point), *marks, DIGITS % score)
