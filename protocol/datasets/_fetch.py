"""The files of datasets: their sources, and their download by pooch, with a checksum for every file.

pooch transfers the bytes. Several sources for a file, a bound on its size, and checksums that are recorded at the first
download are added here, because pooch has none of them.
"""

import ftplib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from protocol.checks import ProtocolError
from protocol.provenance.checksums import checksum_path, verified
from protocol.provenance.storage import explained, file_sha256, replacing

_MOST_BYTES = 64 << 30
"""Bound on a file whose size is not known."""
_TIMEOUT = 60  # seconds without a connection or without data


@dataclass(frozen=True)
class File:
    """A file to download.

    Parameters
    ----------
    name : str
        The official file name, and the key of the file in the loader's `paths`.
    urls : tuple of str
        Addresses (http, https or ftp), in the order in which they are tried; () for a file that may not be
        redistributed and must be put into the mirror by hand.
    sha256 : str or None
        Official checksum, 64 hexadecimal digits; None if there is none.
    size : int or None
        Size in bytes; None if it is not known.
    by_hand : str, default=""
        How to get the file by hand, if opening one of `urls` is not enough.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str | None
    size: int | None
    by_hand: str = ""


@dataclass(frozen=True)
class Place:
    """The sources of a dataset's files, and the folder in which they are stored.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    folder : Path
        Folder of all downloads. Next to it, ``<folder>.lock`` contains the checksums recorded at first downloads.
    mirror : str or None
        A folder or URL that contains ``<dataset>/<file>``; tried first.
    mirror_sha256 : mapping of str to str
        Checksums, by file name, of files in the mirror that differ from the official files.
    offline : bool
        Whether to avoid the network; a mirror that is a folder is still used.
    """

    dataset: str
    folder: Path
    mirror: str | None = None
    mirror_sha256: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False

    def sha256(self, file: File) -> str | None:
        """Return the expected checksum; None if it has yet to be recorded."""
        return self.mirror_sha256.get(file.name, file.sha256)

    def path(self, file: File) -> Path:
        """Return the path of the file. It contains the checksum, so that experiments may use different versions."""
        return self.folder / self.dataset / (self.sha256(file) or "recorded") / file.name

    def provenance(self, file: File) -> Path:
        """Return the path of the record of the file's source."""
        return self.path(file).with_name(f"{file.name}.json")

    @property
    def lock(self) -> Path:
        """The lock file, which contains the recorded checksums."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    def recorded(self, file: File) -> str | None:
        """Return the checksum that the lock file records for the file, or None.

        Raises
        ------
        ProtocolError
            If a line of the lock file can't be read.
        """
        entries = {}
        for number, line in enumerate(self.lock.read_text().splitlines() if self.lock.exists() else (), start=1):
            try:
                entry = json.loads(line)
                entries[entry["file"]] = entry["sha256"]
            except (ValueError, KeyError, TypeError) as error:
                raise ProtocolError(
                    f'{self.lock}: line {number}: expected {{"file": ..., "sha256": ..., "size": ...}}, got {line!r}. '
                    "Restore the line, or delete it to record the checksum again."
                ) from error
        return entries.get(f"{self.dataset}/{file.name}")

    def sources(self, file: File) -> list[str]:
        """Return the paths and URLs to try, in order; files other than the official ones are only in the mirror."""
        mirror = [f"{self.mirror.rstrip('/')}/{self.dataset}/{file.name}"] if self.mirror else []
        official = list(file.urls) if self.sha256(file) == file.sha256 else []
        return [source for source in mirror + official if not (self.offline and "://" in source)]


def fetch(file: File, place: Place) -> dict[str, Any]:
    """Download and verify a file unless it exists already, and return its provenance.

    If no checksum is known, the checksum of the first download is recorded in `place.lock`, and later downloads must
    have the same checksum. The file gets its name only when it is complete and verified.

    Returns
    -------
    dict
        The content of ``<file>.json`` next to the file: ``file``, ``source`` (None if the file was not downloaded by
        this function), ``sha256``, ``size``, and ``note``, a warning for readers of the results if the file is not
        known to be the official one, otherwise None.

    Raises
    ------
    ProtocolError
        If no source delivered the expected bytes; the message names each source with its problem, and explains how to
        add the file by hand. If the file can't be written.
    """
    target, expected = place.path(file), place.sha256(file) or place.recorded(file)
    if expected and target.exists() and file_sha256(target) == expected:
        source, sha256 = _stored_provenance(file, place).get("source"), expected
    else:
        source, sha256 = _first_good(file, place, expected)
    size = target.stat().st_size
    if expected is None:
        entry = {"file": f"{place.dataset}/{file.name}", "sha256": sha256, "size": size}
        with explained(place.lock), open(place.lock, "a") as lock:  # one write, so that no other process can interfere
            lock.write(f"{json.dumps(entry)}\n")
    note = None
    if file.sha256 is None and source not in file.urls:
        note = f"{file.name} has no official checksum and was not downloaded from an official source"
    elif file.sha256 not in (None, sha256):
        note = f"{file.name} is not the official file: it was downloaded from a mirror"
    note = note and f"{note}; its sha256 is {sha256}"
    provenance = {"file": file.name, "source": source, "sha256": sha256, "size": size, "note": note}
    with replacing(place.provenance(file), checksum=True) as path:
        path.write_text(json.dumps(provenance, indent=1))
    return provenance


def check_recorded(files: Iterable[File], place: Place) -> None:
    """Raise ProtocolError if the checksum of a downloaded file differs from the one that the lock file records now.

    This happens, for example, if the lock file was copied from other results.
    """
    for file in files:
        actual, expected = _stored_provenance(file, place).get("sha256"), place.recorded(file)
        if place.sha256(file) is None and None not in (actual, expected) and actual != expected:
            raise ProtocolError(
                f"{place.path(file)}: its sha256 is {actual}, but {place.lock} records {expected}. Delete the file to "
                f"download it again, or delete the line of {place.dataset}/{file.name} to keep the file."
            )


def _stored_provenance(file: File, place: Place) -> dict[str, Any]:
    """Return the provenance of a file; {} if the file does not exist or its download did not finish."""
    record = place.provenance(file)
    finished = all(path.exists() for path in (place.path(file), record, checksum_path(record)))
    return json.loads(verified(record)) if finished else {}


class _RefusedError(Exception):
    """The source does not deliver the file; the next source may deliver it."""


def _first_good(file: File, place: Place, expected: str | None) -> tuple[str, str]:
    """Download from the first source that delivers the expected bytes; return the source, for records, and the sha256.

    `replacing` renames the file at the end, and deletes it after an error.
    """
    target, tried = place.path(file), []
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    size = file.size if place.sha256(file) == file.sha256 else None
    for source in place.sources(file):
        shown = source if source in file.urls else redacted(source)
        try:
            with replacing(target) as temporary:
                with open(temporary, "wb") as output:
                    _transfer(source, _Bounded(output, target, size), known=expected is not None or size is not None)
                sha256, n_bytes = file_sha256(temporary), temporary.stat().st_size
                if size not in (None, n_bytes) or expected not in (None, sha256):
                    wanted = [f"{size:,} bytes"] if size is not None else []
                    wanted += [f"sha256 {expected}"] if expected else []
                    raise _RefusedError(f"expected {' and '.join(wanted)}, got sha256 {sha256} ({n_bytes:,} bytes)")
            return shown, sha256
        except _RefusedError as error:
            tried.append(f"{shown}: {error}")
    problem = f"the download failed: {'; '.join(tried)}" if tried else "there is no source to download it from"
    raise ProtocolError(f"{file.name}: {'offline: ' * place.offline}{problem}. {_instruction(file, place, expected)}")


class _Bounded:
    """A file for writing that refuses more bytes than the file has, so that a wrong source can't fill the disk."""

    def __init__(self, file: IO[bytes], path: Path, size: int | None) -> None:
        self._file, self._path = file, path
        self._most = _MOST_BYTES if size is None else size

    def write(self, block: bytes) -> None:
        if self._file.tell() + len(block) > self._most:
            raise _RefusedError(f"more than {self._most:,} bytes")
        with explained(self._path):
            self._file.write(block)
            self._file.flush()

    def flush(self) -> None:
        """Do nothing: `write` flushes."""


