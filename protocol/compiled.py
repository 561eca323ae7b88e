"""A decorator for loops that numba compiles. The compiled code is cached on disk where a writable folder exists."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import config

from protocol.checks import warn_once

_CONFIG: Any = config  # its attributes are created when numba is imported
_Loop = TypeVar("_Loop", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[_Loop], _Loop]:
    """Return a decorator that compiles a function, which then runs without the global interpreter lock.

    numba stores compiled code in the folder that `NUMBA_CACHE_DIR` names, next to the source, or in the user's home
    folder. It raises an error if it can write to none of them, for example under a service account. In that case the
    compiled code is stored in a private subfolder of the folder for temporary files. If that also fails, each
    process compiles the function again, which takes seconds, and warns of it once.

    Parameters
    ----------
    **options
        Further options of `numba.njit`.
    """

    def unstored(function: _Loop) -> _Loop:
        warn_once(
            "numba can store compiled code in no folder, so every process compiles it again, which takes seconds. Set "
            "NUMBA_CACHE_DIR to a folder that you can write to."
        )
        return njit(nogil=True, **options)(function)

    def decorate(function: _Loop) -> _Loop:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # numba has no class of its own for "no locator available"
            folder = _private_folder()
        if folder is None:
            return unstored(function)
        before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, str(folder)
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:
            return unstored(function)
        finally:
            _CONFIG.CACHE_DIR = before

    return decorate


def _private_folder() -> Path | None:
    """Return a folder for temporary files that only this user can write to, or None.

    Cached code is executed, so a folder that another user could have prepared is not used.
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
