"""A contact sheet: one picture of a few small images of each class."""

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
