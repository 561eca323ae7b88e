"""Your own features, from any network or tool: arrays in .npy, .npz, .h5, .mat or text."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.datasets import Data, LazyRows, Paths, numbered_ids
from protocol.inputs.arrays import numbers_with_ids, shape_with_ids
from protocol.inputs.labels import check_order, labels_from, order_of_vectors
from protocol.inputs.lists import Listing, check_distinct, ids_from
from protocol.inputs.text import INPUTS
from protocol.registry import DatasetRecord


def _statistics(features: str, labels: str | None, ids: str | None) -> dict[str, Any]:
    """Return what is known from the options, from the features' header if there is one, and from labels and ids."""
    known: dict[str, Any] = {"arrays": ("vectors/features",)} | ({"labelled": False} if labels is None else {})
    shape, listed = shape_with_ids(features) if features else (None, None)
    if shape is not None and len(shape) == 2:
        known |= {"n": shape[0], "dimensions": {"features": shape[1]}}
        names, _ = _ids(ids, shape[0], labels, features, listed)
        if labels is not None:
            known["classes"] = len(labels_of_items(labels, names, shape[0])[1])
    return known


def labels_of_items(file: str | Listing, ids: NDArray | None, n_items: int) -> tuple[NDArray, tuple[str, ...]]:
    """Return labels and class names; labels that have ids next to them are matched with those of the items.

    Without ids of the items, the rows of the file must be in the order of the features (`check_order`).
    """
    labels, names, listed = labels_from(file, "labels", n_items, ids=ids)
    if listed is not None and ids is None:
        remedy = f"Set `ids` (init: --ids) to a file with the ids of the features, or to {file} itself"
        check_order(str(file), listed, "features", remedy)
    if labels.ndim == 2:
        return labels, names or tuple(map(str, range(labels.shape[1])))
    classes, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), names or tuple(map(str, classes))


def _ids(
    file: str | None, n_items: int, labels: str | None, features: str, listed: NDArray | None
) -> tuple[NDArray[np.str_] | None, list[int] | None]:
    """Return the ids of the items, and the order of the features by the ids `listed` next to them, if both have ids.

    The ids may be those in the file of the labels, or next to the features.
    """
    if file is None:
        if listed is not None:
            check_distinct(listed, features)
            INPUTS.info("%s: its ids are those of the items", features)
        return listed, None
    names = ids_from(file, "ids", n_items, form="" if file == labels else "id").astype(np.str_)
    return names, None if listed is None else order_of_vectors(names, listed, features)


@DatasetRecord.declared_with(statistics=_statistics)
def load(paths: Paths, *, features: str = "", labels: str | None = None, ids: str | None = None) -> Data:
    """Your own features, from any network or tool: arrays in .npy, .npz, .h5, .mat or text.

    Parameters
    ----------
    paths : mapping of str to Path
        Not used: nothing is downloaded.
    features : str
        Numbers (n, d): ``F.npy``, ``F.npz:key``, ``F.npz`` of ``scipy.sparse.save_npz``, ``F.h5:dataset``,
        ``F.mat:variable``, ``F.csv``, ``F.tsv`` or ``F.txt``. Text may begin with ids: words
        that all differ, or numbers that its header calls ids.
    labels : str or None
        A class or several for each item, as numbers or names, or a 0/1 matrix (n, n_classes), in a file as above or
        in any form of `protocol.inputs.lists`, also with an id in each line; None if there are no labels.
    ids : str or None
        One name per line in a text file, or strings or integers (n,) in another file, or the file of `labels` again, if
        it has ids in the order of the features; None for the ids next to the features, or ``item-0000000`` ... Features
        and labels that have ids are put in this order. If only the labels have ids, these must ascend.

    Returns
    -------
    Data
        Vectors ``features``, float32 (uint8 if the file contains bytes), in the order of the ids; labels, int64, with
        the classes in the order of their numbers, or bool, with the columns' numbers as names.

    Notes
    -----
    The pipeline copies the vectors to ``content.h5``, which later stages read.

    Raises
    ------
    ProtocolError
        If no features are given, a file is damaged or has other content, or the files have different lengths.
    """
    array, listed = numbers_with_ids(features, "features")  # an ``.npy`` file is memory-mapped
    if len(array.shape) != 2:
        raise ProtocolError(f"{features}: expected features of shape (n, d), got shape {array.shape}.")
    names, order = _ids(ids, len(array), labels, features, listed)
    array = array if order is None else array[order]
    dtype = array.dtype if array.dtype == np.uint8 else np.dtype(np.float32)
    vectors = LazyRows(array.shape, dtype, lambda start, stop: np.asarray(array[start:stop], dtype=dtype))
    y, class_names = (None, ()) if labels is None else labels_of_items(labels, names, len(vectors))
    return Data(numbered_ids(len(vectors)) if names is None else names, y, class_names, vectors={"features": vectors})
