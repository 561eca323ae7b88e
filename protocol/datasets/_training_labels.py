"""Labels for training that are not those of the dataset, such as noisy ones, from a user's file."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted
from protocol.inputs.labels import labels_from

_UNKNOWN = -1


def training_labels(
    file: str, labels: NDArray, official: Mapping[str, NDArray[np.int64]], rows: NDArray[np.int64]
) -> NDArray:
    """Return the labels of a dataset, replaced by those of a file as far as it has them.

    Parameters
    ----------
    file : str
        Class numbers of the dataset, -1 where the label is unknown, for all of its items or for those of one official
        split, in their order. Any form that `protocol.inputs.labels.labels_from` reads, but without ids or names of
        classes.
    labels : ndarray of int, shape (n,)
        The labels of the dataset, which are not modified.
    official : mapping of str to ndarray of int64
        Row numbers of its official splits.
    rows : ndarray of int64
        The training set, each item of which must have a label in the file.

    Raises
    ------
    ProtocolError
        If the file does not contain such labels, their number fits neither the dataset nor exactly one official split,
        or an item of the training set has no label; or if the dataset has several labels per item.
    """
    if np.ndim(labels) != 1:
        raise ProtocolError(f"{file}: training labels need a dataset with one label per item.")
    given = _class_numbers(file, int(labels.max()) + 1)
    parts = {"": np.arange(len(labels))} | dict(official)
    fitting = [name for name, part in parts.items() if len(part) == len(given)][: 1 if len(given) == len(labels) else 2]
    if len(fitting) != 1:
        sizes = ", ".join(f"{name} {len(part):,}" for name, part in official.items()) or "none"
        advice = f"Give one for each of the {len(labels):,} items, or of an official split with a size of its own"
        raise ProtocolError(f"{file}: {counted(len(given), 'label')}. {advice} ({sizes}).")
    taught = np.full_like(labels, _UNKNOWN)
    taught[parts[fitting[0]]] = given
    lacking = rows[taught[rows] == _UNKNOWN]
    if lacking.size:
        number = f"{lacking.size:,} of the {len(rows):,} training items, the first in row {lacking[0]:,}"
        raise ProtocolError(f"{file}: no label for {number}. Use a split that trains on items with a label alone.")
    return np.where(taught == _UNKNOWN, labels, taught)


def _class_numbers(file: str, n_classes: int) -> NDArray[np.int64]:
    labels, names, ids = labels_from(file, "training_labels")
    is_plain = not names and ids is None and labels.ndim == 1
    if not is_plain or labels.min() < _UNKNOWN or labels.max() >= n_classes:
        got = f"numbers from {labels.min()} to {labels.max()}" if is_plain else "names, ids or several labels per item"
        numbers = f"class numbers from 0 to {n_classes - 1} in the order of the dataset's items, or -1 if unknown"
        raise ProtocolError(f"{file}: training labels must be {numbers}, got {got}.")
    return labels
