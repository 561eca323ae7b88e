"""Read tar and zip archives without extracting files to disk, and the records in the archives of CIFAR.

Archives need no checks of their own: a download is compared with its checksum before it is opened.
"""

import contextlib
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs.formats import reading

_SHAPE = (3, 32, 32)  # of an image of CIFAR, in planes


@contextlib.contextmanager
def members(path: str | Path, names: Iterable[str]) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Open an archive and return an iterator over some of its members, in their order: each name and a stream.

    Each stream must be read before the next one is requested.

    Parameters
    ----------
    path : str or Path
        A ``.zip``, ``.tar``, ``.tar.gz`` or ``.tgz`` file.
    names : iterable of str
        Paths of the members inside the archive, or the ends of their paths: ``b/c.txt`` is found as ``a/b/c.txt``.

    Raises
    ------
    ProtocolError
        If the archive is missing or damaged, or a member is missing. All errors in the block are converted to this one.

    Examples
    --------
    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(Path(folder, "a.zip"), "w") as archive:
    ...         archive.writestr("top/a.txt", "one")
    ...     with members(Path(folder, "a.zip"), ["a.txt"]) as files:
    ...         print([(name, stream.read()) for name, stream in files])
    [('a.txt', b'one')]
    """
    path = Path(path)
    with reading(path, "a complete archive"):
        yield _selected(path, set(names))


def _selected(path: Path, missing: set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    for member, stream in (_zip if path.suffix == ".zip" else _tar)(path):
        name = next((name for name in missing if f"/{member}".endswith(f"/{name}")), None)
        if name is not None:
            missing.remove(name)
            yield name, stream
    if missing:
        raise ProtocolError(f"{path}: the archive lacks {', '.join(sorted(missing))}.")


def _tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isreg() and (stream := archive.extractfile(member)):
                yield member.name, stream


def _zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                yield member.filename, stream


class Records(NamedTuple):
    """The content of an archive: `labels` has a column, and `names` a tuple, for each kind of label."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    ids: NDArray[np.str_]
    names: tuple[tuple[str, ...], ...]
    rows: dict[str, NDArray[np.int64]]


def read_archive(path: str | Path, batches: Sequence[str], names: Sequence[str]) -> Records:
    """Return the records of an archive without extracting files to disk.

    A record consists of one byte for each kind of label, followed by the red, the green and the blue plane of 1,024
    bytes each, row by row.

    Parameters
    ----------
    path : Path
        The ``.tar.gz`` file.
    batches : sequence of str
        Names of its record files without ``.bin``, in the order of the result; an id is ``<batch>/<position>``.
    names : sequence of str
        The files with the class names of each kind of label, in the order of the labels in a record.

    Raises
    ------
    ProtocolError
        If the archive is damaged or lacks a file, or a file has the wrong size.
    """
    with members(path, [*names, *(f"{batch}.bin" for batch in batches)]) as files:
        contents = {name: stream.read() for name, stream in files}
    length = len(names) + int(np.prod(_SHAPE))
    parts = []
    for batch in batches:
        with reading(Path(path), f"{batch}.bin with records of {length:,} bytes"):
            parts.append(np.frombuffer(contents[f"{batch}.bin"], dtype=np.uint8).reshape(-1, length))
    starts = np.cumsum([0, *map(len, parts)])
    images = np.empty((starts[-1], *_SHAPE[1:], _SHAPE[0]), dtype=np.uint8)
    np.concatenate([part[:, len(names) :].reshape(-1, *_SHAPE).transpose(0, 2, 3, 1) for part in parts], out=images)
    ids = [f"{batch}/{row:05d}" for batch, part in zip(batches, parts, strict=True) for row in range(len(part))]
    labels = np.concatenate([part[:, : len(names)] for part in parts]).astype(np.int64)
    class_names = tuple(tuple(contents[name].decode("ascii", errors="replace").split()) for name in names)
    rows = {batch: np.arange(*starts[i : i + 2]) for i, batch in enumerate(batches)}
    return Records(images, labels, np.array(ids), class_names, rows)
