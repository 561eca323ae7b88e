import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.pca_rr import PCARR
from protocol.hashers.pcah import PCAH

X = np.random.default_rng(0).normal(size=(100, 8)) * np.arange(8, 0, -1)


def test_the_projection_is_a_rotation_of_the_components():
    W = PCAH(4).fit(X).projection_
    rotated = PCARR(4, seed=1).fit(X).projection_
    np.testing.assert_allclose(rotated.T @ rotated, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(rotated @ rotated.T, W @ W.T, atol=1e-6)
    assert np.abs(rotated - W).max() > 0.1


def test_one_bit_is_pcah_up_to_the_sign():
    disagree = PCARR(1).fit(X).transform(X) ^ PCAH(1).fit(X).transform(X)
    assert disagree.all() or not disagree.any()


def test_more_bits_than_features_are_refused():
    with pytest.raises(ProtocolError, match="n_bits: expected at most 8, the number of features"):
        PCARR(9).fit(X)
