"""Hashers whose bits are the signs of projections, by hand: LSH, Sign, Median, PCAH, PCA-RR, ITQ and SKLSH."""

import numpy as np
import pytest

from protocol.hashers import linear_algebra
from protocol.hashers.itq import ITQ
from protocol.hashers.linear_algebra import random_rotation, squared_distances
from protocol.hashers.lsh import LSH
from protocol.hashers.median import Median
from protocol.hashers.pca_rr import PCARR
from protocol.hashers.pcah import PCAH
from protocol.hashers.sign import Sign
from protocol.hashers.sklsh import SKLSH

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
SPREAD = np.random.default_rng(0).normal(size=(400, 12)) * np.arange(12, 0, -1)


def test_squared_distances_by_hand():
    centres = np.array([[0.0, 0.0], [3.0, 4.0]])
    X = np.array([[0, 0], [3, 0], [3, 4]], dtype=np.float32)
    np.testing.assert_array_equal(squared_distances(centres, X), [[0, 9, 25], [25, 16, 0]])


def test_rounding_gives_no_negative_distance():
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32)
    assert squared_distances(X, X).min() == 0


def test_rotations_are_orthogonal_and_drawn_from_the_generator():
    R = random_rotation(5, np.random.default_rng(3))
    np.testing.assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    _, s, Vt = np.linalg.svd(np.random.default_rng(3).standard_normal((5, 5)))
    np.testing.assert_allclose(R.T @ np.random.default_rng(3).standard_normal((5, 5)), np.diag(s) @ Vt, atol=1e-12)


