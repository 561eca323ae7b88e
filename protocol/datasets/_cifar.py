"""Read the binary archives of CIFAR-10 and CIFAR-100, which differ in file names and in the labels of a record."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.archives import members

_SHAPE = (3, 32, 32)


class Records(NamedTuple):
    """The content of an archive: `labels` has a column, and `names` a tuple, for each kind of label."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    ids: NDArray[np.str_]
    names: tuple[tuple[str, ...], ...]
    rows: dict[str, NDArray[np.int64]]


def read_archive(path: Path, batches: Sequence[str], names: Mapping[str, int]) -> Records:
    """Return the records of an archive without extracting files to disk.

    A record consists of one byte for each kind of label, followed by the red, the green and the blue plane of 1,024
    bytes each, row by row.

    Parameters
    ----------
    path : Path
        The ``.tar.gz`` file.
    batches : sequence of str
        Names of its record files without ``.bin``, in the order of the result; an id is ``<batch>/<position>``.
    names : mapping of str to int
        The files with the class names of each kind of label, in the order of the labels in a record, and the number
        of names in each.

    Raises
    ------
    ProtocolError
        If the archive is truncated or damaged or lacks a file, or a file has the wrong size or a label without a name.
    """
    with members(path, [*names, *(f"{batch}.bin" for batch in batches)]) as found:
        contents = {name: stream.read() for name, stream in found}
    parts = [_records(contents[f"{batch}.bin"], f"{path}: {batch}.bin", names) for batch in batches]
    starts = np.cumsum([0, *map(len, parts)])
    images = np.empty((starts[-1], *_SHAPE[1:], _SHAPE[0]), dtype=np.uint8)
    for start, part in zip(starts, parts, strict=False):
        planes = part[:, len(names) :].reshape(-1, *_SHAPE)
        images[start : start + len(part)] = planes.transpose(0, 2, 3, 1)
    return Records(
        images,
        np.concatenate([part[:, : len(names)] for part in parts]).astype(np.int64),
        np.array(
            [f"{batch}/{row:05d}" for batch, part in zip(batches, parts, strict=True) for row in range(len(part))]
        ),
        tuple(_names(contents[name], n, f"{path}: {name}") for name, n in names.items()),
        {batch: np.arange(*starts[i : i + 2]) for i, batch in enumerate(batches)},
    )


def _records(content: bytes, name: str, names: Mapping[str, int]) -> NDArray[np.uint8]:
    length = len(names) + int(np.prod(_SHAPE))
    if not content or len(content) % length:
        raise ProtocolError(f"{name}: expected one or more records of {length:,} bytes, got {len(content):,} bytes.")
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, length)
    for column, n_classes in enumerate(names.values()):
        wrong = np.flatnonzero(records[:, column] >= n_classes)
        if wrong.size:
            raise ProtocolError(
                f"{name}: record {wrong[0]:,}: expected a label from 0 to {n_classes - 1}, got "
                f"{records[wrong[0], column]}."
            )
    return records


def _names(content: bytes, n_classes: int, name: str) -> tuple[str, ...]:
    """Return the class names, one per line; the official files end with an empty line."""
    names = tuple(content.decode("ascii", errors="replace").split())
    if len(names) != n_classes:
        raise ProtocolError(f"{name}: {len(names):,} class names for {n_classes} classes.")
    return names
