"""Means over runs: intervals, tests and their correction, the best of several hashers, and the power of a test."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocol.checks import need

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
POWER = 0.8


class Effect(NamedTuple):
    """A mean over runs with its spread, its interval, and tests that it is zero.

    ``low`` and ``high`` are the limits of the 95 % confidence interval (Student's t); ``p`` is that of the two-sided
    t-test (for differences, the paired t-test), and ``p_wilcoxon`` that of the signed-rank test. ``std`` is the sample
    standard deviation.
    """

    mean: float
    std: float
    low: float
    high: float
    p: float
    p_wilcoxon: float


def effect(values: ArrayLike) -> Effect:
    """Return the mean of at least two independent runs, with its interval and tests.

    If all values are equal, there is no spread to test with: p is then 1 for zeros, and 0 otherwise.

    Examples
    --------
    >>> found = effect([1.0, 2.0, 3.0])
    >>> [round(value, 3) for value in found]
    [2.0, 1.0, -0.484, 4.484, 0.074, 0.25]
    """
    from scipy import stats

    x = np.asarray(values, dtype=np.float64)
    mean, std = float(x.mean()), float(x.std(ddof=1))
    half = float(half_width(std, x.size))
    if std == 0:
        p = p_wilcoxon = float(mean == 0)
    else:
        p = float(2 * stats.t.sf(abs(mean) / std * x.size**0.5, x.size - 1))
        p_wilcoxon = float(stats.wilcoxon(x).pvalue)
    return Effect(mean, std, mean - half, mean + half, p, p_wilcoxon)


def half_width(std: ArrayLike, n_runs: ArrayLike, *, confidence: float = CONFIDENCE) -> NDArray[np.float64]:
    """Return half the width of the confidence interval of a mean over runs (Student's t); NaN for a single run."""
    from scipy import stats

    n = np.asarray(n_runs, dtype=np.float64)
    return np.asarray(stats.t.ppf((1 + confidence) / 2, n - 1) * np.asarray(std) / n**0.5)


class Lead(NamedTuple):
    """The best hasher and its paired difference from the second best.

    ``second`` is None if there is only one hasher; ``low`` and ``high`` are NaN if there is only one run.
    """

    best: str
    mean: float
    second: str | None
    difference: float
    low: float
    high: float
    n_runs: int


def lead(scores: "pd.DataFrame", *, better: str = "higher") -> Lead | None:
    """Return the best hasher by its mean over the runs that all hashers have; None if no score is defined.

    Because the two hashers are chosen by their means, the interval of their difference is corrected for all pairs of
    hashers (Bonferroni).

    Parameters
    ----------
    scores : DataFrame
        A row per run and a column per hasher.
    better : {"higher", "lower"}, default="higher"
    """
    defined = scores.dropna(axis="columns", how="all").dropna()
    if defined.empty:
        return None
    ranked = defined.mean().sort_values(ascending=better == "lower", kind="stable")
    best, mean, n_runs = str(ranked.index[0]), float(ranked.iloc[0]), len(defined)
    if len(ranked) == 1:
        return Lead(best, mean, None, math.nan, math.nan, math.nan, n_runs)
    second = str(ranked.index[1])
    paired = defined[best] - defined[second]
    confidence = 1 - (1 - CONFIDENCE) / math.comb(len(ranked), 2)
    half = float(half_width(paired.std(), n_runs, confidence=confidence))
    difference = float(paired.mean())
    return Lead(best, mean, second, difference, difference - half, difference + half, n_runs)


def holm(p: Sequence[float]) -> NDArray[np.float64]:
    """Return the p-values of a family of tests, corrected by Holm's method for the family-wise error rate.

    The i-th smallest of m p-values, counted from 0, is multiplied by m - i. The results never decrease with i and never
    exceed 1. `multipletests` of statsmodels computes them, but does not accept an empty family.

    References
    ----------
    Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm([0.03, 0.01, 0.04])
    array([0.06, 0.03, 0.06])
    """
    values = np.asarray(p, dtype=np.float64)
    if not values.size:
        return values
    return np.asarray(need("statsmodels.stats.multitest", "report").multipletests(values, method="holm")[1])


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


def runs_needed(target: float, std: float, *, level: float) -> int:
    """Return the smallest number of runs, at least 3, with which `detectable_effect` is at most `target`."""
    above = 3
    while detectable_effect(std, above, level=level) > target:
        above *= 2
    below = above // 2
    while above > 3 and above - below > 1:
        middle = (above + below) // 2
        if detectable_effect(std, middle, level=level) > target:
            below = middle
        else:
            above = middle
    return above
