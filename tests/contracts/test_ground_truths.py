"""The guarantees of every ground truth, and wrong ground truths that the checks must reject."""

import inspect
import itertools

import numpy as np
import pytest

from protocol import registry
from protocol.truth import Items

RNG = np.random.default_rng(0)


def items(n):
    X = RNG.normal(size=(n, 6)).astype(np.float32)
    return Items(X, np.arange(n) % 5)


QUERY, DATABASE, TRAIN = items(20), items(300), items(250)


def check_facts(record):
    assert record.summary.endswith(".")
    parameters = list(inspect.signature(record.plugin).parameters.values())
    assert [parameter.name for parameter in parameters[:3]] == ["query", "database", "train"]
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters[3:])
    assert "seed" in inspect.signature(record.plugin).parameters


def check_form(rule):
    found = rule(QUERY, DATABASE, TRAIN)
    if "query_labels" in found:
        assert [len(found["query_labels"]), len(found["database_labels"])] == [20, 300]
        return
    indptr, indices = found["indptr"], found["indices"]
    assert indptr.dtype.kind == indices.dtype.kind == "i"
    assert indptr.shape == (21,)
    assert (indptr[0], indptr[-1]) == (0, len(indices))
    for start, stop in itertools.pairwise(indptr):
        assert (np.diff(indices[start:stop]) > 0).all(), "ascending, each once"
    assert set(indices) <= set(range(300))
    assert "levels" not in found or (len(found["levels"]) == len(indices) and found["levels"].min() >= 1)


def check_determinism(rule):
    before = [part.X.copy() for part in (QUERY, DATABASE, TRAIN)]
    first, second = (rule(QUERY, DATABASE, TRAIN, seed=3) for _ in range(2))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    for part, X in zip((QUERY, DATABASE, TRAIN), before, strict=True):
        np.testing.assert_array_equal(part.X, X)


def check_queries_alone(rule):
    """The relevant items of a query do not depend on the other queries."""
    found = rule(QUERY, DATABASE, TRAIN)
    alone = rule(Items(QUERY.X[:1], QUERY.labels[:1]), DATABASE, TRAIN)
    if "indices" in found:
        np.testing.assert_array_equal(alone["indices"], found["indices"][: found["indptr"][1]])
    else:
        np.testing.assert_array_equal(alone["query_labels"], found["query_labels"][:1])


CHECKS = (check_form, check_determinism, check_queries_alone)


@pytest.mark.parametrize("name", [*registry.names("ground_truth"), "how-to/add-a-ground-truth"])
def test_every_ground_truth(name, find):
    record = find("ground_truth", name)
    check_facts(record)
    for check in CHECKS:
        check(record.plugin)


def unordered(query, database, train, *, seed=0):
    return {"indptr": np.array([0, 2] + [2] * 19), "indices": np.array([5, 1])}


def at_random(query, database, train, *, seed=0):
    rows = np.sort(np.random.default_rng().permutation(300)[:5])
    return {"indptr": np.array([0] + [5] * len(query.X)), "indices": rows}


def by_the_mean_query(query, database, train, *, seed=0):
    nearest = np.argmin(np.abs(database.X - query.X.mean(axis=0)).sum(axis=1), keepdims=True)
    return {"indptr": np.array([0] + [1] * len(query.X)), "indices": nearest}


@pytest.mark.parametrize(
    ("check", "wrong"),
    [(check_form, unordered), (check_determinism, at_random), (check_queries_alone, by_the_mean_query)],
)
def test_a_wrong_ground_truth_is_rejected(check, wrong):
    with pytest.raises(AssertionError):
        check(wrong)
