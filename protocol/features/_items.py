"""Descriptors as files: write them for a dataset, read a partition's items on demand, and preprocess them.

Preprocessing after extraction, unit length and centring, is learned only from the training rows.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.features._feature import Feature, Sliceable
from protocol.inputs.validation import LazyRows, matrix, rows
from protocol.provenance import storage
from protocol.truth import Items

CENTRING = ("centre", "grand_mean")
BLOCK = 4096
_MODEL = "model/"
_OF_DATABASE = ("database", "validation_database")


def items_of(images: NDArray[np.int64], image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of the items that come from a partition's images.

    Splits divide images, so all items of an image (such as local descriptors) are in the same partition.

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


def rows_of(array: Sliceable, rows: NDArray[np.int64]) -> LazyRows:
    """Return some rows of a sliceable array, which are read on demand, in small blocks.

    Parameters
    ----------
    array : Sliceable, shape (n, ...)
    rows : ndarray of int64, shape (m,)
        Row numbers, ascending.

    Examples
    --------
    >>> rows = rows_of(np.arange(10) * 11, np.array([1, 4, 7]))
    >>> len(rows), rows[1:]
    (3, array([44, 77]))
    """

    def read(start: int, stop: int) -> NDArray:
        numbers = rows[start:stop]
        values = np.empty((len(numbers), *array.shape[1:]), dtype=array.dtype)
        first = 0
        while first < len(numbers):
            low = numbers[first]
            end = int(np.searchsorted(numbers, low + BLOCK))
            values[first:end] = array[low : numbers[end - 1] + 1][numbers[first:end] - low]
            first = end
        return values

    return LazyRows((len(rows), *array.shape[1:]), array.dtype, read)


def extract(file: storage.Writer, feature: Feature, content: str | Path, *, part: int = 0, n_parts: int = 1) -> None:
    """Extract a feature from the images of a dataset, or from one of several parts of them, and write the result.

    Parameters
    ----------
    file : Writer
        The output: ``X`` and ``image`` for each modality of the feature, as `extracted` reads them.
    feature : Feature
    content : path
        The dataset's arrays.
    part : int
        Index of the part.
    n_parts : int
        Number of parts, whose sizes differ by at most one image.
    """
    from tqdm import tqdm

    for prefix, modality in feature.modalities.items():
        with storage.streamed(content, modality.reads) as images:
            first, last = len(images) * part // n_parts, len(images) * (part + 1) // n_parts
            part_images = rows_of(images, np.arange(first, last))
            with tqdm(total=len(part_images), desc=f"{feature}: {modality.reads}", unit="image", disable=None) as bar:
                for rows, image in modality.extract(part_images, progress=bar.update):
                    file.append(f"{prefix}X", rows)
                    file.append(f"{prefix}image", image + first)


def join(file: storage.Writer, feature: Feature, parts: Sequence[str | Path]) -> None:
    """Concatenate the outputs of `extract` for all parts of a dataset, as if it had been extracted in one part."""
    for prefix in feature.modalities:
        for path in parts:
            with storage.opened(path) as arrays:
                X = arrays[f"{prefix}X"]
                for start in range(0, len(X), BLOCK):
                    file.append(f"{prefix}X", X[start : start + BLOCK])
                file.append(f"{prefix}image", arrays[f"{prefix}image"][:])


@dataclass(eq=False)
class Preprocessing:
    """Map raw descriptors to float32 vectors: the feature's encoding, then the steps in the given order.

    ``l2`` divides a row by its Euclidean length; a zero row stays zero. ``centre`` subtracts the mean (float64) of the
    training rows after the preceding steps, so ("l2", "centre") centres rows of unit length. ``grand_mean`` subtracts
    a single number, the mean of all values of those rows, so the means of the dimensions do not change relative to each
    other.

    Examples
    --------
    >>> from protocol.features.gist import Gist
    >>> raw = np.zeros((2, 512), dtype=np.float32)
    >>> raw[0, 0] = 2
    >>> preprocessing = Preprocessing.fit(Gist(), raw, ("centre",), seed=0)
    >>> preprocessing.transform(raw)[:, 0]
    array([ 1., -1.], dtype=float32)
    """

    feature: Feature
    steps: Sequence[str]
    model: Mapping[str, NDArray]
    mean: NDArray[np.float64] | None = None

    @classmethod
    def fit(cls, feature: Feature, raw_train: NDArray, steps: Sequence[str], seed: int) -> Self:
        """Learn from the training items the values that the feature and the steps require.

        Parameters
        ----------
        feature : Feature
        raw_train : ndarray, shape (n_train, ...)
            Raw descriptors of the training items, as returned by the feature's `extract`.
        steps : sequence of {"l2", "centre", "grand_mean"}
            In order of application; each at most once, and at most one that subtracts a mean. May be empty.
        seed : int, in [0, 2**32)
            Seed of the feature's `fit`.

        Raises
        ------
        ProtocolError
            If vectors are not finite; the message gives the number of such rows and the first of them.
        """
        preprocessing = cls(feature, steps, feature.fit(raw_train, seed))
        for at, centring in enumerate(steps):
            if centring in CENTRING:
                mean = cls(feature, steps[:at], preprocessing.model).transform(raw_train).mean(axis=0, dtype=np.float64)
                preprocessing.mean = mean if centring == "centre" else np.full_like(mean, mean.mean())
        return preprocessing

    def transform(self, raw: Sliceable) -> NDArray[np.float32]:
        """Return the vectors, float32 (n, d), of raw descriptors (n, ...), which are read in blocks of `BLOCK` items.

        Raises
        ------
        ProtocolError
            If a vector is not finite, or its length is not d.
        """
        d = self.feature.dimension or self.feature.encode(raw[:1], self.model).shape[1]
        X = np.empty((len(raw), d), dtype=np.float32)
        for start in range(0, len(X), BLOCK):
            rows, encoded = X[start : start + BLOCK], self.feature.encode(raw[start : start + BLOCK], self.model)
            if encoded.shape != rows.shape:
                raise ProtocolError(f"{self.feature}: expected vectors of shape {rows.shape}, got {encoded.shape}.")
            rows[:] = encoded
        matrix(X, "features")
        for start in range(0, len(X), BLOCK):
            rows = X[start : start + BLOCK]
            for step in self.steps:
                if step == "l2":  # lengths in float64, which prevents overflow and underflow
                    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
                    np.divide(rows, length, out=rows, where=length > 0, casting="same_kind")
                elif self.mean is not None:
                    rows[:] = rows - self.mean  # in float64, so that it is rounded only once
        return X

    def blocks(self, raw: Sliceable) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of `transform` in blocks of items."""
        for start in range(0, len(raw), BLOCK):
            yield self.transform(raw[start : start + BLOCK])

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the learned values as named arrays, to store in a file."""
        arrays = {_MODEL + name: values for name, values in self.model.items()}
        return arrays if self.mean is None else arrays | {"mean": self.mean}

    @classmethod
    def from_arrays(cls, feature: Feature, steps: Sequence[str], arrays: Mapping[str, NDArray]) -> Self:
        """Restore the preprocessing from the result of `to_arrays`, for the same feature and steps."""
        mean = arrays["mean"] if {*CENTRING} & {*steps} else None
        model = {name.removeprefix(_MODEL): values for name, values in arrays.items() if name.startswith(_MODEL)}
        return cls(feature, steps, model, mean)


class Modality(NamedTuple):
    """One modality of a dataset's items.

    Attributes
    ----------
    preprocessing : Preprocessing
    X : Sliceable, shape (n_items, ...)
        Raw descriptors.
    image : ndarray of int64, shape (n_items,)
        The image that each item comes from.
    """

    preprocessing: Preprocessing
    X: Sliceable
    image: NDArray[np.int64]

    def raw(self, images: NDArray[np.int64]) -> LazyRows:
        """Return the raw descriptors (n_items, ...) of a partition's items, to be read on demand."""
        return rows_of(self.X, items_of(images, self.image))


