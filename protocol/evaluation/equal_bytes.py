"""The nearest items that representations of vectors find, at equal bytes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.counting import HammingCounts
from protocol.evaluation.printed import with_range
from protocol.evaluation.representations import Times
from protocol.evaluation.rescoring import Rescoring, RescoringCurve, by_vectors
from protocol.metrics import mean, neighbours_found
from protocol.scores.tables import Table

_CONFIDENCE = 0.95
_ORDERS = ("expected", "worst", "best")


class Share(NamedTuple):
    """The mean share of the K nearest items among the first K by a representation.

    ``low`` and ``high`` are the ends of the 95 % confidence interval of the expected value over queries (normal
    approximation), ``worst`` and ``best`` the values for the orders of ties. ``first`` is 1-recall@K.
    """

    neighbours: int
    expected: float
    low: float
    high: float
    worst: float
    best: float
    first: float


class Best(NamedTuple):
    """The representation of at most `n_bytes` that finds the most of the K nearest items, and its lead over the second.

    ``low`` and ``high`` are the ends of the interval of the paired difference over queries, which is corrected for all
    pairs of these representations (Bonferroni), because the two were chosen by their means.
    """

    neighbours: int
    n_bytes: int
    name: str
    share: float
    second: str | None
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Represented:
    """The nearest items that one representation finds.

    Parameters
    ----------
    name : str
        The quantiser or hasher, with options.
    n_bytes : int
        Bytes of a vector.
    shares : dict of int to Share
        By K.
    rescoring : RescoringCurve
        The curve of re-ranking by the vectors.
    times : Times or None
        None if the speed was not measured.
    per_query : mapping of int to ndarray of float64
        The expected share for each query, by K.
    """

    name: str
    n_bytes: int
    shares: dict[int, Share]
    rescoring: RescoringCurve
    times: Times | None
    per_query: Mapping[int, NDArray[np.float64]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class EqualBytes:
    """Representations of the same vectors, compared at equal bytes.

    Parameters
    ----------
    represented : tuple of Represented
        Ascending by size.
    best : tuple of Best
        For each K and each size.
    answer : str
        The best representation of the requested size, and the smallest one that reaches the target.
    machine : str or None
        The model of the CPU; None if the speed was not measured.
    """

    represented: tuple[Represented, ...]
    best: tuple[Best, ...]
    answer: str
    machine: str | None

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object, without the values of queries."""
        names = ("name", "n_bytes", "shares", "rescoring", "times")
        rows = [{name: getattr(one, name) for name in names} for one in self.represented]
        return {"answer": self.answer, "represented": rows, "best": self.best, "machine": self.machine}

    def points(self) -> list[dict[str, Any]]:
        """Return the points of the figure."""
        return [
            {"panel": f"K = {k:,}", "name": one.name, "bytes": one.n_bytes, "share": own.expected}
            | {"low": own.low, "high": own.high}
            for one in self.represented
            for k, own in one.shares.items()
        ]

    def tables(self) -> list[Table]:
        """Return a table of shares for each K, that of the best at each size, and that of times if measured."""
        tables = [self._shares(k) for k in self.represented[0].shares]
        title = (
            "best representation of at most this size, and its paired difference from the second over the queries, "
            "with an interval that is corrected for all pairs:"
        )
        cells = [
            [f"{own.neighbours:,}", f"{own.n_bytes:,}", own.name, f"{own.share:.4f}", own.second or "", _lead(own)]
            for own in self.best
        ]
        header = ["K", "bytes", "best", "share", "second", "difference"]
        tables.append(Table("best at equal bytes", title, header, cells))
        if self.machine is not None:
            title = f"times; speed of our own exact scan with one thread on {self.machine}, not that of any index:"
            cells = [
                [one.name, f"{one.times.train:.3g}", f"{one.times.encode:.3g}", f"{one.times.queries_per_second:,.0f}"]
                for one in self.represented
                if one.times is not None
            ]
            header = ["representation", "seconds to train", "seconds to encode", "queries per second"]
            tables.append(Table("times", title, header, cells))
        return tables

    def _shares(self, k: int) -> Table:
        target, cells = self.represented[0].rescoring.target, []
        for one in self.represented:
            own, smallest = one.shares[k], one.rescoring.smallest_factor[k].expected
            expected, ties = with_range(own.expected, own.worst, own.best)
            expected += "" if math.isnan(own.low) else f" ± {own.high - own.expected:.4f}"
            cells.append([one.name, f"{one.n_bytes:,}", expected, ties, f"{own.first:.4f}", f"{smallest:,}"])
        header = ["representation", "bytes", "neighbours@K", "worst to best", "1-recall@K", f"c for {target:g}"]
        title = (
            f"K = {k:,}: share of the K nearest items among the first K, with the 95% interval over queries; c is the "
            f"smallest with which re-ranking c x K items by the vectors finds {target:g}:"
        )
        return Table(f"equal bytes {k}", title, header, cells)


