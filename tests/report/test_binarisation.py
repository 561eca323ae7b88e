"""Recall lost to binarisation: shares and intervals by hand, and when the section appears."""

import dataclasses

import pytest
from scipy import stats

from protocol.report.sections.curves import binarisation_section, shares
from protocol.scores.summary import at

CELL = ["feature", "ground_truth", "split", "n_bits", "hasher", "metric"]


def test_the_shares_are_those_of_the_metrics_with_the_intervals_of_means_over_runs(results):
    rows, names = shares(results), {1: "P@5", 2: "R@10", 4: "R@20"}
    assert set(rows["c"]) == set(names)
    both = rows.assign(metric=rows["c"].map(names)).merge(results.summary, on=CELL, suffixes=("", "_scored"))
    plain = at(both, extension="none")
    assert len(plain) == len(rows)
    assert (plain["mean"] == plain["mean_scored"]).all()
    three = dataclasses.replace(results, summary=results.summary.assign(mean=0.5, std=0.01, n_runs=3))
    half = stats.t.ppf(0.975, 2) * 0.01 * (1 / 3 + three.shared("standard")) ** 0.5
    (itq,) = at(shares(three), hasher="itq", split="standard", n_bits=8, c=2).itertuples()
    assert (itq.low, itq.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_without_nearest_neighbours_or_their_metrics_there_is_no_section(results, bare):
    assert binarisation_section(results).figures[0].choices["ground_truth"] == "nearest_neighbours"
    assert binarisation_section(bare) is None
    options = results.config["ground_truth_options"] | {"nearest_neighbours": {"n_neighbours": 7}}
    other = dataclasses.replace(results, config=results.config | {"ground_truth_options": options})
    assert binarisation_section(other) is None  # P@5 and R@10 are of no use where 7 are nearest
