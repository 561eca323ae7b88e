"""Read the arguments of an audit, which are files or arrays: lists of items, ids, labels and features."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.split import Dataset
from protocol.checks import ProtocolError, array_of
from protocol.evaluation.labels import labels_from
from protocol.inputs.arrays import as_integers, map_array, read_array
from protocol.splits import read_list

_DIGITS = 18  # maximum number of digits of a row number


def is_file(values: Any) -> bool:
    """Return whether an argument is the name of a file."""
    return isinstance(values, (str, PathLike))


def name_of(values: Any, role: str) -> str:
    """Return the name of an argument for messages: the file, or for an array its role, such as ``query``."""
    return str(values) if is_file(values) else role


def array_from(values: Any, role: str) -> NDArray:
    """Return an array-like as an array, or raise ProtocolError if it can't be converted."""
    try:
        return array_of(values)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors with a gradient or on a GPU
        reason = " ".join(str(error).split())
        raise ProtocolError(f"{role}: expected an array, got {type(values).__name__} ({reason}).") from error


def items_from(values: Any, role: str) -> tuple[NDArray, NDArray[np.bool_] | None]:
    """Return the items of a list, and their labels if a text file contains them.

    Parameters
    ----------
    values : path or array_like, shape (n,)
        A file for `protocol.splits.read_list`, or row numbers, or ids (str).
    role : str
        The name of the argument, for messages.

    Returns
    -------
    items : ndarray of str or of int64, shape (n,)
    flags : ndarray of bool, shape (n, n_classes), or None

    Raises
    ------
    ProtocolError
        If the file can't be read, or the array is neither of integers nor of strings.

    Examples
    --------
    >>> items_from([4.0, 2.0], "query")
    (array([4, 2]), None)
    """
    if is_file(values):
        return read_list(values)
    array = array_from(values, role)
    if array.ndim != 1:
        raise ProtocolError(f"{role}: expected row numbers or ids, shape (n,), got shape {array.shape}.")
    if not array.size:
        return np.empty(0, dtype=np.int64), None
    match array.dtype.kind:
        case "i" | "u" | "f":
            return as_integers(array, role), None
        case "b":
            raise ProtocolError(f"{role}: expected row numbers, got a mask. Use numpy.flatnonzero to convert it.")
        case "O" | "U" | "T":
            return _strings(values if isinstance(values, (list, tuple)) else array.tolist(), role), None
        case _:
            raise ProtocolError(f"{role}: expected row numbers or ids (str), got dtype {array.dtype}.")


def _strings(values: Any, role: str) -> NDArray[np.str_]:
    """Return ids as an array, after checking that all are strings, because NumPy would convert numbers to strings."""
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise ProtocolError(
                f"{role}: expected ids (str), got {value!r} ({type(value).__name__}) at position {place}."
            )
    return np.array(values, dtype=np.str_)


def ids_from(values: Any) -> NDArray[np.str_]:
    """Return the ids of a dataset in row order; raise ProtocolError unless they are distinct strings."""
    name = name_of(values, "ids")
    ids, _ = items_from(values, "ids")
    if ids.dtype.kind in "iu":
        raise ProtocolError(f"{name}: expected the ids of the dataset, got row numbers.")
    distinct, counts = np.unique(ids, return_counts=True)
    if len(distinct) < len(ids):
        raise ProtocolError(f"{name}: expected distinct ids, got {str(distinct[counts > 1][0])!r} more than once.")
    return ids


def known_dataset(ids: Any = None, labels: Any = None) -> Dataset:
    """Return a dataset with the ids and labels that the caller gives.

    Parameters
    ----------
    ids : path, array_like of str, or None
        In the order of the row numbers; a file has one id per line.
    labels : path, array_like, or None
        Class labels in the same order: integers, or a 0/1 matrix.
    """
    names = None if ids is None else ids_from(ids)
    y: NDArray | None = None
    if labels is not None:
        values = read_array(labels) if is_file(labels) else array_from(labels, "labels")
        n_labels = values.size if 1 in values.shape else len(values) if values.ndim else 0
        y = labels_from(values, name_of(labels, "labels"), n_labels if names is None else len(names))
    n_items = next((len(known) for known in (names, y) if known is not None), None)
    return Dataset(n_items=n_items, ids=names, y=y)


def numbers_of(items: Sequence[Any], dataset: Dataset, n_items: int, name: str) -> NDArray[np.int64]:
    """Return the item number of each id or row number in a table, -1 for items that are not in the split.

    Parameters
    ----------
    items : sequence of str or int
        Ids; or row numbers, if the dataset has no ids, or if it has ids in a known order but none of the items is one.
    dataset : Dataset
    n_items : int
        The number of rows; if it is unknown, the largest listed row number plus one.
    name : str
        Name of the table, for error messages.

    Raises
    ------
    ProtocolError
        If row numbers are expected and one is not an integer >= 0 or is not in the dataset.
    """
    if dataset.ids is not None:
        numbers = {str(name_of_item): number for number, name_of_item in enumerate(dataset.ids.tolist())}
        found = np.array([numbers.get(str(item), -1) for item in items], dtype=np.int64)
        by_row = dataset.n_items is not None and all(_is_row(item) for item in items)
        if (found >= 0).any() or not by_row:
            return found
    for item in items:
        if not _is_row(item):
            raise ProtocolError(f"{name}: expected row numbers >= 0, as in the lists, got {str(item)[:80]!r}.")
    rows = [int(item) for item in items]
    largest = max(rows, default=0)
    if dataset.n_items is not None and largest >= n_items:
        raise ProtocolError(f"{name}: expected row numbers from 0 to {n_items - 1}, got {largest}.")
    return np.array([row if row < n_items else -1 for row in rows], dtype=np.int64)


def _is_row(item: Any) -> bool:
    """Return whether an entry in a table is a row number."""
    if isinstance(item, str):
        return item.isascii() and item.isdecimal() and len(item) <= _DIGITS
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < 10**_DIGITS


def features_from(values: Any, dataset: Dataset, n_listed: int) -> NDArray:
    """Return the features of a dataset, one row per item; an ``.npy`` file is memory-mapped.

    Parameters
    ----------
    values : path or array_like, shape (n_items, d)
    dataset : Dataset
    n_listed : int
        The largest item number of a split plus one, which is the minimum number of rows.

    Raises
    ------
    ProtocolError
        If they are not a matrix or have the wrong number of rows, or the order of the dataset's ids is not known.
    """
    name = name_of(values, "features")
    X = map_array(values) if is_file(values) else array_from(values, "features")
    if X.dtype.kind not in "biuf":
        raise ProtocolError(f"{name}: expected numbers, got dtype {X.dtype}.")
    if dataset.n_items is None and dataset.ids is not None:
        raise ProtocolError(f"{name}: expected the ids of its rows (ids), because the lists contain ids, got none.")
    n_items = n_listed if dataset.n_items is None else dataset.n_items
    if X.ndim != 2 or len(X) < n_items or (dataset.n_items is not None and len(X) != n_items):
        raise ProtocolError(
            f"{name}: expected features of {n_items:,} items, shape ({n_items}, d), got shape {X.shape}."
        )
    return X
