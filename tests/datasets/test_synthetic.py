"""Clusters of any size: vectors that do not depend on the slice, at the documented positions."""

import numpy as np
import pytest
from official_archives import REFUSED, refused

from protocol.datasets.synthetic import load

OPTIONS = {"n": 10_000, "dimension": 5, "n_clusters": 7, "spread": 0.1, "seed": 3}


def test_vectors_are_the_same_whatever_the_slices():
    rows = load({}, **OPTIONS).vectors["features"]
    vectors = rows[:]
    assert vectors.shape == rows.shape == (10_000, 5)
    assert vectors.dtype == rows.dtype == np.float32
    for start, stop in [(0, 1), (4095, 4097), (4096, 8192), (9_999, 10_000), (8_000, 20_000), (5, 5), (5, 3)]:
        np.testing.assert_array_equal(rows[start:stop], vectors[start:stop])
    np.testing.assert_array_equal(rows[-3:], vectors[-3:])
    np.testing.assert_array_equal(rows[10:9000:1000], vectors[10:9000:1000])
    np.testing.assert_array_equal(rows[7::-3], vectors[7::-3])


def test_the_first_blocks_noise_does_not_depend_on_the_number_of_vectors():
    small, large = (load({}, **OPTIONS | {"n": n, "spread": 1.0, "n_clusters": 1}) for n in (4096, 9000))
    np.testing.assert_array_equal(small.vectors["features"][:], large.vectors["features"][:4096])


def test_clusters_have_equal_sizes_and_lie_around_their_centres():
    data = load({}, **OPTIONS)
    vectors = data.vectors["features"][:]
    counts = np.bincount(data.labels)
    assert counts.max() - counts.min() <= 1
    means = np.array([vectors[data.labels == cluster].mean(axis=0) for cluster in range(7)])
    deviations = np.array([vectors[data.labels == cluster].std(axis=0) for cluster in range(7)])
    np.testing.assert_allclose(deviations, 0.1, rtol=0.1)
    assert means.std() > 0.5
    assert len(np.unique(vectors, axis=0)) == 10_000


def test_seeds_differ_and_the_same_seed_does_not():
    first, again, other = (load({}, **OPTIONS | {"seed": seed}) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.vectors["features"][:], again.vectors["features"][:])
    np.testing.assert_array_equal(first.labels, again.labels)
    assert (first.labels != other.labels).any()
    assert not np.isin(first.vectors["features"][:], other.vectors["features"][:]).all()


@pytest.mark.parametrize(("changed", "message"), REFUSED["synthetic"])
def test_options_out_of_range_are_refused(changed, message):
    refused(message, load, {}, **OPTIONS | changed)
