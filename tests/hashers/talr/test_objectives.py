"""The objectives of TALR against slow loops, finite differences and the tie-aware metrics."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_objectives import gradient

from protocol import codes
from protocol.counting import count
from protocol.hashers.talr.objectives import (
    ap_r,
    ap_s,
    binary_gains,
    dcg_r,
    dcg_s,
    graded_gains,
    mean_objective,
    relaxed_objective,
)
from protocol.metrics import evaluate
from protocol.truth.relevance import NeighbourRelevance

OBJECTIVES = [(ap_s, binary_gains), (ap_r, binary_gains), (dcg_s, graded_gains), (dcg_r, graded_gains)]
LEVELS = (0, 0, 0, 1, 2, 5)


def drawn(n_rows, b, seed=0):
    rng = np.random.default_rng(seed)
    levels = rng.choice(LEVELS, size=(n_rows, n_rows))
    np.fill_diagonal(levels, 0)
    return np.tanh(rng.normal(size=(n_rows, b))), levels


@pytest.mark.parametrize(("objective", "gains"), OBJECTIVES, ids=lambda f: f.__name__)
def test_the_gradient_by_the_weights_is_that_of_finite_differences(objective, gains):
    _, levels = drawn(11, 4)
    rng = np.random.default_rng(2)
    rows, W, alpha = rng.normal(size=(11, 6)), rng.normal(scale=0.3, size=(6, 4)), 1.7
    _, found = relaxed_objective(rows, W, alpha, *gains(levels), objective)
    expected = gradient(lambda x: relaxed_objective(rows, x, alpha, *gains(levels), objective)[0], W)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize(("objective", "gains"), OBJECTIVES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [0.02, 0.7, 6.0])
def test_derivatives_by_the_histograms_are_those_of_finite_differences(objective, gains, size):
    """Bins below one row, of which the released code's missing factor 2 would show, and bins of several."""
    rng = np.random.default_rng(1)
    total = rng.uniform(0.5, 1.5, size=(3, 9)) * size
    gain = total * rng.uniform(0, 1, size=total.shape)
    best = np.array([2.0, 3.0, 7.0])
    found = objective(gain, total, best)
    for by, expected in (
        (found.by_gain, gradient(lambda x: objective(x, total, best).value.sum(), gain)),
        (found.by_total, gradient(lambda x: objective(gain, x, best).value.sum(), total)),
    ):
        np.testing.assert_allclose(by, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("objective", "gains"), OBJECTIVES, ids=lambda f: f.__name__)
def test_distances_of_0_and_b_have_the_limits_of_those_between(objective, gains):
    """Their bins have no neighbour on one side."""
    relaxed, levels = drawn(9, 5, seed=4)
    corners = np.sign(relaxed)
    corners[1:3] = corners[0], -corners[0]
    value, slopes = mean_objective(corners, *gains(levels), objective)
    assert value == pytest.approx(mean_objective(corners * (1 - 1e-9), *gains(levels), objective)[0], abs=1e-6)
    assert np.isfinite(slopes).all()


def test_without_relevant_rows_the_gradient_is_zero():
    relaxed, levels = drawn(5, 3)
    value, slopes = mean_objective(relaxed, *binary_gains(levels * 0), ap_s)
    assert value == 0
    assert not slopes.any()


@st.composite
def ranking(draw, tied=True):
    """Numbers of rows at each distance, by level 0, 1 and 3; at least one is relevant."""
    n_bins = draw(st.integers(1, 8))
    if tied:
        bins = st.lists(st.integers(0, 5), min_size=3, max_size=3)
    else:
        bins = st.sampled_from([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    rows = st.lists(bins, min_size=n_bins, max_size=n_bins).map(np.array)
    return draw(rows.filter(lambda by_level: by_level[:, 1:].any()))


def ranked(by_level):
    """Return the ranking's tie-aware AP and nDCG, and its histograms: c+, c, N+ and g, c, the best DCG."""
    b, graded = len(by_level) - 1, (0, 1, 3)
    distances = np.repeat(np.arange(b + 1), by_level.sum(axis=1))
    levels = np.concatenate([np.repeat(graded, row) for row in by_level])
    n_bits = max(b, 1)
    database = np.arange(n_bits) < distances[:, None]
    positions = np.flatnonzero(levels)
    truth = NeighbourRelevance([0, positions.size], positions, len(levels), levels[positions])
    packed = codes.pack(np.zeros((1, n_bits), dtype=bool)), codes.pack(database)
    values = evaluate(count(*packed, n_bits, {"": truth}, buckets=False)[""], ["mAP", "nDCG"])
    total = by_level.sum(axis=1)[None].astype(float)
    relevant = by_level[:, 1:].sum(axis=1)[None].astype(float)
    best = sum((2.0**level - 1) / np.log2(rank + 2) for rank, level in enumerate(sorted(levels)[::-1]))
    gain = (by_level @ (2.0 ** np.array(graded) - 1))[None]
    ap, ndcg = (float(values[name][0]) for name in ("mAP", "nDCG"))
    return ap, ndcg, (relevant, total, relevant.sum(axis=1)), (gain, total, np.array([best]))


@settings(max_examples=200, deadline=None)
@given(ranking(tied=False))
def test_without_ties_ap_s_and_dcg_s_are_the_metrics(by_level):
    ap, ndcg, binary, graded = ranked(by_level)
    assert ap_s(*binary).value[0] == pytest.approx(ap, abs=1e-9)
    assert dcg_s(*graded).value[0] == pytest.approx(ndcg, abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(ranking())
def test_dcg_s_is_a_lower_bound_and_integrals_are_near(by_level):
    """An integral is above the sum over its ranks: at most by 7 % in DCG, and by a tenth in AP, at rank 1."""
    ap, ndcg, binary, graded = ranked(by_level)
    assert dcg_s(*graded).value[0] <= ndcg + 1e-12
    assert ndcg - 1e-12 <= dcg_r(*graded).value[0] <= 1.07 * ndcg
    assert ap_r(*binary).value[0] == pytest.approx(ap, abs=0.1)
    assert 0 < ap_s(*binary).value[0] <= 1


@pytest.mark.parametrize("objective", [ap_r, dcg_r])
def test_integrals_meet_their_limits_where_bins_run_empty(objective):
    """Value and derivatives are equal on both sides of the width below which the midpoint replaces the mean."""
    gain, best = np.array([[0.3, 0.0, 0.5]]), np.ones(1)
    sides = [objective(gain, np.array([[1.2, width, 2.0]]), best) for width in (0.99e-4, 1.01e-4)]
    for one, other in pairwise(sides):
        for name in ("value", "by_gain", "by_total"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-4)
    for width in (0.0, 1e-300, 1e-12):
        found = objective(gain, np.array([[1.2, width, 2.0]]), best)
        assert all(np.isfinite(values).all() for values in found)
