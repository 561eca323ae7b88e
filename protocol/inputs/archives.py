"""Read selected members of untrusted tar and zip archives as streams, without extracting files to disk.

A member is read only if it is a regular file inside the archive's folder, within `protocol.inputs.limits`.
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
from protocol.inputs import limits

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
    selection = _Selection(path, names, limit)
    try:
        with contextlib.closing((_zip if path.suffix == ".zip" else _tar)(path, selection)) as found:
            yield found
            for _ in found:  # read to the end, where the checksum is
                pass
    except _DAMAGE as error:
        raise ProtocolError(
            f"{path}: the {path.suffix.lstrip('.')} archive is truncated or damaged ({error}). Download it again."
        ) from error
    if selection.missing:
        raise ProtocolError(f"{path}: the archive lacks {', '.join(sorted(selection.missing))}.")


class _Selection:
    """The members to read, and the checks that they must pass."""

    def __init__(self, path: Path, names: Iterable[str] | None, limit: int) -> None:
        self._path, self._limit = path, limit
        self._names = None if names is None else tuple(names)
        self.missing = set(self._names or ())
        self._found = set[str]()

    def name_of(self, member: str, size: int, *, plain: bool) -> str | None:
        """Return the requested name of a member, or None if it was not requested; refuse members that are unsafe."""
        if self._names is None:
            name = member if plain else None
        else:
            name = next((name for name in self._names if member == name or member.endswith(f"/{name}")), None)
        if name is None:
            return None
        if not plain:
            raise ProtocolError(f"{self._path}: {member} is a link or a folder, not a regular file.")
        if PurePosixPath(member).is_absolute() or ".." in PurePosixPath(member).parts:
            raise ProtocolError(f"{self._path}: the path {member} leads out of the archive's folder.")
        if name in self._found:
            raise ProtocolError(f"{self._path}: the archive contains {name} twice, also as {member}.")
        _check_size(f"{self._path}: {member}", size, self._limit)
        self._found.add(name)
        self.missing.discard(name)
        return name


def _check_size(where: str, size: int, limit: int) -> None:
    if size > limit:
        raise ProtocolError(f"{where}: at least {size:,} bytes uncompressed, more than {limit:,}.")


class _Counted:
    """A stream that counts the bytes read and refuses to exceed the limit of an archive."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._path, self._n_read = stream, path, 0

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(size)
        self._n_read += len(content)
        _check_size(str(self._path), self._n_read, limits.ARCHIVE_BYTES)
        return content


def _tar(path: Path, selection: _Selection) -> Generator[tuple[str, IO[bytes]]]:
    with (gzip.open if path.suffix in (".gz", ".tgz") else open)(path, "rb") as plain:
        stream: Any = _Counted(plain, path)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = selection.name_of(member.name, member.size, plain=member.isreg())
                file = None if name is None else archive.extractfile(member)
                if name is not None and file is not None:
                    yield name, file
        while stream.read(_CHUNK_BYTES):  # up to gzip's checksum, which detects damaged bytes
            pass


def _zip(path: Path, selection: _Selection) -> Generator[tuple[str, IO[bytes]]]:
    n_bytes = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            plain = not member.is_dir() and (member.external_attr >> 28) in (0, 8)  # Unix file type: none, regular
            name = selection.name_of(member.filename, member.file_size, plain=plain)
            if name is None:
                continue
            n_bytes += member.file_size
            _check_size(str(path), n_bytes, limits.ARCHIVE_BYTES)
            with archive.open(member) as stream:
                yield name, stream
                while stream.read(_CHUNK_BYTES):  # up to the member's checksum
                    pass
