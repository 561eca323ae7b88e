"""List the files below a folder, and read image files on demand."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.datasets._dataset import LazyRows
from protocol.inputs.images import read_image, square


def squares_of(image_size: int) -> tuple[int, int, int]:
    """Return the shape of a colour image with sides of `image_size` pixels, which must be at least 1."""
    side = integer(image_size, "image_size")
    return (side, side, 3)


def image_rows(paths: Sequence[Path], image_size: int) -> LazyRows:
    """Return image files as rows of square colour images, which are read on demand.

    Parameters
    ----------
    paths : sequence of Path
        One file per row.
    image_size : int
        Side of the central square in pixels, at least 1.

    Returns
    -------
    LazyRows of uint8, shape (n, image_size, image_size, 3)

    Raises
    ------
    ProtocolError
        If `image_size` is less than 1; or, when rows are read, if a file is not a complete image.
    """
    shape = squares_of(image_size)

    def read(start: int, stop: int) -> NDArray[np.uint8]:
        images = np.empty((stop - start, *shape), dtype=np.uint8)
        for image, path in zip(images, paths[start:stop], strict=True):
            image[...] = square(read_image(path), image_size)
        return images

    return LazyRows((len(paths), *shape), np.uint8, read)


def files_below(folder: str | Path) -> list[str]:
    """Return the files below a folder, following links: their relative paths with ``/``, sorted.

    Hidden files and folders, whose names begin with a dot, are skipped: ``.git``, ``.ipynb_checkpoints``, ``._a.png``.

    Raises
    ------
    ProtocolError
        If a folder is found twice because of a link, or a name is not valid text.
    """
    found, seen = [], set()
    for path, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        real = os.path.realpath(path)
        if real in seen:
            raise ProtocolError(
                f"{path}: expected each folder once, got a link to {real}, which was found before. Remove the link."
            )
        seen.add(real)
        below = Path(path).relative_to(folder)
        found += [(below / name).as_posix() for name in names if not name.startswith(".")]
    broken = next((name for name in found if not _is_text(name)), None)
    if broken is not None:
        raise ProtocolError(f"{folder}: expected file names in UTF-8, got {broken!a}. Rename the file.")
    return sorted(found)


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
