"""The styles of methods: fixed by their names, and distinct."""

import json

import numpy as np

from protocol import registry
from protocol.report.sections import sections
from protocol.styles import COLOURS, styles

DEFAULT = ["lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"]


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


def test_colours_are_those_of_methods(results):
    """Redundant bits have the colour of the hasher whose codes they extend, and partitions have none."""
    parts = {part.name: part for part in sections(results, results.selections[0])}
    layouts = [figure.spec for figure in parts["partitions"].figures]
    assert not [colour for colour in COLOURS if colour in json.dumps(layouts)]
    assert [[box["encoding"] for box in spec["layer"]] for spec in layouts[1:]] == [
        [box["encoding"] for box in layouts[0]["layer"]]
    ]
    (extended,) = parts["extensions"].figures
    scale = extended.spec["layer"][0]["encoding"]["color"]["scale"]
    assert set(scale["range"]) == {styles(["lsh"])["lsh"].colour}
