"""Paired differences of methods from a reference method, with simultaneous intervals and corrected tests.

The tests are those of `protocol.scores.statistics.Mean`: paired t-tests, corrected for items that runs share, and sign
tests where all differences are equal. `holm` corrects them for multiple tests.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from protocol import registry
from protocol.comparison.reading import QUERY, RUN, Pairs, Score, pair
from protocol.scores.identity import PROTOCOL
from protocol.scores.statistics import CONFIDENCE, CORRECTED, Mean, holm, mean_of, shared_variance

OVER_QUERIES = "paired t-test"
UNCORRECTED = "paired t-test, not corrected"
"""The name of the test over runs if no file records their numbers of queries and database items."""
EQUAL = "sign test"


class Outcome(NamedTuple):
    """The interval and the p-values of one comparison.

    ``low`` and ``high`` bound the mean difference. ``p`` belongs to the two-sided paired t-test. ``p_no_worse`` belongs
    to the one-sided test of the hypothesis that the method is worse by the margin or more, ``p_equal`` to the two
    one-sided tests of the hypothesis that it differs by the margin or more; both are NaN without a margin.
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
    reference : str
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

    reference: str
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
) -> Differences | None:
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

    Returns
    -------
    Differences or None
        None if the reference is not in the table.
    """
    reference = against or best(rows, metric)
    if reference is None or reference not in rows:
        return None
    paired: list[tuple[str, int, Pairs]] = []
    missing: dict[str, list[str]] = {}
    for method, by_length in rows.items():
        if method == reference:
            continue
        common = sorted(by_length.keys() & rows[reference].keys())
        if not common:
            missing.setdefault(f"{reference}, the reference, has other code lengths", []).append(method)
        for n_bits in common:
            pairs = _paired(by_length[n_bits], rows[reference][n_bits])
            if isinstance(pairs, Pairs):
                paired.append((method, n_bits, pairs))
            elif method not in missing.setdefault(pairs, []):
                missing[pairs].append(method)
    better = registry.METRICS.entry(metric).better
    n_tests = len(paired) if against is not None else _n_pairs(n_bits for _, n_bits, _ in paired)
    level = 1 - (1 - CONFIDENCE) / max(1, n_tests)
    sizes = dict(zip(PROTOCOL, next(iter(rows[reference].values())).protocol, strict=True))
    of_runs = shared_variance(sizes["n_queries"], sizes["n_database"])  # the same for all scores of a table
    is_known = not math.isnan(of_runs)
    shared = {QUERY: 0.0, RUN: of_runs if is_known else 0.0}
    tests = {QUERY: OVER_QUERIES, RUN: CORRECTED if is_known else UNCORRECTED}
    means = [
        mean_of(own.one - own.other, np.abs(own.one) + np.abs(own.other), shared=shared[own.unit]) for *_, own in paired
    ]
    outcomes = [outcome(mean, level=level, margin=margin, better=better) for mean in means]
    names = ("p",) if margin is None else ("p", "p_no_worse", "p_equal")
    untested = [1.0] * (n_tests - len(paired))
    columns = {name: holm([getattr(one, name) for one in outcomes] + untested) for name in names}
    corrected = [
        one._replace(**{name: float(values[at]) for name, values in columns.items()}) for at, one in enumerate(outcomes)
    ]
    comparisons = [
        Difference(*key, tests[key[-1].unit] if mean.error else EQUAL, one)
        for key, mean, one in zip(paired, means, corrected, strict=True)
    ]
    return Differences(reference, n_tests, against is not None, comparisons, missing)


def _n_pairs(n_bits: Iterable[int]) -> int:
    """Return the number of pairs of methods, from the code length of each comparison with the reference."""
    return sum(n * (n + 1) // 2 for n in Counter(n_bits).values())


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
