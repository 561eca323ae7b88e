"""Class labels of queries and database in the forms that users have: integers, strings, categories, 0/1 matrices."""

import functools
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs.arrays import as_integers, read_labels
from protocol.inputs.conversion import as_numpy, is_file, named
from protocol.inputs.validation import class_labels

_FEW = 5
_BLOCK = 1 << 22  # labels that are sorted at once, because a large database may be mapped from a file
_BFLOAT16_EXACT = 256


def label_pair(
    query: Any, database: Any, n_queries: int, n_database: int
) -> tuple[NDArray, NDArray, tuple[int | str, ...]]:
    """Return the labels of queries and database, and the labels of queries that no database item has.

    Parameters
    ----------
    query, database : array_like, str or Path
        Integers or strings, one per item; integers may be stored as floats, as in MATLAB, and in a row or a column.
        Or a 0/1 matrix with a column for each class, which may be sparse. Equal strings are equal labels, whatever
        integers pandas uses for its categories.
    n_queries, n_database : int

    Returns
    -------
    query, database : ndarray
        One integer per item, (n,), or a bool matrix (n, n_classes); Python integers that no dtype can represent, such
        as -1 and 2**63, are objects.
    lacking : tuple of int or str
        The labels that no database item has, ascending; for a label matrix, the column numbers from 0.

    Raises
    ------
    ProtocolError
        If they are anything else or not one per item, if queries and database have different kinds of labels, or if
        no query shares a label with a database item.

    Examples
    --------
    >>> label_pair(["cat", "owl"], ["dog", "cat"], 2, 2)
    (array([0, 2]), array([1, 0]), ('owl',))
    """
    sides = [
        _labels(values, role, n_items)
        for values, role, n_items in ((query, "query labels", n_queries), (database, "database labels", n_database))
    ]
    kinds = [_kind(labels) for labels in sides]
    if kinds[0] != kinds[1]:
        raise ProtocolError(f"{named(database, 'database labels')}: {kinds[1]}, but the query labels have {kinds[0]}.")
    used = [_used(labels).tolist() for labels in sides]
    known = set(used[1])
    lacking = tuple(label for label in used[0] if label not in known)
    if len(lacking) == len(used[0]):
        raise ProtocolError(
            f"labels: queries and database share no label: {brief(used[0])} for the queries, {brief(used[1])} for the "
            "database."
        )
    if sides[0].dtype.kind == "U":
        _, numbers = np.unique(np.concatenate(sides), return_inverse=True)
        return numbers[:n_queries], numbers[n_queries:], lacking
    return sides[0], sides[1], lacking


def _used(labels: NDArray) -> NDArray:
    """Return the distinct labels of the items, ascending; for a label matrix, the column numbers."""
    if labels.ndim == 2:
        return np.flatnonzero(labels.any(axis=0))
    blocks = (np.unique(labels[start : start + _BLOCK]) for start in range(0, len(labels), _BLOCK))
    return functools.reduce(np.union1d, blocks)


def brief(labels: Iterable[int | str], most: int = _FEW) -> str:
    """Return labels as one line of text: only the first ones if there are many, "none" if there are none.

    Examples
    --------
    >>> brief(range(7)), brief(["cat"]), brief([])
    ('0, 1, 2, 3, 4 and 2 more', 'cat', 'none')
    """
    names = [name if name.isprintable() else ascii(name) for name in map(str, labels)]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more or "none"


def labels_from(values: Any, role: str, n_items: int) -> NDArray:
    """Return the labels of the queries or of the database: one integer per item, (n,), or bool (n, n_classes).

    Strings become their numbers in alphabetical order; otherwise as in `label_pair`.

    Raises
    ------
    ProtocolError
        If they are anything else, or not one per item.
    """
    labels = _labels(values, role, n_items)
    return np.unique(labels, return_inverse=True)[1] if labels.dtype.kind in "UO" else labels


def _labels(values: Any, role: str, n_items: int) -> NDArray:
    """Return integers or strings (n_items,), or a bool matrix."""
    name = named(values, role)
    array = _integers_or_strings(values, name)
    if array.dtype.kind == "b" and array.shape[1:] == (1,):
        raise ProtocolError(
            f"{name}: Boolean values of shape {array.shape} may be two classes, or one label that some items have. "
            "Pass labels.ravel() for two classes, or numpy.pad(labels, ((0, 0), (0, 1))) for one label."
        )
    if array.dtype.kind != "b" and array.shape in ((n_items, 1), (1, n_items)):
        array = array.ravel()
    if array.dtype.kind not in "UO":
        return class_labels(array, n_items, name)
    if array.shape != (n_items,):
        raise ProtocolError(f"{name}: labels of shape {array.shape} for {counted(n_items, 'item')}.")
    return array


def _integers_or_strings(values: Any, name: str) -> NDArray:
    """Return labels as an array of integers, bool or strings, or of Python integers that no dtype can represent."""
    array = read_labels(values) if is_file(values) else as_numpy(values, name)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "backslashreplace")
    if array.dtype == object and not all(type(value) is int for value in array.flat):
        _refuse_objects(array, name)
    if array.dtype.kind == "f":
        _check_bfloat16(values, array, name)
        return as_integers(array, name)
    return array


def _check_bfloat16(values: Any, array: NDArray, name: str) -> None:
    """Raise ProtocolError if labels were bfloat16, which is read as float32, and are large enough to be rounded."""
    if "bfloat16" in str(getattr(values, "dtype", "")) and np.abs(array).max(initial=0) >= _BFLOAT16_EXACT:
        raise ProtocolError(
            f"{name}: bfloat16 rounds integers above {_BFLOAT16_EXACT - 1}, such as {float(np.abs(array).max())}. "
            "Pass them with an integer dtype."
        )


def _refuse_objects(array: NDArray, name: str) -> NoReturn:
    for item, value in enumerate(array.ravel().tolist()):
        if not isinstance(value, (str, bytes, int, float)) or value != value:
            raise ProtocolError(
                f"{name}: expected an integer or a string for each item, got {value!r} for item {item}."
            )
    raise ProtocolError(f"{name}: both integers and strings. Use only one kind.")


def _kind(labels: NDArray) -> str:
    if labels.ndim == 2:
        return f"{labels.shape[1]} columns"
    return "one string per item" if labels.dtype.kind == "U" else "one integer per item"
