"""The data and its splits: their layout, findings of the audit, near-duplicates, and retrieved items.

The images nearest to some queries are those of mLGAP, figure 7.
"""

import base64
import itertools
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import counted
from protocol.report.figure import PAGE, Figure, Section
from protocol.report.results import Results, Selection
from protocol.report.sections.conventions import difference_figure, paired
from protocol.scores.statistics import why_not_shown
from protocol.scores.summary import SETTING, at

_TEST_WORDS = {"query": "test queries", "database": "database", "train": "training set"}
_VALIDATION_WORDS = {"validation_query": "validation queries", "validation_database": "validation database"}
WORDS = MappingProxyType(_TEST_WORDS | _VALIDATION_WORDS)
_TEST, _OTHERS = ("query", "database"), ("validation_query", "validation_database", "train")
_WHOLE, _NONE = "whole dataset", "in no partition"
TILE = 48  # pixels
_OF_FINDINGS = ["severity", "finding", "consequence", "fix", "treatment"]
"""The columns by which findings are counted once, in the table and in the status line."""


def partitions_section(results: Results) -> Section:
    """Return the layout of each split, with the sizes of its partitions, and the audit's findings."""
    findings = results.findings
    numbers = findings.drop_duplicates(_OF_FINDINGS).groupby("severity").size().items()
    kinds = [counted(n, "informational finding" if kind == "information" else kind) for kind, n in numbers]
    text = [PAGE.text("findings", parts=kinds) if kinds else PAGE.text("no-findings")]
    groups = findings.fillna("").groupby(_OF_FINDINGS).agg(files=("file", "size"), most=("count", "max"))
    rows = [[*kind, str(files), f"{most:,}"] for *kind, files, most in groups.reset_index().itertuples(index=False)]
    header = [*_OF_FINDINGS, "files", "largest number of items"]
    tables = [PAGE.table("findings", rows, header)] if rows else []
    return PAGE.section("partitions", text, layouts(results.splits, len(results.items["ids"])), tables)


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
        rows = list(dict.fromkeys(boxes["row"]))
        train = parts.get("train", np.empty(0, dtype=np.int64))
        sizes: dict[str, Any] = {
            "n_trained": len(train),
            "n_queries": len(parts["query"]),
            "n_database": len(parts["database"]),
        }
        sizes |= {"both": int(np.isin(train, parts["database"]).sum()), "n_items": n_items}
        chart = {"items": [0, n_items], "rows": rows}
        file = f"layout-{'-'.join(name.split())}"
        figures.append(PAGE.figure(file, boxes, of="layout", chart=chart, name_of_split=name, **sizes))
    return figures


