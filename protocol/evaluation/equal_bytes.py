"""The nearest items that representations of vectors find, at equal bytes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from protocol.counting import HammingCounts
from protocol.evaluation.printed import with_range
from protocol.evaluation.representations import Times
from protocol.evaluation.rescoring import Rescoring, RescoringCurve, by_vectors
from protocol.metrics import mean, neighbours_found
from protocol.scores.tables import Table

_DEVIATIONS = NormalDist().inv_cdf(0.975)


class Share(NamedTuple):
    """The mean share of the K nearest items among the first K by a representation.

    ``low`` and ``high`` are the ends of the 95 % confidence interval of the expected value over queries (normal
    approximation; NaN for a single query), ``worst`` and ``best`` the values for the orders of ties. ``first`` is
    1-recall@K.
    """

    neighbours: int
    expected: float
    low: float
    high: float
    worst: float
    best: float
    first: float


@dataclass(frozen=True)
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
    """

    name: str
    n_bytes: int
    shares: dict[int, Share]
    rescoring: RescoringCurve
    times: Times | None = None


@dataclass(frozen=True)
class EqualBytes:
    """Representations of the same vectors, compared at equal bytes.

    Parameters
    ----------
    answer : str
        The best representation of the requested size, and the smallest one that reaches the target.
    represented : tuple of Represented
        Ascending by size.
    machine : str or None
        The model of the CPU; None if the speed was not measured.
    """

    answer: str
    represented: tuple[Represented, ...]
    machine: str | None

    def points(self) -> list[dict[str, Any]]:
        """Return the points of the figure."""
        return [
            {"panel": f"K = {k:,}", "name": one.name, "bytes": one.n_bytes, "share": own.expected}
            | {"low": own.low, "high": own.high}
            for one in self.represented
            for k, own in one.shares.items()
        ]

    def tables(self) -> list[Table]:
        """Return a table of shares for each K, and that of times if they were measured."""
        tables = [self._shares(k) for k in self.represented[0].shares]
        if self.machine is not None:
            title = f"times; speed of our own exact scan with one thread on {self.machine}, not that of any index:"
            times = [(one.name, one.times) for one in self.represented if one.times is not None]
            cells = [
                [name, f"{own.train:.3g}", f"{own.encode:.3g}", f"{own.queries_per_second:,.0f}"] for name, own in times
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
    shares = {}
    for k in numbers:
        expected, worst, best = (
            neighbours_found(counts[k], nearest=k, retrieved=k, ties=ties) for ties in ("expected", "worst", "best")
        )
        half = _DEVIATIONS * np.std(expected, ddof=1) / expected.size**0.5 if expected.size > 1 else math.nan
        first = mean(neighbours_found(counts[1], nearest=1, retrieved=k))
        average = mean(expected)
        shares[k] = Share(k, average, average - half, average + half, mean(worst), mean(best), first)
    return Represented(name, n_bytes, shares, by_vectors(counts, numbers, rescoring), times)


def compared(rows: Sequence[Represented], n_bytes: int, machine: str | None = None) -> EqualBytes:
    """Return a comparison of representations; `n_bytes` is the size for which the best one is stated."""
    rows = sorted(rows, key=lambda one: one.n_bytes)
    numbers, target = list(rows[0].shares), rows[0].rescoring.target
    k, n_bytes = 10 if 10 in numbers else numbers[-1], max(n_bytes, rows[0].n_bytes)
    ranked = sorted((one for one in rows if one.n_bytes <= n_bytes), key=lambda one: -one.shares[k].expected)
    named = [f"{one.name} ({one.shares[k].expected:.1%})" for one in ranked[:2]]  # of equal ones, the smallest first
    enough = next((one for one in rows if one.shares[k].expected >= target), None)
    answer = (
        f"Of all representations with at most {n_bytes:,} bytes, {named[0]} finds the most of the {k:,} nearest items"
        f"{f', followed by {named[1]}' if len(named) > 1 else ''}. "
    )
    if enough is None:
        answer += f"No representation finds {target:.0%} of them without re-ranking."
    else:
        answer += f"The smallest representation that finds at least {target:.0%} of them without re-ranking is "
        answer += f"{enough.name} ({enough.n_bytes:,} bytes)."
    return EqualBytes(answer, tuple(rows), machine)
