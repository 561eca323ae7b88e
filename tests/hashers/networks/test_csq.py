"""CSQ: its hash centres, and that it learns classes."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from protocol.hashers.networks.csq import CSQ
from protocol.hashers.supervised.classifier import class_codes


def test_rows_of_a_class_have_one_centre_and_centres_are_half_of_the_bits_apart():
    hasher = CSQ(24, epochs=1).fit(np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 10)
    centres = hasher._centre_of_row
    np.testing.assert_array_equal(centres[10:20], centres[:10])
    np.testing.assert_array_equal((centres[:10, None] != centres[:10]).sum(axis=2), 12 * (1 - np.eye(10)))


def test_several_labels_vote_and_ties_are_random():
    y = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 50, dtype=bool)
    hasher = CSQ(16, epochs=1).fit(np.random.default_rng(0).normal(size=(200, 4)), y)
    centres, targets = class_codes(3, 16, np.random.default_rng(0)), hasher._centre_of_row
    np.testing.assert_array_equal(targets[::4], np.broadcast_to(centres[0], (50, 16)))
    agreed = centres[0] == centres[1]
    np.testing.assert_array_equal(targets[1::4, agreed], np.broadcast_to(centres[0, agreed], (50, agreed.sum())))
    np.testing.assert_array_equal(targets[2::4], np.broadcast_to(centres.sum(axis=0) >= 2, (50, 16)))
    for ties in (targets[1::4, ~agreed], targets[3::4]):
        assert 0.4 < ties.mean() < 0.6
