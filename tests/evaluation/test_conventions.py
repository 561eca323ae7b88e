"""Every convention on cases small enough to score by hand."""

from fractions import Fraction

import pytest
from encoded import refused, yaml_of

from protocol import bucket_search, registry
from protocol.evaluation import CONVENTIONS, evaluate
from protocol.evaluation.conventions import find

CASES = [(case, *score) for case in yaml_of("evaluation/conventions.yaml") for score in case["scores"]]


@pytest.mark.parametrize("rules", CONVENTIONS, ids=lambda rules: rules.name)
def test_a_convention_lists_registered_metrics_and_describes_itself(rules):
    for name in rules.metrics:
        assert registry.get("metric", name)
    assert rules.reported_as_map
    assert set(rules.reported_as_map) <= set(rules.metrics)
    for text in (rules.summary, rules.source, *rules.not_copied):
        assert text.strip() == text
        assert "\n" not in text
    assert all(any(name.startswith(start) for name in rules.metrics) for start in rules.drops)
    assert bool(rules.not_copied) == (rules.name != "default")
    assert find(rules.name) is rules


def test_the_conventions_treat_values_differently():
    treatments = {tuple((name, rules.undefined(name)) for name in rules.metrics) for rules in CONVENTIONS}
    assert len(treatments) == len(CONVENTIONS) == 10


@pytest.mark.parametrize(("case", "convention", "metric", "expected"), CASES)
def test_scores_by_hand(case, convention, metric, expected):
    result = evaluate(case["queries"], case["database"], **case["labels"], metrics=metric, convention=convention)
    assert result.metrics == {metric: pytest.approx(float(Fraction(expected)))}


def test_metric_learning_leaves_each_query_out():
    """Without itself, item 0 has item 1 at distance 1 of two tied ones; the class of item 3 has no other item."""
    codes, labels = [[0, 0], [0, 1], [1, 0], [1, 1]], [7, 7, 7, 8]
    result = evaluate(codes, codes, query_labels=labels, database_labels=labels, convention="metric-learning")
    assert result.leave_one_out
    # Item 0: relevant, relevant, other. Items 1 and 2: a tie of a relevant and another item, then a relevant one.
    of_tie = 1 / 2 * (1 + 0) / 2 + 1 / 2 * (1 / 2) / 2  # the second relevant item is beyond rank R = 2
    assert result.metrics == pytest.approx({"mAP@R": (1 + 2 * of_tie) / 3, "R-precision": 2 / 3, "hit@1": 2 / 3})
    assert set(result.n_undefined.values()) == {1}
    assert {find("metric-learning").undefined(name) for name in ("hit@1", "hit@5", "hit@10")} == {"drop"}
    with refused("convention 'metric-learning' can't be used"):
        bucket_search(codes, codes, "1x2", query_labels=labels, database_labels=labels, convention="metric-learning")
    with refused(r"^convention 'metric-learning' needs the same items .* 4 queries and 3 d"):
        evaluate(codes, codes[:3], query_labels=labels, database_labels=labels[:3], convention="metric-learning")
    with refused(r"^convention 'metric-learning' needs the same .* the labels in row 3 diff"):
        evaluate(codes, codes, query_labels=labels, database_labels=[7] * 4, convention="metric-learning")
