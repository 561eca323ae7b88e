"""The points of a grid, in order, and which of them is taken."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from protocol.checks import ProtocolError


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
