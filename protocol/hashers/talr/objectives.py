r"""Tie-aware ranking metrics of soft Hamming distances, and their gradients (He, Cakir, Bargal, Sclaroff 2018).

A minibatch of M rows has relaxed codes in (-1, 1)^b, and each row is a query to the others. For each query, an
objective requires two soft histograms over the distances 0 to b: ``total``, c_d, of all other rows, and ``gain``, g_d,
of the gains of these rows. With binary affinities, g is c+; with graded ones, it is the sum over levels of
(2^v - 1) c_v. The same pair of histograms is therefore used in eq. 11, 12, 62 and 66.

The ranks at distance d cover the interval from C_{d-1} + 1/2 to C_d + 1/2, where C is the cumulative sum of c. With
f(t) = 1 / t or 1 / log2(t + 1), the weight of a rank in the bin is the mean of f over that interval in AP_r and DCG_r,
and f at its midpoint in AP_s and DCG_s. With the paper's limits, without the halves, the first bin would be infinite.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NARROW = 1e-4  # below this width the midpoint replaces the mean, because the difference quotient would be imprecise

Floats = NDArray[np.floating]


class Ranked(NamedTuple):
    """The objective of each query, (n_queries,), and its derivatives by ``gain`` and ``total``, (n_queries, b + 1)."""

    value: Floats
    by_gain: Floats
    by_total: Floats


Objective = Callable[[Floats, Floats, Floats], Ranked]
"""`ap_s`, `ap_r`, `dcg_s` or `dcg_r`, functions of gain, total and best."""


class _Worth(NamedTuple):
    """The weight of a rank in each bin, and its derivatives by the two ends of the bin's interval."""

    value: Floats
    by_start: Floats
    by_end: Floats


class _Discount(NamedTuple):
    """A function of the rank, its derivative and its integral."""

    f: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    integral: Callable[[Floats], Floats]


def _logarithmic_integral(x: Floats) -> Floats:
    from scipy.special import expi

    return expi(np.log(x))


_RECIPROCAL = _Discount(lambda t: 1 / t, lambda t: -1 / t**2, np.log)
_LOGARITHMIC = _Discount(
    lambda t: 1 / np.log2(t + 1),
    lambda t: -np.log(2) / ((t + 1) * np.log(t + 1) ** 2),
    lambda t: np.log(2) * _logarithmic_integral(t + 1),
)


def _at_middle(discount: _Discount, start: Floats, end: Floats) -> _Worth:
    middle = (start + end) / 2
    half = discount.slope(middle) / 2
    return _Worth(discount.f(middle), half, half)


def _mean(discount: _Discount, start: Floats, end: Floats) -> _Worth:
    width = end - start
    narrow = width < _NARROW
    width = np.where(narrow, 1, width)
    mean = (discount.integral(end) - discount.integral(start)) / width
    wide = _Worth(mean, (mean - discount.f(start)) / width, (discount.f(end) - mean) / width)
    return _Worth(*(np.where(narrow, *pair) for pair in zip(_at_middle(discount, start, end), wide, strict=True)))


def _before(histogram: Floats) -> Floats:
    """Return the sum of the bins before each bin."""
    return np.cumsum(histogram, axis=1) - histogram


def _ends(total: Floats) -> tuple[Floats, Floats]:
    before = _before(total)
    return before + 0.5, before + total + 0.5


def ap_s(gain: Floats, total: Floats, best: Floats) -> Ranked:
    r"""Average precision with all ranks of a bin at its midpoint (eq. 62); exact if no bin contains two rows.

    .. math:: AP_s = \frac{1}{N^+} \sum_d c^+_d \frac{C^+_{d-1} + C^+_d + 1}{C_{d-1} + C_d + 1}

    Parameters
    ----------
    gain : ndarray of float, shape (n_queries, b + 1)
        c+: soft number of relevant rows at each distance.
    total : ndarray of float, shape (n_queries, b + 1)
        c: soft number of all rows.
    best : ndarray of float, shape (n_queries,)
        N+, above 0.

    Returns
    -------
    Ranked
        Its derivatives are eq. 71-73 and 76, for d = l and d > l at once.
    """
    worth, relevant_above = _at_middle(_RECIPROCAL, *_ends(total)), _before(gain) + (gain + 1) / 2
    weight = gain * relevant_above
    by_gain = (relevant_above + gain / 2) * worth.value, gain * worth.value
    by_total = weight * worth.by_end, weight * (worth.by_start + worth.by_end)
    return _ranked(weight * worth.value, by_gain, by_total, best)


