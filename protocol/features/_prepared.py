"""Prepared vectors of a partition's items, each partition by the modality it is of."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol import storage
from protocol.features._feature import Feature
from protocol.features._items import Extracted, extracted
from protocol.features._preprocessing import Preprocessing

_OF_DATABASE = ("database", "validation_database")


class Prepared:
    """What was extracted from a dataset's images, and how it is prepared. Made by `prepared`.

    Queries and training rows are of the feature's own modality; the database is too, but for a feature across two.
    """

    def __init__(self, modalities: Mapping[str, tuple[Preprocessing, Extracted]]) -> None:
        self._of_database = modalities.get("database/")
        self._own = modalities[""]

    def _modality(self, partition: str) -> tuple[Preprocessing, Extracted]:
        return self._of_database if self._of_database and partition in _OF_DATABASE else self._own

    def raw(self, images: NDArray[np.int64]) -> NDArray:
        """Return the raw descriptors of all modalities of training items, `side_by_side`."""
        modalities = (self._own, self._of_database) if self._of_database else (self._own,)
        return side_by_side([items.raw(images)[:] for _, items in modalities])

    def vectors(self, partition: str, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors (n_items, d) of the items of a partition's images."""
        fitted, items = self._modality(partition)
        return fitted.transform(items.raw(images))

    def blocks(self, partition: str, images: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
        """Yield `vectors` a block of items at a time."""
        fitted, items = self._modality(partition)
        return fitted.blocks(items.raw(images))

    def pairs(self, images: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the database's modality of training items (n_items, d'); None where there is one modality."""
        return self.vectors("database", images) if self._of_database else None

    def images(self, partition: str) -> NDArray[np.int64]:
        """Return the image that each item of the dataset comes from (n_items,), in a partition's modality."""
        return self._modality(partition)[1].image

    def per_item(self, images: NDArray[np.int64], values: NDArray) -> NDArray:
        """Return what each of the items has from its image, as `Extracted.per_item`."""
        return self._own[1].per_item(images, values)


def side_by_side(raws: Sequence[NDArray]) -> NDArray:
    """Return the raw descriptors of the same items in several modalities as one array, of which a digest is taken."""
    return raws[0] if len(raws) == 1 else np.hstack(raws)


@contextlib.contextmanager
def prepared(
    feature: Feature, steps: Mapping[str, Sequence[str]], features: str | Path, preprocessing: str | Path
) -> Iterator[Prepared]:
    """Give prepared vectors, from the files of what was extracted and of what was fitted.

    Parameters
    ----------
    feature : Feature
    steps : mapping of str to sequence of {"l2", "centre", "grand_mean"}
        The preprocessing of each of the feature's modalities, by their keys.
    features, preprocessing : path
        The first stays open until the block ends.

    Raises
    ------
    ProtocolError
        If a file is missing or was altered after writing, or the preprocessing is of another feature or other steps.
    """
    learned, found = storage.read(preprocessing), {}
    with contextlib.ExitStack() as files:
        for place, modality in feature.modalities.items():
            own = {name.removeprefix(place): array for name, array in learned.items() if name.startswith(place)}
            fitted = Preprocessing.from_arrays(modality, steps[place], own)
            found[place] = fitted, files.enter_context(extracted(features, place))
        yield Prepared(found)
