import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers import _base
from protocol.hashers.itq import ITQ
from protocol.hashers.lsh import LSH
from protocol.hashers.sklsh import SKLSH

X = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)


def test_repr_shows_n_bits_and_seed_always_and_the_rest_where_it_departs():
    assert repr(LSH()) == "LSH(n_bits=32, seed=0)"
    assert repr(ITQ(8, seed=3)) == "ITQ(n_bits=8, seed=3)"
    assert repr(SKLSH(n_bits=8, gamma=0.5)) == "SKLSH(n_bits=8, seed=0, gamma=0.5)"


def test_params_are_the_constructors():
    hasher = ITQ(16, seed=2, n_iter=7)
    assert hasher.get_params() == {"n_bits": 16, "seed": 2, "n_iter": 7}
    assert hasher.set_params(n_bits=8, n_iter=9) is hasher
    assert hasher.get_params(deep=False) == {"n_bits": 8, "seed": 2, "n_iter": 9}


def test_an_unknown_parameter_is_refused_and_nothing_is_set():
    hasher = ITQ(16)
    with pytest.raises(ProtocolError, match=r"unknown parameter of ITQ 'bits' .*known: n_bits, n_iter, seed"):
        hasher.set_params(n_iter=9, bits=8)
    assert hasher.n_iter == 50


@pytest.mark.parametrize("n_bits", [0, -1, 8.0, "8", None, True])
def test_n_bits_must_be_a_whole_number(n_bits):
    with pytest.raises(ProtocolError, match=f"n_bits: wanted an integer >= 1, came {n_bits!r}"):
        LSH(n_bits).fit(X)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_seed_must_be_a_whole_number(seed):
    with pytest.raises(ProtocolError, match="seed: wanted an integer >= 0"):
        LSH(8, seed=seed).fit(X)


def test_numpy_integers_are_integers():
    codes = LSH(np.int64(8), seed=np.uint32(1)).fit(X).transform(X)
    np.testing.assert_array_equal(codes, LSH(8, seed=1).fit(X).transform(X))


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", True])
def test_positive_refuses(value):
    with pytest.raises(ProtocolError, match="gamma: wanted a finite number > 0"):
        _base.positive(value, "gamma")


def test_transform_before_fit_is_refused():
    with pytest.raises(ProtocolError, match=r"LSH: transform came before fit; call fit\(X\) first"):
        LSH(8).transform(X)


def test_a_failed_fit_leaves_an_unfitted_hasher():
    hasher = ITQ(7)
    with pytest.raises(ProtocolError, match="6 features"):
        hasher.fit(X)
    with pytest.raises(ProtocolError, match="before fit"):
        hasher.transform(X)


def test_another_width_than_in_fit_is_refused():
    with pytest.raises(ProtocolError, match="wanted 6 features as in fit, came 5"):
        LSH(8).fit(X).transform(X[:, :5])


def test_fit_remembers_the_width():
    assert LSH(8).fit(X).n_features_in_ == 6


def test_blocks_join_in_order(monkeypatch):
    hasher = ITQ(4).fit(X)
    whole = hasher.transform(X)
    monkeypatch.setattr(_base, "_BLOCK", 7)
    np.testing.assert_array_equal(hasher.transform(X), whole)


@pytest.mark.parametrize(
    "same",
    [lambda X: X.astype(np.float64), np.asfortranarray, np.ndarray.tolist, lambda X: np.repeat(X, 2, axis=0)[::2]],
)
def test_type_and_memory_layout_do_not_matter(same):
    X = np.random.default_rng(0).normal(size=(777, 131)).astype(np.float32)
    hasher, other = ITQ(24).fit(X), ITQ(24).fit(same(X))
    assert other.projection_.tobytes() == hasher.projection_.tobytes()
    np.testing.assert_array_equal(hasher.transform(same(X)), hasher.transform(X))


def test_y_is_ignored():
    codes = ITQ(4).fit(X, np.arange(20)).transform(X)
    np.testing.assert_array_equal(codes, ITQ(4).fit(X).transform(X))
