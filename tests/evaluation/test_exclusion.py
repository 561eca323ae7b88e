"""Metrics without some of the queries equal those of an evaluation that never had these queries."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from encoded import evaluated, message_of, yaml_of

from protocol.comparison import compare
from protocol.comparison.reading import read_scores
from protocol.evaluation import Nearest
from protocol.evaluation.exclusion import COLUMNS, excluded_labels, read_positions
from protocol.quantisers import quantisation
from protocol.scores.tables import write_table

RNG = np.random.default_rng(5)
QUERY, DATABASE = RNG.integers(0, 2, (12, 10)), RNG.integers(0, 2, (60, 10))
OF_QUERY, OF_DATABASE = np.arange(12) % 5, np.arange(60) % 4  # class 4 is not in the database
EXCLUDED = np.array([9, 2, 4])
NAMES = {"dataset": "toy", "split": "own", "ground_truth": "labels"}


def evaluation(remaining=None, **options):
    rows = np.arange(12) if remaining is None else remaining
    inputs = {"query_labels": OF_QUERY[rows], "database_labels": OF_DATABASE} | options
    return evaluated(inputs.pop("query", QUERY)[rows], DATABASE, **inputs)


def without(queries=EXCLUDED, **options):
    return evaluation(**options).without(queries)


@pytest.mark.parametrize("convention", ["default", "hashnet"])
def test_scores_without_queries_equal_those_of_the_remaining_queries(convention):
    left = without(metrics=["all"], convention=convention)
    alone = evaluation(np.delete(np.arange(12), EXCLUDED), metrics=["all"], convention=convention)
    assert left.remaining.n_queries == alone.n_queries == 9
    assert left.remaining.n_undefined == alone.n_undefined
    assert any(left.remaining.n_undefined.values())
    assert list(left.metrics) == list(alone.metrics)
    for name, values in alone.per_query.items():
        np.testing.assert_allclose(left.per_query[name], values, rtol=1e-12, atol=0, err_msg=name)
    np.testing.assert_allclose(list(left.metrics.values()), list(alone.metrics.values()), rtol=1e-12)


def test_asymmetric_and_vector_scores_without_queries():
    remaining = np.delete(np.arange(12), EXCLUDED)
    real = QUERY + RNG.normal(size=QUERY.shape)
    options = {"query": real, "ranking": "asymmetric", "metrics": ["mAP", "mAP@5[all]"]}
    assert without(**options).metrics == pytest.approx(evaluation(remaining, **options).metrics)
    query, database = RNG.normal(size=(30, 6)), RNG.normal(size=(80, 6))
    options = {"metrics": ["mAP", "recall@r1[micro]"]}
    every = quantisation(Nearest(query, database, k=[1, 5]), **options).without(EXCLUDED)
    alone = quantisation(Nearest(np.delete(query, EXCLUDED, axis=0), database, k=[1, 5]), **options)
    assert every.metrics == pytest.approx(alone.metrics)
    assert every.remaining.n_undefined == alone.n_undefined


def test_the_table_and_the_json_have_both_and_identify_the_queries():
    left = without(metrics=["mAP", "precision@r2[micro]", "utilisation"])
    digest = hashlib.sha256(b"2\n4\n9\n").hexdigest()
    lines = str(left).split("\n")
    assert lines[:2] == [
        f"without {left.n_excluded} of {left.n_queries + 3} queries (SHA-256 {digest[:12]}):",
        "metric               all queries  without them  difference",
    ]
    before, after = left.evaluation.metrics["mAP"], left.metrics["mAP"]
    assert lines[2].split() == ["mAP", f"{before:.4f}", f"{after:.4f}", f"{after - before:+.2g}"]
    assert lines[4].split()[-1] == "0"  # of the database alone
    content = json.loads(left.to_json())
    assert content.pop("without_queries") == {
        "excluded": [2, 4, 9],
        "n_excluded": 3,
        "sha256": digest,
        "n_queries": 9,
        "metrics": left.metrics,
        "n_undefined": left.remaining.n_undefined,
    }
    assert content == json.loads(left.evaluation.to_json())


@pytest.mark.parametrize(("rows", "message"), yaml_of("evaluation/excluded.yaml"))
def test_errors_are_one_line(here, rows, message):
    (here / "wrong.txt").write_text("1\nfrog\n")
    assert message_of(lambda: without(rows)).startswith(message)


def test_a_comparison_keeps_scores_without_queries_apart(tmp_path):
    def written(name, queries=EXCLUDED, **options):
        left = evaluation(metrics=["mAP"], **options).named(name, **NAMES).without(queries)
        left.evaluation.write_per_query(tmp_path / f"{name}.csv")
        left.evaluation.write_json(tmp_path / f"{name}.json", left, per_query=tmp_path / f"{name}.csv")
        return tmp_path / f"{name}.json", left

    (one, left), (two, _) = written("one"), written("two", query=1 - QUERY)
    three, _ = written("three", [1], query=QUERY[::-1])
    fields = [score.fields for score in read_scores(one)]
    assert [(of["n_queries"], of["excluded_queries"]) for of in fields] == [("12", "none"), ("9", left.label)]
    shown = compare(one, two, three)
    every, without, _ = shown.sections
    assert [len(section.tables[0].rows) for section in (every, without)] == [3, 2]
    assert f"9 queries, without {left.label}, " in without.title
    assert "without" not in every.title
    assert "three.json and one.json differ in excluded_queries (1 query (" in " ".join(repr(shown).split())


def test_the_table_of_an_experiment_gives_positions_and_labels(tmp_path):
    path = tmp_path / "excluded.csv"
    rows = [("standard", 0, 4, 40, "a"), ("standard", 1, 2, 20, "b"), ("standard", 1, 7, 70, "c")]
    rows += [("own", 0, 3, 5, "d")]
    write_table(path, pd.DataFrame(rows, columns=COLUMNS))
    positions = read_positions([path])
    found = {key: own.tolist() for key, own in positions.items()}
    assert found == {("standard", 0): [4], ("standard", 1): [2, 7], ("own", 0): [3]}
    runs = [("gist", "standard", 1), ("gist", "standard", 0), ("gist", "own", 0), ("sift", "own", 1)]
    digest = hashlib.sha256(b"4\n2\n7\n").hexdigest()[:12]
    assert excluded_labels(positions, runs) == {
        "gist standard": f"1 to 2 queries ({digest})",
        "gist own": without(np.array([3])).label,
        "sift own": "none",
    }
