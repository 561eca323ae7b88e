import math

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.metrics import evaluate, mean
from protocol.metrics._undefined import ratio
from protocol.ranking import HammingCounts

# No relevant item for the second query, nothing within radius 0 for the third.
COUNTS = HammingCounts.from_histograms([[2, 2, 0], [1, 0, 3], [0, 1, 3]], [[1, 0, 0], [0, 0, 0], [0, 1, 0]])


def test_mean_leaves_nan_out():
    assert mean([0.25, math.nan, 0.75]) == 0.5
    assert math.isnan(mean([math.nan]))
    assert math.isnan(mean([]))


def test_ratio():
    assert ratio([1, 0, 0], [2, 0, 3], empty="zero").tolist() == [0.5, 0.0, 0.0]
    np.testing.assert_array_equal(ratio([1, 0], [2, 0], empty="drop"), [0.5, np.nan])
    with pytest.raises(ProtocolError, match=r"unknown empty= 'nan'; known: drop, zero"):
        ratio([1], [1], empty="nan")


def test_evaluate_keeps_the_order_and_the_numbers():
    names = ["recall@r1", "mAP@1[all]", "precision@r0"]
    values = evaluate(COUNTS, names)
    assert list(values) == names
    assert values["recall@r1"].tolist() == [1, 0, 1]
    assert values["mAP@1[all]"].tolist() == [0.5, 0, 1]
    assert values["precision@r0"].tolist() == [0.5, 0, 0]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("mAP", [0.75, np.nan, 1.0]),
        ("mAP[worst]", [0.5, np.nan, 1.0]),
        ("mAP@1[all]", [0.5, np.nan, 1.0]),
        ("mAP@1[min]", [0.5, np.nan, 1.0]),
        ("mAP@1[retrieved]", [1.0, np.nan, 1.0]),  # dropped: the order of the first query that starts with a miss
        ("nDCG@1", [0.5, np.nan, 1.0]),
        ("precision@r0", [0.5, 0.0, np.nan]),
        ("recall@r0", [1.0, np.nan, 0.0]),
        ("RAMAP@r1", [(1 / 2 + 1 / 4 / 3) / 2, 0.0, 1 / 3]),  # the third query keeps radius 1
        ("RAMAP@r0", [0.5, 0.0, np.nan]),
        ("mLGAP@r0", [0.5, 0.0, np.nan]),
        ("empty@r0", [0.0, 0.0, 1.0]),
    ],
)
def test_drop_marks_what_is_undefined(name, wanted):
    np.testing.assert_allclose(evaluate(COUNTS, [name], empty="drop")[name], wanted, rtol=1e-14)
    zeros = evaluate(COUNTS, [name])[name]
    np.testing.assert_array_equal(zeros[np.isnan(wanted)], 0)


def test_area_with_and_without_an_empty_radius():
    counts = HammingCounts.from_histograms([[0, 2, 2]], [[0, 1, 1]])  # points (0, 0/0), (1/2, 1/2), (1, 1/2)
    for rule, zero, drop in [("trapezoid", 0.375, 0.25), ("sum", 0.5, 0.5), ("area", 0.375, 0.5)]:
        name = f"AUPRC[{rule}]"
        assert evaluate(counts, [name])[name].item() == zero
        assert evaluate(counts, [name], empty="drop")[name].item() == drop


def test_area_without_a_relevant_item():
    counts = HammingCounts.from_histograms([[1, 1]], [[0, 0]])
    for name in ("AUPRC[trapezoid]", "AUPRC[sum]", "AUPRC[area]"):
        assert evaluate(counts, [name])[name].tolist() == [0.0]
        assert np.isnan(evaluate(counts, [name], empty="drop")[name]).all()


def test_numbers_beyond_the_database_and_the_code():
    for far, whole in [
        ("mAP@99[all]", "mAP"),
        ("mAP@99[retrieved]", "mAP"),
        ("mAP@99[min]", "mAP"),
        ("nDCG@99", "nDCG"),
        ("precision@r9", "precision@r2"),
        ("recall@r9", "recall@r2"),
        ("empty@r9", "empty@r2"),
    ]:
        values = evaluate(COUNTS, [far, whole])
        np.testing.assert_array_equal(values[far], values[whole])


@pytest.mark.parametrize("name", ["RAMAP@r3", "mLGAP@r3"])
def test_a_mean_over_radii_beyond_the_code_is_refused(name):
    with pytest.raises(ProtocolError, match="radius: wanted 0 to n_bits = 2, came 3"):
        evaluate(COUNTS, [name])


def test_refusals():
    from protocol.metrics.average_precision import average_precision
    from protocol.metrics.ndcg import ndcg
    from protocol.metrics.precision_recall import precision

    with pytest.raises(ProtocolError, match=r"unknown metric 'mAQ'.*mAP"):
        evaluate(COUNTS, ["mAQ"])
    with pytest.raises(ProtocolError, match="cutoff: wanted at least 1, came 0"):
        average_precision(COUNTS, cutoff=0)
    with pytest.raises(ProtocolError, match="unknown ties= 'index'"):
        average_precision(COUNTS, ties="index")
    with pytest.raises(ProtocolError, match="ties='best': can't be had with denominator='retrieved'"):
        average_precision(COUNTS, ties="best", cutoff=2, denominator="retrieved")
    with pytest.raises(ProtocolError, match="radius: wanted at least 0, came -1"):
        precision(COUNTS, radius=-1)
    with pytest.raises(ProtocolError, match="nDCG: wanted levels up to 1000, came 1001"):
        ndcg(HammingCounts.from_histograms([[1, 1]], {1001: [[1, 0]]}))
    for name in ("empty@r1", "utilisation", "AUPRC[sum]", "mAP"):
        with pytest.raises(ProtocolError, match="unknown empty= 'nan'"):
            evaluate(COUNTS, [name], empty="nan")


def test_utilisation_of_long_codes_does_not_overflow():
    retrieved = np.zeros((1, 513), dtype=int)
    retrieved[0, 0] = 3
    counts = HammingCounts.from_histograms(retrieved, retrieved)
    assert evaluate(counts, ["utilisation"])["utilisation"].item() == 2.0**-512
    assert evaluate(counts, ["RAMAP@r512"])["RAMAP@r512"].item() > 1 / 513
