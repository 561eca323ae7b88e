"""The styles of methods: fixed by their names, and distinct."""

import numpy as np

from protocol import registry
from protocol.styles import styles

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
