"""Supervised hashers on real images: all of them are far above ITQ, which uses no labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from protocol import registry
from protocol.codes import pack
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.truth.relevance import LabelRelevance


@pytest.fixture(scope="module")
def precision():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    query, train, database = order[:100], order[100:600], order[100:]
    training = TrainingSet(X[train] - X[train].mean(axis=0), y[train])

    def of(name, **options):
        model = registry.get("hasher", name)(n_bits=16, **options).fit(training)
        codes = [pack(model.transform(X[rows] - X[train].mean(axis=0))) for rows in (query, database)]
        counted = count(*codes, 16, {"label": LabelRelevance(y[query], y[database])}, largest_bucket=False)
        return mean(evaluate(counted["label"], ["mAP"])["mAP"])

    return of


@pytest.mark.parametrize("name", ["classifier", "ksh", "sdh", "grh", "fasthash"])
def test_labels_help(precision, name):
    assert precision(name) > precision("itq") + 0.15


def test_codes_of_probabilities_are_at_least_as_good_as_those_of_classes(precision):
    assert precision("classifier", code="probabilities") >= precision("classifier")
