"""A decorator for loops that numba compiles. The compiled code is cached on disk where a writable folder exists."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from protocol.checks import warn_once

_Loop = TypeVar("_Loop", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[_Loop], _Loop]:
    """Return a decorator that compiles a function, which then runs without the global interpreter lock.

    numba stores compiled code in the folder that `NUMBA_CACHE_DIR` names, next to the source, or in the user's home
    folder. If it can write to none of them, for example under a service account, each process compiles the function
    again, which takes seconds, and warns of it once.

    Parameters
    ----------
    **options
        Further options of `numba.njit`.
    """

    def decorate(function: _Loop) -> _Loop:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # numba has no class of its own for "no locator available"
            hint = "Set NUMBA_CACHE_DIR to a folder that you can write to."
            slow = "so every process compiles it again, which takes seconds"
            warn_once(f"numba can store compiled code in no folder, {slow}. {hint}")
            return njit(nogil=True, **options)(function)

    return decorate
