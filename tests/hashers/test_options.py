"""Options out of range are refused before there is data, by their name."""

from pathlib import Path

import pytest
import yaml

from protocol import registry
from protocol.checks import ProtocolError

WRONG = yaml.safe_load(Path(__file__).with_name("wrong_options.yaml").read_text())
ALLOWED = [("csq", "lambda_1"), ("dpsh", "quantisation"), ("dtsh", "margin"), ("dtsh", "quantisation"), ("sdh", "nu")]


@pytest.mark.parametrize(("name", "option", "value"), [(name, *pair) for name in WRONG for pair in WRONG[name].items()])
def test_an_option_out_of_range_is_refused_by_its_name(name, option, value):
    with pytest.raises(ProtocolError, match=f"^{option}(: expected| must be) .*, got {value!r}".replace("nan", "")):
        registry.get("hasher", name)(8, **{option: value}).check()


@pytest.mark.parametrize(("name", "option"), ALLOWED)
def test_a_weight_may_be_zero(name, option):
    registry.get("hasher", name)(8, **{option: 0}).check()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dsh", {"n_bits": 1, "alpha": 0.5}, "the number of clusters must be an integer >= 2, got 1"),
        ("hashnet", {"beta": 0.5}, "beta: expected a number >= 1, got 0.5"),
        ("cvh", {"n_anchors": 31}, "n_anchors: expected at least n_bits = 32, got 31[.]$"),
        ("buffer_zone", {"zones": []}, r"zones: expected a list of pairs \[r_1, r_2\], got \[\]"),
        ("buffer_zone", {"zones": "wide"}, "zones: expected a list of pairs .*, got 'wide'"),
        ("buffer_zone", {"zones": [0.1, 0.2]}, "zones: expected pairs .* with 0 <= r_1 <= r_2, got 0.1"),
        ("buffer_zone", {"zones": [[0.2, 0.1]]}, r"zones: expected pairs .* got \[0.2, 0.1\]"),
        ("buffer_zone", {"zones": [[0, float("nan")]]}, r"zones: expected pairs .* got \[0, nan\]"),
        ("buffer_zone", {"zones": [["a", "b"]]}, r"zones: expected pairs .* got \['a', 'b'\]"),
    ],
)
def test_options_that_do_not_fit_are_refused(name, options, message):
    with pytest.raises(ProtocolError, match=message):
        registry.get("hasher", name)(**options).check()
