"""CIFAR-100: 60,000 colour images of 32 x 32 pixels in 100 classes, which form 20 groups, from the binary archive."""

from typing import Any

import numpy as np

from protocol.checks import one_of
from protocol.datasets import Data, Paths
from protocol.datasets._archives import read_archive
from protocol.registry import DatasetRecord

ARCHIVE = "cifar-100-binary.tar.gz"
CLASSES = {"coarse": 20, "fine": 100}  # in the order of a record's bytes
LABELS = {"fine": ("fine",), "coarse": ("coarse",), "both": ("coarse", "fine")}


def _statistics(labels: str) -> dict[str, Any]:
    numbers = [CLASSES[level] for level in LABELS[one_of(labels, tuple(LABELS), "labels")]]
    per_class = sorted(60_000 // number for number in numbers)
    counts = {"per_class": per_class if len(per_class) > 1 else per_class[0]}
    parts = {"partitions": {"train": 50_000, "test": 10_000}}
    return {"n": 60_000, "classes": sum(numbers), "image_shape": (32, 32, 3), **counts, **parts}


@DatasetRecord.declared_with(statistics=_statistics)
def load(paths: Paths, *, labels: str = "fine") -> Data:
    """CIFAR-100: 60,000 colour images of 32 x 32 pixels, in 100 classes of 600, or 20 groups of 5 classes.

    Parameters
    ----------
    paths : mapping of str to Path
        Path of ``cifar-100-binary.tar.gz``.
    labels : {"fine", "coarse", "both"}, default="fine"
        The 100 classes, the 20 groups, which the authors of mLGAP evaluate, or both levels: a group and a class for
        each image, so that items share 0, 1 or 2 labels, as required by `buffer_zone` with two levels.

    Returns
    -------
    Data
        Images, uint8, shape (60000, 32, 32, 3); labels, int64, or for both levels bool, shape (60000, 120), groups
        first. The training file, then the test file, each in the archive's order, with ids such as ``train/00000`` and
        ``test/09999``. Partitions ``train`` and ``test``.

    Raises
    ------
    ProtocolError
        If the archive is truncated or damaged or lacks a file, or a file has the wrong size or a label without a name.
    """
    levels = LABELS[one_of(labels, tuple(LABELS), "labels")]
    records = read_archive(paths[ARCHIVE], ("train", "test"), [f"{level}_label_names.txt" for level in CLASSES])
    codes = dict(zip(CLASSES, records.labels.T, strict=True))
    class_names = dict(zip(CLASSES, records.names, strict=True))
    y = codes[levels[0]]
    if len(levels) > 1:
        y = np.hstack([np.eye(CLASSES[level], dtype=bool)[codes[level]] for level in levels])
    classes = tuple(name for level in levels for name in class_names[level])
    return Data(records.ids, y, classes, records.images, partitions=records.rows)
