"""The user's files and folders that a dataset reads."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError
from protocol.inputs.arrays import user_path
from protocol.inputs.images import EXTENSIONS


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
        If a path does not exist or is of another type, or a required option is empty.
    """
    record, where = registry.DATASETS.entry(name), f"dataset_options of {name!r}"
    for option in record.required:
        if not options[option]:
            raise ProtocolError(f"{where}: {option} is missing. Add {{{option}: PATH}}.")
    files, folders = (
        [user_path(options[option], kind, f"{where}: {option}") for option in named if options[option] is not None]
        for kind, named in (("file", record.user_files), ("folder", record.user_folders))
    )
    return files, folders


def file_state(path: str | Path) -> list[int]:
    """Return the inode, size, modification time and status-change time of a file without opening it.

    The modification time alone is not enough: tools that copy files restore it, and so can an editor. No tool restores
    the status-change time.
    """
    status = os.stat(path, follow_symlinks=os.path.exists(path))  # of a broken link itself
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
        states = {name: file_state(os.path.join(path, name)) for name in sorted(files)}
        content.update(repr((os.path.relpath(path, folder), states)).encode())
    return content.hexdigest()[:16]


def count_images(folder: str | Path) -> int:
    """Return the number of images below a folder. Listing takes 0.1 s for 130,000 files."""
    return sum(Path(name).suffix.lower() in EXTENSIONS for _, files in listings(folder) for name in files)


def listings(folder: str | Path) -> Iterator[tuple[str, list[str]]]:
    """Yield a folder and each folder below it, with the names of its files; links are followed.

    Hidden files and folders, whose names begin with a dot, are skipped: ``.git``, ``.ipynb_checkpoints``, ``._a.png``.

    Raises
    ------
    ProtocolError
        If a folder can't be listed, or a link leads to a folder a second time.
    """

    def refuse(error: OSError) -> None:
        raise ProtocolError(f"{error.filename}: the folder can't be read: {error.strerror}.") from error

    seen = set()
    for path, folders, files in os.walk(folder, followlinks=True, onerror=refuse):
        real = os.path.realpath(path)
        if real in seen:
            raise ProtocolError(f"{path}: a link to {real}, which is in the dataset already. Remove the link.")
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield path, [name for name in files if not name.startswith(".")]
