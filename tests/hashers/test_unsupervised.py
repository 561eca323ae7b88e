"""Unsupervised hashers by hand: what the complete procedures in tests/reference do not cover."""

import numpy as np
import pytest
from encoded import refuses

from protocol.hashers import linear_algebra
from protocol.hashers.dsh import DSH
from protocol.hashers.itq import ITQ
from protocol.hashers.lsh import LSH
from protocol.hashers.median import Median
from protocol.hashers.pcah import PCAH
from protocol.hashers.sh import SH
from protocol.hashers.sign import Sign
from protocol.hashers.sph import SpH

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)


def test_rounding_gives_no_negative_distance():
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32)
    assert linear_algebra.squared_distances(X, X).min() == 0


@pytest.mark.parametrize("hasher", [LSH(4), PCAH(2)], ids=repr)
def test_a_row_on_the_threshold_gets_zeros(hasher):
    assert not hasher.fit([[1.0, 2.0], [-1.0, 2.0], [0.0, 1.0], [0.0, -5.0]]).transform([[0.0, 0.0]]).any()


def test_sign_bits_are_the_signs_of_the_first_features():
    hasher = Sign(3).fit(X + 100)  # nothing is learned from the training rows
    codes = hasher.transform([[0.5, -0.5, 0.0, 9, 9, 9], [-0.0, 1e-30, -1e-30, 9, 9, 9]])
    np.testing.assert_array_equal(codes, [[1, 0, 0], [0, 1, 0]])


def test_median_thresholds_are_the_medians_of_the_training_rows():
    rows = [[1.0, 5.0], [2.0, 5.0], [9.0, 7.0]]
    hasher = Median(2).fit(rows)
    np.testing.assert_array_equal(hasher.threshold_, [2, 5])
    np.testing.assert_array_equal(hasher.transform([*rows, [2.5, 4.0]]), [[0, 0], [0, 0], [1, 1], [1, 0]])
    np.testing.assert_array_equal(Median(1).fit([[4.0], [1.0], [2.0], [8.0]]).threshold_, [3])
    np.testing.assert_array_equal(Median(2).fit(X).transform(X), Median(6).fit(X).transform(X)[:, :2])
    largest = float(np.finfo(np.float32).max)  # the sum of the two middle values would overflow
    assert Median(1).fit([[largest], [largest]]).threshold_ == np.float32(largest)


def test_the_record_of_pcah_counts_directions_without_variance():
    X = np.random.default_rng(0).normal(size=(50, 6))
    X[:, 2:4] = 7
    assert PCAH(6).fit(X).fit_record_ == {"directions_without_variance": 2}
    assert PCAH(4).fit(X).fit_record_ == {"directions_without_variance": 0}


def test_itq_zero_counts_as_plus_one(monkeypatch):
    # signs of (0, 1), (0, -3), (2, 1): + +, + -, + +; B'V = [[2, -1], [2, 5]]
    V = np.array([[0, 1], [0, -3], [2, 1]], dtype=np.float32)
    U, _, At = np.linalg.svd(np.array([[2.0, -1.0], [2.0, 5.0]]))
    monkeypatch.setattr(linear_algebra, "random_rotation", lambda size, rng: np.eye(size))
    np.testing.assert_allclose(linear_algebra.quantizing_rotation(V, 1, rng=None), At.T @ U.T, atol=1e-12)


def test_itq_tiles_add_up(monkeypatch):
    codes = ITQ(6).fit(X).transform(X)
    monkeypatch.setattr(linear_algebra, "_ROTATED_TILE", 7)
    np.testing.assert_array_equal(ITQ(6).fit(X).transform(X), codes)


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


def test_max_iter_ends_updates_that_do_not_converge():
    hasher = SpH(4, max_iter=3).fit(np.full((20, 3), 5.0))
    assert hasher.fit_record_ == {"n_iter": 3, "converged": False}
    assert hasher.transform(np.full((2, 3), 5.0)).all()
    assert SpH(4).fit(np.full((20, 3), 5.0)).fit_record_ == {"n_iter": 200, "converged": False}


def test_rows_on_the_sphere_stay_inside():
    # the row that sets a radius is inside however its distance is rounded: 32 spheres hold exactly half, encoded
    # in other shapes than in fit
    X = np.random.default_rng(1).normal(size=(301, 40)) + 100
    hasher = SpH(32).fit(X)
    single = np.concatenate([hasher.transform(row[None]) for row in X])
    np.testing.assert_array_equal(single.sum(axis=0), 150)


def test_centres_that_run_away_are_stopped():
    # 3 different rows, 100 times each: overlaps of complete groups can't come near a quarter, so the pushes never end
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 50)) + 10, 100, axis=0)
    hasher = SpH(4).fit(X)
    assert not hasher.fit_record_["converged"]
    assert 1 <= hasher.fit_record_["n_iter"] < 200
    reach = np.linalg.norm(X - hasher.mean_, axis=1).max()
    assert 10 * reach < np.linalg.norm(hasher.centres_, axis=1).max() <= 1000 * reach
    codes = hasher.transform(X)  # a sphere contains one or two complete groups, whatever is rounded
    np.testing.assert_array_equal(codes, np.repeat(codes[::100], 100, axis=0))
    assert set(codes.sum(axis=0)) <= {200, 300}


@pytest.mark.parametrize(("n_bits", "n_clusters"), [(1, 2), (2, 3), (3, 5), (5, 8), (8, 12)])
def test_alpha_rounds_halves_up(n_bits, n_clusters):
    X = np.random.default_rng(0).normal(size=(40, 5))
    assert DSH(n_bits).fit(X).fit_record_["n_clusters"] == n_clusters


# With one neighbour each, the nearest two centres share a pair: at most 3 pairs of 4 clusters.
FEW_PLANES = DSH(4, alpha=1, n_neighbors=1)


@pytest.mark.parametrize(
    ("hasher", "n_rows", "message"),
    [
        (DSH(8), 3, r"X: DSH needs at least 12 training vectors, one for each cluster \(8 bits, alpha=1.5\), got 3\."),
        (FEW_PLANES, 30, r"n_bits must be at most [123], .* 4 neighbouring clusters, got 4\. Raise alpha=1"),
    ],
)
def test_too_few_rows_or_planes_are_refused(hasher, n_rows, message):
    refuses(message, hasher.fit, np.random.default_rng(0).normal(size=(n_rows, 2)))
