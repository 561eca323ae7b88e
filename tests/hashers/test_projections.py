"""What the references of LSH, PCAH, ITQ and SKLSH in tests/reference don't cover, and Sign and Median by hand."""

import numpy as np
import pytest

from protocol.hashers import linear_algebra
from protocol.hashers.itq import ITQ
from protocol.hashers.linear_algebra import squared_distances
from protocol.hashers.lsh import LSH
from protocol.hashers.median import Median
from protocol.hashers.pcah import PCAH
from protocol.hashers.sign import Sign

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)


def test_rounding_gives_no_negative_distance():
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32)
    assert squared_distances(X, X).min() == 0


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


def test_itq_zero_counts_as_plus_one():
    # signs of (0, 1), (0, -3), (2, 1): + +, + -, + +; B'V = [[2, -1], [2, 5]]
    V = np.array([[0, 1], [0, -3], [2, 1]], dtype=np.float32)
    U, _, At = np.linalg.svd(np.array([[2.0, -1.0], [2.0, 5.0]]))
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), np.eye(2)), At.T @ U.T, atol=1e-12)


def test_itq_tiles_add_up(monkeypatch):
    codes = ITQ(6).fit(X).transform(X)
    monkeypatch.setattr(linear_algebra, "_ROTATED_TILE", 7)
    np.testing.assert_array_equal(ITQ(6).fit(X).transform(X), codes)
