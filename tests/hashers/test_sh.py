"""Spectral hashing by hand, on a grid of 5 x 4 points whose components are the axes: extents 4 and 3."""

import numpy as np

from protocol.hashers.sh import SH

GRID = np.array([[x, y] for x in (-2, -1, 0, 1, 2) for y in (-1.5, -0.5, 0.5, 1.5)])


def test_modes_and_bits_of_a_grid():
    # frequencies / pi: first axis 1/4, 2/4, 3/4; second 1/3, 2/3; the slowest three are 1/4, 1/3, 2/4
    hasher = SH(3).fit(GRID)
    np.testing.assert_array_equal(hasher.component_, [0, 1, 0])
    np.testing.assert_allclose(hasher.frequency_, np.pi * np.array([1 / 4, 1 / 3, 1 / 2]), rtol=1e-6)
    # cos(pi (x + 2) / 4) > 0 where x < 0, and again where 4 < x < 8, outside the box;
    # cos(pi (y + 1.5) / 3) > 0 where y < 0; cos(pi (x + 2) / 2) > 0 off the middle
    queries = np.array([[-1.9, 1.4], [-0.9, -0.1], [0.9, 0.1], [1.9, -1.4], [5.0, 1.4], [9.0, 1.4]])
    expected = [[1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(hasher.transform(queries), expected)
