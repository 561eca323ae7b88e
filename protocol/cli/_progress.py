"""Progress on standard error, for commands that may take a while."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(what: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows progress, called with (done, total); None if standard error is no terminal.

    The bar appears after two seconds. If `unit` is empty, numbers are shortened, as in 1.2M.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc=what, unit=unit, unit_scale=not unit, delay=2, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


@contextlib.contextmanager
def stages() -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a function that shows a bar for each stage, called with (done, total, stage); None as in `progress`."""
    if not sys.stderr.isatty():
        yield None
        return
    with contextlib.ExitStack() as bars:
        current, last, bar = "", 0, None

        def show(done: int, total: int, stage: str) -> None:
            nonlocal current, last, bar
            if stage != current or done < last:
                bars.close()  # removes the bar of the previous stage
                bar = bars.enter_context(progress(stage, ""))
            current, last = stage, done
            if bar is not None:
                bar(done, total)

        yield show
