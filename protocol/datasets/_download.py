"""Downloads: mirror first, then the official sources; checked before the file gets its name."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError
from protocol.downloads import File
from protocol.storage import file_sha256, replacing

_TIMEOUT = 60  # seconds without an answer


class _UnavailableError(Exception):
    """A source that does not give the file; the next one may."""


def fetch(file: File, folder: str | Path, *, mirror: str | None = None, sha256: str | None = None) -> dict[str, Any]:
    """Put a dataset's file into `folder` under its official name, and say where it came from.

    Parameters
    ----------
    file : File
        The official name, URLs, size and checksum.
    folder : path
        Made if missing. The file appears in it only when whole and checked.
    mirror : str or None
        A folder or URL that has the file under its name; tried first.
    sha256 : str or None
        The checksum of the wanted bytes; the official one if None. Other bytes can come from the mirror only.

    Returns
    -------
    dict
        ``file``, ``source``, ``sha256``, and ``official``: whether the bytes are those of the official file.

    Raises
    ------
    ProtocolError
        If a source's file has another checksum, or no source gave the file; says what was tried and where to put the
        file by hand.
    """
    target, wanted = Path(folder) / file.name, sha256 or file.sha256 or ""
    official = wanted == file.sha256
    sources = [f"{mirror.rstrip('/')}/{file.name}"] if mirror else []
    tried = []
    for source in (*sources, *(file.urls if official else ())):
        try:
            (_download if "://" in source else _copy)(source, target, wanted)
        except _UnavailableError as error:
            tried.append(str(error))
        else:
            return {"file": file.name, "source": source, "sha256": wanted, "official": official}
    what = f"{file.size:,} bytes, " if official else ""
    raise ProtocolError(
        f"{file.name}: no source gave the file; tried {'; '.join(tried) or 'none, because no mirror is named'}. Fetch "
        f"it by hand ({what}sha256 {wanted}), put it in a folder and name that folder as `mirror` in the setting"
    )


def _check(path: Path, wanted: str, source: str) -> None:
    found = file_sha256(path)
    if found != wanted:
        raise ProtocolError(
            f"{source}: wrong checksum: wanted sha256 {wanted}, came {found} ({path.stat().st_size:,} bytes). If this "
            "is a mirror whose file is not the official one, state its sha256 in the setting"
        )


def _copy(source: str, target: Path, sha256: str) -> None:
    if not Path(source).is_file():
        raise _UnavailableError(f"{source}: no such file")
    with replacing(target) as temporary:
        shutil.copyfile(source, temporary)
        _check(temporary, sha256, source)


def _download(url: str, target: Path, sha256: str) -> None:
    import pooch
    import requests

    fetcher = pooch.HTTPDownloader(progressbar=True, timeout=_TIMEOUT)
    with replacing(target) as temporary:
        try:
            fetcher(url, str(temporary), None)
        except requests.RequestException as error:
            raise _UnavailableError(f"{url}: {error}") from error
        _check(temporary, sha256, url)


def provenance_note(fetched: Mapping[str, Any]) -> str | None:
    """Return what a reader of the results must know of a fetched file that is not the official one, else None."""
    if fetched["official"]:
        return None
    return f"{fetched['file']} is not the official file: it came from a mirror and has sha256 {fetched['sha256']}"
