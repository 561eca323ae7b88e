"""Your own images: a folder with a subfolder for each class, in any common format."""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, abridged, counted, integer
from protocol.datasets import Data, LazyRows, Paths
from protocol.datasets._user_files import listings
from protocol.datasets.arrays import labels_of_items
from protocol.inputs.forms import one_form, paired, warn_alike
from protocol.inputs.images import EXTENSIONS, UNSUPPORTED, looks_complete, read_image, square
from protocol.inputs.lists import read_listings
from protocol.inputs.text import INPUTS
from protocol.registry import DatasetRecord

_SURROGATE = re.compile("[\ud800-\udfff]")
"""In a name, bytes that are not UTF-8."""
_PARTITION = re.compile(
    "(train|training|test|testing|val|valid|validation|dev|query|queries|database|db|gallery|retrieval)"
    "([-_ ]?(set|split|images?|imgs?|data))?",
    re.IGNORECASE,
)
"""Usual names of folders for the partitions of a split."""


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


def check_images(paths: Sequence[Path]) -> None:
    """Raise ProtocolError, which names the first files that do not begin and end like images, and log all of them."""
    by_reason = defaultdict[str, list[Path]](list)
    for path in paths:
        by_reason[_problem(path)].append(path)
    by_reason.pop("", None)
    if by_reason:
        folder = os.path.commonpath([path.parent for path in paths])
        for why, of in by_reason.items():
            INPUTS.info("%s", "\n".join(f"{path}: {why}" for path in of))
        names = {why: abridged(one.relative_to(folder).as_posix() for one in of) for why, of in by_reason.items()}
        files = "; ".join(f"{why} ({len(by_reason[why]):,}: {named})" for why, named in names.items())
        problem = f"{counted(sum(map(len, by_reason.values())), 'image')} can't be used: {files}"
        advice = f"Supported are {', '.join(sorted(EXTENSIONS))}. Convert or remove the others."
        raise ProtocolError(f"{folder}: {problem}. {advice}")


def _problem(path: Path) -> str:
    """Return why a file can't be used as an image; empty if it can."""
    if path.suffix.lower() in UNSUPPORTED:
        return f"{path.suffix[1:].upper()} files are not supported"
    try:
        if not path.is_file() or not looks_complete(path):
            read_image(path)
    except (ProtocolError, OSError) as error:
        return str(error).removeprefix(f"{path}: ").rstrip(".")
    return ""


def _statistics(folder: str, image_size: int, labels: str | None) -> dict[str, Any]:
    """Return what is known from the options and the names of the folders with files; refuse partitions as classes.

    `load` does not refuse them, because images may be compared across partitions without classes.
    """
    with_files = [os.path.relpath(path, folder) for path, files in listings(folder) if files] if folder else []
    classes = sorted({path.partition(os.sep)[0] for path in with_files})
    if classes and labels is None and all(map(_PARTITION.fullmatch, classes)):
        one = os.path.join(folder, next((name for name in classes if name.lower().startswith("train")), classes[0]))
        ways = f"Name one of them ({one}), or a file of labels (init: --labels) and your split as lists"
        named = f"its subfolders ({', '.join(classes)}) are named like partitions of a split, not like classes"
        raise ProtocolError(f"{folder}: {named}. {ways} (`splits: [from_lists]`).")
    labelled = {"labelled": labels is not None} if labels is not None or with_files == [os.curdir] else {}
    return {"image_shape": squares_of(image_size), **labelled}


