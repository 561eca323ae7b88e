"""Loops that numba compiles. The compiled code is stored for the next process wherever a folder allows that."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import config

_CONFIG: Any = config  # its attributes are made when numba is imported
_Loop = TypeVar("_Loop", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[_Loop], _Loop]:
    """Return a decorator that compiles a function, to be run without the interpreter's lock.

    numba stores compiled code in the folder that `NUMBA_CACHE_DIR` names, next to the source, or in the user's home
    folder, and raises an error where it can write to none of them, as under a service account. The compiled code is
    then stored in a folder of the user's own below the folder for temporary files. Without one, each process compiles
    the function anew, which takes seconds.

    Parameters
    ----------
    **options
        Further options of `numba.njit`.
    """

    def decorate(function: _Loop) -> _Loop:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # numba has no class of its own for "no locator available"
            folder = _private_folder()
        if folder is None:
            return njit(nogil=True, **options)(function)
        before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, str(folder)
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:
            return njit(nogil=True, **options)(function)
        finally:
            _CONFIG.CACHE_DIR = before

    return decorate


def _private_folder() -> Path | None:
    """Return a folder for temporary files that only this user can write to, or None.

    Stored code is run, so a folder that somebody else could have prepared is not used.
    """
    if not hasattr(os, "getuid"):
        return None
    try:
        folder = Path(tempfile.gettempdir(), f"hashing-protocol-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if is_private else None
