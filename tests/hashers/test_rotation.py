import numpy as np

from protocol.hashers.linear_algebra import random_rotation


def test_orthogonal_and_drawn_from_the_generator():
    R = random_rotation(5, np.random.default_rng(3))
    np.testing.assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    _, s, Vt = np.linalg.svd(np.random.default_rng(3).standard_normal((5, 5)))
    np.testing.assert_allclose(R.T @ np.random.default_rng(3).standard_normal((5, 5)), np.diag(s) @ Vt, atol=1e-12)
