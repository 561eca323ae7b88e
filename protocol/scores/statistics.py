"""Means over runs: intervals, tests and their correction, the best of several hashers, and the power of a test."""

import itertools
import math
import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol import registry
from protocol.checks import ProtocolError
from protocol.scores.tables import DataFrame

LEVEL = 0.05
CONFIDENCE = 1 - LEVEL
POWER = 0.8
CORRECTED = "corrected resampled t-test after Nadeau and Bengio (2003)"
"""The name of the test over runs in captions."""
NO_TEST = "There are no intervals or tests over runs: the variance that runs share is known only if there are fewer "
NO_TEST += "queries than database items."
REPEATED = "Two methods that each have one value in all runs, as without randomness on a fixed split, are not tested, "
REPEATED += "because such runs repeat one run."
TWO_RUNS = "With two runs, an interval that leaves the range of the metric or of its differences is not shown."
ONE_DATASET = "The runs are resamples of one dataset and share items, for which this test is corrected."
FIXED_SPLIT = "The {} split is the same in every run, so its runs differ only by random seeds: the tests hold for "
FIXED_SPLIT += "other seeds, not for other items, and a method without randomness has one value."
Test = TypeVar("Test", bound=Hashable)
_WRITTEN = 5e-9  # the largest relative rounding error of a number that is written with nine digits


def shared_variance(n_queries: Any, n_database: Any) -> float:
    r"""Return the variance that all runs have in common, as a multiple of their sample variance.

    The arguments are as in summary.csv; of numbers that differ between runs ("90 to 100"), those with the largest
    result count. Without numbers, the result is NaN; if there are at least as many queries as database items, it is
    infinite, and there are no intervals or tests.

    Notes
    -----
    The runs are resamples of one dataset, so their mean varies by more than s^2 / n. Let each of N = n_q + n_d items
    have the same influence a_i, with variance v, as a query and as a database item, which is so for a relation between
    pairs of items. If S is the sum of the a_i of the queries and A that of all items, the score of a run is

    .. math:: m = \mu + \frac{S}{n_q} + \frac{A - S}{n_d}
        = \mu + \frac{A}{n_d} + \frac{n_d - n_q}{n_q n_d} S .

    Queries are sampled without replacement, so on one dataset S has mean n_q A / N and variance n_q n_d v / N. The mean
    of many runs is therefore \(\mu + 2 A / N\), whose variance over datasets is 4 v / N, while the runs vary by
    \(v (n_d - n_q)^2 / (N n_q n_d)\) only, because a query that becomes a database item keeps part of its influence.
    The ratio is the result:

    .. math:: \mathrm{Var}(\bar m) \approx s^2 \left( \tfrac1n + \frac{4 n_q n_d}{(n_d - n_q)^2} \right) .

    Nadeau and Bengio add n_test / n_train instead, for a test set that has no influence through training. The
    simulations of `results/reference/resampling` compare the false alarms. The result is larger than necessary if a
    run leaves items out, if the hasher learns, and near n_q = n_d, where pairs of items make the runs differ.

    References
    ----------
    Nadeau and Bengio, *Inference for the Generalization Error*, Machine Learning 52, 2003.

    Examples
    --------
    >>> shared_variance(100, 1700), shared_variance("90 to 100", 1700), shared_variance("not recorded", None)
    (0.265625, 0.265625, nan)
    >>> shared_variance(100, 100)
    inf
    """
    sizes = [re.findall("[0-9]+", str(size)) for size in (n_queries, n_database)]
    if not all(sizes):
        return math.nan
    queries, database = int(sizes[0][-1]), int(sizes[1][0])
    return 4 * queries * database / (database - queries) ** 2 if queries < database else math.inf


