"""Pictures of a split: where its partitions lie in the dataset; and the number of items of each class in them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.report.figure import COLOURS, Figure, rows_chart

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
        _HELD_OUT: COLOURS[8],
        _LEARNED: COLOURS[0],
        _BOTH[_LEARNED]: COLOURS[1],
        _VALIDATED: COLOURS[2],
        _BOTH[_VALIDATED]: COLOURS[4],
        _UNUSED: COLOURS[7],
    }
)
_ROW = 26


def layouts(splits: Mapping[str, Mapping[str, NDArray[np.int64]]], n_items: int) -> list[Figure]:
    """Return, for each split, its partitions as boxes below the whole dataset, as thesis figures 3.6 and 3.7 draw it.

    Items have the same position in every row, so that boxes below one another share items: under the standard protocol
    the training set lies below the database, under the improved one to its right.

    Parameters
    ----------
    splits : mapping of str to mapping of str to ndarray of int64
        By protocol, the row numbers of one run by partition.
    n_items : int
        Of the dataset.
    """
    return [_layout(name, parts, n_items) for name, parts in splits.items()]


def _layout(name: str, parts: Mapping[str, NDArray[np.int64]], n_items: int) -> Figure:
    import altair as alt
    import pandas as pd

    boxes = pd.DataFrame(boxes_of(parts, n_items))
    rows = list(dict.fromkeys(boxes["row"]))
    roles = [role for role in _ROLES if role in set(boxes["role"])]
    scale = alt.Scale(domain=roles, range=[_ROLES[role] for role in roles])
    legend = alt.Legend(labelLimit=300, columns=1)  # a phone is too narrow for two
    chart = (
        rows_chart()
        .mark_bar(strokeWidth=1.5, cornerRadius=1)
        .encode(
            x=alt.X(
                "start:Q",
                title="items",
                scale=alt.Scale(domain=[0, n_items], nice=False),
                axis=alt.Axis(format=",.0f", grid=False),
            ),
            x2="end:Q",
            y=alt.Y("row:N", title=None, sort=rows, axis=alt.Axis(labelLimit=320, domain=False, ticks=False)),
            color=alt.Color("role:N", title=None, scale=scale, legend=legend),
            stroke=alt.Stroke("role:N", title=None, scale=scale, legend=legend),  # few items keep their outline's width
            tooltip=["row:N", alt.Tooltip("items:Q", format=","), "role:N"],
        )
        .properties(width="container", height=_ROW * len(rows))
    )
    return Figure(f"layout-{'-'.join(name.split())}", f"The {name} split", _words(parts, n_items), chart, boxes)


def boxes_of(parts: Mapping[str, NDArray[np.int64]], n_items: int) -> list[dict[str, Any]]:
    """Return the boxes of the layout, one for each stretch of a row whose items have the same role.

    Items are ordered by their partitions: test queries, items of the database alone, items that the database shares
    with other partitions, items of other partitions, unused items.

    Returns
    -------
    list of dict
        ``row``, ``start`` and ``end`` in items, ``items`` and ``role``.
    """
    names = [name for name in WORDS if len(parts.get(name, ()))]
    member = np.zeros((n_items, len(names)), dtype=bool)
    for column, name in enumerate(names):
        member[parts[name], column] = True
    patterns, sizes = np.unique(member, axis=0, return_counts=True)
    held = [frozenset(name for name, inside in zip(names, pattern, strict=True) if inside) for pattern in patterns]
    order = sorted(range(len(held)), key=lambda place: _place(held[place]))
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in (_WHOLE, *names, _NONE)}
    end = 0
    for place in order:
        start, end = end, end + int(sizes[place])
        for row in (_WHOLE, *(name for name in names if name in held[place]), *(() if held[place] else (_NONE,))):
            before = rows[row][-1] if rows[row] else None
            if before and before["end"] == start and before["role"] == _role(held[place]):
                before["end"] = end
            else:
                rows[row].append({"start": start, "end": end, "role": _role(held[place])})
    return [
        {"row": f"{WORDS.get(row, row)} · {sum(box['end'] - box['start'] for box in own):,}", **box}
        | {"items": box["end"] - box["start"]}
        for row, own in rows.items()
        for box in own
    ]


def _role(held: frozenset[str]) -> str:
    use = _LEARNED if "train" in held else _VALIDATED if held - set(_TEST) else None
    if held & set(_TEST):
        return _BOTH[use] if use else _HELD_OUT
    return use or _UNUSED


def _place(held: frozenset[str]) -> tuple[bool, ...]:
    """Return the sort key of items in these partitions."""
    alone = not held - set(_TEST)
    return (
        not held,
        "query" not in held,
        "database" not in held,
        not alone,
        *(name not in held for name in ("validation_query", "validation_database", "train")),
    )


def _words(parts: Mapping[str, NDArray[np.int64]], n_items: int) -> str:
    """Return what hashers learn from and what is held out, in words."""
    train, database = parts.get("train", np.empty(0, dtype=np.int64)), parts["database"]
    both = int(np.isin(train, database).sum())
    where = "all of them" if both and both == len(train) else f"{both:,} of them" if both else "none of them"
    return (
        f"Hashers learn from {len(train):,} training items, {where} in the database. "
        f"{len(parts['query']):,} test queries are ranked against {len(database):,} of the {n_items:,} items."
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
