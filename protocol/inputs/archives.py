"""Read selected members of tar and zip archives as streams, without extracting files to disk."""

import contextlib
import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from protocol.checks import ProtocolError
from protocol.inputs import text

# zipfile raises RuntimeError for a member with a password or an unknown compression method.
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, RuntimeError)
_CHUNK_BYTES = 1 << 20


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
    ...     with members(Path(folder, "a.zip"), ["a.txt"]) as found:
    ...         print([(name, stream.read()) for name, stream in found])
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
