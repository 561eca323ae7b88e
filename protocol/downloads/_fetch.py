"""A file from the first source that gives the right bytes: the mirror, then the official ones."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from protocol.checks import ProtocolError
from protocol.checksums import checksum_path, verified
from protocol.downloads._credentials import redacted
from protocol.downloads._part import alone, finish
from protocol.downloads._recorded import record, recorded
from protocol.downloads._transfer import Patience, RefusedError, clear, origin_path, transfer
from protocol.storage import explained, file_sha256, replacing


@dataclass(frozen=True)
class File:
    """A file to download.

    Parameters
    ----------
    name : str
        The official file name; the loader finds the file under this key of its `paths`.
    urls : tuple of str
        Where it is to be had (http, https or ftp), in the order to try; () where nobody may hand it on, so that it
        must be put into the mirror by hand.
    sha256 : str or None
        Official checksum of its bytes, 64 hexadecimal digits; None where none is known.
    size : int or None
        Length in bytes; None where it is not known.
    by_hand : str, default=""
        How a person gets the file, where that is more than opening one of `urls`.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str | None
    size: int | None
    by_hand: str = ""


@dataclass(frozen=True)
class Place:
    """Where the files of a dataset come from, and where they go.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    folder : Path
        Folder of all downloads; beside it, ``<folder>.lock`` has the checksums recorded at first downloads.
    mirror : str or None
        A folder or URL that has ``<dataset>/<file>``; tried first.
    mirror_sha256 : mapping of str to str
        Checksums, by name, of the files of the mirror that are not the official ones.
    offline : bool
        Whether the network must not be touched; a mirror that is a folder is used all the same.
    """

    dataset: str
    folder: Path
    mirror: str | None = None
    mirror_sha256: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False

    def sha256(self, file: File) -> str | None:
        """Return the checksum of the wanted bytes, None where it is to be recorded."""
        return self.mirror_sha256.get(file.name, file.sha256)

    def path(self, file: File) -> Path:
        """Return where the file goes; the folder is named by its digest, so experiments may expect different bytes."""
        return self.folder / self.dataset / (self.sha256(file) or "recorded") / file.name

    def provenance(self, file: File) -> Path:
        """Return where it is noted where the file came from."""
        return self.path(file).with_name(f"{file.name}.json")

    @property
    def lock(self) -> Path:
        """The file with the recorded checksums."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    def key(self, file: File) -> str:
        """Return the file's name in the lock file and below the mirror."""
        return f"{self.dataset}/{file.name}"

    def sources(self, file: File) -> list[str]:
        """Return the paths and URLs to try, in order; other bytes than the official ones come from the mirror only."""
        mirror = [f"{self.mirror.rstrip('/')}/{self.key(file)}"] if self.mirror else []
        official = list(file.urls) if self.sha256(file) == file.sha256 else []
        return [source for source in mirror + official if not (self.offline and "://" in source)]


