"""The styles of hashers: fixed by name, distinct, and distinguishable for colour-blind readers."""

import itertools
import json
import re

import numpy as np
import pytest
import vl_convert
from protocol.report.styles import _KNOWN, COLOURS, styles

from protocol import registry
from protocol.report.description import hasher_scales
from protocol.report.sections import sections

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


def test_the_style_of_a_hasher_does_not_depend_on_the_others():
    own = [*DEFAULT, "m_dsh_4"]
    before = styles(own)
    for names in (["m_dsh", "grh"], ["itq_5", "mine"], ["a", "theirs"]):
        for together in ([*own, *names], [*names, *own]):
            assert {name: styles(together)[name] for name in own} == before
    together = styles([*registry.names("hasher"), "m_dsh_4", "theirs"])
    assert {name: styles([name])[name] for name in together} == together
    assert sorted(_KNOWN) == registry.names("hasher")


def test_colour_and_shape_tell_the_registered_hashers_apart():
    assert len({style[:2] for style in _KNOWN.values()}) == len(_KNOWN)


@pytest.mark.parametrize(
    "hashers",
    [
        DEFAULT,
        ["sign", "median", "lsh", "pcah", "pca_rr", "itq"],
        ["itq", "classifier", "ksh", "sdh", "grh", "talr_ap"],
        ["lsh", "itq", "talr_ap", "talr_ndcg"],
        ["itq", "deep_squared", "m_dsh"],
        ["deep_supervised", "buffer_zone"],
        ["cca_itq", "cvh"],
    ],
)
def test_hashers_of_one_shipped_experiment_have_different_colours(hashers):
    assert len({style.colour for style in styles(hashers).values()}) == len(hashers)


def test_many_uses_of_one_plug_in_have_different_styles():
    names = [f"m_dsh_{n}" for n in range(60)]
    with_uses = styles([*DEFAULT, *names])
    assert len(set(with_uses.values())) == len(with_uses)
    assert not {style[:2] for style in _KNOWN.values()} & {with_uses[name][:2] for name in names}
    assert len(styles([f"use_{n}" for n in range(300)])) == 300  # more than there are styles


def test_a_new_name_has_the_style_of_its_digest():
    """The style of a name outside the table must not change from one version to the next."""
    assert styles(["m_dsh_4"])["m_dsh_4"] == ("#bf856a", "triangle-right", (1, 0))
    assert styles(["theirs"])["theirs"] == ("#ae2e94", "circle", (8, 2, 2, 2))


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


def test_scales_name_the_hashers_as_the_figure_does():
    scales = hasher_scales({"ITQ": "itq", "LSH": "lsh"})
    assert scales["hashers"] == ["ITQ", "LSH"]
    assert scales["colour"] == {"domain": ["ITQ", "LSH"], "range": [COLOURS[1], COLOURS[0]]}
    assert scales["shape"] == {"domain": ["ITQ", "LSH"], "range": ["square", "circle"]}
    assert scales["dash"] == {"domain": ["ITQ", "LSH"], "range": [[1, 0], [1, 0]]}


def test_only_charts_without_points_have_dashes_in_their_legends(results):
    figures = {figure.name: figure for part in sections(results) for figure in part.figures}
    legends = {name: vl_convert.vegalite_to_vega(own.static).get("legends", []) for name, own in figures.items()}
    assert [name for name, own in legends.items() if '"strokeDash": "strokeDash"' in json.dumps(own)] == [
        "bucket-sizes"
    ]
