"""Intervals, tests and power, against scipy, by hand and by simulation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from protocol.report.statistics import detectable_effect, effect, holm, lead, runs_needed

X = np.random.default_rng(3).normal(0.4, 1.0, 12)


def test_the_effect_is_that_of_scipy():
    found, t = effect(X), stats.ttest_1samp(X, 0)
    low, high = t.confidence_interval(0.95)
    assert found == pytest.approx((X.mean(), np.std(X, ddof=1), low, high, t.pvalue, stats.wilcoxon(X).pvalue))


def test_it_is_the_paired_test():
    inside, outside = X + 5, np.linspace(0, 1, 12)
    assert effect(inside - outside).p == pytest.approx(stats.ttest_rel(inside, outside).pvalue)


def test_without_spread_there_is_nothing_but_zero_or_not():
    assert effect([0.0, 0.0, 0.0]) == (0, 0, 0, 0, 1, 1)
    assert effect([2.0, 2.0]) == (2, 0, 2, 2, 0, 0)


def test_the_interval_holds_the_truth_nineteen_times_in_twenty():
    rng = np.random.default_rng(0)
    found = [effect(rng.normal(1.0, 2.0, 8)) for _ in range(2000)]
    assert np.mean([one.low <= 1.0 <= one.high for one in found]) == pytest.approx(0.95, abs=0.015)


def rejected_by_steps(p, level):
    """Holm's procedure as he wrote it: the smallest p against level / m, the next against level / (m - 1), ..."""
    rejected = set()
    for step, which in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[which] > level / (len(p) - step):
            break
        rejected.add(which)
    return rejected


@pytest.mark.parametrize("seed", range(20))
def test_holm_rejects_what_his_steps_reject(seed):
    p = np.random.default_rng(seed).random(9) ** 4
    for level in (0.01, 0.05, 0.2):
        assert set(np.flatnonzero(holm(p) <= level)) == rejected_by_steps(p, level)


def test_holm_keeps_the_order_stays_below_one_and_leaves_a_single_test_alone():
    p = [0.5, 0.02, 0.9, 0.02]
    assert holm(p).tolist() == pytest.approx([1.0, 0.08, 1.0, 0.08])
    assert holm([0.03]).tolist() == [0.03]
    assert holm([]).size == 0


@pytest.mark.parametrize(("n", "level"), [(5, 0.05), (12, 0.05), (12, 0.001), (40, 0.0005)])
def test_the_detectable_effect_is_seen_four_times_in_five(n, level):
    rng = np.random.default_rng(n)
    mean = detectable_effect(2.0, n, level=level)
    draws = rng.normal(mean, 2.0, (20000, n))
    seen = stats.ttest_1samp(draws, 0, axis=1).pvalue < level
    assert seen.mean() == pytest.approx(0.8, abs=0.015)


@pytest.mark.parametrize("std", [0.0, 0.0002, 0.001, 0.004])
def test_runs_needed_is_the_first_number_that_is_enough(std):
    first = next(n for n in itertools.count(3) if detectable_effect(std, n, level=0.001) <= 0.001)
    assert runs_needed(0.001, std, level=0.001) == first


def test_a_lead_is_the_paired_difference_of_the_two_best_with_the_interval_of_all_pairs():
    scores = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [0.5, 0.7, 0.6], "c": [0.4, 0.5, 0.6]})
    found = lead(scores)
    assert (found.best, found.second, found.n_runs) == ("b", "c", 3)
    assert found.mean == pytest.approx(0.6)
    assert found.difference == pytest.approx(0.1)
    half = stats.t.ppf(1 - 0.05 / 3 / 2, 2) * 0.1 / 3**0.5
    assert (found.low, found.high) == pytest.approx((0.1 - half, 0.1 + half))
    lowest = lead(scores, better="lower")
    assert (lowest.best, lowest.second, lowest.difference) == ("a", "c", pytest.approx(-0.3))


def test_a_lead_leaves_out_what_is_undefined():
    nan = float("nan")
    scores = pd.DataFrame({"a": [0.1, 0.2], "b": [nan, nan], "c": [0.4, nan]})
    found = lead(scores)
    assert (found.best, found.second, found.n_runs) == ("c", "a", 1)
    assert np.isnan(found.low)
    assert lead(scores[["c"]]).second is None
    assert lead(scores[["b"]]) is None
