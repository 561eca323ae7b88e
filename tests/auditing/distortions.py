"""Distortions of images, for near-duplicates of known originals."""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


def mirrored(image: Image, rng: np.random.Generator) -> Image:
    return image[:, ::-1]


def shifted(image: Image, rng: np.random.Generator, share: float = 1 / 16) -> Image:
    """Shift the image by up to a share of its width and height, and repeat its border pixels."""
    most = round(image.shape[1] * share)
    down, right = rng.choice([-most, most]), rng.integers(-most, most + 1)
    move = np.float32([[1, 0, right], [0, 1, down]])
    return cv2.warpAffine(image, move, image.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)


def cropped(image: Image, rng: np.random.Generator, share: float = 0.1) -> Image:
    """Cut off a share of the height and of the width, on random sides, and resize to the old size."""
    height, width = image.shape[:2]
    top, left = rng.uniform(0, height * share), rng.uniform(0, width * share)
    keep = 1 - share
    back = np.float32([[keep, 0, left + (keep - 1) / 2], [0, keep, top + (keep - 1) / 2]])
    return cv2.warpAffine(image, back, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)


def toned(image: Image, rng: np.random.Generator, factor: float = 1.0, plus: float = 0.0) -> Image:
    """Change contrast around the mean, then brightness."""
    values = image.astype(np.float64)
    return np.clip(np.rint((values - values.mean()) * factor + values.mean() + plus), 0, 255).astype(np.uint8)


def compressed(image: Image, rng: np.random.Generator, quality: int = 50) -> Image:
    done, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done
    return cv2.imdecode(encoded, cv2.IMREAD_UNCHANGED)


def grey(image: Image, rng: np.random.Generator) -> Image:
    values = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image
    return np.repeat(values[..., None], 3, axis=2) if image.ndim == 3 else values


def rotated(image: Image, rng: np.random.Generator, degrees: float = 5) -> Image:
    height, width = image.shape[:2]
    turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), rng.choice([-degrees, degrees]), 1)
    return cv2.warpAffine(image, turn, (width, height), borderMode=cv2.BORDER_REPLICATE)


def several(image: Image, rng: np.random.Generator) -> Image:
    """Crop by a twentieth, change the tones, and compress."""
    return compressed(toned(cropped(image, rng, 0.05), rng, 0.8, 20), rng)


DISTORTIONS: dict[str, Callable[[Image, np.random.Generator], Image]] = {
    "mirrored": mirrored,
    "shifted by 1/16": shifted,
    "cropped by 5 %": lambda image, rng: cropped(image, rng, 0.05),
    "cropped by 10 %": cropped,
    "brighter by 40": lambda image, rng: toned(image, rng, plus=40),
    "darker by 40": lambda image, rng: toned(image, rng, plus=-40),
    "contrast x 0.6": lambda image, rng: toned(image, rng, 0.6),
    "contrast x 1.5": lambda image, rng: toned(image, rng, 1.5),
    "JPEG of quality 50": compressed,
    "cropped by 5 % + tone change + JPEG": several,
    "grey": grey,
    "rotated by 5 degrees": rotated,
}


def distorted(images: NDArray[np.uint8], name: str, seed: int = 0) -> NDArray[np.uint8]:
    """Return distorted copies of images."""
    rng = np.random.default_rng(seed)
    return np.stack([DISTORTIONS[name](np.ascontiguousarray(image), rng) for image in images])
