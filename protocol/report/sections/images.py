"""Images: a sheet with a few of each class, and the images nearest to some queries (mLGAP, figure 7)."""

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.report.description import PAGE
from protocol.report.figure import Section
from protocol.report.results import Results
from protocol.scores.summary import at

COLUMNS, MOST_CLASSES = 8, 20
TILE, GAP = 48, 4  # pixels
_UNLABELLED_ROWS = 4


class ContactSheet(NamedTuple):
    """One picture with a row of images per class."""

    png: str
    """The picture, as base64."""
    names: list[str]
    """Names of the classes, from the top; [] if the images have no labels."""
    alt: str
    """The contents of the picture, in words."""
    row_height: int = TILE + GAP


def contact_sheet(images: Any, labels: NDArray | None, class_names: Sequence[str]) -> ContactSheet:
    """Return the contact sheet of a dataset: images of its first classes, spread evenly over each class.

    Parameters
    ----------
    images : array of uint8, shape (n, height, width) or (n, height, width, 3)
        Only the images on the sheet are read, one by one.
    labels : ndarray of int64, shape (n,), or of bool, shape (n, n_classes), or None
        Without labels, the images are spread evenly over the dataset.
    class_names : sequence of str
        Names of class 0, 1, ...
    """
    import cv2

    rows = _rows(len(images), labels)
    pitch = TILE + GAP
    canvas = np.full((len(rows) * pitch, COLUMNS * pitch, 3), 255, dtype=np.uint8)
    for down, row in enumerate(rows):
        for across, number in enumerate(row.tolist()):
            shown = tile(images[number : number + 1][0])
            height, width = shown.shape[:2]
            top, left = down * pitch + (pitch - height) // 2, across * pitch + (pitch - width) // 2
            canvas[top : top + height, left : left + width] = shown
    picture: Any = np.ascontiguousarray(canvas[..., ::-1])
    png = base64.b64encode(cv2.imencode(".png", picture)[1].tobytes()).decode()
    names = [] if labels is None else list(class_names[: len(rows)])
    n_shown = sum(map(len, rows))
    alt = f"{n_shown} images, a row for each class: {', '.join(names)}" if names else f"{n_shown} images"
    return ContactSheet(png, names, alt)


def _rows(n_images: int, labels: NDArray | None) -> list[NDArray[np.int64]]:
    """Return the images of each row of the sheet."""
    if labels is None:
        spread = _spread(np.arange(n_images), _UNLABELLED_ROWS * COLUMNS)
        return [spread[start : start + COLUMNS] for start in range(0, len(spread), COLUMNS)]
    n_classes = min(MOST_CLASSES, labels.shape[1] if labels.ndim == 2 else int(labels.max()) + 1)
    shows = labels.T if labels.ndim == 2 else labels == np.arange(n_classes)[:, None]
    return [_spread(np.flatnonzero(of_class), COLUMNS) for of_class in shows[:n_classes]]


def _spread(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most `most` of the numbers, evenly spaced, including the first and the last."""
    places = np.linspace(0, len(numbers) - 1, min(most, len(numbers)))
    return numbers[np.rint(places).astype(np.int64)]


def tile(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a colour image whose longer side has `TILE` pixels; pixels of small images become squares."""
    import cv2

    height, width = image.shape[:2]
    scale = TILE / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST if TILE % max(height, width) == 0 else cv2.INTER_CUBIC
    source: Any = image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    return np.asarray(cv2.resize(source, size, interpolation=how), dtype=np.uint8)


def retrieved_section(results: Results) -> Section | None:
    """Return the nearest items of a few queries under the best and the worst hasher; None without images."""
    if results.images is None:
        return None
    default = results.select({})
    if results.combination != default.combination:
        text = PAGE.text("retrieved-elsewhere", results=default)
        return PAGE.section("retrieved", [text], context={"searches": []})
    rows = at(results.table["retrieved"], **results.place)
    extremes = _extremes(results)
    searches = [
        {
            "hasher": hasher,
            "score": score,
            "queries": [_query(results, own) for _, own in at(rows, hasher=hasher).groupby("query")],
        }
        for hasher, score in extremes
    ]
    shares = {hasher: at(rows, hasher=hasher)["relevant"].mean() for hasher, _ in extremes}
    return PAGE.section(
        "retrieved", [PAGE.text("retrieved", results=results, shares=shares)], context={"searches": searches}
    )


def _extremes(results: Results) -> list[tuple[str, float]]:
    rows = at(results.plain, **results.combination, metric=results.metric).fillna({"mean": -1})
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