def _transfer(source: str, output: _Bounded, *, known: bool) -> None:
    """Write the bytes of a path or URL to a file; raise _RefusedError, without credentials, if they can't be read.

    `known` is whether the size or the checksum is known, by which a truncated file would be noticed.
    """
    from pooch import FTPDownloader, HTTPDownloader  # type: ignore[import-untyped]

    options = {"chunk_size": 1 << 16, "progressbar": sys.stderr.isatty(), "timeout": _TIMEOUT}
    try:
        if "://" not in source:
            with open(source, "rb") as file:
                shutil.copyfileobj(file, output)
        elif source.startswith("ftp:"):
            FTPDownloader(**options)(source, output, None)
        else:
            headers = {"Accept-Encoding": "identity", "User-Agent": "hashing-protocol"}
            hooks = {} if known else {"response": _require_end}
            HTTPDownloader(headers=headers, hooks=hooks, **options)(source, output, None)
    except (OSError, EOFError, ftplib.Error, ValueError) as error:  # requests' errors are OSErrors
        raise _RefusedError(_reason(error)) from error


def _require_end(response: Any, **_: Any) -> None:
    if not {"content-length", "transfer-encoding", "location"} & {name.lower() for name in response.headers}:
        raise _RefusedError("the server does not send the size of the file, so a truncated file would go unnoticed")


