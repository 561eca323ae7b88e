import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import dsh
from protocol.hashers.dsh import DSH

THREE = np.array([[0.0], [10.0], [30.0]])


@pytest.mark.parametrize("seed", range(4))
def test_three_clusters_by_hand(seed):
    # each row is a cluster; all planes split 1 : 2, so the nearer pairs win: the planes at 5 and at 20
    hasher = DSH(2, seed=seed).fit(THREE)
    codes = hasher.transform([[0.0], [4.9], [5.1], [10.0], [19.9], [20.1], [30.0]])
    codes ^= codes[[0]]  # which side is 1 depends on the clusters' numbers
    np.testing.assert_array_equal(codes.T, [[0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1]])
    assert hasher.fit_record_ == {"n_clusters": 3, "n_planes": 3}


@pytest.mark.parametrize("seed", range(4))
def test_the_most_even_plane_comes_first(seed):
    # rows at 0, 1, 2, 9: the planes between neighbours split 1 : 3, 2 : 2 (at 1.5) and 3 : 1
    hasher = DSH(1, seed=seed, alpha=4).fit([[0.0], [1.0], [2.0], [9.0]])
    codes = hasher.transform([[0.0], [1.4], [1.6], [9.0]]).ravel()
    np.testing.assert_array_equal(codes ^ codes[0], [0, 0, 1, 1])


def test_a_plane_is_weighed_by_cluster_sizes():
    # centres 0 (4 rows), 10, 20, 30 (1 row each): the plane at 5 splits 4 : 3, that at 15 5 : 2
    X = np.array([[0.0], [0.0], [0.0], [0.0], [10.0], [20.0], [30.0]])
    start = np.array([[0.0], [10.0], [20.0], [30.0]])
    centres, sizes = dsh._k_means(X.astype(np.float32), start, 3)
    np.testing.assert_array_equal(centres, start)
    np.testing.assert_array_equal(sizes, [4, 1, 1, 1])


def test_k_means_rounds_by_hand():
    # round 1: {0}, {1, 2, 12} -> 0, 5; round 2: {0, 1, 2}, {12} -> 1, 12; then nothing moves
    X = np.float32([[0], [1], [2], [12]])
    start = np.array([[0.0], [1.0]])
    for n_iter, centres, sizes in ((1, [0, 5], [1, 3]), (2, [1, 12], [3, 1]), (3, [1, 12], [3, 1])):
        found, counted = dsh._k_means(X, start, n_iter)
        np.testing.assert_allclose(found.ravel(), centres)
        np.testing.assert_array_equal(counted, sizes)


def test_an_empty_cluster_takes_the_farthest_row():
    # nearest: 0, 0, 0, 1; row 3 is the farthest of all, but it is all that cluster 1 has
    distances = np.float32([[1, 5, 2, 99], [9, 9, 9, 50], [9, 9, 9, 99]])
    np.testing.assert_array_equal(dsh._assign(distances), [0, 2, 0, 1])


def test_two_empty_clusters_take_two_rows():
    distances = np.float32([[1, 5, 2], [9, 9, 9], [9, 9, 9]])
    np.testing.assert_array_equal(dsh._assign(distances), [0, 1, 2])


def test_a_row_that_was_taken_is_not_taken_again():
    # cluster 1 has rows 2 and 3, the farthest; it can spare one of them, so the second comes from cluster 0
    distances = np.float32([[5, 1, 999, 999], [99, 99, 88, 77], [999] * 4, [999] * 4])
    np.testing.assert_array_equal(dsh._assign(distances), [3, 0, 2, 1])


def test_neighbours_by_hand():
    # at 0, 1, 3, 7: nearest one: 0-1, 1-0, 2-1, 3-2; pairs (0, 1), (1, 2), (2, 3)
    pairs, distances = dsh._neighbours(np.array([[0.0], [1.0], [3.0], [7.0]]), 1)
    np.testing.assert_array_equal(pairs, [[0, 1], [1, 2], [2, 3]])
    np.testing.assert_allclose(distances, [1, 4, 16])


@pytest.mark.parametrize(("n_bits", "n_clusters"), [(1, 2), (2, 3), (3, 5), (5, 8), (8, 12)])
def test_alpha_rounds_halves_up(n_bits, n_clusters):
    X = np.random.default_rng(0).normal(size=(40, 5))
    assert DSH(n_bits).fit(X).fit_record_["n_clusters"] == n_clusters


def test_too_few_rows_are_refused():
    with pytest.raises(
        ProtocolError, match=r"X: expected at least 12 training rows for DSH, .* \(8 bits, alpha=1.5\), got 3\."
    ):
        DSH(8).fit(THREE)


def test_too_few_planes_are_refused():
    # with one neighbour each, the nearest two centres share a pair: at most 3 pairs of 4 clusters
    with pytest.raises(
        ProtocolError, match=r"n_bits: expected at most [123], .* 4 neighbouring clusters, got 4\. Raise alpha=1"
    ):
        DSH(4, alpha=1, n_neighbors=1).fit(np.random.default_rng(0).normal(size=(30, 2)))
