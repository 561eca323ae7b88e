"""CIFAR-100: 60,000 colour images of 32 x 32 pixels in 100 classes and 20 groups of them, from the binary archive."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from protocol.checks import one_of
from protocol.datasets import Data
from protocol.datasets._cifar import read_archive
from protocol.downloads import File
from protocol.registry import register

ARCHIVE = "cifar-100-binary.tar.gz"
LABELS = {"coarse": 20, "fine": 100}  # in the order of a record's bytes


def _statistics(labels: str) -> dict[str, Any]:
    classes = LABELS[one_of(labels, tuple(LABELS), "labels")]
    return {
        "n": 60_000,
        "classes": classes,
        "image_shape": (32, 32, 3),
        "per_class": 60_000 // classes,
        "partitions": {"train": 50_000, "test": 10_000},
    }


@register(
    "dataset",
    "cifar100",
    source="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images, chapter 3; "
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    files=(
        File(
            name=ARCHIVE,
            urls=("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
            sha256=None,
            size=168_513_733,
        ),
    ),
    statistics=_statistics,
)
def load(paths: Mapping[str, Path], *, labels: str = "fine") -> Data:
    """CIFAR-100: colour images, 32 x 32, 100 classes of 600, or 20 groups of 5 classes.

    Parameters
    ----------
    paths : mapping of str to Path
        Where ``cifar-100-binary.tar.gz`` lies.
    labels : {"fine", "coarse"}, default="fine"
        The 100 classes, or the 20 groups that mLGAP's authors evaluate.

    Returns
    -------
    Data
        Images uint8 (60000, 32, 32, 3), labels int64; the training file, then the test file, each in the archive's
        order, with ids such as ``train/00000`` and ``test/09999``. Partitions ``train`` and ``test``.

    Raises
    ------
    ProtocolError
        If the archive is cut short or damaged, lacks a file, or a file has another size or a label without name.
    """
    column = list(LABELS).index(one_of(labels, tuple(LABELS), "labels"))
    names = {f"{kind}_label_names.txt": n_classes for kind, n_classes in LABELS.items()}
    records = read_archive(Path(paths[ARCHIVE]), ("train", "test"), names)
    return Data(records.ids, records.labels[:, column], records.names[column], records.images, partitions=records.rows)
