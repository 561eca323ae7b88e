"""Every convention on cases small enough to score by hand."""

import pytest
from encoded import refused

from protocol import bucket_search, registry
from protocol.evaluation import CONVENTIONS, evaluate
from protocol.evaluation.conventions import find

# Distances 0, 1, 1, 2 from the first query; the second has no relevant item, the third none at distance 0.
DATABASE, LABELS = [[0, 0], [0, 1], [1, 0], [1, 1]], [7, 7, 8, 8]
QUERIES, OF_QUERIES = [[0, 0], [0, 0], [1, 1]], [7, 99, 7]
# The third: relevant at distance 1 (one of two tied items, second to last in the database's order) and at distance 2.
EXPECTED = [(1 + (1 + 2 / 3) / 2) / 2, 0, ((1 / 2 + 2 / 4) / 2 + (1 / 3 + 2 / 4) / 2) / 2]
IN_ORDER = [(1 + 1) / 2, 0, (1 / 2 + 2 / 4) / 2]


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


@pytest.mark.parametrize(
    ("convention", "metric", "expected"),
    [
        ("default", "mAP", sum(EXPECTED) / 3),
        ("talr", "mAP", sum(EXPECTED) / 3),
        ("mlgap", "mAP", sum(EXPECTED) / 3),
        ("deephash", "mAP", sum(EXPECTED) / 3),
        ("deephash", "mAP@1[retrieved]", (1 + 0 + 0) / 3),
        ("deephash", "mAP@1[all]", (1 / 2 + 0 + 0) / 3),
        # Queries without hits are left out, but not empty balls.
        ("hashnet", "mAP@1[retrieved]", 1.0),
        ("hashnet", "mAP", sum(EXPECTED) / 2),
        ("hashnet", "precision@r0", (1 + 0 + 0) / 3),
        ("mihash", "mAP[database-order]", sum(IN_ORDER) / 2),
        ("mihash", "mAP@1000[retrieved]", sum(EXPECTED) / 2),
        ("mihash", "precision@r2", (1 / 2 + 0 + 1 / 2) / 3),
        ("thesis", "mAP[database-order]", sum(IN_ORDER) / 3),
        # Pooled, by radius 0, 1, 2: relevant 1, 3, 4 of 3, 9, 12 retrieved.
        ("thesis", "AUPRC[trapezoid]", 1 / 3 * (1 - 1 / 4)),
        ("thesis", "precision@r2[micro]", 4 / 12),
        ("thesis", "F1@r2[micro]", 2 * (4 / 12) / (4 / 12 + 1)),
        ("habir", "AUPRC[area]", 1 / 3),  # from recall 0
        ("mlgap", "mAP[best]", (1 + 0 + (1 / 2 + 2 / 4) / 2) / 3),
        ("mlgap", "mAP[worst]", ((1 + 2 / 3) / 2 + 0 + (1 / 3 + 2 / 4) / 2) / 3),
        # One item per bucket, so a term is the relevant items over the codes in the ball: 1, 2/3, 2/4; 0; 0, 1/3, 2/4.
        ("mlgap", "mLGAP@r2", ((1 + 2 / 3 + 2 / 4) + 0 + (0 + 1 / 3 + 2 / 4)) / 9),
    ],
)
def test_scores_by_hand(convention, metric, expected):
    labels = {"query_labels": OF_QUERIES, "database_labels": LABELS}
    result = evaluate(QUERIES, DATABASE, **labels, metrics=metric, convention=convention)
    assert result.metrics == {metric: pytest.approx(expected)}


@pytest.mark.parametrize(
    ("convention", "metric", "expected"),
    [
        ("hashnet", "precision@r0", 0),
        ("ramap", "precision@r0", 0),
        ("ramap", "precision@r1", 1 / 2),
        ("ramap", "RAMAP@r1", (0 + 1 / 2 / 3) / 2),  # divided by the codes in the ball
        ("ramap", "mAP@5000[retrieved]", (1 + 1 / 2) / 2),
    ],
)
def test_an_empty_ball_counts_as_0(convention, metric, expected):
    labels = {"query_labels": [7], "database_labels": [7, 8]}
    result = evaluate([[0, 0]], [[0, 1], [1, 0]], **labels, metrics=metric, convention=convention)
    assert result.metrics[metric] == pytest.approx(expected)


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
