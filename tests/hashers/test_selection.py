"""The points of a grid, their scores, the choice among them, and the table of all scores."""

import math

import numpy as np
import pytest
from encoded import refused, refuses
from hypothesis import given
from hypothesis import strategies as st

from protocol import evaluate, registry
from protocol.hashers.selection import Validation, best, points, search
from protocol.truth.relevance import LabelRelevance

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
        refuses(f"undefined for all {len(scores)} grid points", best, scores)


RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(3, 6))
Y = {"train": np.arange(60) % 3, "query": np.arange(9) % 3, "database": np.arange(30) % 3}
X = {name: (CENTRES[y] + RNG.normal(size=(len(y), 6))).astype(np.float32) for name, y in Y.items()}
GRID = {"gamma": [0.05, 0.5, 5.0]}
SEEDS = {4: 11, 9: 12}


def validation(**changes):
    fields = {"relevance": LabelRelevance(Y["query"], Y["database"]), "metric": "mAP"} | changes
    return Validation(X["query"], X["database"], **fields)


def test_scores_are_the_metric_of_each_point_at_each_length():
    hasher = registry.get("hasher", "sklsh")
    scored = search(hasher, points(GRID), X["train"], validation(), seeds=SEEDS, options={})
    assert list(scored) == [4, 9]
    for n_bits, scores in scored.items():
        for score, gamma in zip(scores, GRID["gamma"], strict=True):
            model = hasher(n_bits=n_bits, seed=SEEDS[n_bits], gamma=gamma).fit(X["train"])
            codes = (model.transform(X[part]) for part in ("query", "database"))
            found = evaluate(*codes, query_labels=Y["query"], database_labels=Y["database"], metrics=["mAP"])
            assert score == pytest.approx(found.metrics["mAP"], abs=1e-12)
    assert np.ptp(scored[9]) > 0.01  # a grid whose points differ


def test_a_point_that_can_not_be_fitted_is_reported():
    grid = points({"alpha": [2, 99]})
    with refused(r"^grid point alpha=99 at 4 bits: X: DSH needs at least 396 training vectors, one for each"):
        search(registry.get("hasher", "dsh"), grid, X["train"], validation(), seeds={4: 1}, options={})


def test_an_undefined_score_is_nan():
    nothing = LabelRelevance(np.full(9, 7), Y["database"])
    model = registry.get("hasher", "lsh")(n_bits=4, seed=0).fit(X["train"])
    assert np.isnan(validation(relevance=nothing, undefined="drop").score(model))
    assert validation(relevance=nothing, undefined="zero").score(model) == 0
