import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.sklsh import SKLSH


def test_the_bit_formula():
    hasher = SKLSH(3).fit([[0.0]])
    hasher.projection_ = np.float32([[1, 1, 2]])
    hasher.phase_ = np.array([0, np.pi / 2, 0])
    hasher.threshold_ = np.array([0, 0.1, -0.9])
    # cos(x) > 0, cos(x + pi/2) + 0.1 > 0, cos(2 x) - 0.9 > 0
    codes = hasher.transform([[0.0], [np.pi], [-np.pi / 4], [2 * np.pi]])
    np.testing.assert_array_equal(codes, [[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(hasher.transform([[np.pi / 2]]), [[0, 0, 0]])


def test_random_draws():
    hasher = SKLSH(20_000).fit(np.zeros((1, 2)))
    assert abs(hasher.projection_.std() - 1) < 0.02
    for drawn, low, high in ((hasher.phase_, 0, 2 * np.pi), (hasher.threshold_, -1, 1)):
        assert low <= drawn.min() < low + 0.01
        assert high - 0.01 < drawn.max() < high
        assert abs(drawn.mean() - (low + high) / 2) < 0.05


def test_gamma_scales_the_waves():
    X = np.zeros((1, 3))
    np.testing.assert_allclose(SKLSH(8, gamma=4).fit(X).projection_, 2 * SKLSH(8).fit(X).projection_)


def test_distant_points_differ_in_the_share_of_the_paper():
    # the kernel is 0: (8 / pi^2) sum_m 1 / (4 m^2 - 1) = 4 / pi^2
    codes = SKLSH(40_000).fit([[0.0, 0.0]]).transform([[0.0, 0.0], [100.0, 0.0]])
    assert abs((codes[0] != codes[1]).mean() - 4 / np.pi**2) < 0.01


@pytest.mark.parametrize("distance", [0.5, 1.0])
def test_the_share_follows_the_kernel(distance):
    kernel = np.exp(-(distance**2) / 2)
    m = np.arange(1, 200)
    expected = 8 / np.pi**2 * ((1 - kernel ** (m**2)) / (4 * m**2 - 1)).sum()
    codes = SKLSH(40_000).fit([[0.0, 0.0]]).transform([[0.0, 0.0], [0.0, distance]])
    assert abs((codes[0] != codes[1]).mean() - expected) < 0.01


@pytest.mark.parametrize("gamma", [0, -1, np.inf])
def test_gamma_must_be_positive(gamma):
    with pytest.raises(ProtocolError, match="gamma: expected a finite number > 0"):
        SKLSH(8, gamma=gamma).fit([[0.0]])
