"""Stamps: small files, older than every result that the present code has made, that rules declare as inputs.

Snakemake compares a job's parameters, and so the digest of its code, with those in its folder ``.snakemake``. If this
folder is missing, because it was deleted or only the results were copied, it would accept results of other code. A
stamp stands among the results: if the code has changed, the stamp is newer than the results, and the job is rerun.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from protocol.checks import ProtocolError
from protocol.provenance import storage

_LONGEST = 80  # characters in the name of a stamp that lists its plug-ins


def stamp_path(folder: str | Path, script: str, plugins: Mapping[str, str | Sequence[str]]) -> Path:
    """Return the stamp of a script with some plug-ins, among the results in `folder`."""
    groups = [[names] if isinstance(names, str) else names for names in plugins.values()]
    name = " ".join([Path(script).stem, *(name for names in groups for name in names)])
    if len(name) > _LONGEST or "/" in name:
        name = f"{Path(script).stem} {hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return Path(folder, "code", name.replace(" ", "-"))


class Stamps:
    """The stamps of one run of Snakemake.

    A stamp contains the digest for which jobs were last started, and since when. It is written when jobs start, not
    when they are planned: a dry run with an edited plug-in, which is then restored, leaves results up to date.
    """

    def __init__(self) -> None:
        self._changed: dict[Path, str] = {}

    def update(self, path: Path, digest: str) -> None:
        """Make a stamp newer than all existing results if it is of another digest, and as old as it was otherwise.

        Raises
        ------
        ProtocolError
            If the stamp can't be written, or is not a stamp.
        """
        if path in self._changed:
            return
        started, since = _read(path) if path.exists() else ("", 0)
        if digest == started:
            if path.stat().st_mtime_ns != since:
                os.utime(path, ns=(since, since))
            return
        if path.exists():
            os.utime(path)
        else:
            _write(path, "", 0)
        self._changed[path] = digest

    def confirm(self) -> None:
        """Record the digests of all changed stamps: jobs start now."""
        for path, digest in self._changed.items():
            since = path.stat().st_mtime_ns
            _write(path, digest, since)
            os.utime(path, ns=(since, since))
        self._changed.clear()


def _read(path: Path) -> tuple[str, int]:
    digest, _, since = path.read_text(encoding="utf-8").partition("\n")
    if not since.strip().isdigit():
        raise ProtocolError(f"{path}: not a record of code. Delete it; the jobs that it belongs to are then repeated.")
    return digest, int(since)


def _write(path: Path, digest: str, since: int) -> None:
    with storage.replacing(path) as temporary:
        temporary.write_text(f"{digest}\n{since}\n", encoding="utf-8")
