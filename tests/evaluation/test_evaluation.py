"""`evaluate`: counting and metrics, the metrics of a convention, the spread, and the reading of the ground truth."""

import json

import numpy as np
import pytest
from encoded import evaluated
from scipy import sparse

from protocol.evaluation import CONVENTIONS, evaluate

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.random((20, 12)) < 0.5, RNG.random((50, 12)) < 0.5
OF_QUERY, OF_DATABASE = np.arange(20) % 5, np.arange(50) % 4  # the database lacks class 4
LABELS = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
HAMMING = (QUERY[:, None] != DATABASE).sum(axis=2)


@pytest.mark.parametrize("rules", CONVENTIONS, ids=lambda rules: rules.name)
@pytest.mark.parametrize("n_bits", [1, 2, 12])
def test_the_metrics_are_those_of_the_convention_with_a_radius_the_codes_have(rules, n_bits):
    sides, labels = (QUERY, DATABASE), LABELS
    if rules.leave_one_out:
        sides, labels = (DATABASE, DATABASE), dict.fromkeys(LABELS, LABELS["database_labels"])
    result = evaluate(*(side[:, :n_bits] for side in sides), **labels, convention=rules.name)
    left_out = [name for name in rules.metrics if name not in result.metrics]
    beyond = ["mAP@100[all]", "mAP@100[retrieved]"] if rules.name == "default" else []  # of 50 items
    assert left_out == beyond + [name for name in rules.metrics if n_bits == 1 and "@r2" in name]


def test_the_spread_lists_every_map_once_with_its_conventions():
    labels = {"query_labels": [7, 9], "database_labels": [7, 8, 7]}
    rows = evaluate([[0, 0], [0, 0]], [[0, 0], [0, 1], [1, 0]], **labels).spread().rows
    by_row = {(row.metric, row.undefined): row for row in rows}
    values = [row.value for row in rows]
    assert values == sorted(values, reverse=True)
    for name, value in (("mAP[best]", 1.0), ("mAP[worst]", 5 / 6), ("mAP[database-order]", 5 / 6), ("mAP", 11 / 12)):
        assert by_row[name, ("zero",)].value == pytest.approx(value / 2)
        assert by_row[name, ("drop",)].value == pytest.approx(value)
    assert {key: row.conventions for key, row in by_row.items() if row.conventions} == {
        ("mAP", ("zero",)): ("default", "talr", "mlgap", "deephash"),
        ("mAP", ("drop",)): ("hashnet",),
        ("mAP[database-order]", ("drop",)): ("mihash",),
        ("mAP[database-order]", ("zero",)): ("thesis",),
        ("AUPRC[area]", ("zero", "drop")): ("habir",),
    }
    assert not any("@" in row.metric for row in rows)


def head(result, line=1):
    """Return a line about the inputs, the second one about what is unusual; "" if there is none."""
    return [*result.parts()[0].split("\n"), ""][line]


def columns(labels, n_classes):
    return labels[:, None] == np.arange(n_classes)


WORDS = np.array(["ant", "bee", "cat", "dog", "eel"])


@pytest.mark.parametrize(
    ("query", "database", "absent", "shown"),
    [
        (OF_QUERY, OF_DATABASE, (4,), "4 of 20 queries have no relevant item; query labels"),
        (OF_QUERY % 4, OF_DATABASE, (), ""),
        (WORDS[OF_QUERY], WORDS[OF_DATABASE], ("eel",), "database: eel"),
        (columns(OF_QUERY, 5), columns(OF_DATABASE, 5), (4,), "database: 4"),
        (np.arange(20), OF_DATABASE, tuple(range(4, 20)), "database: 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 6 more"),
    ],
)
def test_labels_of_queries_that_the_database_lacks_are_reported(query, database, absent, shown):
    result = evaluate(QUERY, DATABASE, query_labels=query, database_labels=database)
    assert result.labels_not_in_database == absent
    assert shown in head(result)
    content = json.loads(result.to_json())
    assert content["labels_not_in_database"] == list(absent)
    assert head(result) == "" or head(result).startswith(f"{content['queries_without_relevant']} of 20 queries")


def test_the_interpretation_of_relevance_is_printed():
    result = evaluated(QUERY, DATABASE, relevance=np.argsort(HAMMING, axis=1)[:, :10])
    sizes = "20 queries, 50 database items, 12 bits; relevance read as"
    assert head(result, 0) == f"{sizes} neighbours: 10 relevant items per query (level 1)"
    assert head(result) == ""
    assert result.labels_not_in_database is None
    near = np.where(HAMMING < 4, HAMMING, 0)
    result, counts = evaluated(QUERY, DATABASE, relevance=sparse.csr_array(near)), (near > 0).sum(axis=1)
    assert result.levels == (near[near > 0].min(), 3)
    assert result.relevant_per_query == (counts.min(), counts.max())
    assert head(result, 0) == (
        f"{sizes} graded neighbours: {counts.min()} to {counts.max()} relevant items per query "
        f"(levels {result.levels[0]} to 3, larger is more relevant)"
    )
    assert head(result) == f"{(counts == 0).sum()} of 20 queries have no relevant item"
    assert json.loads(result.to_json())["levels"] == list(result.levels)
    graded = evaluated(QUERY, DATABASE, relevance=sparse.csr_array(HAMMING + 1))
    levels = f"(levels {HAMMING.min() + 1} to {HAMMING.max() + 1}, larger is more relevant)"
    assert head(graded, 0) == f"{sizes} graded neighbours: 50 relevant items per query {levels}"
    assert head(graded) == "every item is relevant to every query"
