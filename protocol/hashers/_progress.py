"""What a long training says of itself: its objective, step by step, how long it will take, and where it broke."""

import contextlib
import logging
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from protocol.checks import ProtocolError

_EVERY = 10.0  # seconds between two lines in the log
_log = logging.getLogger(__name__)


class Course:
    """The course of one training. Made by `progress`.

    Attributes
    ----------
    values : list of float
        The objective at every step so far.
    """

    def __init__(self, name: str, n_steps: int, bar: Any, values: Sequence[float] = ()) -> None:
        self.values, self._n_before = list(values), len(values)
        self._name, self._n_steps, self._bar = name, n_steps, bar
        self._began = self._told = time.monotonic()

    def step(self, value: float) -> None:
        """Note the objective of one more step.

        Raises
        ------
        ProtocolError
            If it is not finite: says at which step.
        """
        self.values.append(float(value))
        n_done = len(self.values)
        if not math.isfinite(value):
            before = f", {self.values[-2]:.4g} before" if n_done > 1 else ""
            raise ProtocolError(
                f"{self._name}: step {n_done} of {self._n_steps}: wanted a finite objective, came {value}{before}; "
                "try a lower learning_rate"
            )
        self._bar.set_postfix_str(f"objective {value:.4f}", refresh=False)
        self._bar.update()
        now = time.monotonic()
        if now - self._told >= _EVERY or n_done == self._n_steps:
            left = (now - self._began) / (n_done - self._n_before) * (self._n_steps - n_done)
            _log.info("%s: step %d of %d, objective %.4f, %.0f s left", self._name, n_done, self._n_steps, value, left)
            self._told = now


@contextlib.contextmanager
def progress(name: str, n_steps: int, values: Sequence[float] = ()) -> Iterator[Course]:
    """Give what notes the steps of a training: in the log every ten seconds, on a terminal as a bar with time left.

    Parameters
    ----------
    name : str
        What is trained, as ``"TALRAP, 32 bits"``.
    n_steps : int
    values : sequence of float, optional
        The objective at the steps already made, of a training that goes on.
    """
    from tqdm import tqdm

    with tqdm(total=n_steps, initial=len(values), desc=name, unit="step", disable=None, leave=False) as bar:
        yield Course(name, n_steps, bar, values)
