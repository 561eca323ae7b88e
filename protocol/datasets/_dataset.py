"""What the datasets of this room share: what a loader returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.checks import labels as check_labels


@dataclass(frozen=True, eq=False)
class Data:
    """What a dataset's `load` returns: images in a stated order, their labels and names.

    Parameters
    ----------
    images : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
        Grey, or red, green, blue; n >= 1, values 0 to 255.
    labels : ndarray of int64, shape (n,), or of bool, shape (n, n_classes), or None
        Class index of each image, or the classes each image belongs to; None where the dataset has no labels.
    ids : ndarray of str, shape (n,)
        One unique name per image, the same in every run.
    class_names : tuple of str
        Name of class 0, 1, ...; default ().
    notes : tuple of str
        What a reader of the results must know about these data; default ().

    Raises
    ------
    ProtocolError
        If a part has another shape, dtype or length, there is no image, an id occurs twice, or a label names no class.

    Examples
    --------
    >>> pixels = np.zeros((2, 8, 8), dtype=np.uint8)
    >>> data = Data(pixels, np.array([0, 1]), np.array(["a", "b"]), class_names=("cat", "dog"))
    >>> data.class_names[data.labels[1]]
    'dog'
    """

    images: NDArray[np.uint8]
    labels: NDArray | None
    ids: NDArray[np.str_]
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape, dtype = self.images.shape, self.images.dtype
        if dtype != np.uint8 or len(shape) not in (3, 4) or shape[3:] not in ((), (3,)) or 0 in shape:
            raise ProtocolError(
                "images: wanted uint8 (n, height, width) or (n, height, width, 3), none empty; "
                f"came shape {shape} of {dtype}"
            )
        self._check_ids()
        if self.labels is not None:
            self._check_labels(self.labels)

    def _check_ids(self) -> None:
        n = len(self.images)
        if self.ids.dtype.kind != "U" or self.ids.shape != (n,):
            raise ProtocolError(
                f"ids: wanted one string per image, ({n},); came shape {self.ids.shape} of {self.ids.dtype}"
            )
        distinct, counts = np.unique(self.ids, return_counts=True)
        if len(distinct) < n:
            raise ProtocolError(f"ids: {str(distinct[counts > 1][0])!r} names {counts.max()} images; wanted unique ids")

    def _check_labels(self, labels: NDArray) -> None:
        check_labels(labels, len(self.images))
        classes = len(self.class_names)
        if labels.dtype != (np.int64 if labels.ndim == 1 else bool):
            raise ProtocolError(
                f"labels: wanted int64 (n,) or bool (n, n_classes), came shape {labels.shape} of {labels.dtype}"
            )
        if labels.ndim == 2 and labels.shape[1] != classes:
            raise ProtocolError(f"labels: {labels.shape[1]} columns, but there are {classes} class names")
        if labels.ndim == 1 and (labels.min() < 0 or labels.max() >= classes):
            raise ProtocolError(
                f"labels: classes run from {labels.min()} to {labels.max()}, but there are {classes} class names"
            )
