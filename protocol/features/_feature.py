"""The base class of features, which extracts in blocks; and the channels of images: mean grey, luma, or RGB."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.validation import Sliceable, check_images
from protocol.registry import Configurable

Progress = Callable[[int], object]
Describe = Callable[[NDArray], tuple[NDArray, NDArray[np.int64]]]


def one_each(describe: Callable[[NDArray], NDArray]) -> Describe:
    """Return a function that describes a block of images, each of which is one item."""
    return lambda block: (describe(block), np.arange(len(block), dtype=np.int64))


class Feature(Configurable, ABC):
    """A descriptor: `extract` reads the images once; `fit` and `encode` turn the raw descriptors into vectors.

    Options are annotated class attributes, whose annotations carry their ranges (see `protocol.registry`). The
    constructor checks them, because loading a configuration constructs every feature that it names; what an annotation
    does not express is checked in ``__post_init__``. The
    options determine the length of the vectors (`dimension`) and the function that describes a block of images
    (`_describer`). A learned feature also has `fit` and `encode`. It learns only from training rows, so it can differ
    between runs without repeating `extract`.
    """

    block: ClassVar[int] = 256  # images per block
    images_per_job: ClassVar[int | None] = 25_000
    """Maximum number of images per job of the pipeline; None for all, if they are only copied."""

    def __post_init__(self) -> None:
        self.check_options()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    @property
    def reads(self) -> str:
        """Name of the array in the dataset's content to describe; or of a group that contains a single array."""
        return "images"

    @property
    def modalities(self) -> dict[str, "Feature"]:
        """The features that describe items: this one, under ``""``, and possibly one for the database's modality.

        The latter is under ``"database/"``. The keys are the prefixes of a modality's arrays in files.
        """
        return {"": self}

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """Length d of the final vectors; None if it depends on the data."""

    def _check(self, images: Sliceable) -> None:
        """Raise ProtocolError if this feature can't describe the array that `reads` names."""
        check_images(images)

    @abstractmethod
    def _describer(self, images: Sliceable) -> Describe:
        """Return the function that maps a block of images to (rows, image of each row), given their shape and dtype."""

    def extract(
        self, images: Sliceable, progress: Progress | None = None
    ) -> Iterator[tuple[NDArray, NDArray[np.int64]]]:
        """Describe images block by block, so that only one block need be in memory.

        The values don't depend on the blocks.

        Parameters
        ----------
        images : uint8, shape (n, height, width) or (n, height, width, 3)
            The array that `reads` names, grey or RGB: an ndarray, or any object that returns rows for slices (an HDF5
            dataset, a memory map). Some features read vectors instead.
        progress : callable or None
            Called after each block with its number of images.

        Yields
        ------
        X : ndarray, shape (n_items, ...)
            Raw descriptors of one block's items; all blocks have the same dtype and width. A block may have no items.
        image : ndarray of int64, shape (n_items,)
            The image of each item.

        Raises
        ------
        ProtocolError
            If the images have the wrong shape or dtype, or a descriptor is not finite.
        """
        self._check(images)
        describe = self._describer(images)
        for start in range(0, len(images), self.block):
            block = images[start : start + self.block]
            rows, owner = describe(block)
            bad = owner[~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))]
            if bad.size:
                raise ProtocolError(f"{self}: row {bad[0] + start:,} of {self.reads} gives NaN or infinity.")
            yield rows, owner + start
            if progress is not None:
                progress(len(block))

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Learn from the training items' raw descriptors and return named arrays; by default, learn nothing."""
        return {}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return vectors (n, d) for raw descriptors (n, ...); by default, the descriptors themselves."""
        return np.asarray(raw).astype(np.float32, copy=False)


COLOURS = ("mean", "luma", "rgb")
_LUMA = (0.299, 0.587, 0.114)  # of red, green and blue: ITU-R BT.601


def channels(images: NDArray[np.uint8], colour: str) -> NDArray[np.float32]:
    """Return the channels given by `colour`: float32, shape (n, n_channels, height, width), 0 to 255.

    Parameters
    ----------
    images : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
    colour : {"mean", "luma", "rgb"}
        One channel, the mean of R, G and B or 0.299 R + 0.587 G + 0.114 B, where grey images are unchanged; or the
        three channels of colour images.

    Raises
    ------
    ProtocolError
        If `colour` is "rgb" and the images are grey.

    Examples
    --------
    >>> red = np.uint8([[[[150, 0, 0]]]])
    >>> [channels(red, colour).astype(int).ravel().tolist() for colour in COLOURS]
    [[50], [44], [150, 0, 0]]
    """
    if images.ndim == 3:
        if colour == "rgb":
            raise ProtocolError("colour: expected 'mean' or 'luma' for grey images, got 'rgb'.")
        return images[:, None].astype(np.float32)
    planes = images.transpose(0, 3, 1, 2).astype(np.float32, order="C")
    if colour == "rgb":
        return planes
    red, green, blue = planes[:, :1], planes[:, 1:2], planes[:, 2:]
    grey = _LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue if colour == "luma" else (red + green + blue) / 3
    return grey.astype(np.float32, copy=False)
