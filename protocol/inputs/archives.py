"""Read selected members of untrusted tar and zip archives as streams, without extracting files to disk.

A member is read only if it is a regular file inside the archive's folder, within `protocol.inputs.limits`.
"""

import contextlib
import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from protocol.checks import ProtocolError
from protocol.inputs import limits

# zipfile raises RuntimeError for a member with a password or an unknown compression method.
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, RuntimeError)
_CHUNK_BYTES = 1 << 20

_Member = tuple[str, int, bool, Callable[[], Any]]
"""The path of a member, its size, whether it is a regular file, and a function that opens it."""


@contextlib.contextmanager
def members(
    path: str | Path, names: Iterable[str] | None, *, limit: int = limits.MEMBER_BYTES
) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Open an archive and return an iterator over some of its members, in their order: each name and a stream.

    Each stream must be read before the next one is requested. Checksums are verified to the end of the archive, so the
    content is complete if the block ends without an error.

    Parameters
    ----------
    path : str or Path
        A ``.zip``, ``.tar``, ``.tar.gz`` or ``.tgz`` file.
    names : iterable of str or None
        Paths of the members inside the archive, or the ends of their paths: ``b/c.txt`` is found as ``a/b/c.txt``. None
        for all regular files.
    limit : int, default=2**30
        Maximum decompressed size of each member, in bytes.

    Raises
    ------
    ProtocolError
        If the archive is missing, damaged or truncated; a member is missing, duplicated, a link or outside the
        archive's folder; or a size limit is exceeded. All errors that a damaged archive causes in the block are
        converted to this one.

    Examples
    --------
    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(Path(folder, "a.zip"), "w") as archive:
    ...         archive.writestr("top/a.txt", "one")
    ...     with members(Path(folder, "a.zip"), ["a.txt"]) as found:
    ...         print([(name, stream.read()) for name, stream in found])
    [('a.txt', b'one')]
    """
    path = Path(path)
    if not path.is_file():
        raise ProtocolError(f"{path}: no such file.")
    try:
        with contextlib.closing(_selected(path, None if names is None else tuple(names), limit)) as found:
            yield found
            for _ in found:  # read to the end, where the checksum is
                pass
    except _DAMAGE as error:
        raise ProtocolError(
            f"{path}: the {path.suffix.lstrip('.')} archive is truncated or damaged ({error}). Download it again."
        ) from error


def _selected(path: Path, names: tuple[str, ...] | None, limit: int) -> Generator[tuple[str, IO[bytes]]]:
    """Yield the requested members, each read to its end; refuse members that are unsafe."""
    found, n_bytes = set[str](), 0
    for member, size, is_regular, opened in (_zip if path.suffix == ".zip" else _tar)(path):
        requested = names if names is not None else (member,) if is_regular else ()
        name = next((name for name in requested if member == name or member.endswith(f"/{name}")), None)
        if name is None:
            continue
        if not is_regular:
            raise ProtocolError(f"{path}: {member} is a link or a folder, not a regular file.")
        if PurePosixPath(member).is_absolute() or ".." in PurePosixPath(member).parts:
            raise ProtocolError(f"{path}: the path {member} leads out of the archive's folder.")
        if name in found:
            raise ProtocolError(f"{path}: the archive contains {name} twice, also as {member}.")
        found.add(name)
        n_bytes += size
        _check_size(f"{path}: {member}", size, limit)
        _check_size(path, n_bytes, limits.ARCHIVE_BYTES)
        with opened() as stream:
            yield name, stream
            while stream.read(_CHUNK_BYTES):  # up to the checksum of a member of a zip archive
                pass
    if missing := set(names or ()) - found:
        raise ProtocolError(f"{path}: the archive lacks {', '.join(sorted(missing))}.")


def _check_size(where: str | Path, size: int, limit: int) -> None:
    if size > limit:
        raise ProtocolError(f"{where}: at least {size:,} bytes uncompressed, more than {limit:,}.")


def _tar(path: Path) -> Iterator[_Member]:
    with (gzip.open if path.suffix in (".gz", ".tgz") else open)(path, "rb") as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                _check_size(path, stream.tell() + member.size, limits.ARCHIVE_BYTES)
                yield member.name, member.size, member.isreg(), partial(archive.extractfile, member)
        while stream.read(_CHUNK_BYTES):  # up to gzip's checksum, which detects damaged bytes
            _check_size(path, stream.tell(), limits.ARCHIVE_BYTES)


def _zip(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            is_regular = not member.is_dir() and (member.external_attr >> 28) in (0, 8)  # Unix file type: none, regular
            yield member.filename, member.file_size, is_regular, partial(archive.open, member)
