"""The rounding, the limits and the end of spherical hashing; tests/reference has the complete procedure."""

import numpy as np
import pytest

from protocol.hashers.sph import SpH


@pytest.mark.parametrize(
    ("pairs", "balanced"),
    [
        ([9, 11, 10], True),
        ([8.9, 8.9, 8.9], False),  # mean of |o - 10| is 1.1 > 10 %
        ([10, 10, 13.3], False),  # the standard deviation is 1.556 > 15 %, and the mean 1.1
        ([10, 10, 13], True),  # 1.41 and 1.0
        ([10, 10, 10, 10, 10, 15], False),  # 1.86 and 0.83
    ],
)
def test_both_limits_hold_at_the_end(pairs, balanced):
    n_bits = 3 if len(pairs) == 3 else 4
    overlaps = np.full((n_bits, n_bits), 99.0)
    overlaps[np.triu_indices(n_bits, k=1)] = pairs
    assert SpH(n_bits)._balanced(overlaps, 10.0) is balanced


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
