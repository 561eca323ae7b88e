"""List the files below a folder, and read image files on demand."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.datasets._dataset import LazyRows
from protocol.datasets._user_paths import listings
from protocol.inputs.images import EXTENSIONS, OTHER_EXTENSIONS, looks_complete, read_image, square

_MOST_NAMES = 10
_SURROGATE = re.compile("[\ud800-\udfff]")
"""In a name, bytes that are not UTF-8."""


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
        If `image_size` is less than 1; or, when rows are read, if a file is not a complete image. The message lists
        all such files from this row on.
    """
    shape = squares_of(image_size)

    def read(start: int, stop: int) -> NDArray[np.uint8]:
        images = np.empty((stop - start, *shape), dtype=np.uint8)
        for image, path in zip(images, paths[start:stop], strict=True):
            try:
                image[...] = square(read_image(path), image_size)
            except ProtocolError:
                check_images(paths[start:], thorough=True)
                raise
        return images

    return LazyRows((len(paths), *shape), np.uint8, read)


def check_images(paths: Sequence[Path], *, thorough: bool = False) -> None:
    """Raise ProtocolError with all files that are not images, by their kind.

    Parameters
    ----------
    paths : sequence of Path
    thorough : bool, default=False
        Whether to decode all images, instead of only those that do not begin and end like a JPEG or PNG image.
    """
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        suffix = path.suffix.lower()
        try:
            if suffix in OTHER_EXTENSIONS:
                raise ProtocolError(f"{path}: {suffix[1:].upper()} files are not supported.")
            if thorough or not path.is_file() or not looks_complete(path):
                read_image(path)
        except ProtocolError as error:
            kinds.setdefault(str(error).removeprefix(f"{path}: ").rstrip("."), []).append(path)
        except OSError as error:
            kinds.setdefault(f"can't be read ({error.strerror})", []).append(path)
    if not kinds:
        return
    known = f"Supported are {', '.join(sorted(EXTENSIONS))}. " if any("not supported" in kind for kind in kinds) else ""
    bad = [path for of_kind in kinds.values() for path in of_kind]
    if len(bad) == 1:
        raise ProtocolError(f"{bad[0]}: {next(iter(kinds))}. {known}Convert or remove it.")
    folder = os.path.commonpath([path.parent for path in paths])
    parts = []
    for kind, of_kind in kinds.items():
        names = ", ".join(path.relative_to(folder).as_posix() for path in of_kind[:_MOST_NAMES])
        more = f" and {len(of_kind) - _MOST_NAMES:,} more" if len(of_kind) > _MOST_NAMES else ""
        parts.append(f"{names}{more} ({kind})")
    raise ProtocolError(
        f"{folder}: {len(bad):,} images can't be used: {'; '.join(parts)}. {known}Convert or remove them."
    )


def files_below(folder: str | Path) -> list[str]:
    """Return the files below a folder, following links, except hidden ones: their relative paths with ``/``, sorted.

    Raises
    ------
    ProtocolError
        If a folder can't be listed or is found twice because of a link, or a name is not valid text.
    """
    names = []
    for path, files in listings(folder, refuse_cycles=True):
        names += [(Path(path) / name).relative_to(folder).as_posix() for name in files]
    broken = next((name for name in names if _SURROGATE.search(name)), None)
    if broken is not None:
        raise ProtocolError(f"{folder}: the file name {broken!a} is not UTF-8. Rename the file.")
    return sorted(names)
