"""Paired differences of methods from a reference method, with simultaneous intervals and corrected tests.

The tests are those of `protocol.scores.statistics.Mean`: paired t-tests, corrected for items that runs share, and sign
tests where all differences are equal. `corrected` corrects those at one code length, as one family.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.comparison.reading import RUN, Score, Values, Why
from protocol.scores.statistics import Mean, PairedDifference, corrected, difference_of
from protocol.truth import DISTANCES

_ByMethod = Mapping[str, Mapping[int, Score]]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Defined values of two methods on the same items; `of` is the number of items for which either has a value."""

    unit: str
    one: NDArray[np.float64]
    other: NDArray[np.float64]
    of: int


def pair(one: Values | Why, other: Values | Why) -> Pairs | Why:
    """Return the values of the same runs or queries, or the reason why there are none.

    Examples
    --------
    >>> runs = Values(RUN, np.array(["0 a", "1 b", "2 c"]), np.array([0.4, 0.5, 0.6]))
    >>> pair(runs, Values(RUN, np.array(["1 b", "2 c", "3 d"]), np.array([0.7, 0.8, 0.9]))).one
    array([0.5, 0.6])
    >>> pair(runs, Values(RUN, np.array(["0 x", "1 y"]), np.array([0.7, 0.8])))
    'no run has the same queries, database and ground truth in both'
    """
    if isinstance(one, Why) or isinstance(other, Why):
        return "; ".join(dict.fromkeys(value for value in (one, other) if isinstance(value, Why)))
    if one.unit != other.unit:
        return f"one has a value per {one.unit}, the other a value per {other.unit}, so their queries may differ"
    x, y = one.numbers, other.numbers
    if one.unit == RUN:
        if not np.array_equal(one.items, other.items):
            _, left, right = np.intersect1d(one.items, other.items, return_indices=True)
            x, y = x[left], y[right]
        if not x.size:
            return "no run has the same queries, database and ground truth in both"
    elif one.items[0] != other.items[0] or x.size != y.size:
        return "the ground truths of their queries differ"
    elif one.items.size == other.items.size == 1 + x.size:  # by id, because queries of a class can change places
        orders = [np.argsort(values.items[1:], kind="stable") for values in (one, other)]
        if not np.array_equal(one.items[1:][orders[0]], other.items[1:][orders[1]]):
            return "the ids of their queries differ"
        x, y = x[orders[0]], y[orders[1]]
    defined = ~(np.isnan(x) | np.isnan(y))
    if defined.sum() < 2:
        return f"fewer than two values per {one.unit} in common"
    return Pairs(one.unit, x[defined], y[defined], max(one.numbers.size, other.numbers.size))


@dataclass(frozen=True)
class Difference:
    """The difference of a method from the reference at one code length, and the values of both."""

    method: str
    n_bits: int
    pairs: Pairs
    of: PairedDifference


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """The scores of one metric under one protocol, and all their differences from one reference.

    Parameters
    ----------
    section : str
        The name of the section, which is the same for tables that agree in all fields that do not depend on the metric.
    metric : str
    scores : tuple of Score
    reference : str or None
        None if no method has a value.
    is_named : bool
        Whether the user named the reference; otherwise it is the method, of codes if there are any, with the best mean.
    n_tests : tuple of int
        For each code length, the number of tests for which intervals and p-values are corrected: those in `comparisons`
        if the user named the reference, and otherwise those of all pairs of codes, because any could have become it.
    comparisons : tuple of Difference
    missing : mapping of str to iterable of str
        For each reason, the methods that could not be paired.
    """

    section: str
    metric: str
    scores: tuple[Score, ...]
    reference: str | None
    is_named: bool
    n_tests: tuple[int, ...]
    comparisons: tuple[Difference, ...]
    missing: Mapping[str, Iterable[str]]


