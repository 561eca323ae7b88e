import numpy as np
import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.selection import Validation, points, search
from protocol.truth.relevance import LabelRelevance

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(3, 6))
Y = {"train": np.arange(60) % 3, "query": np.arange(9) % 3, "database": np.arange(30) % 3}
X = {name: (CENTRES[y] + RNG.normal(size=(len(y), 6))).astype(np.float32) for name, y in Y.items()}
GRID = {"gamma": [0.05, 0.5, 5.0]}
SEEDS = {4: 11, 9: 12}


def validation(**changes):
    fields = {"relevance": LabelRelevance(Y["query"], Y["database"]), "metric": "mAP"} | changes
    return Validation(X["query"], X["database"], **fields)


def mean_precision(model):
    """Mean over queries of the average precision, over random orders of ties, from its definition."""
    query, database = model.transform(X["query"]), model.transform(X["database"])
    values, rng = [], np.random.default_rng(0)
    for code, label in zip(query, Y["query"], strict=True):
        distance, relevant = (database != code).sum(axis=1), Y["database"] == label
        for _ in range(400):
            hits = relevant[np.lexsort((rng.random(distance.size), distance))]
            values.append((np.cumsum(hits) / np.arange(1, hits.size + 1))[hits].mean())
    return np.mean(values)


def test_scores_are_the_metric_of_each_point_at_each_length():
    hasher = registry.get("hasher", "sklsh")
    found = search(hasher, points(GRID), X["train"], validation(), seeds=SEEDS, options={})
    assert list(found) == [4, 9]
    for n_bits, scores in found.items():
        models = [hasher(n_bits=n_bits, seed=SEEDS[n_bits], gamma=gamma).fit(X["train"]) for gamma in GRID["gamma"]]
        np.testing.assert_allclose(scores, [mean_precision(model) for model in models], atol=0.003)
    assert np.ptp(found[9]) > 0.01  # a grid whose points differ


def test_a_point_that_can_not_be_fitted_is_reported():
    grid = points({"alpha": [2, 99]})
    with pytest.raises(
        ProtocolError, match=r"^grid point alpha=99 at 4 bits: X: DSH needs at least 396 training vectors, one for each"
    ):
        search(registry.get("hasher", "dsh"), grid, X["train"], validation(), seeds={4: 1}, options={})


def test_an_undefined_score_is_nan():
    nothing = LabelRelevance(np.full(9, 7), Y["database"])
    model = registry.get("hasher", "lsh")(n_bits=4, seed=0).fit(X["train"])
    assert np.isnan(validation(relevance=nothing, undefined="drop").score(model))
    assert validation(relevance=nothing, undefined="zero").score(model) == 0
