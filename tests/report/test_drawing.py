"""Static pictures, and where they can't be drawn."""

import pytest

from protocol.checks import ProtocolError
from protocol.report.drawing import pictures

BAR = {
    "mark": "bar",
    "data": {"values": [{"a": 1, "b": "x"}]},
    "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}},
}


def test_a_picture_does_not_depend_on_earlier_ones():
    clipped = BAR | {"mark": {"type": "bar", "clip": True}}
    one, other = (pictures([clipped, clipped]) for _ in range(2))
    assert one == other
    assert [b'"clip0"' in own["svg"] for own in one] == [True, False]


def test_a_chart_that_can_not_be_drawn_is_named():
    with pytest.raises(ProtocolError, match=r"^figure 2: can't be drawn: "):
        pictures([BAR, {"mark": "no such mark"}])


def test_a_limit_of_the_address_space_is_refused(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (8 << 30, 8 << 30))
    with pytest.raises(ProtocolError, match="the address space is limited to 8 GiB"):
        pictures([BAR])
