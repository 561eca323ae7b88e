"""SIFT descriptors of stated patches, through OpenCV: what `sift` and `bow` share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH = 128
_SIDE_PER_SIZE = 6  # OpenCV's descriptor has 4 cells of 1.5 keypoint sizes a side


def sift() -> Any:
    """Return OpenCV's SIFT with Lowe's defaults, on one thread."""
    import cv2

    cv2.setNumThreads(1)
    return cv2.SIFT_create()  # type: ignore[attr-defined]


def keypoint(x: float, y: float, side: float) -> Any:
    """Return an upright keypoint whose descriptor covers a square of `side` pixels around pixel coordinates (x, y)."""
    import cv2

    return cv2.KeyPoint(x, y, side / _SIDE_PER_SIZE, 0)


def grey_square(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return an image's central square in grey (luma), resized to `size`: by area to shrink, else bilinearly."""
    import cv2

    height, width = image.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square: Any = np.ascontiguousarray(image[top : top + side, left : left + side])
    if square.ndim == 3:
        square = cv2.cvtColor(square, cv2.COLOR_RGB2GRAY)
    if side == size:
        return square
    return cv2.resize(square, (size, size), interpolation=cv2.INTER_AREA if size < side else cv2.INTER_LINEAR)
