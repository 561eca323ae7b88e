"""Claims of *Learning to Hash for Large Scale Image Retrieval*, chapter 3."""

import pytest
from evidence import CASES, curves, searches

from protocol.papers.claim import NOT_RUN, REPLICATED, SOME_FAIL
from protocol.papers.claim import SUBSTITUTE_NOT_REPLICATED as NOT_ON_SUBSTITUTE
from protocol.papers.claim import SUBSTITUTE_REPLICATED as ON_SUBSTITUTE


def changed(statistic, value):
    return [row | ({"value": value} if row["statistic"] == statistic else {}) for row in CASES["S4-01"].confirming]


@pytest.mark.parametrize(("labels", "per_class"), [(1.8684, 6219.87), (1.8655, 6215.0), (1.8749, 6224.9)])
def test_means_of_nuswide_are_compared_as_printed(verdict, labels, per_class):
    rows = [
        row | {"value": {"labels": labels, "per class": per_class}.get(row["statistic"], row["value"])}
        if row["dataset"] == "nuswide"
        else row
        for row in CASES["S4-01"].confirming
    ]
    assert verdict("S4-01", rows).status == REPLICATED


@pytest.mark.parametrize(("statistic", "value"), [("bow", 501), ("labels", 1.88), ("dimension", 513)])
def test_another_dataset_is_detected(verdict, statistic, value):
    found = verdict("S4-01", changed(statistic, value))
    assert found.status == SOME_FAIL
    assert found.named(False)


def test_a_dataset_that_is_not_there_is_a_part_that_is_not_run(verdict):
    found = verdict("S4-01", [row for row in CASES["S4-01"].confirming if row["dataset"] != "sift1m"])
    assert found.named(None) == ["SIFT1M items, dimension"]


@pytest.mark.parametrize(
    ("precisions", "recalls", "holds"),
    [((0.6, 0.5, 0.5), (0.1, 0.2, 0.2), True), ((0.6, 0.5, 0.51), (0.1, 0.2, 0.3), False), ((1, 1), (0.2, 0.1), False)],
)
def test_a_curve_falls_from_radius_to_radius(verdict, precisions, recalls, holds):
    assert verdict("S4-12", curves(precisions, recalls)).status == (ON_SUBSTITUTE if holds else NOT_ON_SUBSTITUTE)


def test_curves_of_two_ground_truths_are_apart(verdict):
    rows = [*curves((0.6, 0.5), (0.1, 0.2))]
    lower = [row | {"ground_truth": "epsilon_ball", "mean": row["mean"] / 10} for row in rows]
    shown = verdict("S4-12", rows + lower).evidence.by_reading["as printed"]
    assert shown["ITQ, steps"] == 2


def test_a_proxy_needs_every_method(verdict):
    rows = [*searches(1)]
    assert verdict("X-17", rows).status == ON_SUBSTITUTE
    assert verdict("X-17", [row for row in rows if ", lsh," not in row["statistic"]]).status == NOT_RUN
    swapped = [row | ({"value": 2.5} if "bucket search, lsh" in row["statistic"] else {}) for row in rows]
    found = verdict("X-17", swapped)
    assert (
        found.evidence.by_reading["as printed"]["mAP, 16 bits: share of pairs of methods in a different order"]
        == 2 / 28
    )
