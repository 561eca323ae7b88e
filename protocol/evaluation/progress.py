"""Reports of the progress of a long evaluation."""

from collections.abc import Callable

from protocol.parallel import Step, unreported

Progress = Callable[[int, int, str], object] | None
"""A function that is called with the amount done, the total, and the name of the stage, such as ``"counting"``."""


def stage(progress: Progress, name: str, total: int) -> Step:
    """Return the function that a stage calls with the amount it has just done.

    Examples
    --------
    >>> seen = []
    >>> done = stage(lambda *step: seen.append(step), "counting", 5)
    >>> done(2), done(3), seen
    (None, None, [(2, 5, 'counting'), (5, 5, 'counting')])
    """
    if progress is None:
        return unreported
    done = 0

    def add(just_done: int) -> None:
        nonlocal done
        done += just_done
        progress(done, total, name)

    return add
