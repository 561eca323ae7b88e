"""Classifier: codes of classes, codes of probabilities, and several labels."""

import numpy as np
import pytest

from protocol.hashers.supervised.classifier import Classifier, class_codes, hadamard


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
def test_other_codes_are_negated_or_random_balanced_and_repeat_only_where_there_are_not_enough(
    n_classes, n_bits, n_different
):
    codes = class_codes(n_classes, n_bits, np.random.default_rng(0))
    assert codes.shape == (n_classes, n_bits)
    assert len(np.unique(codes, axis=0)) == n_different
    if n_bits == 4:
        np.testing.assert_array_equal(codes[4:], ~codes[:3])
    else:
        assert np.isin(codes.sum(axis=1), [n_bits // 2, (n_bits + 1) // 2]).all()
