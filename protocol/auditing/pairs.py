"""Pairs of modalities: an item's image and its text belong in the same partitions."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding
from protocol.auditing.split import Dataset, Split
from protocol.checks import ProtocolError


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


def audit_pairs(split: Split, pairs: NDArray[np.int64]) -> list[Finding]:
    """Return a finding for pairs whose halves are in different partitions, by the first half; as `torn_pairs`."""
    return split.found("pair-split", "error", pairs[torn_pairs(split.parts, pairs), 0])


def read_pairs(path: str | Path, dataset: Dataset) -> NDArray[np.int64]:
    """Read which items are the two halves of a pair: two ids or row numbers a line, blanks or a comma between.

    Returns
    -------
    ndarray of int64, shape (n_pairs, 2)
        Item numbers; pairs with an id that the dataset lacks, which no partition can hold, are left out.

    Raises
    ------
    ProtocolError
        If the file can't be read, a line is no pair, or no pair is of the dataset.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ProtocolError(f"{path}: wanted two ids a line, which it can't be read as: {error}") from error
    pairs = [line.replace(",", " ").split() for line in lines]
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or (dataset.ids is None and not all(half.isdecimal() for half in pair)):
            wanted = "row numbers" if dataset.ids is None else "ids"
            raise ProtocolError(f"{path}: line {number}: wanted two {wanted}, came {lines[number - 1][:80]!r}")
    if dataset.ids is None:
        known = [(int(a), int(b)) for a, b in pairs]
        if any(max(pair) > np.iinfo(np.int64).max for pair in known):
            raise ProtocolError(f"{path}: wanted row numbers, came one of more than 18 digits")
    else:
        numbers = {str(name): number for number, name in enumerate(dataset.ids)}
        known = [(numbers[a], numbers[b]) for a, b in pairs if a in numbers and b in numbers]
    if not known:
        raise ProtocolError(f"{path}: wanted pairs of listed ids, came none among {len(pairs):,} lines")
    return np.array(known, dtype=np.int64)
