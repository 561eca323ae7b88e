"""Prepared vectors of the items in a partition, which depend on the modality of the partition."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.features._feature import Feature
from protocol.features._items import Extracted, extracted
from protocol.features._preprocessing import Preprocessing
from protocol.provenance import storage

_OF_DATABASE = ("database", "validation_database")


class Prepared:
    """The extracted descriptors of a dataset and their preprocessing. Created by `prepared`.

    Queries, training rows and, except for cross-modal features, the database have the feature's main modality.
    """

    def __init__(self, modalities: Mapping[str, tuple[Preprocessing, Extracted]]) -> None:
        self._of_database = modalities.get("database/")
        self._main = modalities[""]

    def _modality(self, partition: str) -> tuple[Preprocessing, Extracted]:
        return self._of_database if self._of_database and partition in _OF_DATABASE else self._main

    def raw(self, images: NDArray[np.int64]) -> NDArray:
        """Return the raw descriptors of all modalities of training items, `side_by_side`."""
        modalities = (self._main, self._of_database) if self._of_database else (self._main,)
        return side_by_side([items.raw(images)[:] for _, items in modalities])

    def vectors(self, partition: str, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors (n_items, d) of the items of a partition's images."""
        fitted, items = self._modality(partition)
        return fitted.transform(items.raw(images))

    def blocks(self, partition: str, images: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
        """Yield `vectors` in blocks of items."""
        fitted, items = self._modality(partition)
        return fitted.blocks(items.raw(images))

    def pairs(self, images: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the database's modality of training items (n_items, d'); None if there is only one modality."""
        return self.vectors("database", images) if self._of_database else None

    def images(self, partition: str) -> NDArray[np.int64]:
        """Return the image of each item of the dataset (n_items,), in a partition's modality."""
        return self._modality(partition)[1].image

    def per_item(self, images: NDArray[np.int64], values: NDArray) -> NDArray:
        """Return the value of the image of each item, as in `Extracted.per_item`."""
        return self._main[1].per_item(images, values)


def side_by_side(raws: Sequence[NDArray]) -> NDArray:
    """Return the raw descriptors of the same items in several modalities as one array, for a digest."""
    return raws[0] if len(raws) == 1 else np.hstack(raws)


@contextlib.contextmanager
def prepared(
    feature: Feature, steps: Mapping[str, Sequence[str]], features: str | Path, preprocessing: str | Path
) -> Iterator[Prepared]:
    """Open prepared vectors, given the files of the extracted descriptors and of the fitted preprocessing.

    Parameters
    ----------
    feature : Feature
    steps : mapping of str to sequence of {"l2", "centre", "grand_mean"}
        The preprocessing of each of the feature's modalities, by their keys.
    features, preprocessing : path
        The two files; the first remains open until the block ends.

    Raises
    ------
    ProtocolError
        If a file is missing or was altered after writing, or the preprocessing is for another feature or other steps.
    """
    learned, found = storage.read(preprocessing), {}
    with contextlib.ExitStack() as files:
        for place, modality in feature.modalities.items():
            arrays = {name.removeprefix(place): array for name, array in learned.items() if name.startswith(place)}
            fitted = Preprocessing.from_arrays(modality, steps[place], arrays)
            found[place] = fitted, files.enter_context(extracted(features, place))
        yield Prepared(found)
