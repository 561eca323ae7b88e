"""Read the arguments of an audit, which are files or arrays: lists of items, ids, labels and features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.split import Dataset
from protocol.checks import ProtocolError
from protocol.inputs import conversion
from protocol.inputs.arrays import read_array
from protocol.inputs.conversion import as_numpy, is_file, named, numbers_from
from protocol.inputs.labels import labels_from
from protocol.splits import read_list

_DIGITS = 18  # maximum number of digits of a row number


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
    """
    return read_list(values) if is_file(values) else (conversion.items_from(values, role), None)


def ids_from(values: Any) -> NDArray[np.str_]:
    """Return the ids of a dataset in row order; raise ProtocolError unless they are distinct strings."""
    name = named(values, "ids")
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
        values = read_array(labels) if is_file(labels) else as_numpy(labels, "labels")
        n_labels = values.size if 1 in values.shape else len(values) if values.ndim else 0
        y = labels_from(values, named(labels, "labels"), n_labels if names is None else len(names))
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
    name = named(values, "features")
    X = numbers_from(values, "features")
    if dataset.n_items is None and dataset.ids is not None:
        raise ProtocolError(f"{name}: expected the ids of its rows (ids), because the lists contain ids, got none.")
    n_items = n_listed if dataset.n_items is None else dataset.n_items
    if X.ndim != 2 or len(X) < n_items or (dataset.n_items is not None and len(X) != n_items):
        raise ProtocolError(
            f"{name}: expected features of {n_items:,} items, shape ({n_items}, d), got shape {X.shape}."
        )
    return X