def fetch(file: File, place: Place, *, patience: Patience = Patience()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Put a file into its place, whole and checked, and say where it came from; do nothing if it is there.

    What an interrupted download left (``<file>.part``) is gone on with. Where no checksum is known, that of the first
    download is recorded in `place.lock`, and other bytes are refused from then on.

    Parameters
    ----------
    file : File
    place : Place
    patience : Patience

    Returns
    -------
    dict
        What stands in ``<file>.json`` beside the file: ``file``, ``source`` (None if somebody else put it there),
        ``sha256``, ``size``, and ``note``: what a reader of the results must know of a file that is not known to be
        the official one, else None.

    Raises
    ------
    ProtocolError
        If no source gave the right bytes: says what each one gave, and what to put where by hand. If there is not
        enough space, or the file can't be written.
    """
    target = place.path(file)
    part = target.with_name(f"{target.name}.part")
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(part) as handle:
            wanted = place.sha256(file) or recorded(place.lock, place.key(file))
            if wanted and target.exists() and file_sha256(target) == wanted:
                part.unlink()
                source, found = _noted(file, place).get("source"), wanted
            else:
                source, found = _first_good(file, place, handle, wanted, patience)
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
    """Raise ProtocolError if a file was fetched with other bytes than those that are recorded now.

    So it is where the lock file comes with results that somebody else made.
    """
    for file in files:
        here, wanted = _noted(file, place).get("sha256"), recorded(place.lock, place.key(file))
        if place.sha256(file) is None and None not in (here, wanted) and here != wanted:
            raise ProtocolError(
                f"{place.path(file)}: wanted sha256 {wanted}, which {place.lock} records, but sha256 {here} was "
                f"fetched. Delete the file to fetch it again, or the line of {place.key(file)} to keep the file"
            )


def _noted(file: File, place: Place) -> dict[str, Any]:
    """Return what is noted of a file that is there, {} of one that is not or whose job did not finish."""
    noted = place.provenance(file)
    finished = all(path.exists() for path in (place.path(file), noted, checksum_path(noted)))
    return json.loads(verified(noted)) if finished else {}


def _first_good(file: File, place: Place, part: IO[bytes], wanted: str | None, patience: Patience) -> tuple[str, str]:
    """Return the first source that gave the right bytes, which are in the part then, and their checksum."""
    size = file.size if place.sha256(file) == file.sha256 else None
    tried = []
    for source in place.sources(file):
        try:
            return source, _from(source, _shown(source, file), part, wanted, size, patience)
        except RefusedError as error:
            tried.append(f"{_shown(source, file)}: {error}")
    hint = ""
    if wanted is not None and place.sha256(file) is None:
        hint = (
            f". The wanted checksum was recorded at the first download; if the change is wanted, delete the line of "
            f"{place.key(file)} in {place.lock}"
        )
    elif wanted is not None and place.mirror and any("came sha256" in line for line in tried):
        hint = ". If the mirror's file is not meant to be the official one, state its sha256 as mirror_sha256"
    outcome = f"no source gave the file: {'; '.join(tried)}" if tried else "there is no source to try"
    raise ProtocolError(f"{file.name}: {outcome}. {_instruction(file, place)}{hint}")


def _from(source: str, shown: str, part: IO[bytes], wanted: str | None, size: int | None, patience: Patience) -> str:
    """Fetch from one source; return the checksum of the bytes if they are the wanted ones."""
    url = source if "://" in source else Path(source).resolve().as_uri()
    origin = shown if "://" in source else url
    for _ in range(2):
        joined = transfer(url, part, origin=origin, checked=wanted is not None, size=size, patience=patience)
        found, came = file_sha256(part.name), os.fstat(part.fileno()).st_size
        if wanted in (None, found) and size in (None, came):
            return found
        clear(part)
        if not joined:
            break  # else it may be wrong where each answer was right: once more, from the start
    asked = " and ".join([f"{size:,} bytes"] * (size is not None) + [f"sha256 {wanted}"] * (wanted is not None))
    raise RefusedError(f"wanted {asked}, came sha256 {found} ({came:,} bytes)")


def _shown(source: str, file: File) -> str:
    """Return a source as messages and records name it: an official one as it is, a mirror without credentials."""
    return source if source in file.urls else redacted(source)


def require_local(files: Iterable[File], place: Place) -> None:
    """Raise ProtocolError if, offline, a file is neither in its place nor in the mirror; all of them are listed."""
    missing = [
        file
        for file in files
        if not place.path(file).exists() and not any(Path(source).exists() for source in place.sources(file))
    ]
    if place.offline and missing:
        listed = "; ".join(f"{file.name}: {_instruction(file, place)}" for file in missing)
        raise ProtocolError(f"offline, and files of dataset {place.dataset!r} are missing: {listed}")


def _instruction(file: File, place: Place) -> str:
    """Return how a person gets the file, and where to put it."""
    if place.sha256(file) == file.sha256:
        get = file.by_hand or f"get it from {' or '.join(file.urls)}"
    else:
        get = "find the file that mirror_sha256 states"
    facts = [f"{file.size:,} bytes"] if file.size and place.sha256(file) == file.sha256 else []
    facts += [f"sha256 {place.sha256(file)}"] if place.sha256(file) else []
    if place.mirror and "://" not in place.mirror:
        put = f"put it at {Path(place.mirror, place.key(file))}"
    else:
        put = f"put it at FOLDER/{place.key(file)} in a folder of yours and run with --config mirror=FOLDER"
    what = f" ({', '.join(facts)})" if facts else ""
    return f"By hand: {get}{what}, and {put}"


def _note(file: File, source: str | None, sha256: str) -> str | None:
    if sha256 == file.sha256 or (file.sha256 is None and source in file.urls):
        return None
    if file.sha256 is None:
        return f"{file.name} has no official checksum, and came from no official source; it has sha256 {sha256}"
    return f"{file.name} is not the official file: it came from a mirror and has sha256 {sha256}"
