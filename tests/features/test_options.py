"""Options of features out of range are refused, and so are images without the colours of an option."""

import re
from pathlib import Path

import pytest
import yaml
from blocks import extract_all, noise

from protocol import registry
from protocol.checks import ProtocolError

WRONG = yaml.safe_load(Path(__file__).with_name("options.yaml").read_text())


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_an_option_out_of_range_is_refused(name, options, message):
    with pytest.raises(ProtocolError, match=f"^{re.escape(message)}$"):
        registry.get("feature", name)(**options)


@pytest.mark.parametrize("name", ["gist", "pixels"])
def test_grey_images_have_no_colours(name):
    with pytest.raises(ProtocolError, match="colour: expected 'mean' or 'luma' for grey images, got 'rgb'"):
        extract_all(registry.get("feature", name)(colour="rgb"), noise(1, 32, 32))
