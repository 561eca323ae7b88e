"""Hashers that learn from labels are far above ITQ, which uses none, on real images."""

import functools
from importlib.util import find_spec

import numpy as np
import pytest

from protocol import registry
from protocol.codes import pack
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.truth.relevance import LabelRelevance

NETWORKS = [entry.name for entry in registry.entries("hasher") if entry.extra]
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@functools.cache
def scored(name, **options):
    """Return the mAP of 300 digits in a database of 1,497, from 500 of which a hasher learns codes of 16 bits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    query, database, train = order[:300], order[300:], order[300:800]
    X = X - X[train].mean(axis=0)
    model = registry.get("hasher", name)(16, **options).fit(TrainingSet(X[train], y[train]))
    codes = [pack(model.transform(X[part])) for part in (query, database)]
    counts = count(*codes, 16, {"labels": LabelRelevance(y[query], y[database])}, buckets=False)["labels"]
    return mean(evaluate(counts, ["mAP"])["mAP"])


@pytest.mark.parametrize("name", ["classifier", "ksh", "sdh", "grh", "fasthash"])
def test_labels_help(name):
    assert scored("lsh") < scored("itq") < 0.7
    assert scored(name) > scored("itq") + 0.15


@needs_torch
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_learn_the_digits(name):
    assert scored(name, epochs=20, batch_size=50, learning_rate=3e-3) > 0.8


def test_codes_of_probabilities_are_at_least_as_good_as_those_of_classes():
    assert scored("classifier", code="probabilities") >= scored("classifier")
