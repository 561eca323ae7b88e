"""Read tar and zip archives without extracting files to disk, and the records in the archives of CIFAR."""

import contextlib
import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.inputs import text

# zipfile raises RuntimeError for a member with a password or an unknown compression method.
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, RuntimeError)
_CHUNK_BYTES = 1 << 20
_SHAPE = (3, 32, 32)  # of an image of CIFAR, in planes


@contextlib.contextmanager
def members(path: str | Path, names: Iterable[str]) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Open an archive and return an iterator over some of its members, in their order: each name and a stream.

    Each stream must be read before the next one is requested. Checksums are verified to the end of the archive, so the
    content is complete if the block ends without an error.

    Parameters
    ----------
    path : str or Path
        A ``.zip``, ``.tar``, ``.tar.gz`` or ``.tgz`` file.
    names : iterable of str
        Paths of the members inside the archive, or the ends of their paths: ``b/c.txt`` is found as ``a/b/c.txt``.

    Raises
    ------
    ProtocolError
        If the archive is missing, damaged or truncated; a member is missing, duplicated or a link; or the members are
        larger than `text.ARRAY_BYTES`. All errors that a damaged archive causes in the block are converted to this
        one.

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
    if not path.is_file():
        raise ProtocolError(f"{path}: no such file.")
    try:
        with contextlib.closing(_selected(path, tuple(names))) as selected:
            yield selected
            for _ in selected:  # read to the end, where the checksum is
                pass
    except _DAMAGE as error:
        raise ProtocolError(
            f"{path}: the {path.suffix.lstrip('.')} archive is truncated or damaged ({error}). Download it again."
        ) from error


def _selected(path: Path, names: tuple[str, ...]) -> Generator[tuple[str, IO[bytes]]]:
    """Yield the requested members, each read to its end."""
    seen, n_bytes = set[str](), 0
    for member, size, stream in (_zip if path.suffix == ".zip" else _tar)(path):
        name = next((name for name in names if f"/{member}".endswith(f"/{name}")), None)
        if name is None:
            continue
        n_bytes += size
        if stream is None or name in seen or n_bytes > text.ARRAY_BYTES:
            raise ProtocolError(f"{path}: {member} is not a regular file, a second {name}, or too large.")
        seen.add(name)
        yield name, stream
        _read_on(stream)  # up to the checksum of a member of a zip archive
    if missing := set(names) - seen:
        raise ProtocolError(f"{path}: the archive lacks {', '.join(sorted(missing))}.")


def _read_on(stream: Any) -> None:
    while stream.read(_CHUNK_BYTES):
        pass


def _tar(path: Path) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    with (gzip.open if path.suffix in (".gz", ".tgz") else open)(path, "rb") as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                yield member.name, member.size, archive.extractfile(member) if member.isreg() else None
        _read_on(stream)  # up to gzip's checksum, which detects damaged bytes


def _zip(path: Path) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with contextlib.nullcontext(None) if member.is_dir() else archive.open(member) as stream:
                yield member.filename, member.file_size, stream


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
    with members(path, [*names, *(f"{batch}.bin" for batch in batches)]) as files:
        contents = {name: stream.read() for name, stream in files}
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
