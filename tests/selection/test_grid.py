import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.checks import ProtocolError
from protocol.selection import best, described, points

NAN = float("nan")


def obvious_points(grid):
    """Nested loops, the first option outermost."""
    made = [{}]
    for option, values in grid.items():
        made = [point | {option: value} for point in made for value in values]
    return made


def obvious_best(scores):
    place = None
    for i, score in enumerate(scores):
        if not math.isnan(score) and (place is None or score > scores[place]):
            place = i
    return place


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)))
def test_points_are_those_of_nested_loops_in_their_order(grid):
    assert points(grid) == obvious_points(grid)
    assert [list(point) for point in points(grid)] == [list(grid)] * len(points(grid))


def test_the_order_is_that_of_the_grid_and_not_of_the_values():
    assert points({"b": [3, 1], "a": ["y", "x"]}) == [
        {"b": 3, "a": "y"},
        {"b": 3, "a": "x"},
        {"b": 1, "a": "y"},
        {"b": 1, "a": "x"},
    ]


@given(st.lists(st.sampled_from([NAN, -1.0, 0.0, 0.25, 0.5]), min_size=1, max_size=6))
def test_the_best_is_the_first_of_the_largest_that_is_defined(scores):
    if np.isnan(scores).all():
        with pytest.raises(ProtocolError, match=f"the metric is undefined for all {len(scores)} grid points"):
            best(scores)
    else:
        assert best(scores) == obvious_best(scores)


def test_the_first_of_equal_scores_is_chosen_and_undefined_ones_never_are():
    assert best([0.1, 0.3, 0.3]) == 1
    assert best([NAN, 0.1, NAN]) == 1


def test_the_name_of_a_point_lists_its_options():
    assert described({"alpha": 1.5, "n_neighbors": 3}) == "alpha=1.5 n_neighbors=3"
