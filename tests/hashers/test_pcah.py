import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.pcah import PCAH

W = np.array([[0.8, -0.6], [0.6, 0.8]])  # columns: the components, their largest entries positive
V = np.array([[4.0, 1.0], [4.0, -1.0], [-4.0, 1.0], [-4.0, -1.0]])  # uncorrelated, variances 16 and 1


def test_known_covariance():
    X = V @ W.T + [10, 20]
    hasher = PCAH(2).fit(X)
    np.testing.assert_allclose(hasher.projection_, W, atol=1e-6)
    np.testing.assert_allclose(hasher.mean_, [10, 20])
    np.testing.assert_array_equal(hasher.transform(X), V > 0)
    np.testing.assert_array_equal(hasher.transform([[11.0, 20.0], [10.0, 21.0]]), [[1, 0], [1, 1]])


def test_a_row_on_the_mean_gets_zeros():
    np.testing.assert_array_equal(PCAH(2).fit([[1.0, 5.0], [3.0, 5.0], [2.0, 8.0], [2.0, 2.0]]).transform([[2, 5]]), 0)


def test_offset_does_not_matter():
    X = np.random.default_rng(0).integers(-8, 8, size=(50, 6)).astype(np.float32)
    np.testing.assert_array_equal(PCAH(4).fit(X + 64).transform(X + 64), PCAH(4).fit(X).transform(X))


def test_the_record_counts_directions_without_variance():
    X = np.random.default_rng(0).normal(size=(50, 6))
    X[:, 2:4] = 7
    assert PCAH(6).fit(X).fit_record_ == {"directions_without_variance": 2}
    assert PCAH(4).fit(X).fit_record_ == {"directions_without_variance": 0}


def test_more_bits_than_features_are_refused():
    with pytest.raises(ProtocolError, match=r"n_bits: expected at most 2, the number of features, got 3"):
        PCAH(3).fit(V)
