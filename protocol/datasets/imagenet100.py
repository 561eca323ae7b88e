"""ImageNet-100: the 100 classes of ImageNet in HashNet's lists; the images remain in the user's folder."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from protocol.checks import ProtocolError
from protocol.datasets import Data, Paths
from protocol.datasets.image_folder import check_images, image_rows, squares_of
from protocol.inputs.text import lines
from protocol.registry import DatasetRecord

CLASSES = 100
PARTS = ("database", "test", "train")
_SYNSET = re.compile(r"image/(n\d+)_")


def _read_list(path: Path) -> dict[str, int]:
    """Return the class of each image in a list, whose lines contain a path and 100 flags, one of them 1."""
    images = {}
    for number, line in enumerate(lines(path, "a list of images"), start=1):
        name, *flags = line.split()
        if len(flags) != CLASSES or sorted(flags) != ["0"] * (CLASSES - 1) + ["1"] or name.count("/") < 1:
            expected = f"a path and {CLASSES} flags, one of them 1"
            raise ProtocolError(f"{path}, line {number}: expected {expected}, got {line[:80]!r}.")
        images["/".join(name.split("/")[-2:])] = flags.index("1")
    if not images:
        raise ProtocolError(f"{path}: the list of images is empty.")
    return images


def _class_names(images: Mapping[str, int]) -> tuple[str, ...]:
    """Return the WordNet id of each class, with which the names of training images start."""
    synsets = {label: synset[1] for image, label in images.items() if (synset := _SYNSET.match(image))}
    return tuple(synsets.get(label, f"class {label}") for label in range(CLASSES))


def _statistics(folder: str, image_size: int) -> dict[str, Any]:
    parts = {"database": 128_503, "test": 5_000, "train": 13_000}
    return {"n": 133_503, "classes": CLASSES, "image_shape": squares_of(image_size), "partitions": parts}


@DatasetRecord.declared_with(statistics=_statistics)
def load(paths: Paths, *, folder: str = "", image_size: int = 128) -> Data:
    """ImageNet-100: the 100 classes of ImageNet in HashNet's lists; you supply the images.

    Parameters
    ----------
    paths : mapping of str to Path
        Paths of the lists ``database.txt``, ``test.txt`` and ``train.txt``.
    folder : str
        The user's images, arranged as in HashNet: ``image/n01440764_10026.JPEG`` ... from ImageNet's training set and
        ``val_image/ILSVRC2012_val_00000293.JPEG`` ... from its validation set.
    image_size : int, default=128
        Side, in pixels, of the square to which the centre of each image is scaled.

    Returns
    -------
    Data
        Images, uint8, shape (133503, image_size, image_size, 3), read on demand, first the database, then the queries;
        labels, int64; the class names are WordNet ids; ids such as ``image/n01440764_10026.JPEG``. Partitions
        ``database``, ``test`` (the queries) and ``train``, which is a part of the database.

    Raises
    ------
    ProtocolError
        If no folder is given, a list is damaged, or an image is missing or damaged.
    """
    lists = {part: _read_list(Path(paths[f"{part}.txt"])) for part in PARTS}
    images = {image: label for part in PARTS for image, label in lists[part].items()}
    rows, files = {image: row for row, image in enumerate(images)}, [Path(folder, image) for image in images]
    check_images(files)
    ids, labels = np.array(list(images)), np.array(list(images.values()))
    partitions = {part: np.array([rows[image] for image in lists[part]]) for part in PARTS}
    return Data(ids, labels, _class_names(images), image_rows(files, image_size), partitions=partitions)