def boxes_of(parts: Mapping[str, NDArray[np.int64]], n_items: int) -> list[dict[str, Any]]:
    """Return the boxes of the layout, one for each stretch of a row whose items are ranked or not.

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
        start, end, role = end, end + size, "ranked" if "database" in inside else "not ranked"
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

    def key(stretch: tuple[frozenset[str], int]) -> tuple[bool, ...]:
        absent = {name: name not in stretch[0] for name in WORDS}
        in_test, others = ([absent[name] for name in names] for names in (_TEST, _OTHERS))
        return (all(absent.values()), *in_test, not all(others), *others)

    return sorted(zip(inside, sizes.tolist(), strict=True), key=key)


class Status(NamedTuple):
    """A line at the top of the page: a text, the section with its details, and ``error``, ``warning`` or ``fine``."""

    text: str
    section: str
    level: str


def status(results: Results) -> list[Status]:
    """Return what a reader must know first: findings of the audit, undefined scores, and doubtful parts."""
    lines = []
    distinct = results.findings.drop_duplicates(_OF_FINDINGS)
    for level in ("error", "warning"):
        if n := int((distinct["severity"] == level).sum()):
            lines.append(Status(PAGE.text("status-audit", findings=counted(n, level)), "table-findings", level))
    others = results.findings[results.findings["finding"] == "other-training-labels"].sort_values("count")
    lines += [Status(one.consequence, "table-findings", "warning") for one in others.tail(1).itertuples()]
    shares = at(results.table["curves"], metric="without_relevant")
    for worst in shares[shares["value"] > 0].nlargest(1, "value").itertuples():
        lines.append(Status(PAGE.text("status-undefined", worst=worst), "meanings", "warning"))
    if registry.DATASETS.entry(results.config["dataset"]).required:  # own data, of which parts may be missing
        lines += [Status(note, "provenance", "warning") for note in results.provenance["notes"]]
    if any(len(versions) > 1 for versions in results.libraries.values()):
        lines.append(Status(PAGE.text("status-mixed"), "provenance", "warning"))
    return lines or [Status(PAGE.text("status-fine"), "partitions", "fine")]


def duplicates_section(results: Results) -> Section | None:
    """Return the largest change of the scores, and how many ranks change; None if no judged pairs are known."""
    table = None if results.duplicates is None else results.ordered(results.duplicates)
    if table is None or (rows := at(table, metric=results.metric)).empty:
        return None
    sizes, others = rows["difference"].abs(), table[table["metric"] != results.metric]
    if sizes.isna().all():
        text, figures = PAGE.text("duplicates-undefined", metric=results.metric), []
    else:
        figures, largest = [_differences(results, table)], rows.loc[sizes.idxmax()]
        values = {"metric": results.metric, "n": len(rows), "moves": len(_changed(rows)), "largest": largest}
        text = PAGE.text("duplicates", **values, setting=", ".join(str(largest[name]) for name in SETTING))
    changed = _changed(others)
    values = {"n": len(others), "moves": len(changed), "metrics": dict.fromkeys(changed["metric"])}
    return PAGE.section("duplicates", [text, PAGE.text("duplicates-others", **values)], figures)


def _differences(results: Results, table: Any) -> Figure:
    """Return the figure of the paired differences between the scores without these queries and those of all."""
    shared = table["split"].map(results.shared)
    rows = paired(table, table["difference_std"], table["n_runs"], shared).dropna(subset="difference")
    rows = rows.rename(columns={"all_queries": "value", "without": "value_versus"}).assign(versus="all queries")
    columns = ["metric", *SETTING, "n_bits", "hasher", "value", "value_versus", "difference", "low", "high", "versus"]
    columns.append("n_runs")
    is_drawn = rows["low"].notna() & (rows["n_runs"] > 2)
    tested = {"is_tested": is_drawn.any(), "why": why_not_shown(table["n_runs"], shared.max())}
    sentences = {metric: PAGE.text("duplicate-differences", metric=metric, **tested) for metric in rows["metric"]}
    difference, rows = "without these queries minus all", results.by_metric(rows[columns])
    return difference_figure(
        "duplicate-differences", results, rows, results.selections[0].combination, difference, sentences
    )


def _changed(rows: Any) -> Any:
    """Return the rows whose rank changes without these queries."""
    ranks = rows[["rank_all", "rank_without"]].dropna()
    return rows.loc[ranks.index[ranks["rank_all"] != ranks["rank_without"]]]


def retrieved_section(results: Results, selection: Selection) -> Section | None:
    """Return the nearest items of a few queries under the best and the worst hasher; None without images."""
    if results.images is None:
        return None
    if selection != results.selections[0]:
        text = PAGE.text("retrieved-elsewhere", selection=results.selections[0])
        return PAGE.section("retrieved", [text], context={"searches": []})
    rows = at(results.table["retrieved"], **selection.setting)
    by_hasher = {hasher: at(rows, hasher=hasher) for hasher in _extremes(results, selection)}
    searches = [
        {"hasher": hasher, "queries": [_query(results, nearest) for _, nearest in rows.groupby("query")]}
        for hasher, rows in by_hasher.items()
    ]
    shares = {hasher: rows["relevant"].mean() for hasher, rows in by_hasher.items()}
    sentence = PAGE.text("retrieved", results=results, selection=selection, shares=shares)
    return PAGE.section("retrieved", [sentence], context={"searches": searches})


def _extremes(results: Results, selection: Selection) -> list[str]:
    """Return the hashers with the best and the worst score."""
    rows = at(results.plain, **selection.combination, metric=results.metric).fillna({"mean": -1})
    ranked = rows.sort_values("mean", ascending=False, kind="stable")["hasher"]
    return list(dict.fromkeys([ranked.iloc[0], ranked.iloc[-1]]))


def _query(results: Results, rows: Any) -> dict[str, Any]:
    groups = []
    for distance, nearest in rows.groupby("distance", sort=True):
        pairs = zip(nearest["item"], nearest["relevant"].astype(bool), strict=True)
        items = [_item(results, item) | {"relevant": relevant} for item, relevant in pairs]
        groups.append({"distance": distance, "at_distance": int(nearest["at_distance"].iloc[0]), "items": items})
    return _item(results, int(rows["query"].iloc[0])) | {"groups": groups}


def _item(results: Results, number: int) -> dict[str, str]:
    """Return an item's image, and its classes or its id."""
    image, labels = results.images[number : number + 1][0], results.items.get("labels")
    if labels is None:
        return {"png": _png(image), "name": str(results.items["ids"][number].decode())}
    names = np.flatnonzero(labels[number]) if labels.ndim == 2 else labels[number : number + 1]
    return {"png": _png(image), "name": ", ".join(results.class_names[name] for name in names.tolist()) or "no class"}


def _png(image: NDArray[np.uint8]) -> str:
    """Return an image as base64: its longer side has at most `TILE` pixels, and those of small images stay squares."""
    import cv2

    height, width = image.shape[:2]
    scale = min(1, TILE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small: Any = cv2.resize(image, size, interpolation=cv2.INTER_AREA) if scale < 1 else image
    if small.ndim == 3:
        small = np.ascontiguousarray(small[..., ::-1])
    return base64.b64encode(cv2.imencode(".png", small, [cv2.IMWRITE_PNG_COMPRESSION, 9])[1].tobytes()).decode()