def test_lsh_bits_are_the_sides_of_the_planes():
    hasher = LSH(2).fit([[0.0, 0.0]])
    hasher.projection_ = np.array([[1, 1], [0, -1]], dtype=np.float32)
    codes = hasher.transform([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(codes, [[1, 0], [1, 1], [0, 1], [0, 0]])


def test_lsh_nothing_is_centred():
    X = np.random.default_rng(0).normal(size=(30, 4))
    np.testing.assert_array_equal(LSH(8).fit(X).transform(X), LSH(8).fit(X + 100).transform(X))


def test_lsh_normals_are_standard_normal():
    W = LSH(500).fit(np.zeros((1, 400))).projection_
    assert W.shape == (400, 500)
    assert W.dtype == np.float32
    assert abs(W.mean()) < 0.01
    assert abs(W.std() - 1) < 0.01


def test_lsh_agreement_follows_the_angle():
    # Charikar: P[bits differ] = angle / pi
    codes = LSH(20_000).fit([[0.0, 0.0]]).transform([[1.0, 0.0], [1.0, 1.0]])
    assert abs((codes[0] != codes[1]).mean() - 0.25) < 0.01


def test_sign_bits_are_the_signs_and_zero_is_not_above_zero():
    codes = Sign(3).fit(X[:, :3]).transform([[0.5, -0.5, 0.0], [-0.0, 1e-30, -1e-30]])
    np.testing.assert_array_equal(codes, [[1, 0, 0], [0, 1, 0]])


def test_sign_fewer_bits_are_those_of_the_first_features():
    np.testing.assert_array_equal(Sign(2).fit(X).transform(X), X[:, :2] > 0)


def test_sign_nothing_is_learned_from_the_training_rows():
    np.testing.assert_array_equal(Sign(6).fit(X + 100).transform(X), X > 0)


def test_sign_distances_are_those_of_codes_packed_in_big_order():
    """As sentence-transformers packs them: `numpy.packbits` of the values above 0."""
    wide = np.random.default_rng(1).normal(size=(20, 24))
    theirs = np.packbits(wide > 0, axis=-1)
    ours = Sign(24).fit(wide).transform(wide)
    between = np.bitwise_count(theirs[:, None] ^ theirs).sum(axis=2)
    np.testing.assert_array_equal((ours[:, None] != ours).sum(axis=2), between)


def test_median_the_threshold_is_the_median_of_the_training_rows():
    rows = [[1.0, 5.0], [2.0, 5.0], [9.0, 7.0]]
    hasher = Median(2).fit(rows)
    np.testing.assert_array_equal(hasher.threshold_, [2, 5])
    np.testing.assert_array_equal(hasher.transform(rows), [[0, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(hasher.transform([[2.5, 4.0]]), [[1, 0]])


def test_median_an_even_number_of_rows_has_the_mean_of_the_middle_two():
    np.testing.assert_array_equal(Median(1).fit([[4.0], [1.0], [2.0], [8.0]]).threshold_, [3])


def test_median_half_of_the_training_rows_have_each_bit():
    assert (Median(6).fit(X).transform(X).sum(axis=0) == 20).all()


def test_median_fewer_bits_are_those_of_the_first_features():
    np.testing.assert_array_equal(Median(2).fit(X).transform(X), Median(6).fit(X).transform(X)[:, :2])


def test_median_the_largest_values_do_not_overflow():
    largest = float(np.finfo(np.float32).max)
    assert Median(1).fit([[largest], [largest]]).threshold_ == np.float32(largest)


W = np.array([[0.8, -0.6], [0.6, 0.8]])  # columns: the components, their largest entries positive
V = np.array([[4.0, 1.0], [4.0, -1.0], [-4.0, 1.0], [-4.0, -1.0]])  # uncorrelated, variances 16 and 1


def test_pcah_known_covariance():
    X = V @ W.T + [10, 20]
    hasher = PCAH(2).fit(X)
    np.testing.assert_allclose(hasher.projection_, W, atol=1e-6)
    np.testing.assert_allclose(hasher.mean_, [10, 20])
    np.testing.assert_array_equal(hasher.transform(X), V > 0)
    np.testing.assert_array_equal(hasher.transform([[11.0, 20.0], [10.0, 21.0]]), [[1, 0], [1, 1]])


def test_pcah_a_row_on_the_mean_gets_zeros():
    np.testing.assert_array_equal(PCAH(2).fit([[1.0, 5.0], [3.0, 5.0], [2.0, 8.0], [2.0, 2.0]]).transform([[2, 5]]), 0)


def test_pcah_the_record_counts_directions_without_variance():
    X = np.random.default_rng(0).normal(size=(50, 6))
    X[:, 2:4] = 7
    assert PCAH(6).fit(X).fit_record_ == {"directions_without_variance": 2}
    assert PCAH(4).fit(X).fit_record_ == {"directions_without_variance": 0}


def test_pca_rr_the_projection_is_a_rotation_of_the_components():
    W = PCAH(4).fit(SPREAD).projection_
    rotated = PCARR(4, seed=1).fit(SPREAD).projection_
    np.testing.assert_allclose(rotated.T @ rotated, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(rotated @ rotated.T, W @ W.T, atol=1e-6)
    assert np.abs(rotated - W).max() > 0.1


def test_pca_rr_one_bit_is_pcah_up_to_the_sign():
    disagree = PCARR(1).fit(SPREAD).transform(SPREAD) ^ PCAH(1).fit(SPREAD).transform(SPREAD)
    assert disagree.all() or not disagree.any()


def loss(hasher):
    """||B - V R||^2, with V R = (SPREAD - mean) W R."""
    projected = (SPREAD - hasher.mean_) @ hasher.projection_
    return ((np.where(projected >= 0, 1, -1) - projected) ** 2).sum()


@pytest.mark.parametrize("seed", range(3))
def test_itq_every_update_lowers_the_loss(seed):
    losses = [loss(PCARR(6, seed=seed).fit(SPREAD))] + [
        loss(ITQ(6, seed=seed, n_iter=n).fit(SPREAD)) for n in (1, 2, 5, 20)
    ]
    assert (np.diff(losses) < 0).all()


def test_itq_one_update_by_hand():
    # V R = V: signs (1, 1), (1, -1), (-1, 1), (-1, -1), so B'V = diag(12, 4) = I diag(12, 4) I and R stays
    V = np.array([[3, 1], [3, -1], [-3, 1], [-3, -1]], dtype=np.float32)
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), np.eye(2)), np.eye(2), atol=1e-12)
    # a quarter turn ahead of V: B = V R's signs are those of V turned, so the best R is the quarter turn
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), turn), turn, atol=1e-12)


