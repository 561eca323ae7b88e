"""SIFT descriptors of stated patches, through OpenCV: what `sift` and `bow` share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.formats.images import square

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
    """Return an image's central square in grey (luma), resized to `size` as `protocol.formats.images.square` does."""
    import cv2

    grey: Any = image
    return square(cv2.cvtColor(grey, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image, size)
