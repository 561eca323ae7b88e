"""Images from files, and the central square that stands for one where all must have the same size."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

EXTENSIONS = frozenset((".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"))


def read_image(path: str | Path) -> NDArray[np.uint8]:
    """Return an image file as red, green and blue, (height, width, 3).

    Grey becomes three equal channels, 16 bits become 8, transparency is dropped, and what the camera noted of its
    orientation is followed.

    Raises
    ------
    ProtocolError
        If the file can't be read, or is not a whole image.
    """
    import cv2

    try:
        content = np.fromfile(path, dtype=np.uint8)
        # From memory: then OpenCV refuses a file that is cut short, where it would give what there is of it else.
        decoded = cv2.imdecode(content, cv2.IMREAD_COLOR) if content.size else None
    except (OSError, cv2.error) as error:
        raise ProtocolError(
            f"{path}: wanted an image, which it can't be read as: {error}".replace("\n", " ")
        ) from error
    if decoded is None:
        raise ProtocolError(f"{path}: wanted an image, but it is none that can be read, or is cut short or damaged")
    return cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)  # type: ignore[return-value]


def square(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return an image's central square, resized to `size` pixels a side: by area to shrink, else bilinearly.

    Parameters
    ----------
    image : ndarray of uint8, shape (height, width) or (height, width, 3)
    size : int
        At least 1.

    Returns
    -------
    ndarray of uint8, shape (size, size) or (size, size, 3)
    """
    import cv2

    height, width = image.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    central: Any = np.ascontiguousarray(image[top : top + side, left : left + side])
    if side == size:
        return central
    return cv2.resize(central, (size, size), interpolation=cv2.INTER_AREA if size < side else cv2.INTER_LINEAR)
