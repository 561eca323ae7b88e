"""Read images and vectors to compare: from arrays, files, folders of images, or datasets of the pipeline."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.checks import ProtocolError, counted
from protocol.inputs.arrays import map_array
from protocol.inputs.conversion import as_numpy, is_file, items_from, matrix_from, named
from protocol.inputs.validation import Sliceable, check_images
from protocol.provenance import storage
from protocol.splits import read_list

_CONTENT = "content.h5"
"""The file with the images of a dataset of the pipeline; the names of its items are in ``items.h5`` next to it."""


@dataclass(frozen=True, eq=False)
class Items:
    """The items of one side of the comparison: the queries or the database.

    Parameters
    ----------
    rows : Sliceable
        Images, or vectors (n, d).
    name : str
        Name for messages.
    ids : ndarray of str, shape (n,), or None
        None if items are named by their row numbers.
    """

    rows: Sliceable
    name: str
    ids: NDArray[np.str_] | None = None

    def __len__(self) -> int:
        return len(self.rows)


@contextlib.contextmanager
def opened_images(values: Any, role: str, *, image_size: int) -> Iterator[Items]:
    """Open images: uint8 (n, height, width) or (n, height, width, 3).

    Parameters
    ----------
    values : path or array_like
        An array, a file with an array (``.npy``, ``F.npz:key``, ``F.h5:dataset``), a folder of image files, or
        ``content.h5`` of a dataset of the pipeline.
    role : str
        The name of the argument, for messages.
    image_size : int
        Side in pixels of the squares to which image files are resized.

    Raises
    ------
    ProtocolError
        If the input can't be read, or contains no images.
    """
    name = str(values) if is_file(values) else role
    if is_file(values) and Path(values).is_dir():
        data = _folder(values, image_size)
        yield Items(data.images, name, data.ids)
    elif is_file(values) and Path(values).name == _CONTENT:
        with storage.streamed(values, "images") as images:
            check_images(images, name)
            yield Items(images, name, _ids_next_to(Path(values), len(images)))
    else:
        images = map_array(values) if is_file(values) else as_numpy(values, role)
        check_images(images, name)
        yield Items(images, name)


def _folder(path: Any, image_size: int) -> Any:
    return registry.get("dataset", "image_folder")({}, folder=str(path), image_size=image_size)


def image_files(path: str | Path) -> list[Path]:
    """Return the additional files that `opened_images` reads: those in a folder, or of a dataset."""
    given = Path(path)
    if given.is_dir():
        return [given / name for name in _folder(given, 1).ids.tolist()]
    return [given.with_name("items.h5")] if given.name == _CONTENT else []


def with_ids(items: Items, ids: Any, role: str) -> Items:
    """Return items with the ids, or row numbers, of a list in the format of `protocol.audit`.

    Raises
    ------
    ProtocolError
        If the list can't be read, has the wrong length, or contains duplicates.
    """
    if ids is None:
        return items
    listed = read_list(ids)[0] if is_file(ids) else items_from(ids, role)
    name = named(ids, role)
    if len(listed) != len(items):
        raise ProtocolError(
            f"{name}: {counted(len(listed), 'id')} for the {counted(len(items), 'item')} of {items.name}."
        )
    names = listed.astype(np.str_)
    distinct, counts = np.unique(names, return_counts=True)
    if len(distinct) < len(names):
        most = counts.argmax()
        raise ProtocolError(f"{name}: the id {str(distinct[most])!r} occurs {counts[most]:,} times.")
    return replace(items, ids=names)


def _ids_next_to(content: Path, n_items: int) -> NDArray[np.str_] | None:
    """Return the names of the items of a dataset of the pipeline, if their file exists."""
    file = content.with_name("items.h5")
    if not file.is_file():
        return None
    ids = storage.decoded(storage.read(file, ["ids"])["ids"])
    if len(ids) != n_items:
        raise ProtocolError(f"{file}: {len(ids):,} ids for the {n_items:,} images of {content}.")
    return ids


def vectors_from(values: Any, role: str) -> Items:
    """Return vectors, a matrix of real numbers; an ``.npy`` file is memory-mapped.

    Raises
    ------
    ProtocolError
        If the input can't be read, or is not a matrix of numbers.
    """
    name = str(values) if is_file(values) else role
    if is_file(values) and Path(values).is_dir():
        raise ProtocolError(
            f"{values}: a folder, not a file of vectors. For images, use find_duplicates, or leave out --vectors."
        )
    X = matrix_from(values, role)
    if X.dtype.itemsize > 8:
        raise ProtocolError(f"{named(values, role)}: expected numbers of up to 64 bits, got dtype {X.dtype}.")
    return Items(X, name)
