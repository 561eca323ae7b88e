"""Intervals, tests and power, against scipy, by hand and by simulation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from encoded import yaml_of
from hypothesis import given
from hypothesis import strategies as st
from plainly import rejected_by_steps
from scipy import stats

from protocol.scores.statistics import (
    NO_TEST,
    TWO_RUNS,
    Mean,
    corrected,
    detectable_effect,
    difference_of,
    half_width,
    holm,
    lead,
    mean_of,
    paired_differences,
    shared_variance,
    shown_interval,
    why_not_shown,
)

X = np.random.default_rng(3).normal(0.4, 1.0, 12)


@pytest.mark.parametrize("shared", [0, 0.25])
def test_the_test_and_its_interval_are_those_of_scipy(shared):
    found, t = mean_of(X, shared=shared), stats.t(11, X.mean(), X.std(ddof=1) * (1 / 12 + shared) ** 0.5)
    expected = (X.mean(), *t.interval(0.95), 2 * min(t.cdf(0), t.sf(0)))
    assert (found.mean, *found.interval(), found.p()) == pytest.approx(expected)


def test_equal_values_are_tested_by_a_sign_test():
    cases = [([0.0] * 3, (0, 0, 0, 1)), ([2.0] * 2, (2, -np.inf, np.inf, 0.5)), ([2.0] * 6, (2, 2, 2, 2**-5))]
    for values, expected in cases:
        found = mean_of(values)
        assert (found.mean, *found.interval(), found.p()) == expected


@given(
    values=st.lists(st.integers(0, 10**6), min_size=2, max_size=50),
    constant=st.integers(-(10**6), 10**6).filter(bool),
    written=st.booleans(),
)
def test_differences_that_are_equal_but_for_rounding_are_equal(values, constant, written):
    """In one of two tables, a constant is added to every value; tables are written with nine digits."""
    one = np.array(values) / 10**6
    other = one + constant / 10**6
    if written:
        one, other = ([float(f"{value:.9g}") for value in table * np.pi] for table in (one, other))
    differences, size = np.subtract(other, one), np.abs(one) + np.abs(other)
    found = mean_of(differences, size)
    assert found.mean == pytest.approx(constant / 10**6 * (np.pi if written else 1), rel=0.02)
    assert found.p() == 2.0 ** (1 - len(values))


@pytest.mark.parametrize(("n_queries", "n_database"), [(1, 4), (2, 3), (2, 6), (3, 5)])
def test_the_shared_variance_is_that_of_all_splits_of_a_dataset_whose_items_have_one_influence_in_both_roles(
    n_queries, n_database
):
    """Each score is linear in the items' influences, so a matrix has the covariances of the scores of all splits."""
    n = n_queries + n_database
    splits = list(itertools.combinations(range(n), n_queries))
    weights = np.array([[1 / n_queries if i in queries else 1 / n_database for i in range(n)] for queries in splits])
    covariances = weights @ weights.T
    of_mean = covariances.mean()
    within = np.trace(covariances) / len(splits) - of_mean
    assert shared_variance(n_queries, n_database) == pytest.approx(of_mean / within)


def test_the_shared_variance_of_other_sizes():
    assert shared_variance("90 to 100", "1600 to 1700") == pytest.approx(4 * 100 * 1600 / 1500**2)
    assert shared_variance(200, 100) == shared_variance("90 to 100", "100") == np.inf
    assert np.isnan(shared_variance(None, 100))


def test_runs_that_repeat_the_values_of_methods_without_randomness_prove_no_difference():
    """On a fixed split, one run has the same values as ten; queries with such values are ten."""
    scores = pd.DataFrame({"a": [0.5] * 10, "b": [0.4] * 10, "c": np.linspace(0.1, 0.2, 10), "d": [0.4] * 10})
    tests = paired_differences(scores, shared=0.3)
    assert np.isnan(tests["a", "b"][1:]).all()
    assert tests["b", "d"].p == 1
    assert tests["a", "c"].is_significant
    assert difference_of(scores["a"], scores["b"]).p() == 2.0**-9


@pytest.mark.parametrize("values", [[0.1, 0.2, 0.4], [0.1, 0.1, 0.1]])
def test_nothing_is_tested_where_the_shared_variance_is_infinite(values):
    found = mean_of(values, shared=np.inf)
    assert found.mean == pytest.approx(np.mean(values))
    assert np.isnan([found.p(), *found.interval()]).all()
    assert np.isnan(half_width([0.0, 0.1], [3, 3], shared=np.inf)).all()
    scores = pd.DataFrame({"a": values, "b": [0.3, 0.5, 0.8]})
    assert np.isnan(
        [lead(scores, shared=np.inf).of.low, *paired_differences(scores, shared=np.inf)["a", "b"][1:]]
    ).all()
    assert [why_not_shown(n, np.inf) for n in ([3], [2])] == [NO_TEST] * 2
    assert [why_not_shown(n, 0.1) for n in ([1], [2], [3, 2])] == ["", TWO_RUNS, TWO_RUNS]


