"""Earlier outputs of a job: each has a second name, and what would become the same again is taken from there.

Snakemake deletes a job's outputs before the job runs again. The second name outlasts that; it is no output, so nothing
waits for it, and it may be deleted at any time.
"""

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from protocol import storage
from protocol.checks import ProtocolError

_log = logging.getLogger(__name__)


class Earlier(NamedTuple):
    """What the files of an earlier run hold for one code length: the record of the fit, and the arrays of each file."""

    fit: Mapping[str, Any]
    arrays: list[Mapping[str, NDArray]]


def earlier(path: str | Path) -> Path:
    """Return the second name of an output."""
    return Path(f"{path}.earlier")


def keep(path: str | Path) -> None:
    """Give a finished output its second name. It takes no space where the file system has hard links, else a copy's."""
    with storage.replacing(earlier(path)) as temporary:
        temporary.unlink()
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)


def unchanged(paths: Sequence[str | Path], made_of: Mapping[int, Mapping[str, Any]]) -> dict[int, Earlier]:
    """Return what an earlier run wrote for the code lengths of which nothing has changed.

    Parameters
    ----------
    paths : sequence of path
        The outputs of the job, files with arrays ``<n_bits>/...`` and with ``fits`` in their provenance. If an earlier
        one is missing, or was altered, which is logged, nothing is returned.
    made_of : mapping of int to mapping
        For each code length everything that its arrays depend on, JSON-able: code, libraries, seed, options and the
        digests of the inputs. They are kept only if the earlier ones were made of the same.
    """
    files = [earlier(path) for path in paths]
    if not all(file.exists() for file in files):
        return {}
    try:
        recorded = [storage.read_provenance(file)["fits"] for file in files]
        # In every file: a job that was killed between two of them leaves an older one.
        same = [n for n, own in made_of.items() if all(fits.get(str(n), {}).get("made_of") == own for fits in recorded)]
        found = [storage.grouped(storage.read(file)) for file in files] if same else []
    except (ProtocolError, KeyError) as error:
        _log.info("nothing of an earlier run can be kept: %s", error)
        return {}
    _log.info("code lengths kept from an earlier run: %s", ", ".join(map(str, same)) or "none")
    return {n: Earlier(recorded[0][str(n)], [arrays[str(n)] for arrays in found]) for n in same}
