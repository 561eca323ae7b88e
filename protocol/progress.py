"""Progress of long tasks, in lines on standard error."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

_FIRST, _EVERY = 10, 30  # seconds
_step = {"text": ""}  # what the task has reported last


@contextlib.contextmanager
def lines(task: str) -> Iterator[None]:
    """Print the time and progress of a task after ten seconds, and then every 30."""
    finished = threading.Event()
    _step["text"] = ""
    thread = threading.Thread(target=print_lines, args=(task, finished.wait), daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def print_lines(task: str, wait: Callable[[float], bool], clock: Callable[[], float] = time.monotonic) -> None:
    """Print the time since the call, and the last step reported, until ``wait(seconds)`` returns true."""
    began, pause = clock(), _FIRST
    while not wait(pause):
        say(f"{task}: {clock() - began:,.0f} s{_step['text']}")
        pause = _EVERY


def report(done: int, total: int, stage: str) -> None:
    """Note the progress of a stage, for the next line."""
    _step["text"] = f", {stage}: {done:,} of {total:,}"


def say(*texts: str) -> None:
    """Print lines on standard error."""
    with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
        sys.stderr.writelines(f"{text}\n" for text in texts)
        sys.stderr.flush()
