import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.sign import Sign

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)


def test_bits_are_the_signs_and_zero_is_not_above_zero():
    codes = Sign(3).fit(X[:, :3]).transform([[0.5, -0.5, 0.0], [-0.0, 1e-30, -1e-30]])
    np.testing.assert_array_equal(codes, [[1, 0, 0], [0, 1, 0]])


def test_fewer_bits_are_those_of_the_first_features():
    np.testing.assert_array_equal(Sign(2).fit(X).transform(X), X[:, :2] > 0)


def test_nothing_is_learned_from_the_training_rows():
    np.testing.assert_array_equal(Sign(6).fit(X + 100).transform(X), X > 0)


def test_distances_are_those_of_codes_packed_in_big_order():
    """As sentence-transformers packs them: `numpy.packbits` of the values above 0."""
    wide = np.random.default_rng(1).normal(size=(20, 24))
    theirs = np.packbits(wide > 0, axis=-1)
    ours = Sign(24).fit(wide).transform(wide)
    between = np.bitwise_count(theirs[:, None] ^ theirs).sum(axis=2)
    np.testing.assert_array_equal((ours[:, None] != ours).sum(axis=2), between)


def test_more_bits_than_features_are_refused():
    with pytest.raises(ProtocolError, match=r"n_bits: expected at most 6, the number of features, got 7"):
        Sign(7).fit(X)