@pytest.mark.parametrize(
    ("low", "high", "n_runs", "metric", "difference", "is_shown"), yaml_of("scores/intervals.yaml")
)
def test_with_two_runs_an_interval_that_leaves_the_range_is_not_shown(low, high, n_runs, metric, difference, is_shown):
    ends = np.array(shown_interval([low], [high], [n_runs], metric, difference=difference))
    assert ends.ravel().tolist() == [low, high] if is_shown else np.isnan(ends).all()


@pytest.mark.parametrize("seed", range(20))
def test_holm_rejects_what_his_steps_reject(seed):
    p = np.random.default_rng(seed).random(9) ** 4
    for level in (0.01, 0.05, 0.2):
        assert set(np.flatnonzero(holm(p) <= level)) == rejected_by_steps(p, level)


@pytest.mark.parametrize(("n", "level"), [(5, 0.05), (12, 0.05), (12, 0.001), (40, 0.0005)])
def test_the_detectable_effect_is_seen_four_times_in_five(n, level):
    rng = np.random.default_rng(n)
    mean = detectable_effect(2.0, n, level=level)
    draws = rng.normal(mean, 2.0, (20000, n))
    seen = stats.ttest_1samp(draws, 0, axis=1).pvalue < level
    assert seen.mean() == pytest.approx(0.8, abs=0.015)


def test_a_lead_is_the_paired_difference_of_the_two_best():
    scores = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [0.5, 0.7, 0.6], "c": [0.4, 0.5, 0.6]})
    found = lead(scores, shared=0.25)
    assert (found.best, found.second, found.n_runs) == ("b", "c", 3)
    assert found.mean == pytest.approx(0.6)
    assert found.of == paired_differences(scores[["b", "c", "a"]], shared=0.25)["b", "c"]
    assert [found.beats_all, lead(scores * [0.1, 1, 0.1], shared=0).beats_all] == [False, True]
    lowest = lead(scores, shared=0.25, metric="empty@r2")
    assert (lowest.best, lowest.second, lowest.of.mean) == ("a", "c", pytest.approx(-0.3))


def test_paired_differences_have_the_intervals_and_p_of_all_pairs():
    """The differences of the runs: 0.1, 0.2, 0.3 (b - a), 0.3, 0.5, 0.4 (c - a) and 0.2, 0.3, 0.1 (c - b)."""
    scores = pd.DataFrame({"c": [0.5, 0.7, 0.6], "b": [0.3, 0.4, 0.5], "a": [0.2, 0.2, 0.2]})
    found = paired_differences(scores, shared=0.25)
    assert list(found) == [("c", "b"), ("c", "a"), ("b", "a")]
    error = 0.1 * (1 / 3 + 0.25) ** 0.5
    p = [2 * stats.t.sf(mean / error, 2) for mean in (0.2, 0.4, 0.2)]
    half = stats.t.ppf(1 - 0.05 / 3 / 2, 2) * error
    for pair, mean, q in zip(found.values(), (0.2, 0.4, 0.2), (2 * p[0], 3 * p[1], 2 * p[2]), strict=True):
        assert pair == pytest.approx((mean, mean - half, mean + half, q))


@pytest.mark.parametrize("seed", range(20))
def test_intervals_contain_0_exactly_if_the_corrected_test_is_not_significant(seed):
    rng = np.random.default_rng(seed)
    means = [Mean(mean, 0.1, 8) for mean in rng.normal(0, 0.4, 12)]
    tests = [*means, means[0], Mean(0.2, 0.0, 8), Mean(0.0, 0.0, 8), Mean(0.2, 0.0, 3)]
    of = list(corrected(dict(enumerate(tests))).values())
    significant = rejected_by_steps([*(mean.p() for mean in means), means[0].p(), 2**-7, 1, 1 / 4], 0.05)
    assert {n for n, one in enumerate(of) if one.is_significant} == significant
    assert {n for n, one in enumerate(of) if not one.low <= 0 <= one.high} == significant
    assert all(one.low <= mean.interval()[0] for one, mean in zip(of, means, strict=False))


def test_differences_and_leads_need_two_runs_and_leave_out_what_is_undefined():
    nan = float("nan")
    scores = pd.DataFrame({"a": [0.4, nan, 0.6], "b": [nan, nan, nan], "c": [0.1, 0.2, 0.2]})
    assert paired_differences(scores, shared=0.25)["a", "c"].mean == pytest.approx(0.35)
    (one,) = paired_differences(scores[:2], shared=0.25).values()
    assert one.mean == pytest.approx(0.3)
    assert np.isnan(one[1:]).all()
    assert paired_differences(scores[["a"]], shared=0.25) == {}
    assert np.isnan(paired_differences(pd.DataFrame({"a": [0.1, nan], "c": [nan, 0.2]}), shared=0.25)["a", "c"]).all()
    found = lead(scores[:2], shared=0.25)
    assert (found.best, found.second, found.n_runs) == ("a", "c", 1)
    assert np.isnan(found.of.low)
    assert lead(scores[["c"]], shared=0.25).second is None
    assert lead(scores[["b"]], shared=0.25) is None
