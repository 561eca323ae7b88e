"""Classifier: codes of classes, codes of probabilities, and several labels."""

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.hashers.supervised.classifier import Classifier


def blobs(n_classes=3, n=60):
    y = np.arange(n) % n_classes
    X = np.eye(n_classes)[y] * 4 + np.random.default_rng(0).normal(size=(n, n_classes)) * 0.3
    return X, y + 5


def test_an_item_has_the_code_of_its_predicted_class():
    X, y = blobs()
    model = Classifier(n_bits=8).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), model.class_codes_[y - 5])
    assert model.fit_record_["accuracy"] == 1
    between = Classifier(n_bits=8, code="probabilities").fit(X, y)
    np.testing.assert_array_equal(between.transform(X), model.transform(X))


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


def test_options_are_checked():
    with pytest.raises(ProtocolError, match=r"code: expected .*class.*, got 'classes'"):
        Classifier(code="classes").check()
    for name in ("regularisation", "temperature"):
        with pytest.raises(ProtocolError, match=f"{name}: expected a finite number > 0, got 0"):
            Classifier(**{name: 0}).check()


def test_scores_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    model = Classifier(n_bits=16, regularisation=0.01).fit(X, y)
    centred = X - X.mean(axis=0)
    expected = LogisticRegression(C=1 / (0.01 * 400), max_iter=1000).fit(centred / np.sqrt((centred**2).mean()), y)
    assert model.fit_record_["accuracy"] == pytest.approx(expected.score(centred / np.sqrt((centred**2).mean()), y))
