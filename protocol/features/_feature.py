"""What the features of this room share: the form of a plug-in, the checks of its images, the walk in blocks."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError

Progress = Callable[[int], object]
Describe = Callable[[NDArray[np.uint8]], tuple[NDArray, NDArray[np.int64]]]


def check_images(images: NDArray[np.uint8]) -> None:
    """Raise ProtocolError unless `images` are uint8, (n, height, width) or (n, height, width, 3), none empty."""
    shape, dtype = np.shape(images), getattr(images, "dtype", type(images).__name__)
    if dtype != np.uint8 or len(shape) not in (3, 4) or shape[3:] not in ((), (3,)) or 0 in shape:
        raise ProtocolError(
            "images: wanted uint8 (n, height, width) or (n, height, width, 3), none empty; "
            f"came shape {shape} of {dtype}"
        )


def at_least(least: int, **options: int) -> None:
    """Raise ProtocolError if one of the named options is not an integer of at least `least`."""
    for name, value in options.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ProtocolError(f"{name}: wanted an integer of at least {least}, came {value!r}")


class Feature(ABC):
    """An image descriptor: `extract` looks at images once, `fit` and `encode` turn what it saw into vectors.

    A plug-in stores its keyword-only options in the constructor, knows the length of its vectors from them
    (`dimension`) and says how one block of images is described (`_describer`). A learned feature also has `fit` and
    `encode`; what is learned comes from training rows only, so it can differ from run to run while `extract` need not
    be repeated.
    """

    block = 256  # images described at once

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's options by name, as they are now."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length d of the final vectors."""

    @abstractmethod
    def _describer(self, images: NDArray[np.uint8]) -> Describe:
        """Check the options against the images, and return what maps a block of them to (rows, image of each row)."""

    def extract(self, images: NDArray[np.uint8], progress: Progress | None = None) -> dict[str, NDArray]:
        """Describe images, block by block; the values don't depend on the blocks.

        Parameters
        ----------
        images : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
            Grey, or red, green, blue.
        progress : callable or None
            Called with the number of images just done, after each block.

        Returns
        -------
        dict of str to ndarray
            ``X``, the raw descriptors (n_items, ...), and ``image``, int64 (n_items,), the image each item is of.

        Raises
        ------
        ProtocolError
            If the images have another shape or dtype, an option is out of its range, or a descriptor is not finite.
        """
        check_images(images)
        describe = self._describer(images)
        parts, owners = [], []
        for start in range(0, len(images), self.block):
            block = images[start : start + self.block]
            rows, owner = describe(block)
            bad = owner[~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))]
            if bad.size:
                raise ProtocolError(f"{self}: image {bad[0] + start} gives NaN or infinity")
            parts.append(rows)
            owners.append(owner + start)
            if progress is not None:
                progress(len(block))
        return {"X": np.concatenate(parts), "image": np.concatenate(owners)}

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Return what is learned from the training items' raw descriptors, as named arrays; by default nothing."""
        return {}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return vectors (n, d) for raw descriptors (n, ...); by default the descriptors themselves."""
        return np.asarray(raw).astype(np.float32, copy=False)
