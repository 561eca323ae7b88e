"""How far a long evaluation is: what is being done, and how much of it is done."""

from collections.abc import Callable

Progress = Callable[[int, int, str], object] | None
"""Called with how much is done, with the total, and with what is done, such as ``"counting"``."""


def stage(progress: Progress, name: str, total: int) -> Callable[[int], object] | None:
    """Return what a stage calls with how much it has just done; None if nobody watches.

    Examples
    --------
    >>> seen = []
    >>> done = stage(lambda *step: seen.append(step), "counting", 5)
    >>> done(2), done(3), seen
    (None, None, [(2, 5, 'counting'), (5, 5, 'counting')])
    """
    if progress is None:
        return None
    done = 0

    def add(just_done: int) -> None:
        nonlocal done
        done += just_done
        progress(done, total, name)

    return add
