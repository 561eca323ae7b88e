"""Options out of range are refused before there is data, by their name."""

from pathlib import Path

import pytest
import yaml

from protocol import registry
from protocol.checks import ProtocolError

WRONG, TOGETHER = yaml.safe_load_all(Path(__file__).with_name("wrong_options.yaml").read_text())
ALLOWED = [("csq", "lambda_1"), ("dpsh", "quantisation"), ("dtsh", "margin"), ("dtsh", "quantisation"), ("sdh", "nu")]


@pytest.mark.parametrize(("name", "option", "value"), [(name, *pair) for name in WRONG for pair in WRONG[name].items()])
def test_an_option_out_of_range_is_refused_by_its_name(name, option, value):
    with pytest.raises(ProtocolError, match=f"^{option}(: expected| must be) .*, got {value!r}".replace("nan", "")):
        registry.get("hasher", name)(8, **{option: value}).check()


@pytest.mark.parametrize(("name", "option"), ALLOWED)
def test_a_weight_may_be_zero(name, option):
    registry.get("hasher", name)(8, **{option: 0}).check()


@pytest.mark.parametrize(("name", "options", "message"), TOGETHER)
def test_options_that_do_not_fit_are_refused(name, options, message):
    with pytest.raises(ProtocolError, match=message):
        registry.get("hasher", name)(**options).check()
