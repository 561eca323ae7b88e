import numpy as np

from protocol.hashers.lsh import LSH


def test_bits_are_the_sides_of_the_planes():
    hasher = LSH(2).fit([[0.0, 0.0]])
    hasher.projection_ = np.array([[1, 1], [0, -1]], dtype=np.float32)
    codes = hasher.transform([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(codes, [[1, 0], [1, 1], [0, 1], [0, 0]])


def test_nothing_is_centred():
    X = np.random.default_rng(0).normal(size=(30, 4))
    np.testing.assert_array_equal(LSH(8).fit(X).transform(X), LSH(8).fit(X + 100).transform(X))


def test_normals_are_standard_normal():
    W = LSH(500).fit(np.zeros((1, 400))).projection_
    assert W.shape == (400, 500)
    assert W.dtype == np.float32
    assert abs(W.mean()) < 0.01
    assert abs(W.std() - 1) < 0.01


def test_agreement_follows_the_angle():
    # Charikar: P[bits differ] = angle / pi
    codes = LSH(20_000).fit([[0.0, 0.0]]).transform([[1.0, 0.0], [1.0, 1.0]])
    assert abs((codes[0] != codes[1]).mean() - 0.25) < 0.01
