"""Progress of a training."""

import logging

from protocol.hashers import training


def test_the_log_has_twenty_lines_with_step_and_objective(caplog):
    with caplog.at_level(logging.INFO), training.progress("T, 8 bits", 400) as steps:
        for value in range(400):
            steps.step(value / 400)
    assert len(caplog.messages) == 20
    assert caplog.messages[0] == "T, 8 bits: step 20 of 400, objective 0.0475"
    assert caplog.messages[-1] == "T, 8 bits: step 400 of 400, objective 0.9975"
