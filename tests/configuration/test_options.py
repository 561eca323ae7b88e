"""The options of plug-ins, from signatures and docstrings."""

import pytest

from protocol import registry
from protocol.configuration import options


def test_an_option_has_type_default_range_and_description():
    option = options.options("hasher", "itq")["n_iter"]
    assert (option.type, option.default, option.expected) == (int, 50, "an integer")
    assert option.form == "int, default 50"
    assert option.description == "Number of updates of R, at least 1."
    assert options.options("ground_truth", "epsilon_ball")["comparison"].expected == "'<=' or '<'"


def test_descriptions_come_from_base_classes_and_from_referenced_docstrings():
    for name, start in (
        ("deep_squared", "Largest number of rows in a minibatch, at least 3."),
        ("talr_ndcg", "Number of rows in a minibatch, at least 2;"),
    ):
        assert options.options("hasher", name)["batch_size"].description.startswith(start)


@pytest.mark.parametrize("kind", ["dataset", "feature", "ground_truth", "hasher", "split"])
def test_the_docstring_of_every_plug_in_has_all_its_options(kind):
    for name in registry.names(kind):
        for option in options.options(kind, name).values():
            assert option.form, f"{kind} {name}: {option.name} is not in the docstring's Parameters"


@pytest.mark.parametrize(
    ("kind", "name", "given", "filled"),
    [
        ("hasher", "itq", {"n_iter": "7"}, {"n_iter": 7}),
        ("hasher", "sklsh", {"gamma": 2}, {"gamma": 2}),
        ("hasher", "sklsh", {"gamma": "2.5"}, {"gamma": 2.5}),
        ("dataset", "arrays", {"labels": "null"}, {"features": None, "labels": None, "ids": None}),
        ("feature", "precomputed", {"n_components": "8"}, {"name": None, "n_components": 8}),
        ("feature", "precomputed", {"name": "8"}, {"name": "8", "n_components": None}),
    ],
)
def test_text_is_converted_to_the_type_of_the_option(kind, name, given, filled):
    assert options.filled(kind, name, given) == filled
