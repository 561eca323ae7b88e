import logging

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import _progress


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_objective_that_is_no_number_stops_the_training_and_says_where(value):
    with _progress.progress("T, 8 bits", 5) as course:
        course.step(0.5)
        course.step(0.25)
        message = rf"T, 8 bits: step 3 of 5: wanted a finite objective, came {value}, 0.25 before; try a lower"
        with pytest.raises(ProtocolError, match=message):
            course.step(value)
    assert course.values[:2] == [0.5, 0.25]


def test_the_log_has_step_objective_and_time_left(caplog, monkeypatch):
    clock = iter(np.arange(0, 1000, 4.0))
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO), _progress.progress("T, 8 bits", 7) as course:
        for value in range(7):
            course.step(value / 7)
    assert caplog.messages == [
        "T, 8 bits: step 3 of 7, objective 0.2857, 16 s left",
        "T, 8 bits: step 6 of 7, objective 0.7143, 4 s left",
        "T, 8 bits: step 7 of 7, objective 0.8571, 0 s left",
    ]


def test_a_training_that_goes_on_counts_only_its_own_steps_as_time(caplog, monkeypatch):
    clock = iter(np.arange(0, 1000, 10.0))
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO), _progress.progress("T, 8 bits", 6, [3.0, 2.0]) as course:
        course.step(1.0)
    assert course.values == [3.0, 2.0, 1.0]
    assert caplog.messages == ["T, 8 bits: step 3 of 6, objective 1.0000, 30 s left"]