def test_itq_zero_counts_as_plus_one():
    # signs of (0, 1), (0, -3), (2, 1): + +, + -, + +; B'V = [[2, -1], [2, 5]]
    V = np.array([[0, 1], [0, -3], [2, 1]], dtype=np.float32)
    U, _, At = np.linalg.svd(np.array([[2.0, -1.0], [2.0, 5.0]]))
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), np.eye(2)), At.T @ U.T, atol=1e-12)


def test_itq_tiles_add_up(monkeypatch):
    codes = ITQ(6).fit(SPREAD).transform(SPREAD)
    monkeypatch.setattr(linear_algebra, "_ROTATED_TILE", 7)
    np.testing.assert_array_equal(ITQ(6).fit(SPREAD).transform(SPREAD), codes)


@pytest.mark.parametrize(("params", "expected"), [({}, 50), ({"n_iter": 51}, 51)])
def test_itq_exactly_n_iter_updates_are_made(monkeypatch, params, expected):
    calls = []
    update = linear_algebra._update
    monkeypatch.setattr(linear_algebra, "_update", lambda *arguments: calls.append(1) or update(*arguments))
    ITQ(4, **params).fit(SPREAD)
    assert len(calls) == expected


def test_sklsh_the_bit_formula():
    hasher = SKLSH(3).fit([[0.0]])
    hasher.projection_ = np.float32([[1, 1, 2]])
    hasher.phase_ = np.array([0, np.pi / 2, 0])
    hasher.threshold_ = np.array([0, 0.1, -0.9])
    # cos(x) > 0, cos(x + pi/2) + 0.1 > 0, cos(2 x) - 0.9 > 0
    codes = hasher.transform([[0.0], [np.pi], [-np.pi / 4], [2 * np.pi]])
    np.testing.assert_array_equal(codes, [[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(hasher.transform([[np.pi / 2]]), [[0, 0, 0]])


def test_sklsh_random_draws():
    hasher = SKLSH(20_000).fit(np.zeros((1, 2)))
    assert abs(hasher.projection_.std() - 1) < 0.02
    for drawn, low, high in ((hasher.phase_, 0, 2 * np.pi), (hasher.threshold_, -1, 1)):
        assert low <= drawn.min() < low + 0.01
        assert high - 0.01 < drawn.max() < high
        assert abs(drawn.mean() - (low + high) / 2) < 0.05


def test_sklsh_gamma_scales_the_waves():
    X = np.zeros((1, 3))
    np.testing.assert_allclose(SKLSH(8, gamma=4).fit(X).projection_, 2 * SKLSH(8).fit(X).projection_)


def test_sklsh_distant_points_differ_in_the_share_of_the_paper():
    # the kernel is 0: (8 / pi^2) sum_m 1 / (4 m^2 - 1) = 4 / pi^2
    codes = SKLSH(40_000).fit([[0.0, 0.0]]).transform([[0.0, 0.0], [100.0, 0.0]])
    assert abs((codes[0] != codes[1]).mean() - 4 / np.pi**2) < 0.01


@pytest.mark.parametrize("distance", [0.5, 1.0])
def test_sklsh_the_share_follows_the_kernel(distance):
    kernel = np.exp(-(distance**2) / 2)
    m = np.arange(1, 200)
    expected = 8 / np.pi**2 * ((1 - kernel ** (m**2)) / (4 * m**2 - 1)).sum()
    codes = SKLSH(40_000).fit([[0.0, 0.0]]).transform([[0.0, 0.0], [0.0, distance]])
    assert abs((codes[0] != codes[1]).mean() - expected) < 0.01