def represented(
    name: str,
    n_bytes: int,
    counts: Mapping[int, HammingCounts],
    numbers: Sequence[int],
    rescoring: Rescoring,
    times: Times | None = None,
) -> Represented:
    """Return the nearest items that a representation finds, from the counts of its ranking for each K and for 1."""
    shares, per_query = {}, {}
    for k in numbers:
        orders = {ties: neighbours_found(counts[k], nearest=k, retrieved=k, ties=ties) for ties in _ORDERS}
        first = mean(neighbours_found(counts[1], nearest=1, retrieved=k))
        per_query[k] = orders["expected"]
        average, low, high = _interval(orders["expected"], _CONFIDENCE)
        shares[k] = Share(k, average, low, high, mean(orders["worst"]), mean(orders["best"]), first)
    return Represented(name, n_bytes, shares, by_vectors(counts, numbers, rescoring), times, per_query)


def compared(rows: Sequence[Represented], n_bytes: int, machine: str | None = None) -> EqualBytes:
    """Return a comparison of representations; `n_bytes` is the size for which the best one is stated."""
    rows = sorted(rows, key=lambda one: one.n_bytes)
    sizes = dict.fromkeys(one.n_bytes for one in rows)
    best = [_best([one for one in rows if one.n_bytes <= size], k, size) for k in rows[0].shares for size in sizes]
    return EqualBytes(tuple(rows), tuple(best), _answer(rows, best, n_bytes), machine)


def _best(rows: Sequence[Represented], k: int, n_bytes: int) -> Best:
    ranked = sorted(rows, key=lambda one: -one.shares[k].expected)  # of equal ones, the smallest
    first, share = ranked[0], ranked[0].shares[k].expected
    if len(ranked) == 1:
        return Best(k, n_bytes, first.name, share, None, math.nan, math.nan, math.nan)
    confidence = 1 - (1 - _CONFIDENCE) / math.comb(len(ranked), 2)
    difference = _interval(first.per_query[k] - ranked[1].per_query[k], confidence)
    return Best(k, n_bytes, first.name, share, ranked[1].name, *difference)


def _interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Return a mean over queries and the ends of its interval by the normal approximation; NaN for a single query."""
    average = mean(values)
    if values.size < 2:
        return average, math.nan, math.nan
    half = NormalDist().inv_cdf((1 + confidence) / 2) * float(values.std(ddof=1)) / math.sqrt(values.size)
    return average, average - half, average + half


def _lead(best: Best) -> str:
    if best.second is None:
        return ""
    return f"{best.difference:+.4f}" + ("" if math.isnan(best.low) else f" ± {best.high - best.difference:.4f}")


def _answer(rows: Sequence[Represented], best: Sequence[Best], n_bytes: int) -> str:
    """Return in words the best representation of at most `n_bytes`, and the smallest one that reaches the target."""
    numbers, target = list(rows[0].shares), rows[0].rescoring.target
    k = 10 if 10 in numbers else numbers[-1]
    n_bytes = max(n_bytes, rows[0].n_bytes)
    own = [one for one in best if one.neighbours == k and one.n_bytes <= n_bytes][-1]
    second = "" if own.second is None else f", {'' if own.low > 0 else 'not clearly '}more than {own.second}"
    answer = (
        f"Of all representations with at most {n_bytes:,} bytes, {own.name} finds the most of the {k:,} nearest items: "
        f"{own.share:.1%}{second}{f' ({_lead(own)})' if second else ''}."
    )
    enough = next((one for one in rows if one.shares[k].expected >= target), None)
    if enough is None:
        return f"{answer} No representation finds {target:.0%} of them without re-ranking."
    return (
        f"{answer} The smallest representation that finds at least {target:.0%} of them without re-ranking is "
        f"{enough.name} ({enough.n_bytes:,} bytes)."
    )
