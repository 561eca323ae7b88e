"""The points of a grid, the choice among them, and the table of their scores."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.selection import COLUMNS, best, points, write_table

NAN = float("nan")


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)))
def test_points_are_those_of_nested_loops_in_their_order(grid):
    """The first option is the outermost loop; the order is that of the grid and not of the values."""
    expected = [{}]
    for option, values in grid.items():
        expected = [point | {option: value} for point in expected for value in values]
    assert points(grid) == expected
    assert [list(point) for point in points(grid)] == [list(grid)] * len(expected)


@given(st.lists(st.sampled_from([NAN, -1.0, 0.0, 0.25, 0.5]), min_size=1, max_size=6))
def test_the_best_is_the_first_of_the_largest_that_is_defined(scores):
    defined = [score for score in scores if not math.isnan(score)]
    if defined:
        assert best(scores) == scores.index(max(defined))
    else:
        with pytest.raises(ProtocolError, match=f"the metric is undefined for all {len(scores)} grid points"):
            best(scores)


def selection(path, run, *, hasher="itq", points=({"n_iter": 5}, {"n_iter": 50}), chosen=1):
    combination = {"dataset": "digits", "feature": "gist", "sample": "thesis", "run": run, "hasher": hasher}
    provenance = storage.provenance(
        "selection",
        parameters=combination | {"ground_truth": "class_label", "metric": "mAP"},
        inputs={},
        points=list(points),
        default={"n_iter": 50},
        chosen=dict.fromkeys((8, 16), points[chosen]),
    )
    scores = {8: [1 / 3, NAN], 16: [0.25, 0.5]}
    storage.write(path, {f"{n_bits}/scores": of_length for n_bits, of_length in scores.items()}, provenance)
    return path


def test_one_row_for_each_point_in_the_order_of_combinations_and_grid(tmp_path):
    files = [selection(tmp_path / f"{run}.h5", run) for run in (10, 2)]
    falling = selection(tmp_path / "f.h5", 0, hasher="lsh", points=[{"n_iter": 50}, {"n_iter": 5}])
    rows = [
        f"digits,gist,class_label,thesis,{run},itq,{row}"
        for run in (2, 10)
        for row in (
            "8,mAP,n_iter=5,False,False,0.333333333",
            "8,mAP,n_iter=50,True,True,nan",
            "16,mAP,n_iter=5,False,False,0.25",
            "16,mAP,n_iter=50,True,True,0.5",
        )
    ]
    write_table(tmp_path / "table.csv", [*files, falling])
    header, *lines = (tmp_path / "table.csv").read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert [line for line in lines if ",itq," in line] == rows
    points_of_falling = [line.split(",")[7:11] for line in lines if ",lsh,8," in line]
    assert points_of_falling == [["mAP", "n_iter=50", "True", "False"], ["mAP", "n_iter=5", "False", "True"]]
