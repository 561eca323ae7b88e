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
    files = [_existing(name, option, options, Path.is_file, "a file") for option in record.user_files]
    folders = [_existing(name, option, options, Path.is_dir, "a folder") for option in record.user_folders]
    return [path for path in files if path is not None], [path for path in folders if path is not None]


def _existing(name: str, option: str, options: Mapping[str, Any], exists: Any, expected: str) -> Path | None:
    given = options[option]
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise ProtocolError(f"dataset_options of {name!r}: {option}: expected the path of {expected}, got {given!r}.")
    path = path_of(given)
    if not exists(path):
        problem = f"not {expected}" if path.exists() else f"no such {expected.partition(' ')[2]}"
        raise ProtocolError(f"dataset_options of {name!r}: {option}: {given}: {problem} (looked in {Path.cwd()}).")
    return path


def file_state(path: str | Path) -> list[int]:
    """Return the inode, size, modification time and status-change time of a file without opening it.

    The modification time alone is not enough: tools that copy files restore it, and so can an editor. No tool restores
    the status-change time.
    """
    return _state(os.stat(path))


def _state(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def folder_state(folder: str | Path) -> str:
    """Return a digest of the names and states (`file_state`) of all files below a folder without opening them.

    Most of the time, 0.45 s for 130,000 files, is spent on a ``stat`` of each file. Without states, files that were
    overwritten in place would go unnoticed.

    Raises
    ------
    ProtocolError
        If a folder can't be listed.
    """
    content = hashlib.sha256()
    for path, files in listings(folder):
        lines = "".join(map(_line, sorted(files, key=lambda file: file.name)))
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


def listings(folder: str | Path, *, refuse_cycles: bool = False) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield a folder and each folder below it, with its files; links are followed, but no folder is visited twice.

    Hidden files and folders, whose names begin with a dot, are skipped: ``.git``, ``.ipynb_checkpoints``, ``._a.png``.

    Raises
    ------
    ProtocolError
        If a folder can't be listed, or, with `refuse_cycles`, a link leads to a folder a second time.
    """
    folders, seen = [os.fspath(folder)], set()
    while folders:
        path = folders.pop()
        real = os.path.realpath(path)
        if real in seen and refuse_cycles:
            raise ProtocolError(f"{path}: a link to {real}, which is in the dataset already. Remove the link.")
        if real in seen:
            continue
        seen.add(real)
        try:
            with os.scandir(path) as entries:
                found = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            raise ProtocolError(f"{path}: the folder can't be read: {error.strerror}.") from error
        folders += sorted((entry.path for entry in found if entry.is_dir()), reverse=True)
        yield path, [entry for entry in found if not entry.is_dir()]


def _line(file: os.DirEntry[str]) -> str:
    try:
        found = file.stat()
    except OSError:  # a broken link
        found = file.stat(follow_symlinks=False)
    return "\0".join(map(str, [file.name, *_state(found), ""]))
