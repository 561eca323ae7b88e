"""Projections, distances and rotations by hand."""

import numpy as np

from protocol.hashers.linear_algebra import random_rotation, squared_distances


def test_hand_computed():
    centres = np.array([[0.0, 0.0], [3.0, 4.0]])
    X = np.array([[0, 0], [3, 0], [3, 4]], dtype=np.float32)
    np.testing.assert_array_equal(squared_distances(centres, X), [[0, 9, 25], [25, 16, 0]])


def test_rounding_gives_no_negative_distance():
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32)
    assert squared_distances(X, X).min() == 0


def test_orthogonal_and_drawn_from_the_generator():
    R = random_rotation(5, np.random.default_rng(3))
    np.testing.assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    _, s, Vt = np.linalg.svd(np.random.default_rng(3).standard_normal((5, 5)))
    np.testing.assert_allclose(R.T @ np.random.default_rng(3).standard_normal((5, 5)), np.diag(s) @ Vt, atol=1e-12)
