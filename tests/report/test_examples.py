"""What the figures show beyond the summary, against the definitions written out."""

import numpy as np
import pytest

from protocol import codes, metrics, registry
from protocol.counting import StoredCounts, count
from protocol.evaluation.scoring import spread_of
from protocol.report import examples
from protocol.truth.relevance import LabelRelevance

N_BITS, N = 6, 40
RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 3, N)
BITS = RNG.random((N, N_BITS)) < 0.4
PAIR = {"query": codes.pack(BITS[:9]), "database": codes.pack(BITS[9:])}
TRUTHS = {"class_label": LabelRelevance(LABELS[:9], LABELS[9:])}
PARTS = {"query": np.arange(100, 109), "database": np.arange(200, 231)}


COUNTS = count(PAIR["query"], PAIR["database"], N_BITS, TRUTHS)["class_label"]
STORED = StoredCounts("standard", 0, N_BITS, "class_label", "class labels", "", COUNTS)


def values(rows, **columns):
    return {row["radius"]: row["value"] for row in rows if all(row[key] == value for key, value in columns.items())}


def test_precision_recall_and_empty_balls_at_every_radius_by_their_definitions():
    rows = list(examples.radius_rows(STORED, undefined="zero"))
    distances = codes.hamming_distance(PAIR["query"], PAIR["database"])
    relevant = LABELS[:9, None] == LABELS[None, 9:]
    for radius in range(N_BITS + 1):
        within = distances <= radius
        precision = (within & relevant).sum() / within.sum() if within.any() else 0
        assert values(rows, metric="precision[micro]")[radius] == pytest.approx(precision)
        assert values(rows, metric="recall[micro]")[radius] == pytest.approx((within & relevant).sum() / relevant.sum())
        assert values(rows, metric="empty")[radius] == pytest.approx((~within.any(axis=1)).mean())


def test_curves_are_the_metrics_and_queries_without_relevant_items_are_counted():
    rows = list(examples.curve_rows(STORED, undefined="zero"))
    found = {(row["metric"], row["at"]): row["value"] for row in rows}
    assert len(found) == len(rows)
    for kind, name in (("precision", "P@{}"), ("recall", "R@{}")):
        at = [place for metric, place in found if metric == kind]
        names = [name.format(place) for place in at]
        expected = metrics.evaluate(COUNTS, names)
        assert [found[kind, place] for place in at] == pytest.approx([metrics.mean(expected[own]) for own in names])
    assert max(place for metric, place in found if metric == "precision") == 31
    assert found["without_relevant", 0] == (COUNTS.n_relevant == 0).mean()


def test_conventions_are_those_of_the_spread():
    rows = list(examples.convention_rows(PAIR, N_BITS, TRUTHS))
    counts = count(PAIR["query"], PAIR["database"], N_BITS, TRUTHS, index_order=True)["class_label"]
    assert [(row["metric"], row["value"]) for row in rows] == [(row.metric, row.value) for row in spread_of([counts])]
    (expected,) = [row for row in rows if row["metric"] == "mAP" and row["undefined"] in ("0", "no difference")]
    assert "talr" in expected["reported_as_map_by"].split()


def test_every_item_stands_in_the_histogram_at_its_code_and_long_codes_have_none():
    rows = list(examples.histogram_rows(PAIR["database"], N_BITS))
    by_code = np.bincount(BITS[9:] @ (1 << np.arange(N_BITS)), minlength=2**N_BITS)
    assert {row["code"]: row["items"] for row in rows} == {code: n for code, n in enumerate(by_code.tolist()) if n}
    assert list(examples.histogram_rows(np.zeros((3, 2), np.uint8), 13)) == []


def test_what_a_query_retrieves_is_the_stable_order_of_its_distances():
    rows = list(examples.retrieved_rows(PAIR, N_BITS, TRUTHS, PARTS))
    distances = codes.hamming_distance(PAIR["query"], PAIR["database"])
    assert sorted({row["query"] for row in rows}) == [100, 102, 104, 106, 108]
    for query in (0, 4):
        ranked = sorted(range(31), key=lambda position: (distances[query, position], position))[:12]
        own = [row for row in rows if row["query"] == 100 + query]
        assert [row["item"] for row in own] == [200 + position for position in ranked]
        assert [row["relevant"] for row in own] == [int(LABELS[9 + p] == LABELS[query]) for p in ranked]
        assert all(row["at_distance"] == (distances[query] == row["distance"]).sum() for row in own)


def test_the_tables_contain_the_declared_metrics_and_no_others(monkeypatch):
    """The rule runs again if one of these metrics is edited."""
    computed, get = set(), registry.get
    monkeypatch.setattr(
        registry, "get", lambda kind, name: computed.add(registry.entry(kind, name).name) or get(kind, name)
    )
    for rows in (
        examples.radius_rows(STORED, undefined="zero"),
        examples.curve_rows(STORED, undefined="zero"),
        examples.convention_rows(PAIR, N_BITS, TRUTHS),
    ):
        assert list(rows)
    assert computed == {registry.METRICS.entry(name).name for name in examples.METRICS}
