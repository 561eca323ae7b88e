"""Progress of a training, and the paths of its checkpoints."""

import logging

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import checkpoints, training


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
    with caplog.at_level(logging.INFO), training.progress("T, 8 bits", 400, values=[1.0]) as steps:
        for value in range(1, 400):
            steps.step(value / 400)
    assert len(caplog.messages) == 20
    assert caplog.messages[0] == "T, 8 bits: step 20 of 400, objective 0.0475"
    assert caplog.messages[-1] == "T, 8 bits: step 400 of 400, objective 0.9975"


def job(output, *, killed):
    """Write checkpoints for two code lengths, and return their contents before."""
    with checkpoints(output) as checkpoint:
        before = [path.read_bytes() if path.exists() else None for path in map(checkpoint, (8, 16))]
        for n_bits in (8, 16):
            checkpoint(n_bits).write_bytes(b"%d bits" % n_bits)
        if killed:
            raise KeyboardInterrupt
    return before


def test_checkpoints_outlive_a_job_that_is_killed_and_no_other(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        job(tmp_path / "models.h5", killed=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.h5.16.checkpoint", "models.h5.8.checkpoint"]
    assert job(tmp_path / "models.h5", killed=False) == [b"8 bits", b"16 bits"]
    assert not list(tmp_path.iterdir())
    assert job(tmp_path / "models.h5", killed=False) == [None, None]
