"""SDH: ties, the objective, which falls in every iteration, and labels; tests/reference has a plain optimiser."""

import numpy as np

from protocol.hashers.supervised.sdh import SDH, discrete_codes


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
