"""KSH: greedy bits, and the forms and the number of its labelled rows; tests/reference has the released code."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from protocol.checks import ProtocolError
from protocol.hashers import Affinities
from protocol.hashers.supervised.ksh import KSH


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
