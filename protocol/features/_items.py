"""From a partition's images to vectors: which items come from them, prepared as one run's training set says."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.checks import rows
from protocol.features._feature import Feature
from protocol.features._preprocessing import BLOCK, Preprocessing


def items_of(images: NDArray[np.int64], image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of the items that come from a partition's images.

    Splits divide images, so that all items of one image (SIFT1M's local descriptors) fall in the same partition.

    Parameters
    ----------
    images : ndarray of int64
        Image numbers of the partition.
    image : ndarray of int64, shape (n_items,)
        The image that each item comes from.

    Raises
    ------
    ProtocolError
        If none of the partition's images has an item.

    Examples
    --------
    >>> items_of(np.array([0, 2]), np.array([0, 0, 1, 2]))
    array([0, 1, 3])
    """
    return rows(np.flatnonzero(np.isin(image, images)), len(image), "items of the partition")


class Prepared:
    """A feature as one run sees it: what was extracted, and the preprocessing fitted on the run's training set.

    Parameters
    ----------
    feature : Feature
    steps : sequence of str
        Of the preprocessing.
    features, preprocessing : path
        The files that hold them.
    """

    def __init__(self, feature: Feature, steps: Sequence[str], features: str | Path, preprocessing: str | Path) -> None:
        extracted = storage.read(features)
        self._raw, self._image = extracted["X"], extracted["image"]
        self._preprocessing = Preprocessing.from_arrays(feature, steps, storage.read(preprocessing))

    def vectors(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the prepared vectors (n_items, d) of the items that come from a partition's images."""
        return self._preprocessing.transform(self._raw[items_of(images, self._image)])

    def blocks(self, images: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
        """Yield the rows of `vectors` block by block, so that they are never held all at once."""
        items = items_of(images, self._image)
        for start in range(0, len(items), BLOCK):
            yield self._preprocessing.transform(self._raw[items[start : start + BLOCK]])

    def per_item(self, images: NDArray[np.int64], values: NDArray) -> NDArray:
        """Return what each of those items has from its image, for example its class label."""
        return values[self._image[items_of(images, self._image)]]