def _reason(error: BaseException) -> str:
    """Return the first cause of an error; the messages of requests contain addresses, and possibly credentials."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP status {response.status_code}"
    while error.__context__ is not None:
        error = error.__context__
    text = str(error) if isinstance(error, (_RefusedError, ftplib.Error)) else getattr(error, "strerror", None)
    return text or type(error).__name__


def _instruction(file: File, place: Place, expected: str | None) -> str:
    """Return how to get the file by hand, where to put it, and how to accept another version."""
    if place.sha256(file) == file.sha256:
        how = file.by_hand or f"get it from {' or '.join(file.urls)}"
    else:
        how = "find the file with the checksum given by mirror_sha256"
    checksum = f" (sha256 {expected})" if expected else ""
    if place.mirror and "://" not in place.mirror:
        where = f"put it at {Path(place.mirror, place.dataset, file.name)}"
    else:
        where = f"put it at FOLDER/{place.dataset}/{file.name} and run with --config mirror=FOLDER"
    other = ""
    if expected is not None and place.sha256(file) is None:
        other = f" To accept another version, delete the line of {place.dataset}/{file.name} in {place.lock}."
    elif place.mirror:
        other = " To accept another version from the mirror, give its sha256 as mirror_sha256."
    return f"To add it by hand: {how}{checksum}, and {where}.{other}"


def redacted(url: str) -> str:
    """Return an address without its user name, password, query and fragment, any of which may contain credentials.

    A password with an unescaped ``/`` or ``?`` is recognised by the port, which is then not a number.

    Examples
    --------
    >>> redacted("https://me:secret@example.org/files?token=secret")
    'https://***@example.org/files?***'
    """
    scheme, separator, rest = url.partition("://")
    if not separator:  # a path, or an address with a mistake
        return re.sub(r"^[^/]*:.*@", "***@", url, flags=re.DOTALL)
    rest = re.sub(r"^(?:[^/?#]*@|[^/?#:]*:(?!\d*[/?#]).*@)", "***@", rest, flags=re.DOTALL)
    return f"{scheme}://{re.sub(r'(?<=[?#]).*', '***', rest, count=1, flags=re.DOTALL)}"
