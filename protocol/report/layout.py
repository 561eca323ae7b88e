"""Pictures of a split: where its partitions lie in the dataset, and how many items of each class they hold."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.report.figure import COLOURS, Figure, between, rows_chart

_WORDS = MappingProxyType(
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
_HELD_OUT, _UNUSED = "held out for the test", "not used"
_LEARNED, _VALIDATED = "learned from", "used for validation"
_BOTH = MappingProxyType({role: f"{role} and ranked in the test" for role in (_LEARNED, _VALIDATED)})
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
_ROW, _PANEL = 26, 56
_MOST_NAMES = 25  # classes that are called by their names below the bars


def layouts(splits: Mapping[str, Mapping[str, NDArray[np.int64]]], n_items: int) -> list[Figure]:
    """Return, for each split, its partitions as boxes below the whole dataset, as thesis figures 3.6 and 3.7 draw it.

    Items lie in the same place in every row, in proportion, so that boxes below one another share items: under the
    standard protocol the training set lies below the database, under the improved one beside it.

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
    legend = alt.Legend(labelLimit=300, columns=1)  # a phone has no room for two
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
    return Figure(f"layout-{name}", f"The {name} split", _told(name, parts, n_items), chart, boxes)


def boxes_of(parts: Mapping[str, NDArray[np.int64]], n_items: int) -> list[dict[str, Any]]:
    """Return the boxes of the layout, one for each stretch of a row whose items play the same role.

    Items are placed by the partitions that hold them: test queries first, then what is only in the database, what it
    shares with others, what is only learned from, what is not used.

    Returns
    -------
    list of dict
        ``row``, ``start`` and ``end`` in items, ``items`` and ``role``.
    """
    names = [name for name in _WORDS if len(parts.get(name, ()))]
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
        {"row": f"{_WORDS.get(row, row)} · {sum(box['end'] - box['start'] for box in own):,}", **box}
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
    """Return where items in these partitions come in the order of the layout."""
    alone = not held - set(_TEST)
    return (
        not held,
        "query" not in held,
        "database" not in held,
        not alone,
        *(name not in held for name in ("validation_query", "validation_database", "train")),
    )


def _told(name: str, parts: Mapping[str, NDArray[np.int64]], n_items: int) -> str:
    """Return the layout in words."""
    sizes = [f"{len(parts[part]):,} {words}" for part, words in _WORDS.items() if len(parts.get(part, ()))]
    both = int(np.isin(parts.get("train", []), parts["database"]).sum())
    shared = f"{both:,} items of the database are learned from" if both else "no item of the database is learned from"
    return f"Layout of the {name} split of {n_items:,} items: {', '.join(sizes)}; {shared}."


def class_balances(
    splits: Mapping[str, Mapping[str, NDArray[np.int64]]], y: NDArray, class_names: Sequence[str] = ()
) -> list[Figure]:
    """Return, for each split, how many items of each class its partitions hold: a panel of bars for each partition.

    Parameters
    ----------
    splits : mapping of str to mapping of str to ndarray of int64
        By protocol, the row numbers of one run by partition.
    y : ndarray of int, shape (n_items,), or of bool, shape (n_items, n_classes)
        Class labels; an item of several classes counts in each.
    class_names : sequence of str
        Of class 0, 1, ...; empty: they are called by their numbers.
    """
    return [_balance(name, parts, y, class_names) for name, parts in splits.items()]


def _balance(name: str, parts: Mapping[str, NDArray[np.int64]], y: NDArray, class_names: Sequence[str]) -> Figure:
    import altair as alt
    import pandas as pd

    counts = counts_of(parts, y)
    classes = [class_names[label] if label < len(class_names) else str(label) for label in counts.pop("class")]
    rows = [
        {"partition": _WORDS[part], "place": place, "class": label, "items": int(count)}
        for part, held in counts.items()
        for place, (label, count) in enumerate(zip(classes, held, strict=True), start=1)
    ]
    few = len(classes) <= _MOST_NAMES
    tens = alt.Axis(values=[1, *range(10, len(classes) + 1, 10)], labelAngle=0)
    chart = (
        rows_chart()
        .mark_bar(color=_ROLES[_LEARNED])
        .encode(
            x=alt.X("class:N", title=None, sort=classes, axis=alt.Axis(labelAngle=-40, labelLimit=110))
            if few
            else alt.X("place:O", title=f"{len(classes)} classes", axis=tens),
            y=alt.Y("items:Q", title=None, axis=alt.Axis(tickCount=2, format=",.0f", tickMinStep=1)),
            tooltip=["partition:N", "class:N", alt.Tooltip("items:Q", format=",")],
        )
        .properties(width="container", height=_PANEL)
        .facet(
            row=alt.Row(
                "partition:N",
                title=None,
                sort=[_WORDS[part] for part in counts],
                header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top", labelLimit=200),
            ),
            spacing=12,
        )
        .resolve_scale(y="independent")
    )
    ranges = [f"{_WORDS[part]} {between(held)}" for part, held in counts.items()]
    told = f"Items of each of {len(classes)} classes in the {name} split: {', '.join(ranges)} a class."
    return Figure(f"classes-{name}", f"Items of each class, {name} split", told, chart, pd.DataFrame(rows))


def counts_of(parts: Mapping[str, NDArray[np.int64]], y: NDArray) -> dict[str, NDArray[np.int64]]:
    """Return the classes (under ``class``) and how many items of each a partition holds, by partition."""
    classes = np.arange(y.shape[1]) if y.ndim == 2 else np.unique(y)
    counts = {"class": classes}
    for part in _WORDS:
        if len(parts.get(part, ())):
            own = y[parts[part]]
            counts[part] = (
                own.sum(axis=0) if own.ndim == 2 else np.bincount(np.searchsorted(classes, own), minlength=len(classes))
            )
    return counts
