"""The result of a dataset's loader, its blocks, and the check of its statistics."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, abridged, counted
from protocol.inputs.text import INPUTS
from protocol.inputs.validation import Sliceable, blocks, check_images, class_labels, rows
from protocol.provenance.storage import Writer, decoded

Paths = Mapping[str, Path]
"""The files of a dataset, by the name of its `File`."""
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class Data:
    """The result of a dataset's `load`: items in a fixed order, as images, as vectors, or as both.

    Parameters
    ----------
    ids : ndarray of str, or of bytes (UTF-8), shape (n,)
        A unique name for each item, the same in every run; n >= 1. Bytes take a quarter of the memory.
    labels : ndarray of int64, shape (n,), or of bool, shape (n, n_classes), or None
        Class index of each item, or membership in each class; None if the dataset has no labels.
    class_names : tuple of str
        Names of the classes 0, 1, ...; default ().
    images : Sliceable of uint8, shape (n, height, width) or (n, height, width, 3), or None
        Grey or RGB; values 0 to 255.
    vectors : mapping of str to Sliceable of float32 or integers, shape (n, d)
        Vectors that are a part of the dataset, by name: ``gist``, ``bow``, ``tags``, ``features``, ...
    partitions : mapping of str to ndarray of int64
        Row numbers of the dataset's official splits: ``train``, ``test``, ``query``, ...; they may overlap.
    notes : tuple of str
        Remarks for readers of the results; default ().

    Raises
    ------
    ProtocolError
        If there are no images or vectors, an array has the wrong shape, dtype or length, an id occurs twice, a
        label has no class, or a partition is empty or has duplicate or non-existent rows.

    Examples
    --------
    >>> pixels = np.zeros((2, 8, 8), dtype=np.uint8)
    >>> data = Data(np.array(["a", "b"]), np.array([0, 1]), class_names=("cat", "dog"), images=pixels)
    >>> data.class_names[data.labels[1]]
    'dog'
    """

    ids: NDArray
    labels: NDArray | None = None
    class_names: tuple[str, ...] = ()
    images: Sliceable | None = None
    vectors: Mapping[str, Sliceable] = field(default_factory=dict)
    partitions: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.ids)
        _check_ids(self.ids)
        if not self.arrays:
            raise ProtocolError("The dataset contains no images or vectors.")
        if self.images is not None:
            check_images(self.images, n_items=n)
        for name, vectors in self.vectors.items():
            shape, dtype = vectors.shape, vectors.dtype
            if (dtype != np.float32 and dtype.kind not in "iu") or len(shape) != 2 or 0 in shape or shape[0] != n:
                expected = f"float32 or integers of shape (n, d) with one row per id, n = {n}"
                raise ProtocolError(f"vectors {name!r}: expected {expected}, got {dtype} of shape {shape}.")
        if self.labels is not None:
            self._check_labels(self.labels)
        for name, part in self.partitions.items():
            if len(np.unique(rows(part, n, f"partition {name!r}"))) < len(part):
                raise ProtocolError(f"partition {name!r}: a row occurs more than once.")

    def _check_labels(self, labels: NDArray) -> None:
        class_labels(labels, len(self.ids))
        n, is_matrix = len(self.class_names), labels.ndim == 2
        fits = labels.shape[1] == n if is_matrix else labels.min() >= 0 and labels.max() < n
        if labels.dtype != (bool if is_matrix else np.int64) or not fits:
            expected = f"int64 (n,) from 0 to {n - 1}, the indices of the class names, or bool (n, {n})"
            got = f"{labels.dtype} of shape {labels.shape}, from {labels.min()} to {labels.max()}"
            raise ProtocolError(f"labels: expected {expected}, got {got}.")

    @property
    def arrays(self) -> dict[str, Sliceable]:
        """The images and vectors by their names in ``content.h5``."""
        images = {} if self.images is None else {"images": self.images}
        return images | {f"vectors/{name}": vectors for name, vectors in self.vectors.items()}


def _check_ids(ids: NDArray) -> None:
    if ids.dtype.kind not in "US" or ids.ndim != 1 or not ids.size:
        got = f"{ids.dtype} of shape {ids.shape}"
        raise ProtocolError(f"ids: expected one string per item, shape (n,) with n >= 1, got {got}.")
    ordered = ids if (ids[1:] > ids[:-1]).all() else np.sort(ids)
    if (twice := ordered[1:][ordered[1:] == ordered[:-1]]).size:
        raise ProtocolError(f"ids: {str(decoded(twice)[0])!r} is the id of more than one item.")


def store(file: Writer, name: str, array: Sliceable) -> None:
    """Write an array to a file in blocks of its rows."""
    from tqdm import tqdm

    with tqdm(total=len(array), desc=name, unit="item", disable=None) as bar:
        for rows in blocks(array, _BLOCK_BYTES):
            file.append(name, rows)
            bar.update(len(rows))


def check_vectors(data: Data, *, scaled: bool, cosine: bool = False) -> None:
    """Raise ProtocolError for the first row with NaN or infinity, and for rows of zeros if they are to have a `cosine`.

    Otherwise, rows of zeros are logged if they are to be `scaled`. The vectors are read in blocks.
    """
    for name, vectors in data.vectors.items():
        start, zeros = 0, list[int]()
        for block in blocks(vectors, _BLOCK_BYTES):
            bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
            if bad.size:
                raise ProtocolError(f"{name}: row {start + bad[0]:,} has NaN or infinity. Correct or remove the row.")
            zeros += (start + np.flatnonzero(~block.any(axis=1))).tolist() if scaled or cosine else []
            start += len(block)
        if zeros:
            rows = f"{counted(len(zeros), 'row')} of zeros ({abridged(zeros, 20)})"
            if cosine:
                advice = "Correct or remove them, or use `unhashed: euclidean`"
                raise ProtocolError(f"{name}: {rows}, which `unhashed: cosine` can't compare. {advice}.")
            INPUTS.warning(f"{name}: {rows}, which the step l2 can't scale to unit length. Correct or remove them.")


def numbered_ids(n: int) -> NDArray[np.bytes_]:
    """Return ids for `n` items without names of their own: ``item-0000000``, ``item-0000001`` and so on."""
    width = len(b"item-%07d" % max(n - 1, 0))
    return np.fromiter((b"item-%07d" % row for row in range(n)), dtype=f"S{width}", count=n)


def statistics(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known statistics of dataset `name` with `options`, by default its own; unknown ones are omitted.

    Keys: ``n``, ``classes``, ``image_shape``, ``dimensions`` (by name of the vectors), ``partitions`` (their sizes),
    ``per_class`` (items in each class), ``labels_per_item`` (the mean, to two decimals), ``labelled`` (whether items
    have labels, as they do if ``classes`` is known), ``arrays`` (names of the images and vectors in ``content.h5``).
    """
    record = registry.DATASETS.entry(name)
    defaults = {option: one.default for option, one in [*inspect.signature(record.plugin).parameters.items()][1:]}
    return dict(record.statistics(**defaults | dict(options)) if callable(record.statistics) else record.statistics)