@DatasetRecord.declared_with(statistics=_statistics)
def load(paths: Paths, *, folder: str = "", image_size: int = 128, labels: str | None = None) -> Data:
    """Your own images: a folder with a subfolder for each class, or with a file of labels, in any common format.

    Parameters
    ----------
    paths : mapping of str to Path
        Not used: nothing is downloaded.
    folder : str
        Its subfolders are the classes and may have subfolders themselves. Without subfolders, there are no labels.
        Hidden files and folders, whose names begin with a dot, are skipped. Transparent images are composed on white.
    image_size : int, default=128
        Side, in pixels, of the square to which the centre of each image is scaled.
    labels : str or None
        A file with the path of each image inside the folder, and its class or classes, in any form of
        `protocol.inputs.lists`; subfolders are then no classes. Paths may lack the extension or have other leading
        folders, if each still belongs to one image. None if the subfolders are the classes.

    Returns
    -------
    Data
        Images, uint8, shape (n, image_size, image_size, 3), in the order of their paths, read on demand; labels, int64,
        the classes in the order of their names; the ids are the paths inside the folder.

    Raises
    ------
    ProtocolError
        If no folder is given; if it contains no images, images both in subfolders and next to them, images without a
        label or labels without an image, or files that are not complete images of a supported format (all are listed);
        if a folder can't be listed or is found twice because of a link, or a name is not valid text; when rows are
        read, if an image is damaged inside.
    """
    files = sorted(Path(at, name).relative_to(folder).as_posix() for at, names in listings(folder) for name in names)
    for broken in filter(_SURROGATE.search, files):
        raise ProtocolError(f"{folder}: the file name {broken!a} is not UTF-8. Rename the file.")
    images = [name for name in files if PurePosixPath(name).suffix.lower() in EXTENSIONS | UNSUPPORTED]
    if not images:
        among = f"no images ({', '.join(sorted(EXTENSIONS))}) among {counted(len(files), 'file')}"
        raise ProtocolError(f"{folder}: {among}. It should contain a subfolder for each class, with its images.")
    y, class_names = _of_subfolders(folder, images) if labels is None else _of_file(labels, folder, images)
    paths_of_images = [Path(folder, name) for name in images]
    check_images(paths_of_images)
    n_skipped = len(files) - len(images)
    notes = (f"files in the folder that are not images and were skipped: {n_skipped:,}",) if n_skipped else ()
    return Data(np.array(images), y, class_names, image_rows(paths_of_images, image_size), notes=notes)


def _of_subfolders(folder: str, images: Sequence[str]) -> tuple[NDArray | None, tuple[str, ...]]:
    """Return the class of each image, which is its subfolder, and the names of the classes."""
    subfolders = [name.rpartition("/")[0].partition("/")[0] for name in images]
    classes, labels = np.unique(subfolders, return_inverse=True)
    tops = {os.path.relpath(path, folder).partition(os.sep)[0] for path, _ in listings(folder)}
    if empty := sorted(tops - {os.curdir, *subfolders}):
        INPUTS.warning(f"{folder}: {counted(len(empty), 'subfolder')} without images, so no class: {abridged(empty)}")
    if "" in subfolders and len(classes) > 1:
        outside, first = f"{subfolders.count(''):,} of {counted(len(images), 'image')}", images[subfolders.index("")]
        raise ProtocolError(f"{folder}: {outside} in no subfolder, the first {first}. Move each to that of its class.")
    warn_alike(classes.tolist(), folder)
    return (None, ()) if "" in subfolders else (labels, tuple(classes.tolist()))


def _of_file(file: str, folder: str, images: Sequence[str]) -> tuple[NDArray, tuple[str, ...]]:
    """Return the labels of the images, which a file lists by their paths, and the names of the classes."""
    listing = read_listings({"labels": file}, has_ids=False, sizes={"labels": len(images)})["labels"]
    listed = [] if listing.ids is None else listing.ids.tolist()
    listed_as = paired(images, listed)
    unlabelled, unknown = {*images} - listed_as.keys(), {*listed} - {*listed_as.values()}
    sides = (("image", "a label", unlabelled), ("label", "an image", unknown))
    problems = [
        f"{counted(len(ids), noun)} without {other}, the first {min(ids)!r}" for noun, other, ids in sides if ids
    ]
    if problems:
        n_equal = len({one_form(name)[-1] for name in unlabelled} & {one_form(name)[-1] for name in unknown})
        equal = f" ({counted(n_equal, 'file name')} without the folders would match)" * bool(n_equal)
        advice = f"Each line needs the path of an image in {folder}, such as {images[0]!r}"
        raise ProtocolError(f"{file}: {' and '.join(problems)}. {advice}{equal}.")
    return labels_of_items(listing, np.array(images), len(images))
