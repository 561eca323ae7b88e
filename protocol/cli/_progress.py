"""Lines on standard error: progress of long commands and jobs (bars on a terminal), and how inputs were read."""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator

INPUTS = logging.getLogger("protocol.inputs")
"""The logger to which `protocol.inputs` reports how it reads each input."""
_FIRST, _EVERY = 10, 30  # seconds until the first line, and between two lines
_step = {"text": ""}  # what the task has reported last


@contextlib.contextmanager
def lines(task: str) -> Iterator[None]:
    """Print a line about a task after 10 seconds and then every 30 seconds, unless standard error is a terminal."""
    if sys.stderr.isatty():
        yield
        return
    finished = threading.Event()
    _step["text"] = ""
    thread = threading.Thread(target=print_lines, args=(task, finished.wait), daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


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


def print_lines(task: str, wait: Callable[[float], bool], clock: Callable[[], float] = time.monotonic) -> None:
    """Print the time since the call, and the last step reported, until ``wait(seconds)`` returns true."""
    began, pause = clock(), _FIRST
    while not wait(pause):
        with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
            sys.stderr.write(f"{task}: {clock() - began:,.0f} s{_step['text']}\n")
            sys.stderr.flush()
        pause = _EVERY


@contextlib.contextmanager
def progress(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows progress, called with (done, total).

    On a terminal, a bar appears after two seconds; otherwise, the next of the `lines` contains the last call. If `unit`
    is empty, numbers are shortened, as in 1.2M.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: _step.update(text=f", {what}: {done:,} of {total:,}{unit}")
        return
    from tqdm import tqdm

    with tqdm(desc=what, unit=unit, unit_scale=not unit, delay=2, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


@contextlib.contextmanager
def stages() -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that shows the `progress` of each stage, called with (done, total, stage)."""
    with contextlib.ExitStack() as bars:
        current, last, bar = "", 0, None

        def show(done: int, total: int, stage: str) -> None:
            nonlocal current, last, bar
            if bar is None or stage != current or done < last:
                bars.close()  # removes the bar of the previous stage
                bar = bars.enter_context(progress(stage, ""))
            current, last = stage, done
            bar(done, total)

        yield show
