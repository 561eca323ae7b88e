import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import linear_algebra
from protocol.hashers.itq import ITQ
from protocol.hashers.pca_rr import PCARR

X = np.random.default_rng(0).normal(size=(400, 12)) * np.arange(12, 0, -1)


def loss(hasher):
    """||B - V R||^2, with V R = (X - mean) W R."""
    projected = (X - hasher.mean_) @ hasher.projection_
    return ((np.where(projected >= 0, 1, -1) - projected) ** 2).sum()


@pytest.mark.parametrize("seed", range(3))
def test_every_update_lowers_the_loss(seed):
    losses = [loss(PCARR(6, seed=seed).fit(X))] + [loss(ITQ(6, seed=seed, n_iter=n).fit(X)) for n in (1, 2, 5, 20)]
    assert (np.diff(losses) < 0).all()


def test_one_update_by_hand():
    # V R = V: signs (1, 1), (1, -1), (-1, 1), (-1, -1), so B'V = diag(12, 4) = I diag(12, 4) I and R stays
    V = np.array([[3, 1], [3, -1], [-3, 1], [-3, -1]], dtype=np.float32)
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), np.eye(2)), np.eye(2), atol=1e-12)
    # a quarter turn ahead of V: B = V R's signs are those of V turned, so the best R is the quarter turn
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), turn), turn, atol=1e-12)


def test_zero_counts_as_plus_one():
    # signs of (0, 1), (0, -3), (2, 1): + +, + -, + +; B'V = [[2, -1], [2, 5]]
    V = np.array([[0, 1], [0, -3], [2, 1]], dtype=np.float32)
    U, _, At = np.linalg.svd(np.array([[2.0, -1.0], [2.0, 5.0]]))
    np.testing.assert_allclose(linear_algebra._update(V, V.sum(axis=0), np.eye(2)), At.T @ U.T, atol=1e-12)


def test_tiles_add_up(monkeypatch):
    codes = ITQ(6).fit(X).transform(X)
    monkeypatch.setattr(linear_algebra, "_ROTATED_TILE", 7)
    np.testing.assert_array_equal(ITQ(6).fit(X).transform(X), codes)


@pytest.mark.parametrize(("params", "expected"), [({}, 50), ({"n_iter": 51}, 51)])
def test_exactly_n_iter_updates_are_made(monkeypatch, params, expected):
    calls = []
    update = linear_algebra._update
    monkeypatch.setattr(linear_algebra, "_update", lambda *arguments: calls.append(1) or update(*arguments))
    ITQ(4, **params).fit(X)
    assert len(calls) == expected


@pytest.mark.parametrize("n_iter", [0, 2.5])
def test_n_iter_must_be_an_integer(n_iter):
    with pytest.raises(ProtocolError, match="n_iter: expected an integer >= 1"):
        ITQ(4, n_iter=n_iter).fit(X)


def test_more_bits_than_features_are_refused():
    with pytest.raises(ProtocolError, match="n_bits: expected at most 12, the number of features"):
        ITQ(13).fit(X)
