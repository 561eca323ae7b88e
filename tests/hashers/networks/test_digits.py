"""The supervised networks of TALR's comparison learn the digits better than ITQ, and also train on images."""

import functools

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from protocol import registry
from protocol.codes import pack
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.truth.relevance import LabelRelevance

NAMES = ["mihash", "dpsh", "dtsh", "hashnet", "talr_ap_network", "talr_ndcg_network"]


@functools.cache
def scored(name):
    """Return the mAP of 300 digits in a database of 1,497, from 500 of which a hasher learns codes of 16 bits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    query, database = order[:300], order[300:]
    train = database[:500]
    X = X - X[train].mean(axis=0)
    model = registry.get("hasher", name)(
        16, **({} if name == "itq" else {"epochs": 20, "batch_size": 50, "learning_rate": 3e-3})
    )
    model.fit(TrainingSet(X[train], y[train]))
    codes = [pack(model.transform(X[part])) for part in (query, database)]
    counts = count(*codes, 16, {"labels": LabelRelevance(y[query], y[database])})["labels"]
    return mean(evaluate(counts, ["mAP"])["mAP"])


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_the_digits(name):
    assert scored("itq") < 0.7
    assert scored(name) > 0.8


@pytest.mark.parametrize("name", NAMES)
def test_it_trains_on_images_with_several_labels(name):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 255, size=(12, 3072)).astype(np.float32), rng.integers(0, 2, size=(12, 3))
    model = registry.get("hasher", name)(8, network="conv", epochs=2).fit(images, labels)
    assert np.isfinite(model.fit_record_["loss"]).all()
    assert model.transform(images).shape == (12, 8)