def load(name: str, paths: Paths, options: Mapping[str, Any]) -> Data:
    """Load a complete dataset and check it against its registered statistics.

    Parameters
    ----------
    name : str
        The dataset's name.
    paths : mapping of str to Path
        The path of each of its files, by official name.
    options : mapping
        Options of its loader.

    Raises
    ------
    ProtocolError
        If the files can't be loaded, or the data differ from the dataset's known statistics.
    """
    data = registry.get("dataset", name)(paths, **options)
    check_statistics(name, data, statistics(name, options))
    return data


def check_statistics(name: str, data: Data, known: Mapping[str, Any]) -> None:
    """Raise ProtocolError, which lists all differences, if the data differ from the `known` statistics."""
    actual: dict[str, Any] = {
        "n": len(data.ids),
        "classes": len(data.class_names),
        "dimensions": {name: vectors.shape[1] for name, vectors in data.vectors.items()},
        "partitions": {name: len(part) for name, part in data.partitions.items()},
        "labelled": data.labels is not None,
        "arrays": tuple(data.arrays),
    }
    if data.images is not None:
        actual["image_shape"] = tuple(data.images.shape[1:])
    if data.labels is not None:
        is_matrix = data.labels.ndim == 2
        counts = data.labels.sum(axis=0) if is_matrix else np.bincount(data.labels, minlength=actual["classes"])
        sizes = sorted(set(counts.tolist()))
        actual["per_class"] = sizes[0] if len(sizes) == 1 else sizes  # a number only if it is that of all classes
        actual["labels_per_item"] = round(float(counts.sum() / len(data.ids)), 2)
    differing = [fact for fact, expected in known.items() if actual.get(fact) != expected]
    if differing:
        text = "; ".join(f"{fact}: expected {known[fact]}, got {actual.get(fact)}" for fact in differing)
        advice = "Check that its files are official and complete."
        raise ProtocolError(f"dataset {name!r} differs from its published description: {text}. {advice}")
