"""Paired differences of methods from a reference method, with simultaneous intervals and corrected tests.

The tests are those of `protocol.scores.statistics.Mean`: paired t-tests, corrected for items that runs share, and sign
tests where all differences are equal. `holm` corrects them for multiple tests.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from protocol import registry
from protocol.comparison.reading import RUN, Pairs, Score, pair
from protocol.scores.statistics import CONFIDENCE, CORRECTED, Mean, holm, mean_of, shared_variance

OVER_QUERIES = "paired t-test"
UNCORRECTED = "paired t-test, not corrected"
"""The name of the test over runs if no file records their numbers of queries and database items."""
UNTESTED = "none"
"""The name of the test over runs if `shared_variance` is infinite."""
EQUAL = "sign test"


class Outcome(NamedTuple):
    """The interval and the p-values of one comparison.

    ``low`` and ``high`` bound the mean difference. ``p`` belongs to the two-sided paired t-test. ``p_no_worse`` belongs
    to the one-sided test of the hypothesis that the method is worse by the margin or more, ``p_equal`` to the two
    one-sided tests of the hypothesis that it differs by the margin or more; both are NaN without a margin. All but the
    difference are NaN if nothing was tested.
    """

    difference: float
    low: float
    high: float
    p: float
    p_no_worse: float
    p_equal: float


@dataclass(frozen=True)
class Difference:
    """The difference of a method from the reference at one code length; p-values are corrected by Holm's procedure."""

    method: str
    n_bits: int
    pairs: Pairs
    test: str
    outcome: Outcome


@dataclass(frozen=True)
class Differences:
    """All comparisons of one table with its reference.

    Parameters
    ----------
    reference : str or None
        None if no method has a value.
    n_tests : int
        The number of comparisons for which intervals and p-values are corrected: those in `comparisons` if the user
        named the reference. If the reference was chosen by its score, it could have been any method, so every pair of
        methods at each code length counts.
    is_named : bool
        Whether the user named the reference; otherwise it is the method with the best mean in the table.
    comparisons : list of Difference
    missing : dict of str to list of str
        For each reason, the methods that could not be paired.
    """

    reference: str | None
    n_tests: int
    is_named: bool
    comparisons: list[Difference]
    missing: dict[str, list[str]]


def best(rows: Mapping[str, Mapping[int, Score]], metric: str) -> str | None:
    """Return the method with the best mean in a table, given the direction of the metric; None if all are undefined."""
    sign = 1 if registry.METRICS.entry(metric).better == "higher" else -1
    means = {
        method: [sign * s.mean for s in by_length.values() if not np.isnan(s.mean)]
        for method, by_length in rows.items()
    }
    defined = {method: max(of_method) for method, of_method in means.items() if of_method}
    return max(defined, key=defined.__getitem__) if defined else None


def differences(
    rows: Mapping[str, Mapping[int, Score]], metric: str, *, against: str | None = None, margin: float | None = None
) -> Differences:
    """Return the differences of the methods of one table from the reference.

    Parameters
    ----------
    rows : mapping of str to mapping of int to Score
        The scores by method and code length.
    metric : str
    against : str, optional
        The reference; the method with the best mean if None.
    margin : float, optional
        The largest difference that does not matter.
    """
    reference = against or best(rows, metric)
    is_named = against is not None
    if reference is None or reference not in rows:
        reason = f"{against} has no value here" if is_named else "no method has a value"
        return Differences(reference, 0, is_named, [], {reason: list(rows)})
    paired, missing = _pairs(rows, reference)
    lengths = Counter(n_bits for _, n_bits, _ in paired)
    n_tests = len(paired) if is_named else sum(n * (n + 1) // 2 for n in lengths.values())  # pairs of methods
    level = 1 - (1 - CONFIDENCE) / max(1, n_tests)
    sizes = next(iter(rows[reference].values())).fields
    shared = shared_variance(sizes["n_queries"], sizes["n_database"])  # the same for all scores of a table
    comparisons = []
    for method, n_bits, pairs in paired:
        mean, test = _mean(pairs, shared)
        tested = outcome(mean, level=level, margin=margin, better=registry.METRICS.entry(metric).better)
        comparisons.append(Difference(method, n_bits, pairs, test, tested))
    names = ("p",) if margin is None else ("p", "p_no_worse", "p_equal")
    return Differences(reference, n_tests, is_named, _corrected(comparisons, n_tests, names), missing)


def _mean(pairs: Pairs, shared: float) -> tuple[Mean, str]:
    """Return the mean difference and the name of its test; `shared` is the `shared_variance` of runs."""
    test, variance = OVER_QUERIES, 0.0
    if pairs.unit == RUN and math.isnan(shared):
        test = UNCORRECTED
    elif pairs.unit == RUN:
        test, variance = UNTESTED if math.isinf(shared) else CORRECTED, shared
    mean = mean_of(pairs.one - pairs.other, np.abs(pairs.one) + np.abs(pairs.other), shared=variance)
    return mean, test if mean.error else EQUAL


def _pairs(
    rows: Mapping[str, Mapping[int, Score]], reference: str
) -> tuple[list[tuple[str, int, Pairs]], dict[str, list[str]]]:
    """Return the pairs of each other method and code length, and for each reason the methods that have none."""
    paired: list[tuple[str, int, Pairs]] = []
    missing: dict[str, dict[str, None]] = {}
    for method in [name for name in rows if name != reference]:
        common = sorted(rows[method].keys() & rows[reference].keys())
        if not common:
            missing.setdefault(f"{reference}, the reference, has other code lengths", {})[method] = None
        for n_bits in common:
            pairs = _paired(rows[method][n_bits], rows[reference][n_bits])
            if isinstance(pairs, Pairs):
                paired.append((method, n_bits, pairs))
            else:
                missing.setdefault(pairs, {})[method] = None
    return paired, {reason: list(methods) for reason, methods in missing.items()}


def _corrected(comparisons: list[Difference], n_tests: int, names: Sequence[str]) -> list[Difference]:
    """Return the comparisons with these p-values corrected for all tests; those that were not carried out have p 1."""
    for name in names:
        p = holm([getattr(one.outcome, name) for one in comparisons] + [1.0] * (n_tests - len(comparisons)))
        comparisons = [
            replace(one, outcome=one.outcome._replace(**{name: float(value)}))
            for one, value in zip(comparisons, p[: len(comparisons)], strict=True)
        ]
    return comparisons


def _paired(one: Score, other: Score) -> Pairs | str:
    values = [score.values() for score in (one, other)]
    reasons = [value for value in values if isinstance(value, str)]
    return "; ".join(dict.fromkeys(reasons)) if reasons else pair(*values)  # type: ignore[arg-type]


def outcome(difference: Mean, *, level: float, margin: float | None = None, better: str = "higher") -> Outcome:
    """Test the mean of the differences of at least two pairs.

    Parameters
    ----------
    difference : Mean
        The mean of the differences, method minus reference.
    level : float, in (0, 1)
        The confidence level of the interval.
    margin : float, optional
    better : {"higher", "lower"}
        With ``higher``, the method is worse if the difference is negative; with ``lower``, if it is positive.
    """
    above = below = float("nan")
    if margin is not None:
        above, below = difference.p_above(-margin), difference.p_below(margin)
    no_worse = above if better == "higher" else below
    return Outcome(difference.mean, *difference.interval(level), difference.p(), no_worse, max(above, below))
