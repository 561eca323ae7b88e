"""Metrics by hand, and shares of neighbours over all orders of ties."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from encoded import message_of, refusals, refused, refuses, yaml_of

from protocol import metrics
from protocol.counting import HammingCounts, StoredCounts
from protocol.metrics import _by_name, evaluate, everything, neighbours_found, pr_curve, score_rows, top_k_curve
from protocol.metrics._by_name import evaluate_extended, means_of_blocks
from protocol.metrics.average_precision import average_precision
from protocol.metrics.ndcg import ndcg
from protocol.metrics.precision_recall import f_measure, precision

# No relevant item for the second query, nothing within radius 0 for the third.
COUNTS = HammingCounts.from_histograms([[2, 2, 0], [1, 0, 3], [0, 1, 3]], [[1, 0, 0], [0, 0, 0], [0, 1, 0]])
# The first query has its relevant item second, the third one first.
IN_ORDER = {
    "index_precisions": np.array([[0.5, 0, 0], [0, 0, 0], [0, 1, 0]]),
    "index_top": np.array([[2.0, 0, 0], [0, 0, 0], [1, 1, 1]]),
    "index_discounts": np.array([[1 / np.log2(3)], [0], [1]]),
}


def test_means_of_blocks_of_queries_are_those_of_all_queries_without_some():
    blocks, names = [COUNTS.of_queries([0, 1]), COUNTS.of_queries([2])], ["mAP", "mAP@2[all]"]
    for undefined, without in (("zero", []), ("drop", []), ("zero", [0]), ("drop", [1, 2])):
        means = means_of_blocks(blocks, names, undefined=undefined, without=np.array(without, dtype=np.int64))
        values = evaluate(COUNTS.of_queries(np.delete([0, 1, 2], without)), names, undefined=undefined)
        assert means == {name: pytest.approx(metrics.mean(values[name])) for name in names}


def test_every_metric_of_extended_codes_is_that_of_their_counts():
    names, extensions = [*everything(2), "mAP@2[retrieved]"], [("none", 0), ("same", 2), ("different", 1)]
    counts = replace(COUNTS, **IN_ORDER)
    for undefined in ("zero", "drop"):
        values = list(evaluate_extended(counts, extensions, names, undefined=undefined))
        assert [own[:2] for own in values] == extensions
        for extension, s, own in values:
            assert list(own) == names
            expected = evaluate(counts.extended(extension, s), names, undefined=undefined)
            for name in names:
                np.testing.assert_allclose(own[name], expected[name], rtol=1e-12, err_msg=f"{extension} {name}")


def test_runs_of_one_shape_are_scored_together_as_each_alone(monkeypatch):
    names, rng = [*everything(2), "mAP@2[retrieved]"], np.random.default_rng(0)
    stored = []
    for run in range(12):
        cut = rng.permutation(3)[: 2 + run % 2]  # several shapes, in turns
        counts = replace(COUNTS, **IN_ORDER).of_queries(cut)
        of = {"split": "standard", "run": run, "n_bits": 2, "ground_truth": "label", "relevance": "label", "items": ""}
        stored.append(StoredCounts(**of, counts=counts))
    for together, undefined in itertools.product((1, 20, 1000), ("zero", "drop")):
        monkeypatch.setattr(_by_name, "_TOGETHER", together)
        rows = list(score_rows(stored, ("", "", ""), [("none", 0), ("same", 1)], names, undefined=undefined))
        for one in stored:
            for extension in (("none", 0), ("same", 1)):
                alone = evaluate(one.counts.extended(*extension), names, undefined=undefined)
                own = {row[9]: row[-1] for row in rows if row[4] == one.run and row[7:9] == extension}
                expected = {name: metrics.mean(values) for name, values in alone.items()}
                assert own == pytest.approx(expected, rel=1e-12, abs=0, nan_ok=True)


@pytest.mark.parametrize(("name", "expected"), yaml_of("metrics/undefined.yaml")["dropped"])
def test_drop_makes_undefined_values_nan(name, expected):
    np.testing.assert_allclose(evaluate(COUNTS, [name], undefined="drop")[name], expected, rtol=1e-14)
    zeros = evaluate(COUNTS, [name])[name]
    np.testing.assert_array_equal(zeros[np.isnan(expected)], 0)


@pytest.mark.parametrize(("retrieved", "relevant", "name", "zero", "drop"), yaml_of("metrics/undefined.yaml")["both"])
def test_both_treatments_of_undefined_values(retrieved, relevant, name, zero, drop):
    counts = HammingCounts.from_histograms(retrieved, relevant)
    np.testing.assert_allclose(evaluate(counts, [name])[name], zero, rtol=1e-14)
    np.testing.assert_allclose(evaluate(counts, [name], undefined="drop")[name], drop, rtol=1e-14)


def test_numbers_beyond_the_database_and_the_code():
    within = ("precision@r9", "recall@r9", "empty@r9", "F1@r9", "F0.5@r9[micro]", "lookups@r9")
    beyond = {name: name.replace("9", "2") for name in within} | {"nDCG@99": "nDCG", "hit@99": "R@99"}
    beyond |= dict.fromkeys(("mAP@99[all]", "mAP@99[retrieved]", "mAP@99[min]", "mAP@r9"), "mAP")
    for far, complete in (beyond | {"P@99": "precision@r2", "R@99": "recall@r2"}).items():
        values = evaluate(COUNTS, [far, complete])
        np.testing.assert_array_equal(values[far], values[complete])


FUNCTIONS = (evaluate, average_precision, precision, ndcg, pr_curve, f_measure, top_k_curve)


@pytest.mark.parametrize(("case", "message"), refusals("metrics/refused.yaml"))
def test_refusals(case, message):
    call = {function.__name__: function for function in FUNCTIONS}[case.pop("call")]
    assert message_of(call, COUNTS, **case).startswith(message)


def test_the_exponential_gain_is_limited_and_the_linear_one_is_not():
    high, second = HammingCounts.from_histograms([[2, 1]], {1: [[0, 1]], 2000: [[1, 0]]}), 1 / np.log2(3)
    refuses("nDCG: levels must be at most 1000, got 2000", ndcg, high)
    assert ndcg(high, gain="linear").item() == pytest.approx((1000 * (1 + second) + 1 / 2) / (2000 + second))


def test_long_codes_do_not_overflow():
    retrieved = np.zeros((1, 513), dtype=int)
    retrieved[0, 0] = 3
    counts = HammingCounts.from_histograms(retrieved, retrieved)
    assert evaluate(counts, ["utilisation"])["utilisation"].item() == 1 / 3
    assert evaluate(counts, ["RAMAP@r512"])["RAMAP@r512"].item() > 1 / 513
    assert evaluate(counts, ["lookups@r512"])["lookups@r512"].item() == 2.0**512


def test_many_equally_near_items():
    """The chance that none of 40,000 of 100,000 equally near items is among the first 20."""
    counts = HammingCounts.from_histograms([[100_000]], [[40_000]])
    absent = np.prod((60_000 - np.arange(20)) / (100_000 - np.arange(20)))
    np.testing.assert_allclose(neighbours_found(counts, nearest=1, retrieved=20), 1 - absent, rtol=1e-12)


@pytest.mark.parametrize(("metric", "n_relevant"), [("neighbours@2", 1), ("1-recall@2[best]", 0)])
def test_counts_that_lack_nearest_items_are_refused(metric, n_relevant):
    with refused(rf"counts: the relevant items .* its . nearest, but a query has {n_relevant}"):
        metrics.evaluate(HammingCounts.from_histograms([[9]], [[n_relevant]]), [metric])