def scores_by_method(scores: Sequence[Score]) -> dict[str, dict[int, Score]]:
    """Return scores by method and code length."""
    by_method: dict[str, dict[int, Score]] = {}
    for score in scores:
        by_method.setdefault(score.method, {})[score.n_bits] = score
    return by_method


def sign_of(metric: str) -> int:
    """Return 1 if higher values of a metric are better, otherwise -1."""
    return 1 if registry.METRICS.entry(metric).better == "higher" else -1


def _best(by_method: _ByMethod, metric: str) -> str | None:
    """Return the method with the best mean in a table, given the direction of the metric; None if all are undefined."""
    sign = sign_of(metric)
    means = {method: [sign * score.mean for score in scores.values()] for method, scores in by_method.items()}
    defined = {method: np.nanmax(values) for method, values in means.items() if not np.isnan(values).all()}
    return max(defined, key=defined.__getitem__, default=None)


def compared_table(section: str, metric: str, scores: Sequence[Score], against: str | None = None) -> ComparedTable:
    """Return the table of some scores, with the differences of the methods from the reference.

    Parameters
    ----------
    section, metric : str
    scores : sequence of Score
        All of this metric, and of the same protocol.
    against : str, optional
        The reference; the codes with the best mean if None. The tests against vectors themselves are a family of their
        own, so that they change no test of two codes.
    """
    by_method, is_named = scores_by_method(scores), against is not None
    vectors = {score.method for score in scores if score.ranking in DISTANCES}
    codes = {method: of for method, of in by_method.items() if method not in vectors}
    reference = against or _best(codes or by_method, metric)
    named = (section, metric, tuple(scores), reference, is_named)
    if reference is None or reference not in by_method:
        reason = f"{against} has no value here" if is_named else "no method has a value"
        return ComparedTable(*named, (), (), {reason: list(by_method)})
    shared = scores[0].shared  # the same for all scores of a table
    differences: dict[str, list[Difference]] = {method: [] for method in by_method}
    n_tests, missing = list[int](), dict[str, dict[str, None]]()
    for n_bits in sorted(by_method[reference]):
        pairs = _pairs(by_method, reference, n_bits, is_named=is_named)
        means = {both: mean_difference(of, shared) for both, of in pairs.items() if isinstance(of, Pairs)}
        with_vectors = {both: mean for both, mean in means.items() if not vectors.isdisjoint(both)}
        of_codes = {both: mean for both, mean in means.items() if both not in with_vectors}
        differences_of = corrected(of_codes) | corrected(with_vectors)
        n_tests += [len(of_codes or with_vectors)] * bool(means)
        for (method, other), values in pairs.items():
            if other == reference and isinstance(values, Pairs):
                differences[method].append(Difference(method, n_bits, values, differences_of[method, other]))
            elif other == reference:
                missing.setdefault(str(values), {})[method] = None
    for method, own in by_method.items():
        if not own.keys() & by_method[reference].keys():
            missing.setdefault(f"{reference}, the reference, has other code lengths", {})[method] = None
    if len(by_method) == 1:
        missing["there is only one method, so nothing is tested"] = {reference: None}
    return ComparedTable(*named, tuple(n_tests), tuple(itertools.chain(*differences.values())), missing)


def _pairs(by_method: _ByMethod, reference: str, n_bits: int, *, is_named: bool) -> dict[tuple[str, str], Pairs | Why]:
    """Return the pairs of all methods at a code length, or only those with a named reference, which comes second."""
    values = {method: scores[n_bits].values for method, scores in by_method.items() if n_bits in scores}
    methods = sorted(values, key=lambda method: method == reference)
    both = [names for names in itertools.combinations(methods, 2) if not is_named or reference in names]
    return {(one, other): pair(values[one], values[other]) for one, other in both}


def mean_difference(pairs: Pairs, shared: float) -> Mean:
    """Return the mean difference; `shared` is the `shared_variance` of runs."""
    return difference_of(pairs.one, pairs.other, shared=shared if pairs.unit == RUN else 0.0)
