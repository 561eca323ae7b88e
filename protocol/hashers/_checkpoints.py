"""Where long trainings leave their state between the beginning of a job and its end."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def checkpoints(output: str | Path) -> Iterator[Callable[[int], Path]]:
    """Give the paths, by code length, of checkpoints beside a job's output; remove them when the block ends well.

    They are no outputs themselves, so that they are still there when a job that was killed is run again.

    Examples
    --------
    >>> with checkpoints("models.h5") as checkpoint:
    ...     print(checkpoint(32))
    models.h5.32.checkpoint
    """
    given = []

    def checkpoint(n_bits: int) -> Path:
        given.append(Path(f"{output}.{n_bits}.checkpoint"))
        return given[-1]

    yield checkpoint
    for path in given:
        path.unlink(missing_ok=True)
