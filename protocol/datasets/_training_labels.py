"""Labels for training that are not those of the dataset, such as noisy ones, from a user's file."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs.labels import labels_from

_UNKNOWN = -1


def read_training_labels(
    file: str, n_items: int, n_classes: int, official: Mapping[str, int]
) -> tuple[NDArray[np.int64], str | None]:
    """Read labels for all items of a dataset, or for those of one of its official splits.

    Parameters
    ----------
    file : str
        Class numbers of the dataset, -1 where the label is unknown, in the order of its items. Any form that
        `protocol.inputs.labels.labels_from` reads, but without ids or names of classes.
    n_items, n_classes : int
        The numbers of items and classes of the dataset.
    official : mapping of str to int
        The sizes of its official splits.

    Returns
    -------
    labels : ndarray of int, shape (n,)
    part : str or None
        The official split that has n items; None if n is `n_items`.

    Raises
    ------
    ProtocolError
        If the file does not contain such labels, or their number fits neither the dataset nor exactly one official
        split.
    """
    labels, names, ids = labels_from(file, "training_labels")
    is_plain = not names and ids is None and labels.ndim == 1
    if not is_plain or labels.min() < _UNKNOWN or labels.max() >= n_classes:
        got = f"numbers from {labels.min()} to {labels.max()}" if is_plain else "names, ids or several labels per item"
        raise ProtocolError(
            f"{file}: training labels must be class numbers from 0 to {n_classes - 1} in the order of the dataset's "
            f"items, or -1 if unknown, got {got}."
        )
    parts = [part for part, size in official.items() if size == len(labels) != n_items]
    if len(labels) != n_items and len(parts) != 1:
        sizes = ", ".join(f"{name} {size:,}" for name, size in official.items()) or "none"
        give = f"Give one for each of the {n_items:,} items, or of an official split with a size of its own ({sizes})."
        raise ProtocolError(f"{file}: {counted(len(labels), 'label')}. {give}")
    return labels, next(iter(parts), None)


def training_labels(
    file: str, labels: NDArray, official: Mapping[str, NDArray[np.int64]], rows: NDArray[np.int64]
) -> NDArray:
    """Return the labels of a dataset, replaced by those of a file as far as it has them.

    Parameters
    ----------
    file : str
        As for `read_training_labels`.
    labels : ndarray of int, shape (n,)
        The labels of the dataset, which are not modified.
    official : mapping of str to ndarray of int64
        Row numbers of its official splits.
    rows : ndarray of int64
        The training set, each item of which must have a label in the file.

    Raises
    ------
    ProtocolError
        As for `read_training_labels`; or if an item of the training set has no label, or the dataset has several labels
        per item.
    """
    if labels.ndim > 1:
        raise ProtocolError(f"{file}: training labels need a dataset with one label per item.")
    sizes = {name: len(part) for name, part in official.items()}
    given, name = read_training_labels(file, len(labels), int(labels.max()) + 1, sizes)
    taught = np.full_like(labels, _UNKNOWN)
    taught[slice(None) if name is None else official[name]] = given
    lacking = rows[taught[rows] == _UNKNOWN]
    if lacking.size:
        number = f"{lacking.size:,} of the {len(rows):,} training items, the first in row {lacking[0]:,}"
        where = f"of the official split {name!r}" if name else "with a known label"
        raise ProtocolError(f"{file}: no label for {number}. Use a split that trains on items {where} alone.")
    return np.where(taught == _UNKNOWN, labels, taught)