def ap_r(gain: Floats, total: Floats, best: Floats) -> Ranked:
    r"""Average precision, with the sum of 1 / t over a bin's ranks as an integral (eq. 11, 29).

    .. math:: AP_r = \frac{1}{N^+} \sum_d c^+_d
        \left[ s_d + (C^+_{d-1} + 1 - s_d (C_{d-1} + 1)) \, \frac{1}{c_d} \ln\frac{C_d + 1/2}{C_{d-1} + 1/2} \right],
        \quad s_d = \frac{\max(c^+_d - 1, 0)}{\max(c_d - 1, 1)}

    Parameters and result are as for `ap_s`.

    Notes
    -----
    There are two deviations from eq. 11, which is infinite in the first bin and if a bin contains one row: the limits
    have the halves of the midpoint rule, and s is bounded by maxima. For hard histograms, only the limits matter: a bin
    of one row has s = 0, because no other row of the bin is above it.
    """
    start, end = _ends(total)
    worth, before = _mean(_RECIPROCAL, start, end), start + 0.5
    others = np.maximum(total - 1, 1)
    share = np.maximum(gain - 1, 0) / others
    relevant_above = _before(gain) + 1 - share * before
    by_share = gain * (1 - before * worth.value)
    by_gain = share + relevant_above * worth.value + by_share * (gain > 1) / others, gain * worth.value
    by_own = gain * relevant_above * worth.by_end - by_share * share / others * (total > 2)
    by_earlier = gain * (relevant_above * (worth.by_start + worth.by_end) - share * worth.value)
    return _ranked(gain * (share + relevant_above * worth.value), by_gain, (by_own, by_earlier), best)


def dcg_s(gain: Floats, total: Floats, best: Floats) -> Ranked:
    r"""Normalised discounted gain with all ranks of a bin at its midpoint (eq. 66), a lower bound of tie-aware DCG.

    .. math:: DCG_s = \sum_d \frac{g_d}{\log_2(C_{d-1} + c_d / 2 + 3/2)}

    Parameters
    ----------
    gain : ndarray of float, shape (n_queries, b + 1)
        g: soft sum, at each distance, of 2^level - 1.
    total : ndarray of float, shape (n_queries, b + 1)
        c: soft number of all rows.
    best : ndarray of float, shape (n_queries,)
        The divisor: the DCG of the best order, above 0.

    Returns
    -------
    Ranked
    """
    return _discounted(_at_middle(_LOGARITHMIC, *_ends(total)), gain, best)


def dcg_r(gain: Floats, total: Floats, best: Floats) -> Ranked:
    r"""Normalised discounted gain, with the sum of discounts over the ranks of a bin as an integral (eq. 12, 32).

    .. math:: DCG_r = \ln 2 \sum_d \frac{g_d}{c_d} \left[ li(C_d + 3/2) - li(C_{d-1} + 3/2) \right]

    Parameters and result are as for `dcg_s`.

    Notes
    -----
    The paper's limits are C_d + 1 and C_{d-1} + 1, but li(1) is minus infinity. With the limits of the midpoint rule,
    all bins are finite.
    """
    return _discounted(_mean(_LOGARITHMIC, *_ends(total)), gain, best)


def _discounted(worth: _Worth, gain: Floats, best: Floats) -> Ranked:
    by_before = gain * (worth.by_start + worth.by_end)
    return _ranked(gain * worth.value, (worth.value, np.zeros_like(gain)), (gain * worth.by_end, by_before), best)


def _ranked(terms: Floats, by_gain: tuple[Floats, Floats], by_total: tuple[Floats, Floats], best: Floats) -> Ranked:
    """Sum over the bins; the derivatives are given by the bin itself, and by the sum before it.

    The total derivative by a bin is that of the bin, and those of the sums before all later bins (eq. 76).
    """
    each = [own + below[:, ::-1].cumsum(axis=1)[:, ::-1] - below for own, below in (by_gain, by_total)]
    return Ranked(terms.sum(axis=1) / best, *(derivative / best[:, None] for derivative in each))


