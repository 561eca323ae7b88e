"""Fetch a file from the first source that delivers the expected bytes: the mirror, then the official sources."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from protocol.checks import ProtocolError
from protocol.downloads._credentials import redacted
from protocol.downloads._locked import finish, locked, record, recorded
from protocol.downloads._transfer import RefusedError, RetryPolicy, Transfer, clear, origin_path
from protocol.provenance.checksums import checksum_path, verified
from protocol.provenance.storage import explained, file_sha256, replacing


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

    def key(self, file: File) -> str:
        """Return the file's name in the lock file and in the mirror."""
        return f"{self.dataset}/{file.name}"

    def sources(self, file: File) -> list[str]:
        """Return the paths and URLs to try, in order; files other than the official ones are only in the mirror."""
        mirror = [f"{self.mirror.rstrip('/')}/{self.key(file)}"] if self.mirror else []
        official = list(file.urls) if self.sha256(file) == file.sha256 else []
        return [source for source in mirror + official if not (self.offline and "://" in source)]


def fetch(file: File, place: Place, *, retry_policy: RetryPolicy = RetryPolicy()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Download and verify a file unless it exists already, and return its provenance.

    An interrupted download (``<file>.part``) is resumed. If no checksum is known, the checksum of the first download is
    recorded in `place.lock`, and later downloads must have the same checksum.

    Parameters
    ----------
    file : File
    place : Place
    retry_policy : RetryPolicy

    Returns
    -------
    dict
        The content of ``<file>.json`` next to the file: ``file``, ``source`` (None if the file was not downloaded by
        this function), ``sha256``, ``size``, and ``note``, a warning for readers of the results if the file is not
        known to be the official one, otherwise None.

    Raises
    ------
    ProtocolError
        If no source delivered the expected bytes; the message lists what each source delivered and explains how to add
        the file by hand. If there is not enough disk space, or the file can't be written.
    """
    target = place.path(file)
    part = target.with_name(f"{target.name}.part")
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(part) as handle:
            expected = place.sha256(file) or recorded(place.lock, place.key(file))
            if expected and target.exists() and file_sha256(target) == expected:
                part.unlink()
                source, found = _stored_provenance(file, place).get("source"), expected
            else:
                source, found = _first_good(file, place, handle, expected, retry_policy)
                if place.sha256(file) is None:
                    record(place.lock, place.key(file), sha256=found, size=os.fstat(handle.fileno()).st_size)
                finish(handle, target)
            origin_path(part).unlink(missing_ok=True)
            provenance = {
                "file": file.name,
                "source": _shown(source, file) if source else None,
                "sha256": found,
                "size": target.stat().st_size,
                "note": _note(file, source, found),
            }
            with replacing(place.provenance(file), checksum=True) as path:
                path.write_text(json.dumps(provenance, indent=1))
    return provenance


def check_recorded(files: Iterable[File], place: Place) -> None:
    """Raise ProtocolError if the checksum of a downloaded file differs from the one that the lock file records now.

    This happens, for example, if the lock file was copied from other results.
    """
    for file in files:
        actual, expected = _stored_provenance(file, place).get("sha256"), recorded(place.lock, place.key(file))
        if place.sha256(file) is None and None not in (actual, expected) and actual != expected:
            raise ProtocolError(
                f"{place.path(file)}: its sha256 is {actual}, but {place.lock} records {expected}. "
                f"Delete the file to download it again, or delete the line of {place.key(file)} to keep the file."
            )


def _stored_provenance(file: File, place: Place) -> dict[str, Any]:
    """Return the provenance of a file; {} if the file does not exist or its download did not finish."""
    record_path = place.provenance(file)
    finished = all(path.exists() for path in (place.path(file), record_path, checksum_path(record_path)))
    return json.loads(verified(record_path)) if finished else {}


def _first_good(
    file: File, place: Place, part: IO[bytes], expected: str | None, retry_policy: RetryPolicy
) -> tuple[str, str]:
    """Download into `part` from the first source that delivers the expected bytes; return source and checksum."""
    size = file.size if place.sha256(file) == file.sha256 else None
    tried = []
    for source in place.sources(file):
        try:
            return source, _from(source, _shown(source, file), part, expected, size, retry_policy)
        except RefusedError as error:
            tried.append(f"{_shown(source, file)}: {error}")
    hint = ""
    if expected is not None and place.sha256(file) is None:
        hint = (
            " The expected checksum was recorded at the first download; to accept the new file, delete the line of "
            f"{place.key(file)} in {place.lock}."
        )
    elif expected is not None and place.mirror and any(re.search("got sha256|sends more", line) for line in tried):
        hint = " If the mirror's file is not meant to be the official one, give its sha256 as mirror_sha256."
    outcome = f"the download failed: {'; '.join(tried)}" if tried else "there is no source to download it from"
    raise ProtocolError(f"{file.name}: {outcome}. {_instruction(file, place)}{hint}")


def _from(
    source: str, shown: str, part: IO[bytes], expected: str | None, size: int | None, retry_policy: RetryPolicy
) -> str:
    """Fetch from one source and return the checksum; raise RefusedError if the bytes are not the expected ones."""
    url = source if "://" in source else Path(source).resolve().as_uri()
    origin = shown if "://" in source else url
    transfer = Transfer(url, part, origin, expected is not None, size, retry_policy)
    for _ in range(2):
        joined = transfer.run()
        found, n_bytes = file_sha256(part.name), os.fstat(part.fileno()).st_size
        if expected in (None, found) and size in (None, n_bytes):
            return found
        clear(part)
        if not joined:
            break
        # The joined responses may be of different versions of the file: try once more, from the start.
    checks = [] if size is None else [f"{size:,} bytes"]
    checks += [] if expected is None else [f"sha256 {expected}"]
    raise RefusedError(f"expected {' and '.join(checks)}, got sha256 {found} ({n_bytes:,} bytes)")


def _shown(source: str, file: File) -> str:
    """Return a source for messages and records: an official URL unchanged, a mirror without its credentials."""
    return source if source in file.urls else redacted(source)


def require_local(files: Iterable[File], place: Place) -> None:
    """Raise ProtocolError if the network must not be used and files are neither downloaded nor in a local mirror."""
    missing = [
        file
        for file in files
        if not place.path(file).exists() and not any(Path(source).exists() for source in place.sources(file))
    ]
    if place.offline and missing:
        listed = " ".join(f"{file.name}: {_instruction(file, place)}" for file in missing)
        raise ProtocolError(f"offline: files of dataset {place.dataset!r} are missing: {listed}")


def _instruction(file: File, place: Place) -> str:
    """Return how to get the file by hand, and where to put it."""
    if place.sha256(file) == file.sha256:
        how_to_get = file.by_hand or f"get it from {' or '.join(file.urls)}"
    else:
        how_to_get = "find the file with the checksum given by mirror_sha256"
    properties = [f"{file.size:,} bytes"] if file.size and place.sha256(file) == file.sha256 else []
    properties += [f"sha256 {place.sha256(file)}"] if place.sha256(file) else []
    if place.mirror and "://" not in place.mirror:
        where_to_put = f"put it at {Path(place.mirror, place.key(file))}"
    else:
        where_to_put = (
            f"put it at FOLDER/{place.key(file)} in a folder of your choice and run with --config mirror=FOLDER"
        )
    details = f" ({', '.join(properties)})" if properties else ""
    return f"To add it by hand: {how_to_get}{details}, and {where_to_put}."


def _note(file: File, source: str | None, sha256: str) -> str | None:
    if sha256 == file.sha256 or (file.sha256 is None and source in file.urls):
        return None
    if file.sha256 is None:
        return (
            f"{file.name} has no official checksum and was not downloaded from an official source; "
            f"its sha256 is {sha256}"
        )
    return f"{file.name} is not the official file: it was downloaded from a mirror, and its sha256 is {sha256}"
