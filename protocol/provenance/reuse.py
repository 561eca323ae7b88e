"""Earlier outputs of a job: each has a second name, from which a rerun copies the results that have not changed.

Snakemake deletes a job's outputs before the job runs again. It does not delete the second name, because that is not an
output. No job depends on the second name, so it may be deleted at any time.
"""

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.provenance import storage

_log = logging.getLogger(__name__)


class Earlier(NamedTuple):
    """The results of an earlier run for one code length: the record of the fit, and the arrays of each file."""

    fit: Mapping[str, Any]
    arrays: list[Mapping[str, NDArray]]


def earlier(path: str | Path) -> Path:
    """Return the second name of an output."""
    return Path(f"{path}.earlier")


def keep(path: str | Path) -> None:
    """Give a finished output its second name: a hard link where the file system has them, otherwise a copy."""
    with storage.replacing(earlier(path)) as temporary:
        temporary.unlink()
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)


def unchanged(paths: Sequence[str | Path], made_of: Mapping[int, Mapping[str, Any]]) -> dict[int, Earlier]:
    """Return the results of an earlier run for the code lengths whose inputs have not changed.

    Parameters
    ----------
    paths : sequence of path
        The outputs of the job: files with arrays ``<n_bits>/...`` and with ``fits`` in their provenance. If an earlier
        file is missing or was altered, the result is empty; altered files are logged.
    made_of : mapping of int to mapping
        For each code length, everything on which its arrays depend: code, libraries, seed, options and the digests of
        the inputs; serialisable as JSON. Earlier arrays are reused only if they were made from the same.
    """
    files = list(map(earlier, paths))
    if not all(map(Path.exists, files)):
        return {}
    try:
        recorded = [storage.read_provenance(file)["fits"] for file in files]
        # Every file is checked, because a job that was killed between two writes leaves files of different runs.
        same = [n for n, inputs in made_of.items() if _all_made_of(recorded, n, inputs)]
        found = [storage.grouped(storage.read(file)) for file in files] if same else []
    except (ProtocolError, KeyError) as error:
        _log.info("no result of an earlier run can be reused: %s", error)
        return {}
    _log.info("code lengths reused from an earlier run: %s", ", ".join(map(str, same)) or "none")
    return {n: Earlier(recorded[0][str(n)], [arrays[str(n)] for arrays in found]) for n in same}


def _all_made_of(recorded: Sequence[Mapping[str, Any]], n_bits: int, inputs: Mapping[str, Any]) -> bool:
    """Return whether the results of one code length were made from the same inputs in all files."""
    return all(fits.get(str(n_bits), {}).get("made_of") == inputs for fits in recorded)
