"""m-DSH: its margin."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from protocol.hashers.networks.deep_squared import DeepSquared
from protocol.hashers.networks.m_dsh import MDSH

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 4, 100)
X = RNG.normal(size=(100, 10))


def test_without_a_margin_it_is_deep_squared_hashing():
    squared = DeepSquared(16, epochs=5).fit(X, Y).transform(X)
    assert MDSH(16, margin=0, epochs=5).fit(X, Y).transform(X).tobytes() == squared.tobytes()
    assert MDSH(16, epochs=5).fit(X, Y).transform(X).tobytes() != squared.tobytes()


def test_its_options_are_those_of_every_network_and_the_margin():
    assert MDSH(8, epochs=2).get_params() == DeepSquared(8, epochs=2).get_params() | {"margin": 4}
    assert repr(MDSH(8, margin=12)) == "MDSH(n_bits=8, seed=0, margin=12)"
