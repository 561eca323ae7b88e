"""The files of datasets: their sources, and their download by pooch, with a checksum for every file.

pooch transfers the bytes. Several sources for a file, and checksums that are recorded at the first download are added
here, because pooch has neither.
"""

import ftplib
import json
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError
from protocol.provenance.checksums import checksum_path, verified
from protocol.provenance.storage import explained, file_sha256, replacing, write_text
from protocol.registry.records import File

_TIMEOUT = 60  # seconds without a connection or without data


@dataclass(frozen=True)
class Downloads:
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
        lines = self.lock.read_text().splitlines() if self.lock.exists() else []
        try:
            entries = {name: sha256 for sha256, name in map(str.split, lines)}
        except ValueError as error:
            raise ProtocolError(f"{self.lock}: expected lines `sha256 dataset/file`. Restore or delete it.") from error
        return entries.get(f"{self.dataset}/{file.name}")

    def sources(self, file: File) -> list[str]:
        """Return the paths and URLs to try, in order; files other than the official ones are only in the mirror."""
        mirror = [f"{self.mirror.rstrip('/')}/{self.dataset}/{file.name}"] if self.mirror else []
        official = list(file.urls) if self.sha256(file) == file.sha256 else []
        return [source for source in mirror + official if not (self.offline and "://" in source)]


def fetch(file: File, downloads: Downloads) -> dict[str, Any]:
    """Download and verify a file unless it exists already, and return its provenance.

    If no checksum is known, that of the first download is recorded in `downloads.lock`, and later downloads must have
    the same one. The file gets its name only when it is complete and verified.

    Returns
    -------
    dict
        The content of ``<file>.json`` next to the file: ``file``, ``source``, ``sha256``, ``size``, and ``note``, a
        warning for readers of the results if the file is not known to be the official one, otherwise None.

    Raises
    ------
    ProtocolError
        If no source delivered the expected bytes; the message names each source with its problem, and explains how to
        add the file by hand. If the file can't be written.
    """
    target = downloads.path(file)
    record = target.with_name(f"{file.name}.json")
    expected = downloads.sha256(file) or downloads.recorded(file)
    is_complete = target.exists() and record.exists() and checksum_path(record).exists()
    if is_complete and expected is not None and file_sha256(target) == expected:
        return json.loads(verified(record))
    source, sha256 = _first_good(file, downloads, expected)
    if expected is None:
        # One write, so that no other process can interfere.
        with explained(downloads.lock), open(downloads.lock, "a") as lock:
            lock.write(f"{sha256}  {downloads.dataset}/{file.name}\n")
    note = None
    if file.sha256 is None and source not in file.urls:
        note = f"{file.name} has no official checksum and was not downloaded from an official source"
    elif file.sha256 not in (None, sha256):
        note = f"{file.name} is not the official file: it was downloaded from a mirror"
    note = note and f"{note}; its sha256 is {sha256}"
    provenance = {"file": file.name, "source": source, "sha256": sha256, "size": target.stat().st_size, "note": note}
    write_text(record, json.dumps(provenance, indent=1), checksum=True)
    return provenance


class _RefusedError(Exception):
    """The source refused the request. A retry will not help, but another source may have the file."""


def _first_good(file: File, downloads: Downloads, expected: str | None) -> tuple[str, str]:
    """Download from the first source that delivers the expected bytes; return the source, for records, and the sha256.

    `replacing` renames the file at the end, and deletes it after an error.
    """
    target, tried = downloads.path(file), []
    size = file.size if downloads.sha256(file) == file.sha256 else None
    for source in downloads.sources(file):
        shown = source if source in file.urls else redacted(source)
        try:
            with replacing(target) as temporary:
                _transfer(source, temporary)
                sha256, n_bytes = file_sha256(temporary), temporary.stat().st_size
                if expected not in (None, sha256) or size not in (None, n_bytes):
                    due = f"sha256 {expected}" if expected else f"{size:,} bytes"
                    raise _RefusedError(f"expected {due}, got sha256 {sha256} ({n_bytes:,} bytes)")
            return shown, sha256
        except _RefusedError as error:
            tried.append(f"{shown}: {error}")
    problem = f"the download failed: {'; '.join(tried)}" if tried else "there is no source to download it from"
    where = f"{file.name}: {'offline: ' * downloads.offline}"
    raise ProtocolError(f"{where}{problem}. {_instruction(file, downloads, expected)}")


def _transfer(source: str, target: Path) -> None:
    """Write the bytes of a path or URL to a file; raise _RefusedError, without credentials, if they can't be read."""
    from pooch import FTPDownloader, HTTPDownloader  # type: ignore[import-untyped]

    options = {"chunk_size": 1 << 16, "progressbar": sys.stderr.isatty(), "timeout": _TIMEOUT}
    try:
        if "://" not in source:
            shutil.copyfile(source, target)
        elif source.startswith("ftp:"):
            FTPDownloader(**options)(source, str(target), None)
        else:
            headers = {"Accept-Encoding": "identity", "User-Agent": "hashing-protocol"}
            HTTPDownloader(headers=headers, **options)(source, str(target), None)
    except (OSError, EOFError, ftplib.Error, ValueError) as error:  # requests' errors are OSErrors
        raise _RefusedError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    """Return the first cause of an error; the messages of requests contain addresses, and possibly credentials."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP status {response.status_code}"
    while error.__context__ is not None:
        error = error.__context__
    text = str(error) if isinstance(error, ftplib.Error) else getattr(error, "strerror", None)
    return text or type(error).__name__


def _instruction(file: File, downloads: Downloads, expected: str | None) -> str:
    """Return how to get the file by hand, where to put it, and how to accept another version."""
    how, place = file.by_hand or f"get it from {' or '.join(file.urls)}", f"{downloads.dataset}/{file.name}"
    is_folder = downloads.mirror and "://" not in downloads.mirror
    folder, option = (downloads.mirror, "") if is_folder else ("FOLDER", " and run with --config mirror=FOLDER")
    by_hand = f"To add it by hand: {how}, and put it at {folder}/{place}{option}."
    is_known = downloads.sha256(file) is not None
    other = "give its sha256 as mirror_sha256" if is_known else f"delete the line of {place} in {downloads.lock}"
    return f"{by_hand} To accept another version, {other}." if expected else by_hand


def redacted(url: str) -> str:
    """Return an address without its user name, password, query and fragment, any of which may contain credentials.

    Examples
    --------
    >>> redacted("https://me:secret@example.org/files?token=secret")
    'https://***@example.org/files?***'
    """
    if ":" not in url:  # a path
        return url
    return re.sub(r"(?<=[?#]).*", "***", re.sub(r":.*@", "://***@", url, flags=re.DOTALL), count=1, flags=re.DOTALL)