class Mean(NamedTuple):
    """A mean of n values with its standard error, and t-tests; sign tests if all values are equal (error 0).

    A sign test has p = 2^(1 - n) for equal values. A t-test would have p = 0 after two values. If the error is NaN, p
    and the limits of intervals are NaN.
    """

    mean: float
    error: float
    n: int

    def p(self) -> float:
        """Return p of the two-sided test that the expectation is 0."""
        from scipy import special  # scipy.stats has the same functions, but takes half a second to import

        if self.error == 0:
            return 2.0 ** (1 - self.n) if self.mean else 1.0
        return float(2 * special.stdtr(self.n - 1, -abs(self.mean) / self.error))

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the limits of the confidence interval; infinite for equal values that are too few to test."""
        if self.error == 0 and self.mean and self.p() > 1 - confidence:
            return -math.inf, math.inf
        half = float(_quantile(self.n, confidence)) * self.error
        return self.mean - half, self.mean + half


def mean_of(values: ArrayLike, operands: ArrayLike = 0.0, *, shared: float = 0.0) -> Mean:
    """Return the mean of values with its standard error, which is 0 if all are equal, and NaN for fewer than two.

    Parameters
    ----------
    values : array_like
    operands : array_like, default=0
        For each value, the sum of the absolute numbers of which it is the difference. Values count as equal if they
        could be equal before these numbers were rounded to nine digits, in which tables are written.
    shared : float, default=0
        The result of `shared_variance` for values of runs that are resamples of one dataset. If it is infinite, the
        standard error is NaN, even if all values are equal.

    Examples
    --------
    >>> mean_of([0.3 - 0.4, 0.2 - 0.3, 0.6 - 0.7], [0.7, 0.5, 1.3]).p()
    0.25
    """
    x, error = np.asarray(values, dtype=np.float64), _WRITTEN * np.asarray(operands, dtype=np.float64)
    if math.isinf(shared) or x.size < 2:
        return Mean(float(x.mean()) if x.size else math.nan, math.nan, x.size)
    low, high = float(np.max(x - error)), float(np.min(x + error))
    if low <= high:
        return Mean(0.0 if low <= 0 <= high else float(x.mean()), 0.0, x.size)
    return Mean(float(x.mean()), float(x.std(ddof=1)) * (1 / x.size + shared) ** 0.5, x.size)


def difference_of(one: NDArray[np.float64], other: NDArray[np.float64], *, shared: float = 0.0) -> Mean:
    """Return the mean difference of paired values, as `mean_of`; without an error if runs only repeat two values.

    Methods without randomness have the same value in every run of a fixed split, however many runs there are.
    """
    mean = mean_of(one - other, np.abs(one) + np.abs(other), shared=shared)
    repeats = shared > 0 and mean.mean and not any(mean_of(values, values).error for values in (one, other))
    return mean._replace(error=math.nan) if repeats else mean


def _quantile(n: ArrayLike, confidence: float) -> NDArray[np.float64]:
    """Return the quantile of Student's t for a two-sided interval of a mean of n values; NaN for a single value."""
    from scipy import special

    return np.asarray(special.stdtrit(np.asarray(n, dtype=np.float64) - 1, (1 + confidence) / 2))


def half_width(std: ArrayLike, n_runs: ArrayLike, *, shared: ArrayLike = 0.0) -> NDArray[np.float64]:
    """Return half the width of the 95% interval of a mean over runs; NaN for one run, and if `shared` is infinite."""
    known = np.where(np.isinf(shared), np.nan, shared)
    error = np.asarray(std) * (1 / np.asarray(n_runs, dtype=np.float64) + known) ** 0.5
    return np.asarray(_quantile(n_runs, CONFIDENCE) * error)


def metric_range(metric: str) -> tuple[float, float]:
    """Return the range of a metric; infinite for unknown ones, which scores from other versions may have."""
    try:
        return registry.METRICS.entry(metric).range
    except ProtocolError:
        return -math.inf, math.inf


def finite_range(metric: str) -> list[float]:
    """Return `metric_range` for charts, which have no infinite numbers."""
    return np.clip(metric_range(metric), -1e300, 1e300).tolist()


