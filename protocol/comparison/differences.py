"""Paired differences of methods from a reference method, with simultaneous intervals and corrected tests.

The tests are those of `protocol.scores.statistics.Mean`: paired t-tests, corrected for items that runs share, and sign
tests where all differences are equal. `holm` corrects them for multiple tests.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Difference:
    """The difference of a method from the reference at one code length.

    ``low`` and ``high`` bound the mean difference; ``p`` belongs to the two-sided paired test, corrected by Holm's
    procedure. All three are NaN if nothing was tested.
    """

    method: str
    n_bits: int
    pairs: Pairs
    test: str
    difference: float
    low: float
    high: float
    p: float


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
    means = {method: [sign * score.mean for score in by_length.values()] for method, by_length in rows.items()}
    defined = {method: np.nanmax(own) for method, own in means.items() if not np.isnan(own).all()}
    return max(defined, key=defined.__getitem__) if defined else None


def differences(rows: Mapping[str, Mapping[int, Score]], metric: str, *, against: str | None = None) -> Differences:
    """Return the differences of the methods of one table from the reference.

    Parameters
    ----------
    rows : mapping of str to mapping of int to Score
        The scores by method and code length.
    metric : str
    against : str, optional
        The reference; the method with the best mean if None.
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
    means = [_mean(pairs, shared) for _, _, pairs in paired]
    p = holm([mean.p() for mean, _ in means] + [1.0] * (n_tests - len(means)))  # tests not carried out have p 1
    comparisons = [
        Difference(*one, test, mean.mean, *mean.interval(level), float(corrected))
        for one, (mean, test), corrected in zip(paired, means, p[: len(means)], strict=True)
    ]
    return Differences(reference, n_tests, is_named, comparisons, missing)


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
    missing: dict[str, list[str]] = {}
    for method in [name for name in rows if name != reference]:
        common = sorted(rows[method].keys() & rows[reference].keys())
        found = {n_bits: pair(rows[method][n_bits].values(), rows[reference][n_bits].values()) for n_bits in common}
        paired += [(method, n_bits, own) for n_bits, own in found.items() if isinstance(own, Pairs)]
        reasons = [own for own in found.values() if isinstance(own, str)]
        for reason in dict.fromkeys(reasons if common else [f"{reference}, the reference, has other code lengths"]):
            missing.setdefault(reason, []).append(method)
    return paired, missing
