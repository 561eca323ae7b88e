"""The buffer zone: distances of similar pairs, and its zones."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from protocol.checks import ProtocolError
from protocol.hashers.networks.buffer_zone import BufferZone
from protocol.hashers.networks.deep_supervised import DeepSupervised

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 4, 240)
X = (RNG.normal(size=(4, 10))[Y] + 0.3 * RNG.normal(size=(240, 10))).astype(np.float32)


def test_the_buffer_zone_spreads_codes_of_a_class():
    supervised, buffered = (hasher(24, epochs=60).fit(X, Y).transform(X) for hasher in (DeepSupervised, BufferZone))
    assert len(np.unique(buffered, axis=0)) > 2 * len(np.unique(supervised, axis=0))


def test_two_levels_of_labels_give_two_distances():
    indicator = np.concatenate([np.eye(4, dtype=int)[Y], np.eye(2, dtype=int)[Y // 2]], axis=1)
    codes = BufferZone(24, epochs=60).fit(X, indicator).transform(X)
    distance, shared = (codes[:, None] != codes).sum(axis=2), indicator @ indicator.T
    means = [distance[shared == level].mean() for level in (2, 1, 0)]
    assert means == sorted(means)
    assert means[2] > 2 * means[0]


def test_odd_numbers_of_labels_are_refused():
    odd = np.eye(4, dtype=int)[Y]
    odd[0] = 0
    message = r"BufferZone requires labels: expected the same number for every row, 1 or 2, got rows with "
    with pytest.raises(ProtocolError, match=message + r"0 and 1[.]$"):
        BufferZone(8).fit(X, odd)
    with pytest.raises(ProtocolError, match=message + r"3[.]$"):
        BufferZone(8).fit(X, np.eye(4, dtype=int)[Y] ^ 1)


def test_zones_and_margin_are_options():
    plain = BufferZone(12, epochs=5).fit(X, Y).transform(X)
    same = BufferZone(12, epochs=5, zones=[[1 / 6, 1 / 3]], margin=2).fit(X, Y)
    assert same.transform(X).tobytes() == plain.tobytes()
    assert BufferZone.from_arrays(same.to_arrays()).get_params() == same.get_params()
    for other in ({"zones": [[0.5, 0.75]]}, {"margin": 1}):
        assert BufferZone(12, epochs=5, **other).fit(X, Y).transform(X).tobytes() != plain.tobytes()


def test_rows_have_as_many_labels_as_there_are_zones():
    with pytest.raises(ProtocolError, match="the same number for every row, 2, got rows with 1"):
        BufferZone(8, zones=[[0.1, 0.2], [0, 0.1]]).fit(X, Y)
