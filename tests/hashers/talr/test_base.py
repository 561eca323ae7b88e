"""The hash functions of TALR: thresholds, and leading principal components."""

import numpy as np
import pytest

from protocol.hashers import TrainingSet
from protocol.hashers.talr.talr_ap import TALRAP
from protocol.hashers.talr.talr_ndcg import TALRNDCG


def test_a_threshold_is_learned_where_the_mean_divides_a_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [80, 20])
    X = (rng.uniform(size=100) + 2 * y)[:, None]
    assert X.mean() < X[y == 0].max()
    model = TALRAP(n_bits=1, n_steps=100).fit(X, y)
    bits = model.transform(X).ravel()
    assert len(np.unique(bits[y == 0])) == len(np.unique(bits[y == 1])) == 1
    assert bits[0] != bits[-1]
    assert model.threshold_ != 0


@pytest.mark.parametrize(
    ("hasher", "options", "n_components"),
    [(TALRNDCG, {}, 32), (TALRAP, {}, 40), (TALRNDCG, {"n_components": 5}, 5), (TALRAP, {"n_components": 99}, 40)],
)
def test_functions_are_of_the_leading_components(hasher, options, n_components):
    rng = np.random.default_rng(1)
    training = TrainingSet(rng.normal(size=(120, 40)), rng.integers(3, size=120))
    projection = hasher(n_bits=8, n_steps=20, **options).fit(training).projection_
    directions = training.components(40).directions
    weight = np.linalg.norm(directions.T @ projection, axis=1)
    np.testing.assert_allclose(weight[n_components:], 0, atol=1e-5)
    assert (weight[:n_components] > 1e-3).all()


def test_more_bits_than_components_start_from_different_functions():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 24))
    codes = TALRNDCG(n_bits=16, n_components=4, n_steps=20).fit(X, rng.integers(4, size=150)).transform(X)
    assert len(np.unique(codes, axis=1).T) == 16


def test_a_random_start_has_weights_of_variance_two_over_the_number_of_features():
    rng = np.random.default_rng(3)
    training = TrainingSet(5 * rng.normal(size=(150, 100)) + 7, rng.integers(4, size=150))
    model = TALRAP(n_bits=50, n_steps=1, learning_rate=1e-12, start="random").fit(training)
    weights = model.projection_ * training.scale
    assert weights.var() == pytest.approx(2 / 100, rel=0.1)
    assert ((training.X - training.mean) @ model.projection_).var() == pytest.approx(2, rel=0.1)
    other = TALRAP(n_bits=50, n_steps=1, learning_rate=1e-12, start="random", seed=1).fit(training)
    assert abs(np.corrcoef(weights.ravel(), other.projection_.ravel())[0, 1]) < 0.1


def test_a_rate_over_a_fixed_alpha_is_a_lower_learning_rate():
    rng = np.random.default_rng(4)
    training = TrainingSet(rng.normal(size=(80, 10)), rng.integers(3, size=80))
    scaled = TALRAP(n_bits=4, n_steps=10, alpha=8, rate_over_alpha=True).fit(training)
    slower = TALRAP(n_bits=4, n_steps=10, alpha=8, learning_rate=0.1 / 8).fit(training)
    np.testing.assert_allclose(scaled.projection_, slower.projection_, rtol=1e-5)
    grown = TALRAP(n_bits=4, n_steps=10, alpha=8, growth=4, rate_over_alpha=True).fit(training)
    assert np.abs(grown.projection_ - scaled.projection_).max() > 1e-3
