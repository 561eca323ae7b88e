"""Named members of tar and zip archives, read as they stream by: nothing is extracted, so nothing can land elsewhere.

An archive may come from anywhere. A member is read if it is a plain file that stays inside the archive's folder; what
it unpacks to is held against a limit, as is the whole archive: a few kilobytes can unpack to terabytes.
"""

import contextlib
import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from protocol.checks import ProtocolError

MEMBER_LIMIT = 1 << 30
"""Bytes that one member may unpack to."""

LIMIT = 4 << 30
"""Bytes that an archive, or what is read of it, may unpack to."""

_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    OSError,
    zlib.error,
    RuntimeError,  # zipfile, for a member with a password or an unknown compression method
)
_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def members(
    path: str | Path, names: Iterable[str], *, limit: int = MEMBER_LIMIT
) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Give an iterator over members of an archive, in the archive's order, each with a stream of its bytes.

    A stream is to be read before the next one is asked for. Checksums are checked to the archive's end, so what was
    read is whole once the block has ended without an error.

    Parameters
    ----------
    path : str or Path
        A ``.zip``, ``.tar``, ``.tar.gz`` or ``.tgz`` file.
    names : iterable of str
        Paths of the members inside the archive, or the ends of their paths: ``b/c.txt`` is found as ``a/b/c.txt``.
    limit : int, default=MEMBER_LIMIT
        Bytes that one of them may unpack to.

    Raises
    ------
    ProtocolError
        If the archive is missing, damaged or cut short; lacks a member or has it twice; a member is a link or leaves
        the archive's folder; or more comes out than the limits say. All errors in the block that come from reading a
        damaged archive are told so, in one line.

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
        raise ProtocolError(f"{path}: no such file; wanted an archive")
    wanted = _Wanted(path, names, limit)
    try:
        with contextlib.closing((_zip if path.suffix == ".zip" else _tar)(path, wanted)) as found:
            yield found
            for _ in found:  # to the archive's end, where its checksum is
                pass
    except _DAMAGE as error:
        raise ProtocolError(
            f"{path}: wanted a whole {path.suffix.lstrip('.')} archive, but it is cut short or damaged ({error}); "
            "fetch it again"
        ) from error
    if wanted.missing:
        raise ProtocolError(f"{path}: the archive lacks {', '.join(sorted(wanted.missing))}")


class _Wanted:
    """The members that are asked for, and what they and the archive may be."""

    def __init__(self, path: Path, names: Iterable[str], limit: int) -> None:
        self._path, self._names, self._limit = path, tuple(names), limit
        self.missing = set(self._names)

    def name_of(self, member: str, size: int, *, plain: bool) -> str | None:
        """Return the name under which a member is asked for, or None; refuse one that is not to be read."""
        name = next((name for name in self._names if member == name or member.endswith(f"/{name}")), None)
        if name is None:
            return None
        if not plain:
            raise ProtocolError(f"{self._path}: {member}: wanted a plain file, came a link or a folder")
        if PurePosixPath(member).is_absolute() or ".." in PurePosixPath(member).parts:
            raise ProtocolError(f"{self._path}: {member}: wanted a path inside the archive's folder")
        if name not in self.missing:
            raise ProtocolError(f"{self._path}: {member}: the archive has {name} twice")
        self.check(size, self._limit, f"{member} unpacks to")
        self.missing.remove(name)
        return name

    def check(self, size: int, limit: int, what: str) -> None:
        if size > limit:
            raise ProtocolError(f"{self._path}: {what} {size:,} bytes or more; wanted at most {limit:,}")


class _Counted:
    """A stream that counts what is read of it, and refuses to give more than an archive may unpack to."""

    def __init__(self, stream: Any, wanted: _Wanted) -> None:
        self._stream, self._wanted, self._n_read = stream, wanted, 0

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(size)
        self._n_read += len(content)
        self._wanted.check(self._n_read, LIMIT, "the archive unpacks to")
        return content


def _tar(path: Path, wanted: _Wanted) -> Generator[tuple[str, IO[bytes]]]:
    with (gzip.open if path.suffix in (".gz", ".tgz") else open)(path, "rb") as plain:
        stream: Any = _Counted(plain, wanted)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = wanted.name_of(member.name, member.size, plain=member.isreg())
                file = None if name is None else archive.extractfile(member)
                if name is not None and file is not None:
                    yield name, file
        while stream.read(_CHUNK_BYTES):  # up to gzip's checksum, which tells of a damaged byte
            pass


def _zip(path: Path, wanted: _Wanted) -> Generator[tuple[str, IO[bytes]]]:
    n_bytes = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            plain = not member.is_dir() and (member.external_attr >> 28) in (0, 8)  # Unix's kind of file: none, regular
            name = wanted.name_of(member.filename, member.file_size, plain=plain)
            if name is None:
                continue
            n_bytes += member.file_size
            wanted.check(n_bytes, LIMIT, "the archive unpacks to")
            with archive.open(member) as stream:
                yield name, stream
                while stream.read(_CHUNK_BYTES):  # up to the member's checksum
                    pass
