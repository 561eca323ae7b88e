"""Ground truths and searches that are refused, each with its message."""

import numpy as np
import pytest
from encoded import refusals

from protocol import registry, truth
from protocol.checks import ProtocolError
from protocol.truth import Items, relevance

LINE = np.arange(11, dtype=np.float32)[:, None]
SEARCHES = {
    name: {"query": np.ones((2, 3)), "database": np.ones((4, 3))} | options
    for name, options in (("nearest", {"k": 1}), ("neighbours_within", {"radius": 1.0}))
}


@pytest.mark.parametrize(("case", "message"), refusals("truth/refusals.yaml"))
def test_refusals(case, message):
    name, arguments = case.pop("call"), case.pop("arguments", ())
    if name in SEARCHES:
        function, case = getattr(truth, name), SEARCHES[name] | case
    elif name in registry.names("ground_truth"):
        function = registry.get("ground_truth", name)
        arguments = Items(LINE, None), Items(case.pop("database", LINE), None), Items(LINE, None)
    else:
        function = getattr(relevance, name)
    with pytest.raises(ProtocolError) as refused:
        function(*arguments, **case)
    assert str(refused.value) == message
