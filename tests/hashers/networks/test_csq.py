"""CSQ: its hash centres, and that it learns classes."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from protocol import registry
from protocol.checks import ProtocolError
from protocol.codes import pack
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.hashers.networks.csq import CSQ
from protocol.hashers.supervised.classifier import class_codes
from protocol.metrics import evaluate, mean
from protocol.truth.relevance import LabelRelevance


def distances(centres):
    return (centres[:, None] != centres).sum(axis=2)


@pytest.mark.parametrize("n_bits", [12, 16, 24, 32, 48])
def test_centres_of_ten_classes_are_half_of_the_bits_apart(n_bits):
    y = np.arange(40) % 10
    hasher = CSQ(n_bits, epochs=1).fit(np.random.default_rng(0).normal(size=(40, 4)), y)
    np.testing.assert_array_equal(hasher._centre_of_row[10:20], hasher._centre_of_row[:10])
    apart = distances(hasher._centre_of_row[:10])
    np.testing.assert_array_equal(apart, n_bits // 2 * (1 - np.eye(10)))


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


def test_the_weight_of_the_quantization_loss_is_not_negative():
    with pytest.raises(ProtocolError, match="lambda_1: expected a finite number > 0, got -1"):
        CSQ(8, lambda_1=-1).check()
    assert CSQ(8, lambda_1=0).check() is None


def test_on_digits_it_beats_lsh_and_itq():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    query, database = order[:300], order[300:]
    X = X - X[database].mean(axis=0)
    training, relevance = TrainingSet(X[database], y[database]), LabelRelevance(y[query], y[database])
    scores = {}
    for name in ("lsh", "itq", "csq"):
        model = registry.get("hasher", name)(16).fit(training)
        codes = [pack(model.transform(X[part])) for part in (query, database)]
        counts = count(*codes, 16, {"labels": relevance})["labels"]
        scores[name] = mean(evaluate(counts, ["mAP"])["mAP"])
    assert scores["lsh"] < scores["itq"] < 0.7
    assert scores["csq"] > 0.95
    nearest = distances(np.vstack([class_codes(10, 16, np.random.default_rng(0)), model.transform(X[query])]))[
        :10, 10:
    ].argmin(axis=0)
    assert (nearest == y[query]).mean() > 0.95
