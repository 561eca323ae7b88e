import numpy as np
import pytest

from protocol.hashers.sh import SH

# a 5 x 4 grid: extents 4 and 3, the components are the axes
GRID = np.array([[x, y] for x in (-2, -1, 0, 1, 2) for y in (-1.5, -0.5, 0.5, 1.5)])


def test_modes_of_a_grid():
    # frequencies / pi: first axis 1/4, 2/4, 3/4; second 1/3, 2/3; the slowest three are 1/4, 1/3, 2/4
    hasher = SH(3).fit(GRID)
    np.testing.assert_array_equal(hasher.component_, [0, 1, 0])
    np.testing.assert_allclose(hasher.frequency_, np.pi * np.array([1 / 4, 1 / 3, 1 / 2]), rtol=1e-6)
    np.testing.assert_allclose(hasher.lowest_, [-2, -1.5], rtol=1e-6)


def test_bits_of_a_grid():
    # cos(pi (x + 2) / 4) > 0 where x < 0; cos(pi (y + 1.5) / 3) > 0 where y < 0; cos(pi (x + 2) / 2) > 0 off the middle
    queries = np.array([[-1.9, 1.4], [-0.9, -0.1], [0.9, 0.1], [1.9, -1.4]])
    np.testing.assert_array_equal(SH(3).fit(GRID).transform(queries), [[1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1]])


def test_the_wave_continues_outside_the_box():
    # cos(pi (x + 2) / 4): back above zero for 4 < x < 8
    codes = SH(1).fit(GRID).transform([[-3.0, 0.0], [3.0, 0.0], [5.0, 0.0], [9.0, 0.0]])
    np.testing.assert_array_equal(codes.ravel(), [1, 0, 1, 0])


def test_a_thin_component_gets_no_bit():
    # extents 8 and 2: the second axis starts at frequency 1/2, the first has 1/8, 2/8, 3/8
    X = np.array([[x, y] for x in (-4.0, 0.0, 4.0) for y in (-1.0, 1.0)])
    np.testing.assert_array_equal(SH(3).fit(X).component_, [0, 0, 0])


def test_more_bits_than_features_are_possible():
    hasher = SH(5).fit(np.arange(9.0)[:, None])
    np.testing.assert_allclose(hasher.frequency_, np.pi * np.arange(1, 6) / 8, rtol=1e-6)
    assert hasher.transform([[3.0]]).shape == (1, 5)


@pytest.mark.parametrize("n_bits", [1, 4])
def test_equal_rows_have_equal_codes(n_bits):
    codes = SH(n_bits).fit(np.full((10, 3), 5.0)).transform(np.full((4, 3), 5.0))
    np.testing.assert_array_equal(codes, codes[[0, 0, 0, 0]])


def test_offset_does_not_matter():
    np.testing.assert_array_equal(SH(3).fit(GRID + 16).transform(GRID + 16.2), SH(3).fit(GRID).transform(GRID + 0.2))
