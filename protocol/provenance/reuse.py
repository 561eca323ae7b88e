"""Earlier outputs of a job: each has a second name, from which a rerun copies the results that have not changed.

Snakemake deletes a job's outputs before the job runs again. It does not delete the second name, because that is not an
output. No job depends on the second name, so it may be deleted at any time.
"""

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.provenance import storage

_Group = TypeVar("_Group", int, str)
_log = logging.getLogger(__name__)


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


def unchanged(paths: Sequence[str | Path], made_of: Mapping[_Group, Mapping[str, Any]]) -> dict[_Group, dict[str, Any]]:
    """Return the records of the groups of an earlier run whose inputs have not changed: what ``fits`` says of them.

    Parameters
    ----------
    paths : sequence of path
        The outputs of the job: files with arrays ``<group>/...`` and with ``fits`` in their provenance. If an earlier
        file is missing or was altered, the result is empty; altered files are logged.
    made_of : mapping of int or str to mapping
        For each group, such as a code length, everything on which its arrays depend: code, libraries, seed, options and
        the digests of the inputs; serialisable as JSON. Earlier arrays are reused only if they were made from the same.
    """
    files = list(map(earlier, paths))
    if not all(map(Path.exists, files)):
        return {}
    try:
        recorded = [storage.read_provenance(file)["fits"] for file in files]
    except (ProtocolError, KeyError) as error:
        _log.info("no result of an earlier run can be reused: %s", error)
        return {}
    # Every file is checked, because a job that was killed between two writes leaves files of different runs.
    earlier_inputs = {group: [fits.get(str(group), {}).get("made_of") for fits in recorded] for group in made_of}
    same = [group for group, inputs in made_of.items() if all(one == inputs for one in earlier_inputs[group])]
    _log.info("reused from an earlier run: %s", ", ".join(map(str, same)) or "nothing")
    return {group: recorded[0][str(group)] for group in same}


def arrays(paths: Sequence[str | Path], group: int | str) -> list[dict[str, NDArray]]:
    """Return the arrays of a group that `unchanged` returned, from the earlier file of each output."""
    return [storage.read_group(earlier(path), str(group)) for path in paths]