def shown_interval(
    low: ArrayLike, high: ArrayLike, n_runs: ArrayLike, metric: str, *, difference: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the limits of intervals over runs as they are shown: NaN if they are infinite, and as `TWO_RUNS` says.

    Parameters
    ----------
    low, high, n_runs : array_like
    metric : str
    difference : bool, default=False
        Whether the intervals are for differences between two values of the metric.

    Examples
    --------
    >>> low, high = shown_interval([-6.198, 0.1, -6.198], [6.612, 0.3, 6.612], [2, 2, 3], "mAP", difference=True)
    >>> low.tolist(), high.tolist()
    ([nan, 0.1, -6.198], [nan, 0.3, 6.612])
    """
    lowest, highest = metric_range(metric)
    if difference:
        lowest, highest = lowest - highest, highest - lowest
    ends = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    leaves = (np.asarray(n_runs) == 2) & ((ends[0] < lowest) | (ends[1] > highest)) | np.isinf(ends[0])
    return np.where(leaves, np.nan, ends[0]), np.where(leaves, np.nan, ends[1])


def why_not_shown(n_runs: Iterable[int], shared: float) -> str:
    """Return a sentence on the reason why intervals over runs are missing; empty if there is none."""
    return NO_TEST if math.isinf(shared) else TWO_RUNS if 2 in set(n_runs) else ""


def why_untested(shared: float) -> str:
    """Return a sentence on the reason why the difference of two methods over several runs is not tested."""
    return REPEATED if math.isfinite(shared) else NO_TEST


def family(tests: str = "all pairs of methods") -> str:
    """Return sentences on the tests that `corrected` gets as one family, for reports and comparisons alike."""
    correction = f"Holm's method corrects p for {tests} at one code length, under one metric and protocol."
    confidence = f"that at which the method tests the difference, at least {CONFIDENCE:.0%}"
    contains = f"so the interval contains 0 exactly if p is not below {LEVEL}"
    return f"{correction} The confidence of an interval is {confidence}, {contains}."


class PairedDifference(NamedTuple):
    """A mean difference, and its interval and p-value, which `corrected` corrects for a family of tests.

    The limits and p are NaN if there is only one run, and if the variance that the runs share is infinite.
    """

    mean: float
    low: float
    high: float
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether p is below 0.05; then, and only then, the interval is without 0."""
        return self.p < LEVEL


def corrected(means: Mapping[Test, Mean]) -> dict[Test, PairedDifference]:
    """Return the mean differences of one family of tests, corrected by Holm's method.

    Of m tests with p-values in ascending order, Holm's method compares the i-th, counted from 0, with 0.05 / (m - i),
    and rejects those before the first that is not below. The interval has this level, or that of the first that is not
    rejected, so it agrees with the test. It is as wide as or wider than that of a single test.
    """
    raw = np.array([mean.p() for mean in means.values()])
    p = holm(raw)
    ranks = np.minimum(np.searchsorted(np.sort(raw), raw), (p < LEVEL).sum())  # of equal p, the first
    tests = zip(means.items(), (LEVEL / (raw.size - ranks)).tolist(), p.tolist(), strict=True)
    return {test: PairedDifference(mean.mean, *mean.interval(1 - level), q) for (test, mean), level, q in tests}


class Lead(NamedTuple):
    """The best hasher and its paired difference from the second best.

    ``second`` is None if there is only one hasher; the numbers of ``of`` are NaN then. ``beats_all`` is whether its
    differences from all others are significant.
    """

    best: str
    mean: float
    second: str | None
    of: PairedDifference
    beats_all: bool
    n_runs: int


def lead(scores: DataFrame, *, shared: float, metric: str = "mAP") -> Lead | None:
    """Return the best hasher by its mean over the runs that all hashers have; None if no score is defined.

    Their paired difference is one of the family of `paired_differences`, because the two are chosen by their means.

    Parameters
    ----------
    scores : DataFrame
        A row per run and a column per hasher.
    shared : float
        The result of `shared_variance`.
    metric : str, default="mAP"
        It says whether higher or lower values are better.
    """
    defined = in_common(scores)
    if defined.empty:
        return None
    means = defined.mean().sort_values(ascending=registry.METRICS.entry(metric).better == "lower", kind="stable")
    best, second = str(means.index[0]), next(iter(means.index[1:]), None)
    others = list(paired_differences(defined[means.index], shared=shared).values())[: len(means) - 1]
    nearest, beats_all = next(iter(others), PairedDifference(*[math.nan] * 4)), all(of.is_significant for of in others)
    return Lead(best, float(means.iloc[0]), second, nearest, beats_all, len(defined))


def in_common(scores: DataFrame) -> DataFrame:
    """Return the scores by run of the hashers with any, in the runs in which all of these have one."""
    return scores.dropna(axis="columns", how="all").dropna()


def paired_differences(scores: DataFrame, *, shared: float) -> dict[tuple[str, str], PairedDifference]:
    """Return the difference of each pair of columns, the first minus the second, by their names.

    The differences are paired over the runs in which all hashers have a score. The tests are corrected resampled
    t-tests, see `shared_variance`, and all pairs are one family (`corrected`). The parameters are as for `lead`.
    """
    columns = {str(name): of_hasher.to_numpy() for name, of_hasher in in_common(scores).items()}
    pairs = itertools.combinations(columns, 2)
    return corrected({pair: difference_of(*map(columns.__getitem__, pair), shared=shared) for pair in pairs})


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return the p-values of a family of tests, corrected by Holm's method for the family-wise error rate.

    The i-th smallest of m p-values, counted from 0, is multiplied by m - i. The results never decrease with i and never
    exceed 1. `multipletests` of statsmodels computes them too, but it collects garbage in every call, which took 22 of
    the 35 seconds of a comparison with 192 tables.

    References
    ----------
    Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm([0.03, 0.01, 0.04])
    array([0.06, 0.03, 0.06])
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)))
    return adjusted


def detectable_effect(std: float, n_runs: int, *, level: float) -> float:
    """Return the mean that a two-sided t-test at a level of significance detects with a power of 0.8.

    Parameters
    ----------
    std : float
        Standard deviation over runs.
    n_runs : int
        At least 2.
    level : float
        Level of significance, between 0 and 1.

    Notes
    -----
    The result is the noncentrality of Student's t (scipy) at which the power is 0.8, times the standard error. The
    method `TTestPower.solve_power` of statsmodels agrees only to six digits, and for three runs at the level 0.001, it
    stops at a quarter of the effect.
    """
    from scipy import optimize, stats

    critical = float(stats.t.isf(level / 2, n_runs - 1))

    def excess_power(noncentrality: float) -> float:
        return float(stats.nct.sf(critical, n_runs - 1, noncentrality)) - POWER

    highest = critical + 10
    while excess_power(highest) < 0:
        highest *= 2
    return float(optimize.brentq(excess_power, 0, highest)) * std / n_runs**0.5
