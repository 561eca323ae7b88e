"""The rounding, the limits and the end of spherical hashing; tests/reference has the complete procedure."""

import numpy as np

from protocol.hashers.sph import SpH


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
