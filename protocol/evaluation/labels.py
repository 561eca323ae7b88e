"""Class labels of queries and database as users have them: integers, strings, categories, 0/1 matrices."""

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from protocol import checks
from protocol.checks import ProtocolError
from protocol.evaluation.frameworks import as_numpy
from protocol.evaluation.inputs import named
from protocol.formats.arrays import as_integers, read_labels


def label_pair(query: Any, database: Any, n_queries: int, n_database: int) -> tuple[NDArray, NDArray]:
    """Return the labels of both sides: one integer per item, (n,), or a bool matrix (n, n_classes).

    Parameters
    ----------
    query, database : array_like, str or Path
        Integers or strings, one per item; integers may be kept as floats, as in MATLAB, and be a row or a column.
        Or a 0/1 matrix, a column for each class, which may be sparse. Equal strings are equal labels, whichever side
        they are on and whatever integers pandas has for its categories.
    n_queries, n_database : int

    Raises
    ------
    ProtocolError
        If they are something else, or not one per item, or the two sides are of different kinds.

    Examples
    --------
    >>> label_pair(["cat"], ["dog", "cat"], 1, 2)
    (array([0]), array([1, 0]))
    """
    sides = [
        _labels(values, role, n_items)
        for values, role, n_items in ((query, "query labels", n_queries), (database, "database labels", n_database))
    ]
    kinds = [_kind(labels) for labels in sides]
    if kinds[0] != kinds[1]:
        raise ProtocolError(
            f"{named(database, 'database labels')}: expected {kinds[0]} as in the query labels, got {kinds[1]}."
        )
    if sides[0].dtype.kind == "U":
        _, numbers = np.unique(np.concatenate(sides), return_inverse=True)
        return numbers[:n_queries], numbers[n_queries:]
    return sides[0], sides[1]


def labels_from(values: Any, role: str, n_items: int) -> NDArray:
    """Return labels of items of one side: one integer per item, (n,), or a bool matrix (n, n_classes).

    Strings become their numbers in alphabetical order; the rest is as in `label_pair`.

    Raises
    ------
    ProtocolError
        If they are something else, or not one per item.
    """
    labels = _labels(values, role, n_items)
    return np.unique(labels, return_inverse=True)[1] if labels.dtype.kind == "U" else labels


def _labels(values: Any, role: str, n_items: int) -> NDArray:
    """Return integers or strings (n_items,), or a bool matrix."""
    name = named(values, role)
    array = read_labels(values) if isinstance(values, (str, Path)) else as_numpy(values, name)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "backslashreplace")
    if array.dtype == object:
        _refuse_objects(array, name)
    if array.dtype.kind == "f":
        array = as_integers(array, name)
    if array.dtype.kind != "b" and array.shape in ((n_items, 1), (1, n_items)):
        array = array.ravel()
    if array.dtype.kind != "U":
        return checks.labels(array, n_items, name)
    if array.ndim != 1 or len(array) != n_items:
        raise ProtocolError(f"{name}: expected {n_items} strings, one per item, got shape {array.shape}.")
    return array


def _refuse_objects(array: NDArray, name: str) -> NoReturn:
    for item, value in enumerate(array.ravel().tolist()):
        if not isinstance(value, (str, bytes, int, float)) or value != value:
            raise ProtocolError(
                f"{name}: expected an integer or a string for each item, got {value!r} for item {item}."
            )
    raise ProtocolError(f"{name}: expected integers or strings, got both.")


def _kind(labels: NDArray) -> str:
    if labels.ndim == 2:
        return f"{labels.shape[1]} columns"
    return "one string per item" if labels.dtype.kind == "U" else "one integer per item"
