"""Every convention on cases small enough to score by hand."""

import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.evaluation import CONVENTIONS, evaluate
from protocol.evaluation.conventions import find

# Distances 0, 1, 1, 2 from the first query; the second has no relevant item, the third none at distance 0.
DATABASE, LABELS = [[0, 0], [0, 1], [1, 0], [1, 1]], [7, 7, 8, 8]
QUERIES, OF_QUERIES = [[0, 0], [0, 0], [1, 1]], [7, 99, 7]
# The third: relevant at distance 1 (one of two tied items, second to last in the database's order) and at distance 2.
EXPECTED = [(1 + (1 + 2 / 3) / 2) / 2, 0, ((1 / 2 + 2 / 4) / 2 + (1 / 3 + 2 / 4) / 2) / 2]
IN_ORDER = [(1 + 1) / 2, 0, (1 / 2 + 2 / 4) / 2]


def scores(convention, *metrics):
    found = evaluate(
        QUERIES,
        DATABASE,
        query_labels=OF_QUERIES,
        database_labels=LABELS,
        metrics=metrics or None,
        convention=convention,
    )
    return found.metrics


@pytest.mark.parametrize("rules", CONVENTIONS, ids=lambda rules: rules.name)
def test_a_convention_lists_registered_metrics_and_describes_itself(rules):
    for name in rules.metrics:
        assert registry.get("metric", name)
    assert rules.called_map
    assert set(rules.called_map) <= set(rules.metrics)
    for text in (rules.summary, rules.source, *rules.not_copied):
        assert text.strip() == text
        assert "\n" not in text
    assert all(any(name.startswith(start) for name in rules.metrics) for start in rules.drops)
    assert bool(rules.not_copied) == (rules.name != "protocol")
    assert find(rules.name) is rules


def test_the_conventions_by_name():
    names = [rules.name for rules in CONVENTIONS]
    assert names == ["protocol", "ramap", "talr", "mlgap", "thesis", "habir", "deephash", "hashnet", "mihash"]
    with pytest.raises(
        ProtocolError, match=r"convention: expected deephash, .*, got 'hashnt'\. Did you mean 'hashnet'"
    ):
        find("hashnt")


def test_no_two_conventions_agree_on_everything():
    treatments = {tuple((name, rules.empty(name)) for name in rules.metrics) for rules in CONVENTIONS}
    assert len(treatments) == len(CONVENTIONS)


def test_protocol_and_talr_expect_ties_and_count_undefined_queries():
    for convention in ("protocol", "talr", "mlgap", "deephash"):
        assert scores(convention)["mAP"] == pytest.approx(sum(EXPECTED) / 3)


def test_deephash_divides_by_the_relevant_in_the_top_k_and_counts_none_as_0():
    assert scores("deephash", "mAP@1[retrieved]")["mAP@1[retrieved]"] == pytest.approx((1 + 0 + 0) / 3)
    assert scores("deephash", "mAP@1[all]")["mAP@1[all]"] == pytest.approx((1 / 2 + 0 + 0) / 3)


def test_hashnet_leaves_out_queries_without_hits_but_not_empty_balls():
    found = scores("hashnet", "mAP@1[retrieved]", "mAP", "precision@r0")
    assert found["mAP@1[retrieved]"] == pytest.approx(1.0)
    assert found["mAP"] == pytest.approx(sum(EXPECTED) / 2)
    assert found["precision@r0"] == pytest.approx((1 + 0 + 0) / 3)


def test_hashnet_counts_an_empty_ball_as_0():
    found = evaluate(
        [[1, 1], [0, 0]],
        [[0, 0]],
        query_labels=[7, 7],
        database_labels=[7],
        metrics=["precision@r0"],
        convention="hashnet",
    )
    assert found.metrics == {"precision@r0": 0.5}


def test_mihash_ranks_in_database_order_and_leaves_out_queries_without_relevant_items():
    found = scores("mihash")
    assert found["mAP[index]"] == pytest.approx(sum(IN_ORDER) / 2)
    assert found["mAP@1000[retrieved]"] == pytest.approx(sum(EXPECTED) / 2)
    assert found["precision@r2"] == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)


def test_thesis_ranks_in_database_order_and_counts_undefined_queries_as_0():
    found = scores("thesis")
    assert found["mAP[index]"] == pytest.approx(sum(IN_ORDER) / 3)
    # Pooled, by radius 0, 1, 2: relevant 1, 3, 4 of 3, 9, 12 retrieved.
    assert found["AUPRC[trapezoid]"] == pytest.approx(1 / 3 * (1 - 1 / 4))
    assert found["precision_micro@r2"] == pytest.approx(4 / 12)
    assert found["F1_micro@r2"] == pytest.approx(2 * (4 / 12) / (4 / 12 + 1))


def test_habir_calls_the_area_from_recall_0_map():
    assert find("habir").called_map == ("AUPRC[area]",)
    assert scores("habir")["AUPRC[area]"] == pytest.approx(1 / 3)


def test_ramap_counts_an_empty_ball_as_0_and_divides_by_the_codes_in_the_ball():
    found = evaluate([[0, 0]], [[0, 1], [1, 0]], query_labels=[7], database_labels=[7, 8], convention="ramap").metrics
    assert found["precision@r0"] == 0
    assert found["precision@r1"] == pytest.approx(1 / 2)
    assert found["RAMAP@r1"] == pytest.approx((0 + 1 / 2 / 3) / 2)
    assert found["mAP@5000[retrieved]"] == pytest.approx((1 + 1 / 2) / 2)


def test_mlgap_shows_the_range_of_map():
    found = scores("mlgap")
    assert found["mAP[best]"] == pytest.approx((1 + 0 + (1 / 2 + 2 / 4) / 2) / 3)
    assert found["mAP[worst]"] == pytest.approx(((1 + 2 / 3) / 2 + 0 + (1 / 3 + 2 / 4) / 2) / 3)
    # One item per bucket, so a term is the relevant items over the codes in the ball: 1, 2/3, 2/4; 0; 0, 1/3, 2/4.
    assert found["mLGAP@r2"] == pytest.approx(((1 + 2 / 3 + 2 / 4) + 0 + (0 + 1 / 3 + 2 / 4)) / 9)
