"""Work on several threads that gives the same results as one thread: in a fixed order, with single-threaded BLAS."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from protocol.checks import install_hint, warn_once

_T = TypeVar("_T")
_Part = TypeVar("_Part")
Step = Callable[[int], object]
"""Is called with the number of queries, or of items, that are done since its last call."""
Advance = Step | None


def unreported(n_done: int) -> None:
    """Report no progress."""


@contextlib.contextmanager
def workers(threads: int) -> Iterator[int]:
    """Limit BLAS to one thread and yield the number of threads that may call it: one if BLAS can't be limited."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        if threads > 1:
            hint = install_hint("pipeline")
            warn_once(f"threadpoolctl is not installed, so one thread is used instead of {threads}. {hint}")
        yield 1
    else:
        with threadpool_limits(1, user_api="blas"):
            yield threads


def in_order(work: Callable[[_Part], _T], parts: Iterable[_Part], threads: int) -> Iterator[_T]:
    """Yield ``work(part)`` for each part, in order, while other threads compute the next few results."""

    def quietly(part: _Part) -> _T:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return work(part)

    if threads == 1:
        yield from map(quietly, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[_T]] = deque()
        for part in parts:
            ahead.append(pool.submit(quietly, part))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
