"""Check pairs of modalities: an item's image and its text must be in the same partitions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.auditing.findings import Finding, Removal
from protocol.auditing.inputs import items_from
from protocol.auditing.split import Dataset, Split
from protocol.checks import ProtocolError
from protocol.inputs.conversion import as_numpy, is_file
from protocol.inputs.limits import check_regular
from protocol.splits import PARTITIONS


def divided_pairs(parts: Mapping[str, NDArray[np.int64]], pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs whose halves are in different partitions.

    A half that is in no partition does not count, because lists of queries may contain only one modality.

    Parameters
    ----------
    parts : mapping of str to ndarray of int64
        Item numbers by partition; each half of a pair is an item with its own number.
    pairs : ndarray of int64, shape (n_pairs, 2)
        The item numbers of the halves.

    Returns
    -------
    ndarray of int64
        Row numbers of `pairs`, ascending.

    Examples
    --------
    The text of image 1 is in the training set, and image 1 is a query.

    >>> divided_pairs({"query": np.array([1]), "train": np.array([0, 10, 11])}, np.array([[0, 10], [1, 11], [2, 12]]))
    array([1])
    """
    first, second = (np.stack([np.isin(half, part) for part in parts.values()]) for half in pairs.T)
    listed = first.any(axis=0) & second.any(axis=0)
    return np.flatnonzero(listed & (first != second).any(axis=0))


def audit_pairs(split: Split, pairs: NDArray[np.int64]) -> list[Finding]:
    """Return a finding for pairs whose halves are in different partitions, by the first half; see `divided_pairs`."""
    divided = pairs[divided_pairs(split.parts, pairs)]
    return split.found(
        "pair-split", "error", divided[:, 0], partners=divided[:, 1], removals=lambda: _joining(split.parts, divided)
    )


def _joining(parts: Mapping[str, NDArray[np.int64]], divided: NDArray[np.int64]) -> list[Removal]:
    """Return the halves to remove so that no pair is divided.

    If only one half is a query, the other half is removed from all partitions. Otherwise, partitions with both halves
    keep them, and single halves are removed; if no partition has both, the first one in the order of `PARTITIONS` keeps
    its half.
    """
    names = [part for part in PARTITIONS if part in parts]
    contains = np.stack(
        [np.stack([np.isin(half, parts[part]) for half in divided.T]) for part in names]
    )  # (n_parts, 2, n_pairs)
    together, any_half = contains.all(axis=1), contains.any(axis=1)
    query = names.index("query")
    one_queried = np.asarray(contains[query].any(axis=0) & ~contains[query].all(axis=0))
    keeper = np.where(together.any(axis=0) & ~one_queried, together, any_half).argmax(axis=0)
    removals = []
    for number, part in enumerate(names):
        for half, other in ((0, 1), (1, 0)):
            alone = ~contains[number, other] & (keeper != number)
            leaves = contains[number, half] & np.where(one_queried, ~contains[query, half], alone)
            for kept_in in np.unique(keeper[leaves]):
                pairs = divided[leaves & (keeper == kept_in)]
                removals.append(Removal(part, pairs[:, half], names[kept_in], pairs[:, other]))
    return removals


def pairs_from(values: Any, dataset: Dataset) -> NDArray[np.int64]:
    """Return the items that are the two halves of each pair.

    Parameters
    ----------
    values : path or array_like, shape (n_pairs, 2)
        Ids or row numbers; a file has two per line, separated by blanks or a comma.
    dataset : Dataset

    Returns
    -------
    ndarray of int64, shape (n_pairs, 2)
        Item numbers. Pairs with ids that are not in the dataset are omitted, because no partition can contain them.

    Raises
    ------
    ProtocolError
        If the file can't be read, a line or a row is not a pair, or no pair belongs to the dataset.
    """
    name = str(values) if is_file(values) else "pairs"
    expected = "row numbers" if dataset.ids is None else "ids"
    if is_file(values):
        pairs = _read(values, expected)
    else:
        array = as_numpy(values, "pairs")
        if array.ndim != 2 or array.shape[1] != 2:
            raise ProtocolError(f"{name}: expected two {expected} per pair, shape (n, 2), got shape {array.shape}.")
        items, _ = items_from(array.ravel(), "pairs")
        pairs = items.reshape(-1, 2).tolist()
        if items.dtype.kind == "i" and dataset.n_items is not None:
            return _rows(pairs, name)
    if dataset.ids is None:
        return _rows(pairs, name)
    numbers: dict[str | int, int] = {str(item): number for number, item in enumerate(dataset.ids)}
    known = [(numbers[a], numbers[b]) for a, b in pairs if a in numbers and b in numbers]
    if not known:
        raise ProtocolError(f"{name}: expected pairs of listed ids, got none among {len(pairs):,} pairs.")
    return np.array(known, dtype=np.int64)


def _read(path: str | Path, expected: str) -> list[list[str]]:
    """Return the two ids or row numbers of each line."""
    try:
        check_regular(Path(path), f"two {expected} per line")
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ProtocolError(
            f"{path}: expected two {expected} per line, got a file that can't be read ({error})."
        ) from error
    pairs = [line.replace(",", " ").split() for line in lines]
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or (expected == "row numbers" and not all(half.isdecimal() for half in pair)):
            raise ProtocolError(f"{path}: line {number}: expected two {expected}, got {lines[number - 1][:80]!r}.")
    return pairs


def _rows(pairs: Sequence[Sequence[str | int]], name: str) -> NDArray[np.int64]:
    """Return pairs of row numbers, which are text in a file."""
    try:
        found = np.array([(int(a), int(b)) for a, b in pairs], dtype=np.int64).reshape(-1, 2)
    except ValueError:
        raise ProtocolError(f"{name}: expected pairs of row numbers, as in the lists, got ids.") from None
    except OverflowError:
        raise ProtocolError(f"{name}: expected row numbers, got one of more than 18 digits.") from None
    if not len(found) or found.min() < 0:
        got = f"{found.min()}" if len(found) else "no pair"
        raise ProtocolError(f"{name}: expected pairs of row numbers >= 0, got {got}.")
    return found