class Prepared:
    """The extracted descriptors of a dataset and their preprocessing. Created by `prepared`.

    Queries, training rows and, except for cross-modal features, the database have the feature's main modality.
    """

    def __init__(self, modalities: Mapping[str, Modality]) -> None:
        self._modalities = modalities

    def _modality(self, partition: str) -> Modality:
        crossed = partition in _OF_DATABASE and "database/" in self._modalities
        return self._modalities["database/" if crossed else ""]

    def raw(self, images: NDArray[np.int64]) -> NDArray:
        """Return the raw descriptors of all modalities of training items, next to each other."""
        return np.hstack([modality.raw(images)[:] for modality in self._modalities.values()])

    def vectors(self, partition: str, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors (n_items, d) of the items of a partition's images."""
        modality = self._modality(partition)
        return modality.preprocessing.transform(modality.raw(images))

    def blocks(self, partition: str, images: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
        """Yield `vectors` in blocks of items."""
        modality = self._modality(partition)
        return modality.preprocessing.blocks(modality.raw(images))

    def pairs(self, images: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return the database's modality of training items (n_items, d'); None if there is only one modality."""
        return self.vectors("database", images) if "database/" in self._modalities else None

    def images(self, partition: str) -> NDArray[np.int64]:
        """Return the image of each item of the dataset (n_items,), in a partition's modality."""
        return self._modality(partition).image

    def per_item(self, images: NDArray[np.int64], values: NDArray) -> NDArray:
        """Return, for each of a partition's items, the value of its image, for example the class label."""
        image = self._modalities[""].image
        return values[image[items_of(images, image)]]

    def items(self, partition: str, images: NDArray[np.int64], labels: NDArray | None) -> Items:
        """Return the items of a partition's images for a ground truth; `labels` are those of all images, if any.

        The vectors are computed when they are first read, which must happen while the files are open.
        """
        of_items = None if labels is None else self.per_item(images, labels)
        return Items(partial(self.vectors, partition, images), of_items)


def fit_preprocessing(
    feature: Feature, steps: Mapping[str, Sequence[str]], features: str | Path, images: NDArray[np.int64], *, seed: int
) -> tuple[dict[str, NDArray], NDArray]:
    """Fit the preprocessing of every modality of a feature on some images.

    Parameters
    ----------
    feature : Feature
    steps : mapping of str to sequence of {"l2", "centre", "grand_mean"}
        The preprocessing of each of the feature's modalities, by their keys.
    features : path
        The file of the features.
    images : ndarray of int64
        The training images.
    seed : int

    Returns
    -------
    arrays : dict of ndarray
        What each modality learned, by its key and the names of `Preprocessing.to_arrays`.
    raw : ndarray
        The raw descriptors on which it was fitted, of all modalities, next to each other.
    """
    arrays: dict[str, NDArray] = {}
    raws = []
    with storage.opened(features) as stored:
        for prefix, modality in feature.modalities.items():
            raws.append(rows_of(stored[f"{prefix}X"], items_of(images, stored[f"{prefix}image"][:]))[:])
            fitted = Preprocessing.fit(modality, raws[-1], steps[prefix], seed)
            arrays |= {f"{prefix}{name}": array for name, array in fitted.to_arrays().items()}
    return arrays, np.hstack(raws)


@contextlib.contextmanager
def prepared(
    feature: Feature,
    steps: Mapping[str, Sequence[str]],
    features: str | Path,
    preprocessing: str | Path | Mapping[str, NDArray],
) -> Iterator[Prepared]:
    """Open prepared vectors, given the file of the extracted descriptors and the fitted preprocessing.

    Parameters
    ----------
    feature : Feature
    steps : mapping of str to sequence of {"l2", "centre", "grand_mean"}
        The preprocessing of each of the feature's modalities, by their keys.
    features : path
        The file of the features, which remains open until the block ends.
    preprocessing : path, or mapping of str to ndarray
        The file of the fitted preprocessing, or its arrays, as `fit_preprocessing` returns them.

    Raises
    ------
    ProtocolError
        If a file is missing or was altered after writing.
    """
    learned = preprocessing if isinstance(preprocessing, Mapping) else storage.read(preprocessing)
    modalities = {}
    with storage.opened(features) as stored:
        for prefix, modality in feature.modalities.items():
            arrays = {name.removeprefix(prefix): array for name, array in learned.items() if name.startswith(prefix)}
            fitted = Preprocessing.from_arrays(modality, steps[prefix], arrays)
            modalities[prefix] = Modality(fitted, stored[f"{prefix}X"], stored[f"{prefix}image"][:])
        yield Prepared(modalities)
