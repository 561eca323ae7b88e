"""Pairs of modalities: an item's image and its text belong in the same partitions."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def torn_pairs(parts: Mapping[str, NDArray[np.int64]], pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs whose two halves are in different partitions.

    A half that is in no partition tears no pair: lists of queries may name one modality alone.

    Parameters
    ----------
    parts : mapping of str to ndarray of int64
        Item numbers by partition; each half of a pair is an item with a number of its own.
    pairs : ndarray of int64, shape (n_pairs, 2)
        The item numbers of the halves.

    Returns
    -------
    ndarray of int64
        Row numbers of `pairs`, ascending.

    Examples
    --------
    The text of image 1 was trained on, and image 1 is a query.

    >>> torn_pairs({"query": np.array([1]), "train": np.array([0, 10, 11])}, np.array([[0, 10], [1, 11], [2, 12]]))
    array([1])
    """
    first, second = (np.stack([np.isin(half, part) for part in parts.values()]) for half in pairs.T)
    listed = first.any(axis=0) & second.any(axis=0)
    return np.flatnonzero(listed & (first != second).any(axis=0))
