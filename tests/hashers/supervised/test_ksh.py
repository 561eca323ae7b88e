"""KSH: greedy bits, and the forms and the number of its labelled rows; tests/reference has the released code."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from protocol.checks import ProtocolError
from protocol.hashers import Affinities
from protocol.hashers.supervised.ksh import KSH, greedy_bits


def test_each_bit_is_greedy_and_lowers_the_distance_to_the_similarities():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 40)
    K = (np.eye(3)[y] @ rng.normal(size=(3, 12)) + rng.normal(size=(40, 12))).astype(np.float32)
    K, S = K - K.mean(axis=0), np.where(y[:, None] == y, 1.0, -1.0)
    A, H, n_spectral = greedy_bits(K, lambda V: S @ V, 6, 30)
    np.testing.assert_array_equal(H, np.where(K @ A.astype(np.float32) > 0, 1, -1))
    assert 0 <= n_spectral <= 6
    left = [np.linalg.norm(6 * S - H[:, :k] @ H[:, :k].T) for k in range(7)]
    assert (np.diff(left) < 0).all()


def test_labels_and_the_pairs_that_they_relate_give_the_same_codes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    pairs = csr_array((y[:, None] == y).astype(np.int64))
    several = np.eye(3, dtype=bool)[y]
    codes = [KSH(n_bits=6, n_anchors=20).fit(X, given).transform(X) for given in (y, pairs, several)]
    for other in codes[1:]:  # up to the rounding of sums in another order
        assert (codes[0] != other).mean() < 0.02


def test_the_labelled_rows_are_limited():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    model = KSH(n_bits=4, n_anchors=20, n_labelled=30).fit(X, y)
    assert model.fit_record_["n_labelled"] == 30
    with pytest.raises(ProtocolError, match=r"affinities: no two of the 2 training rows are related\.$"):
        KSH(n_bits=4, n_anchors=20, n_labelled=2).fit(X, np.arange(60) // 2)
    assert Affinities(y, 60).of(np.arange(30)).sums(np.ones((30, 1))).sum() == (y[:30, None] == y[:30]).sum() - 30
