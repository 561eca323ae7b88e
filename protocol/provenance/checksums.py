"""Checksums of the files that stages write. They are verified before any parser reads a file.

The first 512 bytes of our HDF5 files contain the SHA-256 of the bytes that follow. HDF5 reserves such a user block for
the application, and every reader skips it (MATLAB's files also have one). The file and its checksum are therefore
copied, linked, cached and uploaded together. ``tail -c +513 FILE | sha256sum`` computes the checksum by hand.

CSV, JSON and other text formats have no place for a checksum that other programs would skip. Their checksum is in a
file next to them, ``<name>.sha256``, in the format of ``sha256sum``; ``sha256sum -c summary.csv.sha256`` verifies it
by hand.
"""

import contextlib
import functools
import hashlib
import os
import re
import shlex
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import NoReturn

from protocol.checks import ProtocolError

SUFFIX = ".sha256"
USER_BLOCK = 512
_LABEL = b"hashing-protocol: SHA-256 of all bytes after the first 512 (tail -c +513 FILE | sha256sum)\n"
_RECORDED = re.compile(rb"[0-9a-f]{64}")


def checksum_path(path: str | Path) -> Path:
    """Return the path of the checksum of a CSV, JSON or text file.

    Examples
    --------
    >>> checksum_path("results/digits/summary.csv").name
    'summary.csv.sha256'
    """
    return Path(f"{path}{SUFFIX}")


def checksum_line(path: str | Path, digest: str) -> str:
    """Return the content of the checksum file of `path`, in the format of ``sha256sum``."""
    return f"{digest}  {Path(path).name}\n"


def verify(path: str | Path, *, required: bool = True) -> None:
    """Raise ProtocolError if a CSV, JSON or text file was changed since it was written.

    Parameters
    ----------
    path : str or Path
    required : bool, default=True
        Whether the checksum file must exist. Stages require it; a user's file, for example a ``summary.csv`` that a
        colleague sent, need not have one.
    """
    if required or checksum_path(path).exists():
        verified(path)


def verified(path: str | Path) -> bytes:
    """Return the content of a CSV, JSON or text file that a stage wrote, verified against the checksum next to it.

    Raises
    ------
    ProtocolError
        If the file is missing or can't be read, or its checksum is missing or differs.
    """
    content = _content(path)
    recorded = checksum_path(path)
    if not recorded.is_file():
        _refuse(path, f"{recorded.name}, with its sha256, is missing")
    line, found = _content(recorded), hashlib.sha256(content).hexdigest()
    if line != os.fsencode(checksum_line(path, found)):
        _refuse(path, _difference(line, found, recorded.name))
    return content


def seal(path: str | Path) -> None:
    """Write the checksum of a closed HDF5 file, created with a user block of `USER_BLOCK` bytes, into that block."""
    digest = _sha256_after_user_block(path)
    with open(path, "rb+") as file:
        file.write(_user_block(digest))


def verify_sealed(path: str | Path) -> None:
    """Raise ProtocolError if an HDF5 file was changed since it was written.

    A process hashes a file once, and again only if the file's inode, size, modification time or status change time
    has changed.
    """
    with _opened(path) as file:
        block, now = file.read(USER_BLOCK), state(file.fileno())
    found = _sha256_of_state(os.path.abspath(path), now)
    if block != _user_block(found):
        _refuse(path, _difference(block, found, f"the first {USER_BLOCK} bytes"))


def state(file: str | Path | int) -> tuple[int, ...]:
    """Return the part of a file's status that changes when it is written."""
    status = os.stat(file)
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@functools.lru_cache(maxsize=4096)
def _sha256_of_state(path: str, state: tuple[int, ...]) -> str:
    """Return the checksum of an HDF5 file; `state`, a cache key, is the part of its status that changes on a write."""
    return _sha256_after_user_block(path)


def _sha256_after_user_block(path: str | Path) -> str:
    with _opened(path) as file:
        file.seek(USER_BLOCK)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _user_block(digest: str) -> bytes:
    return (_LABEL + digest.encode() + b"\n").ljust(USER_BLOCK, b"\0")


def _difference(record: bytes, found: str, where: str) -> str:
    """Return how a checksum differs from the recorded one. The record may itself be damaged."""
    digests = [digest.decode() for digest in _RECORDED.findall(record)]
    if len(digests) == 1 and digests[0] != found:
        return f"expected sha256 {digests[0]}, got {found}"
    return f"no {'valid ' if record.strip(bytes(1)) else ''}sha256 in {where}"


def _refuse(path: str | Path, difference: str) -> NoReturn:
    raise ProtocolError(f"{path}: changed since it was written ({difference}). {_remedy(path)}")


def _remedy(path: str | Path) -> str:
    """Return how a result is written again: Snakemake itself does not replace files that nothing outdated needs."""
    command = f"snakemake --force {shlex.quote(os.path.relpath(path))}"
    return f"To write it again: {command}, with the --configfile of its experiment."


def _content(path: str | Path) -> bytes:
    with _opened(path) as file:
        return file.read()


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[BufferedReader]:
    """Open a regular file; refuse pipes and devices, because reading them may block."""
    path = Path(path)
    if not path.is_file():
        problem = "not a regular file" if path.exists() else "no such file"
        raise ProtocolError(f"{path}: {problem}. {_remedy(path)}")
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise ProtocolError(f"{path}: can't be read: {error.strerror or error}.") from error
