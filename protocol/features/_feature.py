"""What the features of this room share: the form of a plug-in, the checks of its options, the walk in blocks."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from protocol import checks
from protocol.checks import ProtocolError


class Sliceable(Protocol):
    """An array that need not be in memory: it has a shape and a dtype, and gives rows by slices."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> NDArray: ...


Progress = Callable[[int], object]
Describe = Callable[[NDArray], tuple[NDArray, NDArray[np.int64]]]


def one_each(describe: Callable[[NDArray], NDArray]) -> Describe:
    """Return what describes a block of images, each of which is one item."""
    return lambda block: (describe(block), np.arange(len(block), dtype=np.int64))


class Feature(ABC):
    """A descriptor: `extract` looks at images once, `fit` and `encode` turn what it saw into vectors.

    A plug-in checks and stores its keyword-only options in the constructor, no more, since loading a configuration
    builds every feature that it names. It knows the length of its vectors from them (`dimension`) and says how one
    block of images is described (`_describer`). A learned feature also has `fit` and `encode`; what is learned comes
    from training rows only, so it can differ from run to run while `extract` need not be repeated.
    """

    block = 256  # images described at once
    images_per_job: ClassVar[int | None] = 25_000
    """How many images one job of the pipeline describes, if there are more; None: all, as they are only copied."""
    unchanged: ClassVar[bool] = False
    """Whether `extract` yields the rows of the array that `reads` names as they are."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's options by name, as they are now."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def reads(self) -> str:
        """Name of the array of the dataset's content that is described; a group's name if it holds only one."""
        return "images"

    @property
    def modalities(self) -> dict[str, "Feature"]:
        """What describes items: this feature, under ``""``, and perhaps another modality, of the database.

        The latter is under ``"database/"``. The keys are where a modality's arrays stand in files.
        """
        return {"": self}

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """Length d of the final vectors; None where only the data can tell."""

    def _check(self, images: Sliceable) -> None:
        """Raise ProtocolError unless this feature can describe what `reads` names."""
        checks.images(images)

    @abstractmethod
    def _describer(self, images: Sliceable) -> Describe:
        """Return what maps a block of the images to (rows, image of each row), given their shape and dtype."""

    def extract(
        self, images: Sliceable, progress: Progress | None = None
    ) -> Iterator[tuple[NDArray, NDArray[np.int64]]]:
        """Describe images block by block, so that no more than one block need be in memory.

        The values don't depend on the blocks.

        Parameters
        ----------
        images : uint8, shape (n, height, width) or (n, height, width, 3)
            Grey, or red, green, blue; an ndarray, or anything else that gives rows by slices (an HDF5 dataset, a memory
            map). What `reads` names, so a feature may also take vectors.
        progress : callable or None
            Called with the number of images just done, after each block.

        Yields
        ------
        X : ndarray, shape (n_items, ...)
            Raw descriptors of one block's items; all blocks have one dtype and width. A block may have no item.
        image : ndarray of int64, shape (n_items,)
            The image each item is of.

        Raises
        ------
        ProtocolError
            If the images have another shape or dtype, or a descriptor is not finite.
        """
        self._check(images)
        describe = self._describer(images)
        for start in range(0, len(images), self.block):
            block = images[start : start + self.block]
            rows, owner = describe(block)
            bad = owner[~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))]
            if bad.size:
                raise ProtocolError(f"{self}: row {bad[0] + start} of {self.reads} gives NaN or infinity")
            yield rows, owner + start
            if progress is not None:
                progress(len(block))

    def fit(self, raw_train: NDArray, seed: int) -> dict[str, NDArray]:
        """Return what is learned from the training items' raw descriptors, as named arrays; by default nothing."""
        return {}

    def encode(self, raw: NDArray, model: Mapping[str, NDArray]) -> NDArray[np.float32]:
        """Return vectors (n, d) for raw descriptors (n, ...); by default the descriptors themselves."""
        return np.asarray(raw).astype(np.float32, copy=False)
