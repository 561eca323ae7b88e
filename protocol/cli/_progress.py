"""Lines on standard error: progress of long commands and jobs, and how inputs were read."""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator

INPUTS = logging.getLogger("protocol.inputs")
"""The logger to which `protocol.inputs` reports how it reads each input."""
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
        _print(f"{task}: {clock() - began:,.0f} s{_step['text']}")
        pause = _EVERY


def report(done: int, total: int, stage: str) -> None:
    """Note the progress of a stage, for the next line."""
    _step["text"] = f", {stage}: {done:,} of {total:,}"


def _print(*texts: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
        sys.stderr.writelines(f"{text}\n" for text in texts)
        sys.stderr.flush()


class _Readings(logging.Handler):
    """Print on standard error how each input was read, once, before the results of a command."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: dict[str, None] = {}
        self._n_printed = 0

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.setdefault(record.getMessage())

    def flush(self) -> None:
        _print(*list(self._lines)[self._n_printed :])
        self._n_printed = len(self._lines)


@contextlib.contextmanager
def readings() -> Iterator[None]:
    """Print how the inputs are read: "query.txt: 500 items, id and one of 10 classes"; nothing if there is an error."""
    handler, level = _Readings(), INPUTS.level
    INPUTS.addHandler(handler)
    INPUTS.setLevel(logging.INFO)
    try:
        yield
        handler.flush()
    finally:
        INPUTS.removeHandler(handler)
        INPUTS.setLevel(level)
