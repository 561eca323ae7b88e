"""SDH: its discrete step, compared with all codes of a row, and the objective, which falls in every iteration."""

import itertools

import numpy as np

from protocol.hashers.supervised.sdh import SDH, discrete_codes


def objective(B, Q, W):
    return ((B @ W) ** 2).sum(axis=1) - 2 * (B * Q).sum(axis=1)


def example(n_bits):
    rng = np.random.default_rng(0)
    return np.sign(rng.normal(size=(30, n_bits))), rng.normal(size=(30, n_bits)), rng.normal(size=(n_bits, 3)) / 2


def test_the_discrete_step_lowers_every_rows_objective_to_one_that_no_single_bit_lowers():
    B, Q, W = example(6)
    found = discrete_codes(B, Q, W)
    assert np.isin(found, [-1, 1]).all()
    assert (objective(found, Q, W) <= objective(B, Q, W) + 1e-12).all()
    for bit in range(6):
        other = found.copy()
        other[:, bit] *= -1
        assert (objective(other, Q, W) >= objective(found, Q, W) - 1e-12).all()


def test_with_one_bit_the_step_is_optimal():
    B, Q, W = example(1)
    np.testing.assert_array_equal(discrete_codes(B, Q, W), np.sign(Q))
    best = np.min([objective(np.full((30, 1), b), Q, W) for (b,) in itertools.product((-1.0, 1.0))], axis=0)
    np.testing.assert_allclose(objective(discrete_codes(B, Q, W), Q, W), best)


def test_a_bit_whose_values_are_equally_good_does_not_change():
    B = np.array([[1.0, -1.0]])
    np.testing.assert_array_equal(discrete_codes(B, np.zeros((1, 2)), np.array([[1.0, 0.0], [0.0, 1.0]])), B)


def test_every_round_lowers_the_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] * X[:, 2] > 0)
    model = SDH(n_bits=12, n_anchors=60, n_iter=8, nu=0.1).fit(X, y)
    assert (np.diff(model.fit_record_["objective"]) <= 1e-6).all()
    assert model.fit_record_["agreement"] > 0.7


def test_one_label_in_a_matrix_is_that_label():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    codes = [SDH(n_bits=8, n_anchors=20).fit(X, given).transform(X) for given in (y, np.eye(3, dtype=bool)[y])]
    np.testing.assert_array_equal(*codes)
