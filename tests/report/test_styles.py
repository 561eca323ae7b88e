"""The styles of methods: fixed by their names, distinct, and distinguishable in grey and for colour-blind readers."""

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
# The matrices of Machado, Oliveira and Fernandes (2009), on linear RGB, at full severity.
VISION = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array(XYZ) @ np.clip(rgb, 0, 1) / np.sum(XYZ, axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(colour, page):
    dark, light = sorted(0.05 + linear(own) @ XYZ[1] for own in (colour, page))
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


@pytest.mark.parametrize("vision", list(VISION))
def test_every_two_colours_differ_for_colour_blind_readers(vision):
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 20


def test_a_figure_of_lines_has_one_legend_with_lines_and_markers(results):
    figures = {figure.name: figure for part in sections(results) for figure in part.figures}
    for name, figure in figures.items():
        chart = vl_convert.vegalite_to_vega(figure.static)
        lines = [mark for mark in json.dumps(chart["marks"]).split('"type": ') if mark.startswith('"line"')]
        assert len(chart.get("legends", [])) <= 1, name
        if lines:
            (legend,) = chart["legends"]
            assert "v.5h" in legend["symbolType"]["signal"], name