def binary_gains(levels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the gains of all pairs, 1 if relevant, and N+ of each query; `levels` (M, M) has a zero diagonal."""
    gains = (levels > 0).astype(np.float64)
    return gains, gains.sum(axis=1)


def graded_gains(levels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the gains of all pairs, 2^level - 1, and the largest DCG of each query; `levels` as in `binary_gains`."""
    gains = np.exp2(levels) - 1
    return gains, -np.sort(-gains, axis=1) @ _LOGARITHMIC.f(np.arange(1.0, len(levels) + 1))


class Metric(NamedTuple):
    """A metric to maximise: the function that returns gains and divisors, and the objective of each relaxation."""

    gains: Callable[[NDArray[np.int64]], tuple[Floats, Floats]]
    objectives: Mapping[str, Objective]


AP = Metric(binary_gains, {"simplified": ap_s, "integral": ap_r})
NDCG = Metric(graded_gains, {"simplified": dcg_s, "integral": dcg_r})


def relaxed_objective(
    rows: Floats, W: Floats, alpha: float, gains: Floats, best: Floats, objective: Objective
) -> tuple[float, Floats]:
    """Return `mean_objective` for the codes ``tanh(alpha rows W)``, and its gradient by W.

    Parameters
    ----------
    rows : ndarray of float, shape (M, d)
    W : ndarray of float, shape (d, b)
    alpha : float
        Above 0.
    gains, best, objective
        As for `mean_objective`.

    Returns
    -------
    value : float
    gradient : ndarray of float, shape (d, b)
    """
    codes = np.tanh(alpha * (rows @ W))
    value, by_codes = mean_objective(codes, gains, best, objective)
    return value, rows.T @ (by_codes * alpha * (1 - codes**2))


def mean_objective(codes: Floats, gains: Floats, best: Floats, objective: Objective) -> tuple[float, Floats]:
    r"""Return the mean objective of a minibatch, in which each row is a query to all others, and its gradient.

    Parameters
    ----------
    codes : ndarray of float, shape (M, b)
        Relaxed codes, in [-1, 1].
    gains : ndarray of float, shape (M, M)
        The gain of each pair of rows, query first.
    best : ndarray of float, shape (M,)
        The divisor of each query's objective; queries with 0, which have no relevant rows, are left out.
    objective : callable
        `ap_s`, `ap_r`, `dcg_s` or `dcg_r`.

    Returns
    -------
    value : float
        0 if no query has a relevant row, NaN if a code is not finite.
    gradient : ndarray of float, shape (M, b)

    Notes
    -----
    The soft histogram has a bin for each distance from 0 to b, with half-width Delta = 1 (eq. 14): a row at distance
    2.3 counts as 0.7 at 2 and 0.3 at 3. A pair is therefore in at most two bins, and the sum over bins and levels in
    the Jacobian (eq. 53) reduces to the difference of the derivatives between two adjacent bins. With the matrix E of
    these differences, the gradient by the codes is ``-(E + E') codes / 2``, at a cost independent of the number of
    bins.
    """
    b = codes.shape[1]
    if not np.isfinite(codes).all():
        return np.nan, np.full_like(codes, np.nan)
    queries = np.flatnonzero(best > 0)
    if not queries.size:
        return 0.0, np.zeros_like(codes)
    # Each pair has a bin and its share in the next one; a query itself is in an additional, last bin.
    n_bins = queries.size * (b + 1)
    distance = np.clip((b - codes[queries] @ codes.T) / 2, 0, b)
    below = np.minimum(distance.astype(np.int64), b - 1)
    above = (distance - below).ravel()
    bins = below + np.arange(queries.size)[:, None] * (b + 1)
    bins[np.arange(queries.size), queries] = n_bins
    bins, weights = bins.ravel(), gains[queries].ravel()
    related = np.flatnonzero((weights > 0) & (bins < n_bins))
    total = _soft_histogram(bins, above, None, (queries.size, b + 1))
    gain = _soft_histogram(bins[related], above[related], weights[related], (queries.size, b + 1))
    ranked = objective(gain, total, best[queries])
    by_distance = _steps(ranked.by_total)[bins]
    by_distance[related] += weights[related] * _steps(ranked.by_gain)[bins[related]]
    by_distance = by_distance.reshape(distance.shape) / queries.size
    gradient = by_distance.T @ codes[queries]
    gradient[queries] += by_distance @ codes
    return float(ranked.value.mean()), -gradient / 2


def _soft_histogram(bins: NDArray[np.int64], above: Floats, weights: Floats | None, shape: tuple[int, int]) -> Floats:
    """Return sums of weights (1 if None) by query and distance; a pair is divided between its bin and the next one."""
    n_bins = shape[0] * shape[1]
    high = np.bincount(bins, above if weights is None else weights * above, n_bins)[:n_bins]
    total = np.bincount(bins, weights, n_bins)[:n_bins]
    return (total - high + np.concatenate([[0.0], high[:-1]])).reshape(shape)


def _steps(derivative: Floats) -> Floats:
    """Return the difference of a derivative between each bin and the next one; 0 for the last bin and the query's."""
    return np.append(np.diff(derivative, axis=1, append=derivative[:, -1:]).ravel(), 0.0)
