import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.median import Median

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)


def test_the_threshold_is_the_median_of_the_training_rows():
    rows = [[1.0, 5.0], [2.0, 5.0], [9.0, 7.0]]
    hasher = Median(2).fit(rows)
    np.testing.assert_array_equal(hasher.threshold_, [2, 5])
    np.testing.assert_array_equal(hasher.transform(rows), [[0, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(hasher.transform([[2.5, 4.0]]), [[1, 0]])


def test_an_even_number_of_rows_has_the_mean_of_the_middle_two():
    np.testing.assert_array_equal(Median(1).fit([[4.0], [1.0], [2.0], [8.0]]).threshold_, [3])


def test_half_of_the_training_rows_have_each_bit():
    assert (Median(6).fit(X).transform(X).sum(axis=0) == 20).all()


def test_fewer_bits_are_those_of_the_first_features():
    np.testing.assert_array_equal(Median(2).fit(X).transform(X), Median(6).fit(X).transform(X)[:, :2])


def test_offset_does_not_matter():
    rows = np.random.default_rng(0).integers(-8, 8, size=(51, 6)).astype(np.float32)
    np.testing.assert_array_equal(Median(4).fit(rows + 64).transform(rows + 64), Median(4).fit(rows).transform(rows))


def test_the_largest_values_do_not_overflow():
    largest = float(np.finfo(np.float32).max)
    assert Median(1).fit([[largest], [largest]]).threshold_ == np.float32(largest)


def test_the_training_rows_stay_as_they_are():
    rows = X.copy()
    Median(6).fit(rows)
    np.testing.assert_array_equal(rows, X)


def test_more_bits_than_features_are_refused():
    with pytest.raises(ProtocolError, match=r"n_bits: expected at most 6, the number of features, got 7"):
        Median(7).fit(X)
