"""Supervised hashers by hand; tests/reference compares them with the released procedures."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from protocol.checks import ProtocolError
from protocol.hashers import Affinities
from protocol.hashers.supervised.classifier import Classifier, class_codes, hadamard
from protocol.hashers.supervised.grh import GRH, Machines, smoothed
from protocol.hashers.supervised.ksh import KSH
from protocol.hashers.supervised.sdh import SDH, discrete_codes


def blobs(n_classes=3, n=60):
    y = np.arange(n) % n_classes
    X = np.eye(n_classes)[y] * 4 + np.random.default_rng(0).normal(size=(n, n_classes)) * 0.3
    return X, y + 5


def test_between_three_classes_bits_are_a_vote_weighted_by_probabilities():
    X, y = blobs()
    model = Classifier(n_bits=8, code="probabilities", temperature=1000).fit(X, y)
    votes = np.where(model.class_codes_, 1, -1).sum(axis=0) > 0  # of three equal probabilities
    np.testing.assert_array_equal(model.transform(X.mean(axis=0, keepdims=True)), votes[None])


def test_several_labels_have_a_probability_each_and_constant_ones_no_regression():
    X, y = blobs()
    has_label = np.column_stack([y == 5, y != 5, np.zeros(60), np.ones(60)]).astype(bool)
    model = Classifier(n_bits=4, code="probabilities").fit(X, has_label)
    signs = np.where(model.class_codes_, 1.0, -1.0)
    scores = model._scores(np.asarray(X, dtype=np.float32))
    assert ((scores > 0) == has_label).all()
    probabilities = 1 / (1 + np.exp(-scores.astype(float)))
    np.testing.assert_array_equal(model.transform(X), probabilities @ signs > 0)
    assert (model.projection_[:, 2:] == 0).all()


def test_hadamard_matrices_are_orthogonal_and_the_docstring_names_the_missing_orders():
    missing = []
    for order in range(4, 129, 4):
        H = hadamard(order)
        if H is None:
            missing.append(order)
        else:
            signs = np.where(H, 1, -1)
            np.testing.assert_array_equal(signs @ signs.T, order * np.eye(order))
    assert missing == [28, 36, 52, 56, 76, 92, 100, 112, 116, 124]
    assert hadamard(6) is None


@pytest.mark.parametrize("n_bits", [12, 16, 24, 32, 48])
def test_ten_classes_are_half_of_the_bits_apart_at_the_papers_lengths(n_bits):
    codes = class_codes(10, n_bits, np.random.default_rng(3))
    apart = (codes[:, None] != codes).sum(axis=2)
    np.testing.assert_array_equal(apart, n_bits // 2 * (1 - np.eye(10)))


@pytest.mark.parametrize(
    ("n_classes", "n_bits", "n_different"),
    [(7, 4, 7), (10, 9, 10), (50, 28, 50), (30, 12, 30), (9, 3, 6)],  # six codes have one or two of three bits
)
def test_other_codes_are_negated_or_balanced_and_repeat_only_if_there_are_not_enough(n_classes, n_bits, n_different):
    codes = class_codes(n_classes, n_bits, np.random.default_rng(0))
    assert codes.shape == (n_classes, n_bits)
    assert len(np.unique(codes, axis=0)) == n_different
    if n_bits == 4:
        np.testing.assert_array_equal(codes[4:], ~codes[:3])
    else:
        assert np.isin(codes.sum(axis=1), [n_bits // 2, (n_bits + 1) // 2]).all()


def test_codes_are_smoothed_over_a_path_of_three_nodes():
    path = Affinities(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), 3)
    first = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    # The ends take the middle's bits. The middle has 1 and 1 in the first column, a tie in the second.
    np.testing.assert_array_equal(smoothed(first, first, path, 1.0), [[-1, -1], [1, -1], [-1, -1]])
    # With weight 0.4, the first codes decide a tie; with weight 0.5, nothing changes.
    codes = -first
    np.testing.assert_array_equal(smoothed(codes, first, path, 0.6), [[1, 1], [-1, -1], [1, 1]])
    np.testing.assert_array_equal(smoothed(first, first, path, 0.5), first)


def test_a_node_without_neighbours_has_its_first_code():
    pair = Affinities(csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), 3)  # a row is not its own neighbour
    first = np.array([[1.0], [-1.0], [-1.0]])
    np.testing.assert_array_equal(smoothed(-first, first, pair, 0.9), [[1], [-1], [-1]])
    np.testing.assert_array_equal(smoothed(-first, first, pair, 1.0), [[1], [-1], [1]])  # a tie changes nothing


def test_a_bit_that_all_rows_agree_on_needs_no_normal():
    rows = np.array([[1.0], [-1.0]], dtype=np.float32)
    w, t = Machines(rows, 0.1).planes(np.array([[1, -1], [1, -1]], dtype=np.float32))
    np.testing.assert_array_equal(w, [[0, 0]])
    np.testing.assert_array_equal(t, [-1, 1])


@pytest.mark.parametrize("several", [False, True])
def test_sums_over_classes_are_those_over_the_pairs(several):
    rng = np.random.default_rng(0)
    y = rng.random((30, 4)) < 0.3 if several else rng.integers(0, 4, 30)
    related = (y.astype(int) @ y.T.astype(int) > 0) if several else y[:, None] == y
    values = rng.normal(size=(30, 5))
    np.testing.assert_allclose(Affinities(y, 30).sums(values), (related & ~np.eye(30, dtype=bool)) @ values)
    pairs = Affinities(csr_array(2 * related), 30)
    np.testing.assert_allclose(pairs.sums(values), Affinities(y, 30).sums(values))
    rows = np.arange(1, 30, 2)
    np.testing.assert_allclose(pairs.of(rows).sums(values[rows]), Affinities(y[rows], 15).sums(values[rows]))


def test_only_the_start_by_itq_limits_the_bits_to_the_features():
    with pytest.raises(ProtocolError, match="n_bits must be at most 2, the number of features"):
        GRH(n_bits=3, start="itq").fit(np.eye(4, 2), [0, 0, 1, 1])
    assert GRH(n_bits=3).fit(np.eye(4, 2), [0, 0, 1, 1]).transform(np.eye(4, 2)).shape == (4, 3)


RNG = np.random.default_rng(0)
ROWS, CLASS = RNG.normal(size=(60, 4)), RNG.integers(0, 3, 60)
SEVERAL = np.eye(3, dtype=bool)[CLASS]


def test_labels_and_the_pairs_that_they_relate_give_the_same_codes():
    pairs = csr_array((CLASS[:, None] == CLASS).astype(np.int64))
    codes = [KSH(n_bits=6, n_anchors=20).fit(ROWS, given).transform(ROWS) for given in (CLASS, pairs, SEVERAL)]
    for other in codes[1:]:  # up to the rounding of sums in another order
        assert (codes[0] != other).mean() < 0.02


def test_the_labelled_rows_are_limited():
    model = KSH(n_bits=4, n_anchors=20, n_labelled=30).fit(ROWS, CLASS)
    assert model.fit_record_["n_labelled"] == 30
    with pytest.raises(ProtocolError, match=r"affinities: no two of the 2 training rows are related\.$"):
        KSH(n_bits=4, n_anchors=20, n_labelled=2).fit(ROWS, np.arange(60) // 2)
    same = CLASS[:30, None] == CLASS[:30]
    assert Affinities(CLASS, 60).of(np.arange(30)).sums(np.ones((30, 1))).sum() == same.sum() - 30


def test_a_bit_whose_values_are_equally_good_does_not_change():
    B = np.array([[1.0, -1.0]])
    np.testing.assert_array_equal(discrete_codes(B, np.zeros((1, 2)), np.array([[1.0, 0.0], [0.0, 1.0]])), B)


def test_every_round_lowers_the_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] * X[:, 2] > 0)
    model = SDH(n_bits=12, n_anchors=60, n_iter=8, nu=0.1).fit(X, y)
    assert (np.diff(model.fit_record_["objective"]) <= 1e-6).all()
    assert model.fit_record_["agreement"] > 0.7


def test_one_label_in_a_matrix_is_that_label():
    codes = [SDH(n_bits=8, n_anchors=20).fit(ROWS, given).transform(ROWS) for given in (CLASS, SEVERAL)]
    np.testing.assert_array_equal(*codes)
