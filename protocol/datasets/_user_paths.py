"""The user's own files and folders that a dataset's options name: their paths, existence and state."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError
from protocol.inputs.arrays import path_of


def user_paths(name: str, options: Mapping[str, Any]) -> tuple[list[Path], list[Path]]:
    """Return the user's files and folders that a dataset's options name.

    Parameters
    ----------
    name : str
        The dataset. Its registration lists these options under ``user_files`` and ``user_folders``. An option that is
        None is skipped unless it is also listed under ``required``. The option of a file may name an array in it, as in
        ``F.npz:key``.
    options : mapping
        All its options. Relative paths are relative to the working directory.

    Raises
    ------
    ProtocolError
        If a path does not exist or is of another type, a required option is None, or all of them are.
    """
    record = registry.DATASETS.entry(name)
    for needed in (*([option] for option in record.required), [*record.user_folders, *record.user_files]):
        if needed and not any(map(options.__getitem__, needed)):
            remedy = " or ".join(f"{{{option}: PATH}}" for option in needed)
            raise ProtocolError(f"dataset_options of {name!r}: {' or '.join(needed)} is missing. Add {remedy}.")
    found: dict[str, list[Path]] = {}
    kinds = {"file": (record.user_files, Path.is_file), "folder": (record.user_folders, Path.is_dir)}
    for kind, (names, exists) in kinds.items():
        found[kind] = []
        for option in (option for option in names if options[option] is not None):
            given, where = options[option], f"dataset_options of {name!r}: {option}"
            if not isinstance(given, str) or not given:
                raise ProtocolError(f"{where}: expected the path of a {kind}, got {given!r}.")
            if not exists(path := path_of(given)):
                problem = f"not a {kind}" if path.exists() else f"no such {kind}"
                raise ProtocolError(f"{where}: {given}: {problem} (looked in {Path.cwd()}).")
            found[kind].append(path)
    return found["file"], found["folder"]


def file_state(path: str | Path) -> list[int]:
    """Return the inode, size, modification time and status-change time of a file without opening it.

    The modification time alone is not enough: tools that copy files restore it, and so can an editor. No tool restores
    the status-change time.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        status = os.lstat(path)  # of a broken link
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def folder_state(folder: str | Path) -> str:
    """Return a digest of the names and states (`file_state`) of all files below a folder without opening them.

    This takes 0.7 s for 130,000 files, mostly for a ``stat`` of each file. Without states, files that were
    overwritten in place would go unnoticed.

    Raises
    ------
    ProtocolError
        If a folder can't be listed.
    """
    content = hashlib.sha256()
    for path, files in listings(folder):
        states = ([name, *file_state(os.path.join(path, name))] for name in sorted(files))
        lines = "".join("\0".join(map(str, [*state, ""])) for state in states)
        content.update(f"{os.path.relpath(path, folder)}\0{len(files)}\0{lines}".encode("utf-8", "surrogateescape"))
    return content.hexdigest()[:16]


def count_files(folder: str | Path, *, at_most: int = 1_000_000) -> int:
    """Return the number of files below a folder, up to `at_most`. Listing takes 0.1 s for 130,000 files."""
    count = 0
    for _, files in listings(folder):
        count += len(files)
        if count >= at_most:
            return at_most
    return count


def listings(folder: str | Path, *, refuse_cycles: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Yield a folder and each folder below it, with the names of its files; links are followed, but none twice.

    Hidden files and folders, whose names begin with a dot, are skipped: ``.git``, ``.ipynb_checkpoints``, ``._a.png``.

    Raises
    ------
    ProtocolError
        If a folder can't be listed, or, with `refuse_cycles`, a link leads to a folder a second time.
    """

    def refuse(error: OSError) -> None:
        raise ProtocolError(f"{error.filename}: the folder can't be read: {error.strerror}.") from error

    seen = set()
    for path, folders, files in os.walk(folder, followlinks=True, onerror=refuse):
        real = os.path.realpath(path)
        if real in seen and refuse_cycles:
            raise ProtocolError(f"{path}: a link to {real}, which is in the dataset already. Remove the link.")
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if real not in seen else []
        if real not in seen:
            yield path, [name for name in files if not name.startswith(".")]
        seen.add(real)
