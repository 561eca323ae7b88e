"""Lines on standard error: progress of long commands and jobs, and how inputs were read."""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator

INPUTS = logging.getLogger("protocol.inputs")
"""The logger to which `protocol.inputs` reports how it reads each input."""
_FIRST, _EVERY = {True: 2, False: 10}, {True: 1, False: 30}  # seconds, on a terminal and elsewhere
_step = {"text": "", "shown": ""}  # what the task has reported last, and the line that the terminal shows


@contextlib.contextmanager
def lines(task: str) -> Iterator[None]:
    """Print the time and progress of a task: on a terminal in one line, which is updated, otherwise in several."""
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
    began, terminal = clock(), sys.stderr.isatty()
    pause = _FIRST[terminal]
    while not wait(pause):
        text = f"{task}: {clock() - began:,.0f} s{_step['text']}"
        with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
            sys.stderr.write(f"\r{text}\x1b[K" if terminal else f"{text}\n")
            sys.stderr.flush()
            _step["shown"] = text if terminal else ""
        pause = _EVERY[terminal]
    clear()


def clear() -> None:
    """Remove the line of progress from a terminal."""
    if _step["shown"]:
        sys.stderr.write("\r\x1b[K")
        _step["shown"] = ""


@contextlib.contextmanager
def stages() -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that reports the progress of a stage, called with (done, total, stage)."""
    yield lambda done, total, stage: _step.update(text=f", {stage}: {done:,} of {total:,}")


class _Readings(logging.Handler):
    """Print on standard error how each input was read, once, before the results of a command."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: dict[str, bool] = {}  # whether each line has been printed

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.setdefault(record.getMessage(), False)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
            sys.stderr.writelines(f"{line}\n" for line, is_printed in self._lines.items() if not is_printed)
        self._lines = dict.fromkeys(self._lines, True)


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
