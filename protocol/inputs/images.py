"""Read images from files, crop and resize them to squares of the same size, and encode them for pages."""

import base64
import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.inputs import text

EXTENSIONS = frozenset((".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"))
UNSUPPORTED = frozenset([".gif", ".heic", ".heif", ".avif", ".jp2", ".jxl", ".svg", ".psd", ".exr"])
"""Extensions of unsupported image formats."""

# OpenCV reads them once, when it is imported; our own line names a damaged file.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(text.IMAGE_PIXELS))
os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
_PNG, _END_BYTES = b"\x89PNG\r\n\x1a\n", 1024


def read_image(path: str | Path) -> NDArray[np.uint8]:
    """Return an image file as RGB, (height, width, 3).

    Grey images get three equal channels, and 16 bits are reduced to 8. Images with an alpha channel or a transparent
    colour in their palette are composed on white. The orientation in the EXIF data is applied to all others.

    Raises
    ------
    ProtocolError
        If the file can't be read, is not a complete image of a format in `EXTENSIONS` with 8 or 16 bits, or is too
        large (`protocol.inputs.text`).
    """
    import cv2

    try:
        text.check_regular(Path(path), "an image")
        content = np.fromfile(path, dtype=np.uint8)
        if content.size == 0:
            raise ProtocolError(f"{path}: the file is empty.")
        # Decoded from memory, because OpenCV then rejects truncated images; from files, it returns incomplete ones.
        decoded = cv2.imdecode(content, cv2.IMREAD_COLOR)
        stored = cv2.imdecode(content, cv2.IMREAD_UNCHANGED) if decoded is None else None
    except (OSError, MemoryError, cv2.error) as error:
        if "CV_IO_MAX_IMAGE_PIXELS" in str(error):
            raise ProtocolError(f"{path}: the image has more than {text.IMAGE_PIXELS:,} pixels. Reduce it.") from error
        reason = " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__
        raise ProtocolError(f"{path}: can't be read as an image ({reason}).") from error
    if stored is not None:
        raise ProtocolError(f"{path}: the image is {stored.dtype}, expected 8 or 16 bits.")
    if decoded is None:
        is_gif = content[:4].tobytes() == b"GIF8"
        problem = "GIF files are not supported" if is_gif else "not a complete JPEG, PNG, BMP, TIFF, WebP or PNM image"
        raise ProtocolError(f"{path}: {problem}.")
    return cv2.cvtColor(_on_white(content, decoded), cv2.COLOR_BGR2RGB)  # type: ignore[return-value]


def _on_white(content: NDArray[np.uint8], opaque: NDArray) -> NDArray:
    """Return a transparent image composed on white, and others, decoded without their alpha channel, unchanged."""
    import cv2

    is_jpeg = content[:2].tobytes() == b"\xff\xd8"
    stored: Any = opaque if is_jpeg else cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
    if stored.shape[2:] != (4,):
        return opaque
    if stored.dtype == np.uint16:
        stored = (stored >> 8).astype(np.uint8)
    alpha = stored[..., 3:].astype(np.uint16)
    on_white = (255 - ((255 - stored[..., :3]) * alpha + 127) // 255).astype(np.uint8)
    return opaque if alpha.min() == 255 else on_white


def looks_complete(path: Path) -> bool:
    """Return whether a file begins and ends like a JPEG or PNG image, which takes 50 microseconds."""
    with open(path, "rb") as stream:
        start = stream.read(len(_PNG))
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - _END_BYTES))
        end = stream.read()
    return (start.startswith(b"\xff\xd8") and b"\xff\xd9" in end) or (start == _PNG and b"IEND" in end)


@functools.lru_cache(maxsize=64)
def resizing(n_in: int, n_out: int) -> NDArray[np.float32]:
    """Return the matrix (n_out, n_in) of bilinear resizing, with triangles as wide as the coarser of the two pixels."""
    ratio = n_in / n_out
    centres = (np.arange(n_out) + 0.5) * ratio - 0.5
    weights = np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(n_in)) / max(ratio, 1))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def squares(planes: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Crop images (n, n_channels, height, width) to their central squares and resize these to `size` x `size` pixels.

    Both the features and the readers of image folders use this function.
    """
    height, width = planes.shape[2:]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square = planes[:, :, top : top + side, left : left + side]
    if side == size:
        return square
    matrix = resizing(side, size)
    return (matrix @ square @ matrix.T).astype(np.float32, copy=False)


def square(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return the central square of an image (height, width, 3), resized as by `squares` and rounded."""
    planes = squares(image.transpose(2, 0, 1)[None].astype(np.float32, order="C"), size)[0]
    return np.rint(planes).astype(np.uint8).transpose(1, 2, 0)


def base64_png(image: NDArray[np.uint8], longest: int, *, compression: int | None = None) -> str:
    """Return an image, reduced if its longer side has more than `longest` pixels, as a PNG file in base64.

    `compression` is from 0 to 9, the smallest files; None for OpenCV's default, which is faster.
    """
    cv2 = need("cv2", "pipeline")
    scale = longest / max(image.shape[:2])
    if scale < 1:
        size = tuple(max(1, round(side * scale)) for side in image.shape[1::-1])
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    shown = np.ascontiguousarray(image[..., ::-1]) if image.ndim == 3 else image  # OpenCV uses BGR
    parameters = [] if compression is None else [cv2.IMWRITE_PNG_COMPRESSION, compression]
    return base64.b64encode(cv2.imencode(".png", shown, parameters)[1].tobytes()).decode()
