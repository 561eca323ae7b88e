"""Scores of codes that were added in batches: those of one call, whatever the order."""

import numpy as np
import pytest
from encoded import message_of, refuses, yaml_of

import protocol as hp


def items(rng, kind):
    """Return outputs and labels of 30 queries and 70 database items."""
    outputs = rng.normal(size=(100, 12)).astype(np.float32)
    classes = rng.integers(0, 4, 100)
    labels = {
        "integers": classes,
        "strings": np.array(["owl", "cat", "a longer name", "ox"])[classes],
        "matrix": rng.random((100, 5)) < 0.4,
    }[kind]
    return outputs[:30], outputs[30:], labels[:30], labels[30:]


@pytest.mark.parametrize("kind", ["integers", "strings", "matrix"])
def test_any_order_of_batches_gives_the_scores_of_one_call(kind):
    rng = np.random.default_rng(0)
    query, database, query_labels, database_labels = items(rng, kind)
    evaluator = hp.Evaluator(binarize="sign", metrics=["all"])
    parts = [("query", part) for part in np.array_split(rng.permutation(30), int(rng.integers(1, 6)))]
    parts += [("database", part) for part in np.array_split(rng.permutation(70), int(rng.integers(1, 9)))]
    add, added = {"query": evaluator.add_queries, "database": evaluator.add_database}, {"query": [], "database": []}
    sides = {"query": (query, query_labels), "database": (database, database_labels)}
    for number in rng.permutation(len(parts)):
        side, rows = parts[number]
        add[side](*(array[rows] for array in sides[side]))
        added[side].append(rows)
    result = evaluator.evaluate()
    options = {"query_labels": query_labels, "database_labels": database_labels, "metrics": ["all"]}
    expected = hp.evaluate(hp.Codes(query, binarize="sign"), database, **options)
    assert result.metrics.keys() == expected.metrics.keys()
    order = np.concatenate(added["query"])
    for name in [name for name in result.per_query if "database-order" not in name]:  # with ties in database order
        values = expected.per_query[name]
        np.testing.assert_array_equal(result.per_query[name], values[order] if len(values) == 30 else values)
        assert result.metrics[name] == pytest.approx(expected.metrics[name], abs=1e-14)
    assert (result.binarize, result.n_queries, result.n_database) == ("sign", 30, 70)


def test_the_database_order_is_that_of_adding():
    rng = np.random.default_rng(0)
    query, database, query_labels, database_labels = items(rng, "integers")
    evaluator = hp.Evaluator(n_bits=12, metrics=["mAP[database-order]"])
    evaluator.add_queries(query > 0, query_labels)
    for rows in np.array_split(np.arange(70), 4):
        evaluator.add_database(database[rows] > 0, database_labels[rows])
    options = {"query_labels": query_labels, "database_labels": database_labels, "metrics": ["mAP[database-order]"]}
    assert evaluator.evaluate().metrics == hp.evaluate(query > 0, database > 0, **options).metrics
    evaluator.clear()
    refuses(r"^query codes are missing: no batch was added\.$", evaluator.evaluate)


def test_codes_that_have_collapsed_are_scored():
    """Every byte is 0 or 255, which a file of packed codes must not be."""
    evaluator = hp.Evaluator(binarize="sign", metrics=["mAP"])
    query, database = np.ones((2, 16)), np.repeat([[1.0], [-1.0]], 16, axis=1).repeat(100, axis=0)
    labels = {"query_labels": [0, 1], "database_labels": [0, 1] * 100}
    evaluator.add_queries(query, labels["query_labels"])
    evaluator.add_database(database, labels["database_labels"])
    assert evaluator.evaluate().metrics == hp.evaluate(query > 0, database > 0, metrics=["mAP"], **labels).metrics


@pytest.mark.parametrize(("codes", "labels", "message"), yaml_of("evaluation/batches.yaml"))
def test_errors(codes, labels, message):
    evaluator = hp.Evaluator()
    evaluator.add_queries([[1, 0]], [3])
    assert message_of(lambda: evaluator.add_queries(codes, labels)).endswith(message)


def test_thresholds_that_need_the_complete_database_are_refused():
    refuses(r'^binarize="median" needs the complete database; batches allow only ', hp.Evaluator, binarize="median")
