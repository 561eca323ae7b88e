"""`evaluate` against the definitions in plain Python."""

import numpy as np
import pytest
from differential import check

from protocol import Outputs, evaluate
from protocol.checks import ProtocolError


def test_scores_are_those_of_the_definitions():
    assert all(map(check, range(100)))


@pytest.mark.parametrize("place", ["outputs", "codes", "labels"])
def test_nan_is_refused(place):
    bits = np.random.default_rng(0).random((9, 8)) < 0.5
    inputs = {"outputs": bits[:3] - 0.25, "codes": np.where(bits, 1.0, -1.0), "labels": np.arange(9) % 2 * 1.0}
    inputs[place].flat[1] = np.nan
    query = Outputs(inputs["outputs"]) if place == "outputs" else inputs["codes"][:3]
    with pytest.raises(ProtocolError, match=r"nan|NaN|finite"):
        evaluate(query, inputs["codes"], query_labels=inputs["labels"][:3], database_labels=inputs["labels"])
