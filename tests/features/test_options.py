"""Options of features out of range are refused, and so are images without the colours of an option."""

import re

import pytest
from blocks import extract_all, noise

from protocol import registry
from protocol.checks import ProtocolError

VECTORS = "name: expected the name of vectors in the dataset, got "
WRONG = [
    *(
        (name, options, message)
        for name in ("bow", "dense_sift")
        for options, message in (
            ({"patch": 33}, "patch: expected at most image_size = 32, got 33."),
            ({"patch": 3}, "patch: expected an integer >= 4, got 3."),
            ({"grid": 0}, "grid: expected an integer >= 1, got 0."),
            ({"image_size": 7.0}, "image_size: expected an integer >= 8, got 7.0."),
        )
    ),
    ("bow", {"n_words": 0}, "n_words: expected an integer >= 1, got 0."),
    ("bow", {"n_sample": 499}, "n_sample: expected an integer >= 500, got 499."),
    ("gist", {"image_size": 33}, "image_size: expected an even number, got 33."),
    ("gist", {"border": -1}, "border: expected an integer >= 0, got -1."),
    ("gist", {"scales": 0}, "scales: expected an integer >= 1, got 0."),
    ("gist", {"orientations": 0}, "orientations: expected an integer >= 1, got 0."),
    ("gist", {"orientations": [8] * 3}, "orientations: expected a number for each of 4 scales, got [8, 8, 8]."),
    ("gist", {"orientations": [8, 8, 4, 0]}, "orientations: expected an integer >= 1, got 0."),
    ("gist", {"orientations": 1.5}, "orientations: expected an integer >= 1, got 1.5."),
    ("gist", {"contrast_cycles": "4"}, "contrast_cycles: expected a finite number > 0, got '4'."),
    ("gist", {"contrast_cycles": 0}, "contrast_cycles: expected a finite number > 0, got 0."),
    ("gist", {"colour": "hsv"}, "colour: expected luma, mean or rgb, got 'hsv'."),
    ("gist", {"grid": 64}, "image_size: expected an integer >= 64, got 32."),
    ("pixels", {"image_size": 0}, "image_size: expected an integer >= 1, got 0."),
    ("pixels", {"colour": "grey"}, "colour: expected luma, mean or rgb, got 'grey'."),
    ("sift", {"items": "whole"}, "items: expected image or local, got 'whole'."),
    ("sift", {"image_size": 8}, "image_size: expected an integer >= 16, got 8."),
    ("precomputed", {"name": 3}, f"{VECTORS}3."),
    *(
        (name, options, message)
        for name in ("image_to_text", "text_to_image")
        for options, message in (
            ({"name": 3}, f"{VECTORS}3."),
            ({"database_name": ""}, f"{VECTORS}''."),
            ({"n_components": 0}, "n_components: expected an integer >= 1, got 0."),
            ({"database_n_components": "9"}, "n_components: expected an integer >= 1, got '9'."),
        )
    ),
]


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_an_option_out_of_range_is_refused(name, options, message):
    with pytest.raises(ProtocolError, match=f"^{re.escape(message)}$"):
        registry.get("feature", name)(**options)


@pytest.mark.parametrize("name", ["gist", "pixels"])
def test_grey_images_have_no_colours(name):
    with pytest.raises(ProtocolError, match="colour: expected 'mean' or 'luma' for grey images, got 'rgb'"):
        extract_all(registry.get("feature", name)(colour="rgb"), noise(1, 32, 32))
