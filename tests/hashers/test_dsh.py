import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.dsh import DSH


@pytest.mark.parametrize(("n_bits", "n_clusters"), [(1, 2), (2, 3), (3, 5), (5, 8), (8, 12)])
def test_alpha_rounds_halves_up(n_bits, n_clusters):
    X = np.random.default_rng(0).normal(size=(40, 5))
    assert DSH(n_bits).fit(X).fit_record_["n_clusters"] == n_clusters


@pytest.mark.parametrize(
    ("hasher", "n_rows", "message"),
    [
        (DSH(8), 3, r"X: DSH needs at least 12 training vectors, one for each cluster \(8 bits, alpha=1.5\), got 3\."),
        # with one neighbour each, the nearest two centres share a pair: at most 3 pairs of 4 clusters
        (
            DSH(4, alpha=1, n_neighbors=1),
            30,
            r"n_bits must be at most [123], .* 4 neighbouring clusters, got 4\. Raise alpha=1",
        ),
    ],
)
def test_too_few_rows_or_planes_are_refused(hasher, n_rows, message):
    with pytest.raises(ProtocolError, match=message):
        hasher.fit(np.random.default_rng(0).normal(size=(n_rows, 2)))
