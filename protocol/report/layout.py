"""Figures of the partitions of a split within the dataset, and the number of items of each class in them."""

import itertools
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.report.description import PAGE
from protocol.report.figure import Figure
from protocol.styles import COLOURS

WORDS = MappingProxyType(
    {
        "query": "test queries",
        "database": "database",
        "train": "training set",
        "validation_query": "validation queries",
        "validation_database": "validation database",
    }
)
_TEST = ("query", "database")
_WHOLE, _NONE = "whole dataset", "in no partition"
_HELD_OUT, _UNUSED = "test only", "not used"
_LEARNED, _VALIDATED = "training", "validation"
_BOTH = MappingProxyType({role: f"{role} and in the database" for role in (_LEARNED, _VALIDATED)})
_ROLES = MappingProxyType(
    {
        _HELD_OUT: COLOURS[9],
        _LEARNED: COLOURS[0],
        _BOTH[_LEARNED]: COLOURS[1],
        _VALIDATED: COLOURS[5],
        _BOTH[_VALIDATED]: COLOURS[3],
        _UNUSED: COLOURS[2],
    }
)
_ROW = 26


def layouts(splits: Mapping[str, Mapping[str, NDArray[np.int64]]], n_items: int) -> list[Figure]:
    """Return a figure for each split, with boxes for its partitions, as in figures 3.6 and 3.7 of the thesis.

    Items have the same position in every row, so boxes below one another share items. Under the standard protocol, the
    training set is below the database; under the improved protocol, it is to its right.

    Parameters
    ----------
    splits : mapping of str to mapping of str to ndarray of int64
        The row numbers of one run, by protocol and partition.
    n_items : int
        Number of items of the dataset.
    """
    import pandas as pd

    figures = []
    for name, parts in splits.items():
        boxes = pd.DataFrame(boxes_of(parts, n_items))
        rows, roles = list(dict.fromkeys(boxes["row"])), [role for role in _ROLES if role in set(boxes["role"])]
        scale = {"domain": roles, "range": [_ROLES[role] for role in roles]}
        train = parts.get("train", np.empty(0, dtype=np.int64))
        sentence = PAGE.text(
            "layout",
            n_trained=len(train),
            both=int(np.isin(train, parts["database"]).sum()),
            n_queries=len(parts["query"]),
            n_database=len(parts["database"]),
            n_items=n_items,
        )
        chart = {"height": _ROW * len(rows), "items": [0, n_items], "rows": rows, "roles": scale}
        file = f"layout-{'-'.join(name.split())}"
        figures.append(PAGE.figure(file, boxes, of="layout", chart=chart, name_of_split=name, sentence=sentence))
    return figures


def boxes_of(parts: Mapping[str, NDArray[np.int64]], n_items: int) -> list[dict[str, Any]]:
    """Return the boxes of the layout, one for each stretch of a row whose items have the same role.

    Items are ordered by their partitions: test queries, items of the database alone, items that the database shares
    with other partitions, items of other partitions, unused items.

    Returns
    -------
    list of dict
        ``row``, ``start`` and ``end`` in items, ``items`` and ``role``.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in (_WHOLE, *WORDS, _NONE)}
    sizes, end = Counter[str](), 0
    for inside, size in _stretches(parts, n_items):
        start, end, role = end, end + size, _role(inside)
        for row in (_WHOLE, *(inside or (_NONE,))):
            sizes[row] += size
            if rows[row] and (rows[row][-1]["end"], rows[row][-1]["role"]) == (start, role):
                rows[row][-1]["end"] = end
            else:
                rows[row].append({"start": start, "end": end, "role": role})
    return [
        {"row": f"{WORDS.get(row, row)} · {sizes[row]:,}", **box, "items": box["end"] - box["start"]}
        for row, boxes in rows.items()
        for box in boxes
    ]


def _stretches(parts: Mapping[str, NDArray[np.int64]], n_items: int) -> list[tuple[frozenset[str], int]]:
    """Return the sets of partitions that have items in common, in the order of the layout, with the number of these."""
    member = np.zeros((n_items, len(WORDS)), dtype=bool)
    for column, name in enumerate(WORDS):
        member[parts.get(name, ()), column] = True
    patterns, sizes = np.unique(member, axis=0, return_counts=True)
    inside = [frozenset(itertools.compress(WORDS, pattern)) for pattern in patterns]
    return sorted(zip(inside, sizes.tolist(), strict=True), key=lambda stretch: _sort_key(stretch[0]))


def _role(inside: frozenset[str]) -> str:
    """Return the role of items in these partitions."""
    use = _LEARNED if "train" in inside else _VALIDATED if inside - set(_TEST) else None
    if inside & set(_TEST):
        return _BOTH[use] if use else _HELD_OUT
    return use or _UNUSED


def _sort_key(inside: frozenset[str]) -> tuple[bool, ...]:
    """Return the sort key of items in these partitions."""
    is_test_only = not inside - set(_TEST)
    return (
        not inside,
        "query" not in inside,
        "database" not in inside,
        not is_test_only,
        *(name not in inside for name in ("validation_query", "validation_database", "train")),
    )


def counts_of(parts: Mapping[str, NDArray[np.int64]], y: NDArray) -> dict[str, NDArray[np.int64]]:
    """Return the classes (under ``class``), and by partition the number of items of each class."""
    classes = np.arange(y.shape[1]) if y.ndim == 2 else np.unique(y)
    counts = {"class": classes}
    for part in WORDS:
        if len(parts.get(part, ())):
            own = y[parts[part]]
            counts[part] = (
                own.sum(axis=0) if own.ndim == 2 else np.bincount(np.searchsorted(classes, own), minlength=len(classes))
            )
    return counts
