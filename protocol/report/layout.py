"""Pictures of a split: where its partitions lie in the dataset, and how many items of each class they hold."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import altair as alt

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
# Mid-tones, which stand out from white and from black alike.
_ROLES = MappingProxyType(
    {
        "held out for the test": "#8d949e",
        "learned from": "#3f87c9",
        "learned from and ranked in the test": "#dd7a26",
        "not used": "#c9b458",
    }
)
_INK = "#7b818a"
_WIDTH, _ROW, _PANEL = 560, 26, 56
_MOST_NAMES = 25  # classes that are called by their names below the bars


def layout(splits: Mapping[str, Mapping[str, NDArray[np.int64]]], n_items: int) -> "dict[str, alt.Chart]":
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
    return {name: _layout(name, parts, n_items) for name, parts in splits.items()}


def _layout(name: str, parts: Mapping[str, NDArray[np.int64]], n_items: int) -> "alt.Chart":
    import altair as alt

    boxes = boxes_of(parts, n_items)
    rows = list(dict.fromkeys(box["row"] for box in boxes))
    roles = [role for role in _ROLES if role in {box["role"] for box in boxes}]
    chart = (
        alt.Chart(alt.Data(values=boxes))
        .mark_bar(strokeWidth=1.5, cornerRadius=1)
        .encode(
            x=alt.X(
                "start:Q", title="items", scale=alt.Scale(domain=[0, n_items], nice=False), axis=_axis(format=",.0f")
            ),
            x2="end:Q",
            y=alt.Y("row:N", title=None, sort=rows, axis=_axis(labelLimit=320, domain=False, ticks=False)),
            color=_of_role("color", roles),
            stroke=_of_role("stroke", roles),  # a box of few items keeps the width of its outline
            tooltip=["row:N", alt.Tooltip("items:Q", format=","), "role:N"],
        )
    )
    return _finished(chart, f"{name} split", _told(name, parts, n_items), height=_ROW * len(rows))


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
    test, learned = held & set(_TEST), held - set(_TEST)
    both, one, other, none = "learned from and ranked in the test", "held out for the test", "learned from", "not used"
    return both if test and learned else one if test else other if learned else none


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
    learned = [rows for part, rows in parts.items() if part not in _TEST]
    both = int(np.isin(np.unique(np.concatenate([*learned, []])), parts["database"]).sum())
    shared = f"{both:,} items of the database are learned from" if both else "no item of the database is learned from"
    return f"Layout of the {name} split of {n_items:,} items: {', '.join(sizes)}; {shared}."


def class_balance(
    splits: Mapping[str, Mapping[str, NDArray[np.int64]]], y: NDArray, class_names: Sequence[str] = ()
) -> "dict[str, alt.Chart]":
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
    return {name: _balance(name, parts, y, class_names) for name, parts in splits.items()}


def _balance(name: str, parts: Mapping[str, NDArray[np.int64]], y: NDArray, class_names: Sequence[str]) -> "alt.Chart":
    import altair as alt

    counts = counts_of(parts, y)
    classes = [class_names[label] if label < len(class_names) else str(label) for label in counts.pop("class")]
    named = len(classes) <= _MOST_NAMES
    values = [
        {"part": f"{_WORDS[part]}", "class": place + 1, "name": label, "items": int(count)}
        for part, held in counts.items()
        for place, (label, count) in enumerate(zip(classes, held, strict=True))
    ]
    x = (
        alt.X("name:N", title=None, sort=classes, axis=_axis(labelAngle=-40, labelLimit=110))
        if named
        else alt.X(
            "class:O",
            title=f"{len(classes)} classes",
            axis=_axis(values=[1, *range(10, len(classes) + 1, 10)], labelAngle=0),
        )
    )
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar(color=_ROLES["learned from"])
        .encode(
            x=x,
            y=alt.Y(
                "items:Q",
                title=None,
                axis=_axis(tickCount=2, format=",.0f", tickMinStep=1, grid=True, gridOpacity=0.25),
            ),
            tooltip=["part:N", "name:N", alt.Tooltip("items:Q", format=",")],
        )
        .properties(width=_WIDTH, height=_PANEL)
        .facet(
            row=alt.Row(
                "part:N",
                title=None,
                sort=[_WORDS[part] for part in counts],
                header=alt.Header(labelAngle=0, labelAlign="left", labelColor=_INK, labelLimit=200),
            ),
            spacing=12,
        )
        .resolve_scale(y="independent")
    )
    ranges = [f"{_WORDS[part]} {held.min():,} to {held.max():,}" for part, held in counts.items()]
    told = f"Items of each of {len(classes)} classes in the {name} split: {', '.join(ranges)} a class."
    return _finished(chart, f"{name} split: items of each class", told)


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


def _of_role(channel: str, roles: Sequence[str]) -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(roles), range=[_ROLES[role] for role in roles])
    if channel == "stroke":
        return alt.Stroke("role:N", scale=scale, legend=None)
    legend = alt.Legend(orient="bottom", labelColor=_INK, labelLimit=300, symbolStrokeWidth=0)
    return alt.Color("role:N", title=None, scale=scale, legend=legend)


def _axis(**more: Any) -> "alt.Axis":
    import altair as alt

    ink = dict.fromkeys(("labelColor", "titleColor", "tickColor", "domainColor", "gridColor"), _INK)
    return alt.Axis(**{"grid": False, "titleFontWeight": "normal", **ink, **more})


def _finished(chart: Any, title: str, told: str, **size: int) -> Any:
    """Return a chart with its title and its text for those who can't see it, on the page's own background."""
    import altair as alt

    size = {"width": _WIDTH, **size} if size else {}
    titled = chart.properties(title=alt.Title(title, color=_INK, anchor="start"), description=told, **size)
    return titled.configure(background="transparent").configure_view(stroke=None)
