"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in 10 classes, read straight from the official binary archive."""

import gzip
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.datasets import Data
from protocol.downloads import File
from protocol.registry import register

ARCHIVE = "cifar-10-binary.tar.gz"
BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
BATCH_RECORDS = 10_000
_FOLDER = "cifar-10-batches-bin"
_NAMES = "batches.meta.txt"
_NAMES_ROW = -1
_CLASSES = 10
_IMAGE_BYTES = 3 * 32 * 32


def _read_batch(file: IO[bytes], n_records: int, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the images (n_records, 32, 32, 3) and labels (n_records,) of one batch file.

    A record is one byte of label, then the red, the green and the blue plane of 1,024 bytes each, row by row.
    """
    wanted = n_records * (1 + _IMAGE_BYTES)
    content = file.read(wanted + 1)
    if len(content) != wanted:
        came = f"{len(content):,}" if len(content) < wanted else "more"
        raise ProtocolError(
            f"{name}: wanted {n_records:,} records of {1 + _IMAGE_BYTES:,} bytes = {wanted:,}, came {came}"
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(n_records, 1 + _IMAGE_BYTES)
    labels = records[:, 0].astype(np.int64)
    if labels.max() >= _CLASSES:
        bad = int(np.argmax(labels >= _CLASSES))
        raise ProtocolError(f"{name}: wanted labels 0 to {_CLASSES - 1}, came {labels[bad]} in record {bad}")
    return records[:, 1:].reshape(n_records, 3, 32, 32).transpose(0, 2, 3, 1), labels


def _read_names(file: IO[bytes], name: str) -> tuple[str, ...]:
    """Return the class names, one a line; the official file ends with an empty line."""
    names = tuple(file.read(10_000).decode("ascii", errors="replace").split())
    if len(names) != _CLASSES:
        raise ProtocolError(f"{name}: wanted {_CLASSES} class names, one a line, came {len(names)}")
    return names


def _read_archive(path: Path, n_records: int) -> Data:
    """Return the dataset in an archive whose batches have `n_records` records each; one pass, nothing is extracted."""
    shape = (len(BATCHES), n_records)
    images = np.empty((*shape, 32, 32, 3), dtype=np.uint8)
    labels = np.empty(shape, dtype=np.int64)
    names: tuple[str, ...] = ()
    missing = {f"{_FOLDER}/{batch}.bin": row for row, batch in enumerate(BATCHES)} | {f"{_FOLDER}/{_NAMES}": _NAMES_ROW}
    try:
        with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                row = missing.pop(member.name, None)
                file = None if row is None else archive.extractfile(member)
                if row is None or file is None:
                    continue
                if row == _NAMES_ROW:
                    names = _read_names(file, f"{path}: {member.name}")
                else:
                    images[row], labels[row] = _read_batch(file, n_records, f"{path}: {member.name}")
            while stream.read(1 << 20):  # up to gzip's checksum, which tells of a damaged byte
                pass
    except FileNotFoundError as error:
        raise ProtocolError(f"{path}: no such file; wanted the official {ARCHIVE}") from error
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise ProtocolError(
            f"{path}: wanted a whole gzip tar archive, but it is cut short or damaged ({error}); download it again"
        ) from error
    if missing:
        raise ProtocolError(f"{path}: the archive lacks {', '.join(missing)}")
    ids = np.array([f"{batch}/{number:05d}" for batch in BATCHES for number in range(n_records)])
    return Data(ids, labels.ravel(), class_names=names, images=images.reshape(-1, 32, 32, 3))


@register(
    "dataset",
    "cifar10",
    source="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images, chapter 3; "
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    files=(
        File(
            name=ARCHIVE,
            urls=("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
            sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            size=170_052_171,
        ),
    ),
    statistics={"n": 60_000, "classes": 10, "image_shape": (32, 32, 3), "per_class": 6_000},
)
def load(paths: Mapping[str, Path]) -> Data:
    """CIFAR-10: colour images, 32 x 32, 10 classes of 6,000.

    Parameters
    ----------
    paths : mapping of str to Path
        Where ``cifar-10-binary.tar.gz`` lies.

    Returns
    -------
    Data
        Images uint8 (60000, 32, 32, 3), labels int64; the training batches 1 to 5, then the test batch, each in the
        archive's order, with ids such as ``data_batch_1/00000`` and ``test_batch/09999``.

    Raises
    ------
    ProtocolError
        If the archive is cut short or damaged, lacks a file, or a file has another size or a label above 9.

    Notes
    -----
    The binary version is read: the Python version of the archive holds pickles, which run code when they are loaded.
    The checksum is the download's concern; here the format is checked.
    """
    return _read_archive(Path(paths[ARCHIVE]), BATCH_RECORDS)
