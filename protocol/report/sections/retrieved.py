"""The nearest images of some queries, relevant or not, grouped by distance (mLGAP, figure 7)."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.report.contact_sheet import TILE, tile
from protocol.report.figure import Section
from protocol.report.results import Results

_TITLE = "Examples of retrieved items"


def section(results: Results) -> Section | None:
    """Return the nearest items of a few queries under the best and the worst hasher; None without images."""
    if results.images is None:
        return None
    default = results.select({})
    if (results.place, results.n_bits) != (default.place, default.n_bits):
        text = f"Examples are shown only for {default.where()}."
        return Section("retrieved", _TITLE, [text], template="retrieved.html.j2", context={"searches": []})
    rows = results.at(results.table["retrieved"], **results.place)
    shown = _extremes(results)
    searches = [
        {
            "hasher": hasher,
            "score": score,
            "queries": [_query(results, own) for _, own in results.at(rows, hasher=hasher).groupby("query")],
        }
        for hasher, score in shown
    ]
    right = {hasher: results.at(rows, hasher=hasher)["relevant"].mean() for hasher, _ in shown}
    shares = " and ".join(f"{share:.0%} with {hasher}" for hasher, share in right.items())
    text = (
        f"Of the items shown, {shares} are relevant ({results.where()}, run 0). These hashers have the best and the "
        f"worst {results.metric}. Relevant items have a solid green frame and a tick, others a dashed red frame and a "
        "cross. Items at the same distance are tied, and appear in the order of the database."
    )
    return Section("retrieved", _TITLE, [text], template="retrieved.html.j2", context={"searches": searches})


def _extremes(results: Results) -> list[tuple[str, float]]:
    rows = results.at(results.plain, **results.place, metric=results.metric, n_bits=results.n_bits).fillna({"mean": -1})
    ranked = rows.sort_values("mean", ascending=False, kind="stable")
    ends = dict.fromkeys([ranked.iloc[0]["hasher"], ranked.iloc[-1]["hasher"]])
    return [(hasher, float(ranked.set_index("hasher").loc[hasher, "mean"])) for hasher in ends]


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
    """Return an image as base64, no larger than a tile."""
    import cv2

    small: Any = image if max(image.shape[:2]) <= TILE else tile(image)
    if small.ndim == 3:
        small = np.ascontiguousarray(small[..., ::-1])
    return base64.b64encode(cv2.imencode(".png", small, [cv2.IMWRITE_PNG_COMPRESSION, 9])[1].tobytes()).decode()
