import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import sph
from protocol.hashers.sph import SpH

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [14.0]])  # with 5 rows every first centre is their mean, 4


def test_one_sphere_by_hand():
    # distances to 4: 4, 3, 2, 1, 10; floor(5 / 2) = 2 rows inside, so the radius is 2
    hasher = SpH(1).fit(LINE)
    np.testing.assert_allclose(hasher.mean_ + hasher.centres_, [[4]])
    np.testing.assert_allclose(hasher.squared_radius_, [4], rtol=1e-5)
    np.testing.assert_array_equal(hasher.transform(LINE).ravel(), [0, 0, 1, 1, 0])
    np.testing.assert_array_equal(hasher.transform([[5.999], [6.001], [2.001], [1.999]]).ravel(), [1, 0, 1, 0])
    assert hasher.fit_record_ == {"n_iter": 1, "converged": True}


def test_radii_and_overlaps_by_hand():
    # squared distances: from 0: 0, 1, 4, 9; from 4: 16, 9, 4, 1; halves {0, 1} and {2, 3}
    X = np.float32([[0], [1], [2], [3]])
    squared_radius, overlaps = sph._halve(X, np.array([[0.0], [4.0], [0.0]]))
    np.testing.assert_allclose(squared_radius, [1, 4, 1], rtol=1e-5)
    np.testing.assert_array_equal(overlaps, [[2, 0, 2], [0, 2, 0], [2, 0, 2]])


def test_one_push_by_hand():
    # force (3 - 2) / 4 = 0.25 on a difference of 2, over 2 spheres; the diagonal pushes nothing
    overlaps = np.array([[4.0, 3.0], [3.0, 4.0]])
    np.testing.assert_allclose(sph._push(np.array([[0.0], [2.0]]), overlaps, 2.0), [[-0.25], [2.25]])
    np.testing.assert_allclose(sph._push(np.array([[0.0], [2.0]]), 4 - overlaps, 2.0), [[0.25], [1.75]])


@pytest.mark.parametrize(
    ("pairs", "balanced"),
    [
        ([10, 10, 10], True),
        ([9, 11, 10], True),
        ([8.9, 8.9, 8.9], False),  # mean of |o - 10| is 1.1 > 10 %
        ([10, 10, 13.3], False),  # the standard deviation is 1.556 > 15 %, and the mean 1.1
        ([10, 10, 13], True),  # 1.41 and 1.0
    ],
)
def test_both_limits_hold_at_the_end(pairs, balanced):
    overlaps = np.full((3, 3), 99.0)
    overlaps[np.triu_indices(3, k=1)] = pairs
    assert SpH(3)._balanced(overlaps, 10.0) is balanced


def test_the_spread_limit_applies_on_its_own():
    overlaps = np.zeros((4, 4))
    overlaps[np.triu_indices(4, k=1)] = [10, 10, 10, 10, 10, 15]  # mean |o - 10| 0.83, standard deviation 1.86
    assert not SpH(4)._balanced(overlaps, 10.0)
    assert SpH(4, epsilon_std=0.2)._balanced(overlaps, 10.0)


@pytest.mark.parametrize("n", [200, 201])
def test_a_converged_model_is_balanced(n):
    X = np.random.default_rng(0).normal(size=(n, 10))
    hasher = SpH(8).fit(X)
    inside = hasher.transform(X).astype(int)
    assert hasher.fit_record_["converged"]
    assert 1 <= hasher.fit_record_["n_iter"] < 200
    np.testing.assert_array_equal(inside.sum(axis=0), n // 2)
    overlaps = (inside.T @ inside)[np.triu_indices(8, k=1)]
    assert np.abs(overlaps - n / 4).mean() <= 0.10 * n / 4
    assert overlaps.std() <= 0.15 * n / 4


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


def test_rows_at_the_same_distance_are_inside_together():
    # 3 different rows, 100 times each: the sphere must contain one or two complete groups, whatever is rounded
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 50)) + 10, 100, axis=0)
    codes = SpH(4).fit(X).transform(X)
    np.testing.assert_array_equal(codes, np.repeat(codes[::100], 100, axis=0))
    assert set(codes.sum(axis=0)) <= {200, 300}


def test_centres_that_run_away_are_stopped():
    # overlaps of complete groups can't come near a quarter, so the pushes never end
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 50)) + 10, 100, axis=0)
    hasher = SpH(4).fit(X)
    assert not hasher.fit_record_["converged"]
    assert 1 <= hasher.fit_record_["n_iter"] < 200
    reach = np.linalg.norm(X - hasher.mean_, axis=1).max()
    assert 10 * reach < np.linalg.norm(hasher.centres_, axis=1).max() <= 1000 * reach


def test_too_few_rows_are_refused():
    with pytest.raises(ProtocolError, match="X: expected at least 5 training rows for SpH, got 4"):
        SpH(2).fit(LINE[:4])
