"""Your own images: a folder with a subfolder for each class, in any common format."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from protocol.checks import ProtocolError, counted
from protocol.datasets import Data
from protocol.datasets._image_files import check_images, files_below, image_rows, squares_of
from protocol.inputs.images import EXTENSIONS, OTHER_EXTENSIONS
from protocol.registry import DatasetRecord


def _statistics(folder: str | None, image_size: int) -> dict[str, Any]:
    known: dict[str, Any] = {"image_shape": squares_of(image_size)}
    if folder is not None and not _has_folders(folder):
        known["labelled"] = False
    return known


def _has_folders(folder: str) -> bool:
    """Return whether a folder may contain classes, which is also assumed if the folder can't be listed."""
    try:
        with os.scandir(folder) as entries:
            return any(entry.is_dir() and not entry.name.startswith(".") for entry in entries)
    except OSError:
        return True


def _images(folder: str, files: Sequence[str]) -> list[str]:
    """Return the files that are images; raise ProtocolError if there are none, counting those in other formats."""
    images = [name for name in files if PurePosixPath(name).suffix.lower() in EXTENSIONS | OTHER_EXTENSIONS]
    if not images:
        known = ", ".join(sorted(EXTENSIONS))
        raise ProtocolError(f"{folder}: no images ({known}) among {counted(len(files), 'file')}.")
    return images


def _notes(n_skipped: int) -> tuple[str, ...]:
    verbs = "is not an image and was" if n_skipped == 1 else "are not images and were"
    return (f"{counted(n_skipped, 'file')} in the folder {verbs} skipped",) if n_skipped else ()


@DatasetRecord(
    "image_folder",
    source="your own images",
    files=(),
    statistics=_statistics,
    user_folders=("folder",),
    required=("folder",),
    streamed=True,
)
def load(paths: Mapping[str, Path], *, folder: str | None = None, image_size: int = 128) -> Data:
    """Your own images: a folder with a subfolder for each class, in any common format.

    Parameters
    ----------
    paths : mapping of str to Path
        Not used: nothing is downloaded.
    folder : str
        Its subfolders are the classes and may have subfolders themselves. Without subfolders, there are no labels.
        Hidden files and folders, whose names begin with a dot, are skipped.
    image_size : int, default=128
        Side, in pixels, of the square to which the centre of each image is scaled.

    Returns
    -------
    Data
        Images, uint8, shape (n, image_size, image_size, 3), in the order of their paths, read on demand; labels, int64,
        the classes in the order of their names; the ids are the paths inside the folder.

    Raises
    ------
    ProtocolError
        If no folder is given; if it contains no images, images both in subfolders and next to them, or files that are
        not complete images of a supported format (all are listed); when rows are read, if an image is damaged inside.
    """
    if folder is None:
        raise ProtocolError(
            "dataset_options of 'image_folder': folder is missing, the folder of the images. Add {folder: PATH}."
        )
    files = files_below(folder)
    images = _images(folder, files)
    classes = sorted({name.partition("/")[0] for name in images if "/" in name})
    outside = next((name for name in images if "/" not in name), None)
    if classes and outside is not None:
        raise ProtocolError(
            f"{folder}: the image {outside} is next to the subfolders. Move it to the subfolder of its class."
        )
    paths_of_images = [Path(folder, name) for name in images]
    check_images(paths_of_images)
    code = {name: number for number, name in enumerate(classes)}
    return Data(
        np.array(images),
        np.array([code[name.partition("/")[0]] for name in images]) if classes else None,
        tuple(classes),
        image_rows(paths_of_images, image_size),
        notes=_notes(len(files) - len(images)),
    )
