"""The styles of methods: fixed by their names, distinct, and legible on the page."""

import itertools
import json
import re

import numpy as np
import pytest
import vl_convert

from protocol import registry
from protocol.report.sections import sections
from protocol.styles import COLOURS, styles

DEFAULT = ["lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"]
LUMINANCE = [0.2126, 0.7152, 0.0722]  # of linear red, green and blue


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(colour, page):
    dark, light = sorted(0.05 + linear(own) @ LUMINANCE for own in (colour, page))
    return light / dark


def test_the_styles_of_methods_do_not_depend_on_their_order():
    names = [*registry.names("hasher"), "m_dsh_4", "theirs"]
    assert styles(names) == styles(names[::-1])
    assert list(styles(["sh", "itq"])) == ["sh", "itq"]
    for more in (["mine"], names):
        assert {name: styles([*DEFAULT, *more])[name] for name in DEFAULT} == styles(DEFAULT)


def test_twelve_methods_differ_in_colour_and_in_marker_whatever_their_names():
    rng = np.random.default_rng(0)
    for _ in range(50):
        own = list(styles(["".join(rng.choice(list("abcdef_1"), 6)) + str(i) for i in range(12)]).values())
        assert [len({style[part] for style in own}) for part in (0, 1)] == [12, 12]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_and_marks_stand_out_from_the_page(html, theme):
    style = re.findall(r":root \{ (--page[^}]*)\}", html)[theme]
    codes = {
        name: code if len(code) == 6 else re.sub("(.)", r"\1\1", code)
        for name, code in re.findall(r"--(\w+): #(\w+);", style)
    }
    named = {name: f"#{code}" for name, code in codes.items()}
    assert min(contrast(colour, named["page"]) for colour in COLOURS) >= 3
    for ink, ground in itertools.product(("ink", "soft", "accent", "right", "wrong"), ("page", "wash")):
        assert contrast(named[ink], named[ground]) >= 4.5, (ink, ground)


def test_a_figure_of_lines_has_one_legend_with_lines_and_markers(results):
    figures = {figure.name: figure for part in sections(results) for figure in part.figures}
    for name, figure in figures.items():
        chart = vl_convert.vegalite_to_vega(figure.static)
        lines = [mark for mark in json.dumps(chart["marks"]).split('"type": ') if mark.startswith('"line"')]
        assert len(chart.get("legends", [])) <= 1, name
        if lines:
            (legend,) = chart["legends"]
            assert "v.5h" in legend["symbolType"]["signal"], name
