"""The points of a grid, in order, which of them is taken, and the table of their scores."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from protocol import storage
from protocol.checks import ProtocolError
from protocol.tables import DIGITS, write_csv

_CELL = ("dataset", "feature", "ground_truth", "draw", "run", "hasher")
COLUMNS = (*_CELL, "n_bits", "metric", "options", "default", "chosen", "score")


def points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of a grid's values, those of the last option varying fastest.

    A grid without options has one point, without values.

    Examples
    --------
    >>> points({"alpha": [1.0, 1.5], "n_neighbors": [3, 4]})[:3]
    [{'alpha': 1.0, 'n_neighbors': 3}, {'alpha': 1.0, 'n_neighbors': 4}, {'alpha': 1.5, 'n_neighbors': 3}]
    """
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def described(point: Mapping[str, Any]) -> str:
    """Return a point as one text, which tables and messages call it by.

    Examples
    --------
    >>> described({"alpha": 1.5, "n_neighbors": 3})
    'alpha=1.5 n_neighbors=3'
    """
    return " ".join(f"{option}={value}" for option, value in point.items())


def best(scores: ArrayLike) -> int:
    """Return the place of the largest score, of equal ones the first; an undefined one (NaN) is never taken.

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
        raise ProtocolError(f"selection: none of {values.size} points has a defined score; take another metric")
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
        By code length, the score of every point.
    made_of : mapping of int to mapping
        As for `protocol.reuse.unchanged`.
    place : mapping
        Dataset, feature, draw, run, hasher, and the criterion.
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
        chosen={n_bits: grid[best(own)] for n_bits, own in sorted(scores.items())},
        fits={n_bits: {"made_of": own} for n_bits, own in made_of.items()},
    )


def write_table(path: str | Path, selections: Iterable[str | Path]) -> None:
    """Write the scores of selections as CSV in the order of `COLUMNS`; bytes don't depend on the order of the files.

    Points of a grid stay in its order. ``default`` marks the point that the hasher would have taken without a grid,
    ``chosen`` the one that is taken.
    """
    rows = sorted((row for file in selections for row in _rows(file)), key=lambda row: row[: COLUMNS.index("options")])
    write_csv(path, COLUMNS, rows, checksum=True)


def _rows(path: str | Path) -> Iterator[tuple[Any, ...]]:
    provenance, found = storage.read_provenance(path), storage.grouped(storage.read(path))
    parameters = provenance["parameters"]
    cell = tuple(parameters[name] for name in _CELL)
    for n_bits, arrays in found.items():
        for point, score in zip(provenance["points"], arrays["scores"], strict=True):
            marks = (point == provenance["default"], point == provenance["chosen"][n_bits])
            yield (*cell, int(n_bits), parameters["metric"], described(point), *marks, DIGITS % score)
