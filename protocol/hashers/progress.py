"""Long training runs: progress in the log and on the terminal, and the paths of their checkpoints."""

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError

_EVERY = 10.0  # seconds between two lines in the log
_log = logging.getLogger(__name__)


class Progress:
    """Records the objective of a training at each step. Created by `progress`.

    Attributes
    ----------
    values : list of float
        The objective at every step so far.
    """

    def __init__(self, name: str, n_steps: int, bar: Any, values: Sequence[float] = ()) -> None:
        self.values, self._n_before = list(values), len(values)
        self._name, self._n_steps, self._bar = name, n_steps, bar
        self._began = self._logged = time.monotonic()

    def step(self, value: float) -> None:
        """Record the objective of the next step; raise ProtocolError with its number if the objective is not finite."""
        self.values.append(float(value))
        n_done = len(self.values)
        if not math.isfinite(value):
            before = f", {self.values[-2]:.4g} before" if n_done > 1 else ""
            raise ProtocolError(
                f"{self._name}: step {n_done} of {self._n_steps}: expected a finite objective, got {value}{before}. "
                "Try a lower learning_rate."
            )
        self._bar.set_postfix_str(f"objective {value:.4f}", refresh=False)
        self._bar.update()
        now = time.monotonic()
        if now - self._logged >= _EVERY or n_done == self._n_steps:
            left = (now - self._began) / (n_done - self._n_before) * (self._n_steps - n_done)
            _log.info("%s: step %d of %d, objective %.4f, %.0f s left", self._name, n_done, self._n_steps, value, left)
            self._logged = now


@contextlib.contextmanager
def progress(name: str, n_steps: int, values: Sequence[float] = ()) -> Iterator[Progress]:
    """Yield an object that records the steps of a training, in the log every ten seconds and as a bar on a terminal.

    Parameters
    ----------
    name : str
        The name of the training, such as ``"TALRAP, 32 bits"``.
    n_steps : int
    values : sequence of float, optional
        The objective at previous steps, if the training resumes.
    """
    from tqdm import tqdm

    with tqdm(total=n_steps, initial=len(values), desc=name, unit="step", disable=None, leave=False) as bar:
        yield Progress(name, n_steps, bar, values)


@contextlib.contextmanager
def checkpoints(output: str | Path) -> Iterator[Callable[[int], Path]]:
    """Yield a function from code lengths to paths of checkpoints next to a job's output; remove these files on success.

    The files are not outputs of the job, so they still exist when a killed job is run again.

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
