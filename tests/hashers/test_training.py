"""Progress of a training."""

import logging

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import training


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_non_finite_objective_stops_the_training_with_its_step(value):
    with training.progress("T, 8 bits", 5) as steps:
        steps.step(0.5)
        steps.step(0.25)
        message = (
            rf"^T, 8 bits: step 3 of 5: the objective is {value} \(it was 0\.25 before\)\. Try a lower learning_rate\.$"
        )
        with pytest.raises(ProtocolError, match=message):
            steps.step(value)
    assert steps.values[:2] == [0.5, 0.25]


def test_the_log_has_twenty_lines_with_step_and_objective(caplog):
    with caplog.at_level(logging.INFO), training.progress("T, 8 bits", 400) as steps:
        for value in range(400):
            steps.step(value / 400)
    assert len(caplog.messages) == 20
    assert caplog.messages[0] == "T, 8 bits: step 20 of 400, objective 0.0475"
    assert caplog.messages[-1] == "T, 8 bits: step 400 of 400, objective 0.9975"
