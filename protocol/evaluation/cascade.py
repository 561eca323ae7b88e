"""Cascades: one representation retrieves items, and further ones re-rank those that remain."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.evaluation.representations import Representation
from protocol.evaluation.result import with_range
from protocol.scores.tables import Table
from protocol.truth import nearest, pair_distances
from protocol.truth.relevance import Relevance

_QUERIES = 256
"""Queries whose candidates are in memory at once."""
_DRAWS = 100
"""Random orders of ties for each query."""


class CascadeRow(NamedTuple):
    """The mean share of the K nearest items among the K items that a cascade returns."""

    neighbours: int
    """K"""
    returned: tuple[int, ...]
    """Items that each stage returns; K for the last one."""
    worst: float
    expected: float
    best: float
    error: float
    """Standard error of `expected` as the mean of 100 random orders of ties for each query; 0 if no cutoff divides a
    tie."""


@dataclass(frozen=True)
class Cascade:
    """What a cascade finds.

    Parameters
    ----------
    stages : tuple of str
        The names of the representations.
    rows : tuple of CascadeRow
        For each K.
    """

    stages: tuple[str, ...]
    rows: tuple[CascadeRow, ...]

    def table(self) -> Table:
        """Return the table of the items that each stage returns, and of the shares."""
        cells = []
        for row in self.rows:
            expected, ties = with_range(row.expected, row.worst, row.best)
            error = f"{row.error:.1g}" if row.error else "exact"
            cells.append([f"{row.neighbours:,}", *(f"{n:,}" for n in row.returned), expected, ties, error])
        title = (
            "cascade: the items that each stage returns, and the share of the K nearest items among the last K; if a "
            "cutoff divides ties, the mean of 100 random orders for each query, with its standard error:"
        )
        return Table("cascade", title, ["K", *self.stages, "share", "worst to best", "standard error"], cells)


def cascade(
    stages: Sequence[Representation],
    factors: Sequence[int],
    relevances: Mapping[int, Relevance],
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Cascade:
    """Return the share of the nearest items that a cascade returns, for each K.

    Parameters
    ----------
    stages : sequence of Representation
        At least two of the same queries and items.
    factors : sequence of int
        For each stage but the last, the factor c of the c x K items that it returns; at most the one before.
    relevances : mapping of int to Relevance
        The nearest items for each K.
    seed : int, default=0
        Of the random orders of ties, from which the expected value is estimated.
    threads : int, default=1
    progress : callable, optional
        Called with the number of queries that were just processed.

    Notes
    -----
    In the best order, relevant items of a tie come first, those that are nearer by the next stage before the others,
    and of the irrelevant ones those that are farther. The worst order is the opposite. No order is better, or worse,
    for two stages, and for three of which the last has no ties between relevant and other items, such as the vectors
    themselves (see `protocol.evaluation.second_stage`); in longer cascades, one may be.
    """
    n_queries, n_items = len(stages[0].query), len(stages[0].items)
    returned = {k: [*(min(c * k, n_items) for c in factors), k] for k in relevances}
    shares = {k: np.empty((4, n_queries)) for k in relevances}
    for start in range(0, n_queries, _QUERIES):
        block = slice(start, start + _QUERIES)
        for query, items, distances in _candidates(stages, block, max(own[0] for own in returned.values()), threads):
            for k, relevance in relevances.items():
                relevant = np.isin(items, relevance.row(query)[0])
                shares[k][:, query] = _shares(distances, relevant, returned[k], np.random.default_rng([seed, query, k]))
        if progress is not None:
            progress(min(_QUERIES, n_queries - start))
    rows = []
    for k, own in shares.items():
        worst, expected, best = own[:3].mean(axis=1).tolist()
        rows.append(CascadeRow(k, tuple(returned[k]), worst, expected, best, float(own[3].sum() ** 0.5 / n_queries)))
    return Cascade(tuple(one.name for one in stages), tuple(rows))


def _candidates(
    stages: Sequence[Representation], block: slice, most: int, threads: int
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield each query of a block, the first `most` items by the first stage, ties included, and their distances.

    The distances have a row for each stage.
    """
    first = stages[0]
    found = nearest(first.query[block], first.items, most, distance=first.distance, threads=threads)
    rows = np.repeat(np.arange(len(found.indptr) - 1), np.diff(found.indptr))
    order, distances = np.argsort(found.indices, kind="stable"), np.empty((len(stages), len(rows)))
    distances[0] = found.distances
    for own, one in zip(distances[1:], stages[1:], strict=True):  # items are read in ascending order
        pairs = one.query[block], one.items, rows[order], found.indices[order]
        own[order] = pair_distances(*pairs, distance=one.distance, threads=threads)
    for row, (start, end) in enumerate(pairwise(found.indptr)):
        yield block.start + row, found.indices[start:end], distances[:, start:end]


def _shares(
    distances: NDArray[np.float64], relevant: NDArray[np.bool_], returned: Sequence[int], rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Return the worst, expected and best share for one query, and the variance of the expected one."""
    k = returned[-1]
    following = np.vstack([distances[1:], np.zeros(distances.shape[1])])  # relevance alone orders the last stage
    best = [np.lexsort((np.where(relevant, own, -own), ~relevant)) for own in following]
    (most, is_divided), (fewest, _) = (
        _returned(distances, relevant, returned, [np.argsort(order) for order in orders])
        for orders in (best, [order[::-1] for order in best])
    )
    if not is_divided:
        return most / k, most / k, most / k, 0.0
    draws = (
        np.array([_returned(distances, relevant, returned, rng.random(distances.shape))[0] for _ in range(_DRAWS)]) / k
    )
    return fewest / k, float(draws.mean()), most / k, float(draws.var(ddof=1)) / _DRAWS


def _returned(
    distances: NDArray[np.float64], relevant: NDArray[np.bool_], returned: Sequence[int], ties: Iterable[NDArray]
) -> tuple[int, bool]:
    """Return the number of relevant items that remain, at most K, and whether a cutoff divides a tie.

    Of equal distances, those with smaller `ties` come first.
    """
    remaining, is_divided = np.arange(distances.shape[1]), False
    for of_stage, first, top in zip(distances, ties, returned, strict=True):
        remaining = remaining[np.lexsort((first[remaining], of_stage[remaining]))]
        ends = of_stage[remaining[top - 1 : top + 1]]
        is_divided |= len(ends) == 2 and ends[0] == ends[1]
        remaining = remaining[:top]
    return min(int(relevant[remaining].sum()), returned[-1]), bool(is_divided)
