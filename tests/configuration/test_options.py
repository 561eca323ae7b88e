"""Options of plug-ins in a config file."""

import pytest

from protocol.configuration import options


@pytest.mark.parametrize(
    ("kind", "name", "values", "complete"),
    [
        ("hasher", "itq", {"n_iter": "7"}, {"n_iter": 7}),
        ("hasher", "sklsh", {"gamma": 2}, {"gamma": 2}),
        ("hasher", "sklsh", {"gamma": "2.5"}, {"gamma": 2.5}),
        ("dataset", "arrays", {"labels": "null"}, {"features": None, "labels": None, "ids": None}),
        ("feature", "vectors", {"n_components": "8"}, {"name": None, "n_components": 8}),
        ("feature", "vectors", {"name": "8"}, {"name": "8", "n_components": None}),
    ],
)
def test_text_is_converted_to_the_type_of_the_option(kind, name, values, complete):
    assert options.with_defaults(kind, name, values) == complete
