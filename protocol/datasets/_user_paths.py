"""Datasets made of the user's own files: which options name them, and whether they are there and as they were."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError
from protocol.datasets._image_files import files_below
from protocol.formats.arrays import path_of


def user_paths(name: str, options: Mapping[str, Any]) -> tuple[list[Path], list[Path]]:
    """Return the user's files and the user's folders that a dataset's options name.

    Parameters
    ----------
    name : str
        The dataset; its registration lists these options under ``user_files`` and ``user_folders``. One that is
        None is left out, unless it is listed under ``required`` too; a file's option may name an array in it, as
        ``F.npz:key``.
    options : mapping
        All its options. Relative paths start where the program runs.

    Raises
    ------
    ProtocolError
        If one is not there, or is something else; or if a required one is None.
    """
    record = registry.entry("dataset", name)
    for option in record.required:
        if options[option] is None:
            raise ProtocolError(f"dataset {name!r}: name what it is made of, dataset_options: {{{option}: PATH}}")
    files = [_existing(name, option, options, Path.is_file, "a file") for option in record.user_files]
    folders = [_existing(name, option, options, Path.is_dir, "a folder") for option in record.user_folders]
    return [path for path in files if path is not None], [path for path in folders if path is not None]


def _existing(name: str, option: str, options: Mapping[str, Any], there: Any, wanted: str) -> Path | None:
    given = options[option]
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise ProtocolError(f"dataset_options of {name!r}: {option}: wanted {wanted}, came {given!r}")
    path = path_of(given)
    if not there(path):
        came = "something else" if path.exists() else "no such path"
        raise ProtocolError(
            f"dataset_options of {name!r}: {option}: wanted {wanted}, came {given!r}, {came} (looked in {Path.cwd()})"
        )
    return path


def folder_digest(folder: str | Path) -> str:
    """Return a digest of the names, sizes and times of change of all files below a folder; it reads none of them."""
    content = hashlib.sha256()
    for name in files_below(folder):
        path = Path(folder, name)
        seen = path.stat() if path.exists() else path.lstat()  # a link may lead nowhere
        content.update(f"{name}\0{seen.st_size}\0{seen.st_mtime_ns}\0".encode())
    return content.hexdigest()[:16]
