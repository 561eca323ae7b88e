"""The images nearest to some queries (mLGAP, figure 7)."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.report.description import PAGE
from protocol.report.figure import Section
from protocol.report.results import Results
from protocol.scores.summary import at

TILE = 48  # pixels


def retrieved_section(results: Results) -> Section | None:
    """Return the nearest items of a few queries under the best and the worst hasher; None without images."""
    if results.images is None:
        return None
    default = results.select({})
    if results.combination != default.combination:
        text = PAGE.text("retrieved-elsewhere", results=default)
        return PAGE.section("retrieved", [text], context={"searches": []})
    rows = at(results.table["retrieved"], **results.place)
    searches = [
        {
            "hasher": hasher,
            "share": at(rows, hasher=hasher)["relevant"].mean(),
            "queries": [_query(results, own) for _, own in at(rows, hasher=hasher).groupby("query")],
        }
        for hasher in _extremes(results)
    ]
    shares = {search["hasher"]: search["share"] for search in searches}
    sentence = PAGE.text("retrieved", results=results, shares=shares)
    return PAGE.section("retrieved", [sentence], context={"searches": searches})


def _extremes(results: Results) -> list[str]:
    """Return the hashers with the best and the worst score."""
    rows = at(results.plain, **results.combination, metric=results.metric).fillna({"mean": -1})
    ranked = rows.sort_values("mean", ascending=False, kind="stable")["hasher"]
    return list(dict.fromkeys([ranked.iloc[0], ranked.iloc[-1]]))


def _query(results: Results, rows: Any) -> dict[str, Any]:
    number = int(rows["query"].iloc[0])
    groups = [
        {
            "distance": distance,
            "at_distance": int(own["at_distance"].iloc[0]),
            "items": [
                _shown(results, item) | {"relevant": bool(relevant)}
                for item, relevant in zip(own["item"], own["relevant"], strict=True)
            ],
        }
        for distance, own in rows.groupby("distance", sort=True)
    ]
    return _shown(results, number) | {"groups": groups}


def _shown(results: Results, number: int) -> dict[str, str]:
    """Return an item's image and name."""
    image = results.images[number : number + 1][0]
    return {"png": _png(image), "name": _label(results, number)}


def _label(results: Results, number: int) -> str:
    """Return an item's classes, or its id."""
    labels = results.items.get("labels")
    if labels is None:
        return str(results.items["ids"][number].decode())
    names = np.flatnonzero(labels[number]) if labels.ndim == 2 else labels[number : number + 1]
    return ", ".join(results.class_names[name] for name in names.tolist()) or "no class"


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
