"""`evaluate` against the definitions in plain Python."""

from differential import check


def test_scores_are_those_of_the_definitions():
    assert all(map(check, range(100)))
