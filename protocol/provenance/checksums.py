"""Checksums of the files that stages write. They are verified before any parser reads a file.

The first 512 bytes of our HDF5 files contain the SHA-256 of the bytes that follow. HDF5 reserves such a user block for
the application, and every reader skips it (MATLAB's files also have one). The file and its checksum are therefore
copied, linked, cached and uploaded together. ``tail -c +513 FILE | sha256sum`` computes the checksum by hand.

CSV, JSON and other text formats have no place for a checksum that other programs would skip. Their checksum is in a
file next to them, ``<name>.sha256``, in the format of ``sha256sum``; ``sha256sum -c summary.csv.sha256`` verifies it
by hand.

Both contain a second line with the origin of a result of the pipeline: digests of the seeds, the options and the code
of its job and of all earlier jobs of the experiment. Snakemake's own records (``.snakemake``) may be lost, or replaced
with ``--touch``; an origin stays with the result. What reads results compares their origins with those that the plan of
the experiment expects.
"""

import functools
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError

SUFFIX = ".sha256"
USER_BLOCK = 512
_LABEL = b"hashing-protocol: SHA-256 of all bytes after the first 512 (tail -c +513 FILE | sha256sum)\n"
_ORIGIN = rb"# made with seeds ([0-9a-f]{16}), options ([0-9a-f]{16}), code ([0-9a-f]{16})\n"
Origin = dict[str, str]
"""A digest for each of "seeds", "options" and "code"."""
# Parameters that describe where files of the user are. Snakemake compares them.
_STATES = ("user", "state", "states")


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
        If the file is missing, or its checksum is missing or differs.
    """
    with _opened(path) as file:
        content = file.read()
    recorded, expected = checksum_path(path), checksum_line(path, hashlib.sha256(content).hexdigest())
    _compare(path, recorded.read_bytes() if recorded.is_file() else b"", os.fsencode(expected), recorded.name)
    return content


def seal(path: str | Path) -> None:
    """Write the checksum of a closed HDF5 file, created with a user block of `USER_BLOCK` bytes, into that block."""
    with open(path, "rb+") as file:
        file.seek(USER_BLOCK)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        file.write((_LABEL + digest.encode() + b"\n").ljust(USER_BLOCK, b"\0"))


def verify_sealed(path: str | Path) -> None:
    """Raise ProtocolError if an HDF5 file was changed since it was written.

    A process hashes a file once, and again only if the file's inode, size, modification time or status change time
    has changed.
    """
    with _opened(path) as file:
        block, status = file.read(USER_BLOCK), os.fstat(file.fileno())
    now = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    expected = _LABEL + _sha256_of_state(os.path.abspath(path), now).encode() + b"\n"
    _compare(path, block.rstrip(b"\0"), expected, f"the first {USER_BLOCK} bytes")


def add_origin(path: str | Path, origin: Origin) -> None:
    """Add an origin to a new HDF5 file, or to a new checksum file, unless it has one."""
    line = "# made with " + ", ".join(f"{kind} {digest}" for kind, digest in origin.items()) + "\n"
    if read_origin(path) is None:
        with open(path, "rb+") as file:
            file.seek(len(file.read(USER_BLOCK).rstrip(b"\0")))
            file.write(line.encode())


def read_origin(path: str | Path) -> Origin | None:
    """Return the origin in an HDF5 file or checksum file; None if it has none."""
    with open(path, "rb") as file:
        known = re.search(_ORIGIN, file.read(USER_BLOCK))
    return dict(zip(("seeds", "options", "code"), map(bytes.decode, known.groups()), strict=True)) if known else None


def origin(params: Mapping[str, Any], inputs: Iterable[Origin | None]) -> Origin:
    """Return the origin of a job's results from its parameters and the origins of its inputs.

    Examples
    --------
    >>> first = origin({"seed": 0, "code": "a"}, [])
    >>> other = origin({"seed": 1, "code": "a"}, [])
    >>> [kind for kind, digest in origin({"metric": "mAP"}, [first]).items() if digest != other[kind]]
    ['seeds', 'options', 'code']
    """
    texts_by_kind: dict[str, list[str]] = {"seeds": [], "options": [], "code": []}
    for name, value in sorted(params.items()):
        if name not in _STATES:
            kind = "seeds" if name.endswith(("seed", "seeds")) else "code" if name == "code" else "options"
            texts_by_kind[kind].append(f"{name}: {value!r}")
    origins = [one for one in inputs if one is not None]
    contents = {kind: [texts, sorted({one[kind] for one in origins})] for kind, texts in texts_by_kind.items()}
    return {kind: hashlib.sha256(json.dumps(one).encode()).hexdigest()[:16] for kind, one in contents.items()}


def holders(files: Iterable[Any], experiment: str) -> dict[Any, Any]:
    """Return the results of an experiment among the files of a job, each with the file that contains its origin.

    This is an HDF5 file itself, or the checksum file of another one, which is then also a file of the job. Datasets and
    features are left out: experiments share them, also from a cache, and their folders are named after their options.
    """
    known = {str(file): file for file in files}
    named = {name: name if name.endswith(".h5") else f"{name}{SUFFIX}" for name in known}
    folder = f"results/{experiment}/"
    return {known[name]: known[holder] for name, holder in named.items() if folder in name and holder in known}


def record_origin(job: Any) -> None:
    """Store the origin of each result that a job has just written."""
    experiment = job.config["experiment"]
    made_with = origin(dict(job.params.items()), map(read_origin, holders(job.input, experiment).values()))
    for holder in holders(job.output, experiment).values():
        add_origin(holder, made_with)


@functools.lru_cache(maxsize=4096)
def _sha256_of_state(path: str, state: tuple[int, ...]) -> str:
    """Return the checksum of an HDF5 file; `state`, a cache key, is the part of its status that changes on a write."""
    with open(path, "rb") as file:
        file.seek(USER_BLOCK)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _compare(path: str | Path, record: bytes, expected: bytes, where: str) -> None:
    """Raise ProtocolError unless a record is the expected one, with or without an origin; it may itself be damaged."""
    if not (record.startswith(expected) and re.fullmatch(b"(" + _ORIGIN + b")?", record.removeprefix(expected))):
        raise _broken(path, f"changed since it was written: its sha256 is not the one in {where}")


def _broken(path: str | Path, problem: str) -> ProtocolError:
    """Return an error that says how to write a result again: Snakemake does not replace files that are up to date."""
    command = f"snakemake --force {shlex.quote(os.path.relpath(path))}"
    return ProtocolError(f"{path}: {problem}. To write it again: {command}, with the --configfile of its experiment.")


def _opened(path: str | Path) -> BufferedReader:
    """Open a regular file; refuse pipes and devices, because reading them may block."""
    if not Path(path).is_file():
        raise _broken(path, "not a regular file" if Path(path).exists() else "no such file")
    return open(path, "rb")
