"""Images that stay in their files until they are asked for, and the files below a folder."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.datasets._dataset import LazyRows
from protocol.formats.images import read_image, square


def squares_of(image_size: int) -> tuple[int, int, int]:
    """Return the shape of a colour square of `image_size` pixels a side; ProtocolError unless that is 1 or more."""
    side = integer(image_size, "image_size")
    return (side, side, 3)


def image_rows(paths: Sequence[Path], image_size: int) -> LazyRows:
    """Return image files as rows of colour squares, read when they are asked for.

    Parameters
    ----------
    paths : sequence of Path
        One file per row.
    image_size : int
        Pixels a side of the central square, at least 1.

    Returns
    -------
    LazyRows of uint8, shape (n, image_size, image_size, 3)

    Raises
    ------
    ProtocolError
        If `image_size` is something else; when rows are read, if a file is no whole image: it is named.
    """
    shape = squares_of(image_size)

    def read(start: int, stop: int) -> NDArray[np.uint8]:
        images = np.empty((stop - start, *shape), dtype=np.uint8)
        for image, path in zip(images, paths[start:stop], strict=True):
            image[...] = square(read_image(path), image_size)
        return images

    return LazyRows((len(paths), *shape), np.uint8, read)


def files_below(folder: str | Path) -> list[str]:
    """Return the files below a folder, links followed: their paths relative to it, with ``/``, sorted.

    Hidden files and folders, whose names begin with a dot, are left out: ``.git``, ``.ipynb_checkpoints``, ``._a.png``.

    Raises
    ------
    ProtocolError
        If a folder is found twice, which a link can do, or a name is no text.
    """
    found, seen = [], set()
    for path, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        real = os.path.realpath(path)
        if real in seen:
            raise ProtocolError(f"{path}: a link leads to a folder that is there already, {real}; remove the link")
        seen.add(real)
        below = Path(path).relative_to(folder)
        found += [(below / name).as_posix() for name in names if not name.startswith(".")]
    broken = next((name for name in found if not _is_text(name)), None)
    if broken is not None:
        raise ProtocolError(f"{folder}: wanted file names in UTF-8, came {broken!a}; rename the file")
    return sorted(found)


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
