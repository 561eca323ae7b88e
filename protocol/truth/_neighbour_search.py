"""Exact search for neighbours within a radius, or for the k nearest ones, at the speed of a matrix product.

Vectors are augmented (`protocol.truth._augmentation`) so that the sign of one inner product shows whether a pair
may be closer than a bound, and its value by how much. So only signs must be scanned after a float32 product of
augmented matrices, one tile at a time, while the tile is in the cache. For a search within a radius, the bound is the
radius; for the k nearest items, it is the k-th smallest distance found so far, which decreases as the search proceeds.
Rounding can change the sign only for pairs close to the bound. The rounding error is bounded for each pair, and only
undecided pairs are computed again in float64 from the original vectors. So the result is that of the formulas in
`protocol.truth._distances`, independent of tiles, threads and the order of additions in the product.

Libraries considered: scikit-learn's brute-force search takes 1.6 to 1.7 times the CPU time, and faiss' flat index 3
times (`tests/benchmarks/neighbours.py`), and neither returns all items that tie with the k-th.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer, one_of
from protocol.parallel import in_order, workers
from protocol.truth._augmentation import (
    FARTHEST,
    MOST_FEATURES,
    Augmented,
    AugmentedQueries,
    InnerAugmentation,
    SquaredAugmentation,
    check_rows,
)
from protocol.truth._distances import DISTANCES, Distance, pair_distances

TILE = 512
"""Queries, and database items, per tile: its product of 1 MB fits into the cache."""
_QUERIES = 4096
"""Queries searched in one pass over the database; fewer for large k."""
_PAIRS = 1 << 22
"""Maximum number of pairs of a query and a nearest item per pass; each takes up to 100 bytes."""
_EXTRA_CANDIDATES = 1024
"""Number of candidates above 2 k per query after which undecided pairs are computed in float64."""
_Rows = NDArray[np.int64]


def neighbours_within(
    query: NDArray,
    database: NDArray,
    radius: float,
    *,
    strict: bool = False,
    threads: int = 1,
) -> tuple[_Rows, _Rows]:
    """Return the database rows within `radius` of each query, exactly as by Euclidean distances in float64.

    Parameters
    ----------
    query, database : (n_queries, d) and (n_database, d) numbers
        Finite, of any real type, and compared without prior rounding; `database` may be memory-mapped.
    radius : float
        At least 0.
    strict : bool, default=False
        Whether items at distance `radius` are excluded.
    threads : int, default=1
        For the products; the result does not depend on it. Without threadpoolctl, one thread is used here, and the
        products use the threads of NumPy's BLAS.

    Returns
    -------
    indptr : (n_queries + 1,) int64
    indices : int64
        Query i has the neighbours ``indices[indptr[i] : indptr[i + 1]]``, ascending.

    Raises
    ------
    ProtocolError
        If an item is not finite, the numbers of features differ or are above a million, the queries or the database are
        empty, `radius` is negative or NaN, or `threads` is below 1.

    Notes
    -----
    In addition to the input, memory is used for an augmented copy of the queries, two copies of the found pairs, and a
    few tiles per thread.

    Examples
    --------
    >>> line = np.arange(5, dtype=np.float32)[:, None]
    >>> neighbours_within(line[:2], line, 1.0)
    (array([0, 2, 5]), array([0, 1, 0, 1, 2]))
    """
    query, database = _matched(query, database)
    if not radius >= 0:  # infinity is allowed
        raise ProtocolError(f"radius: expected a number >= 0, got {radius!r}.")
    integer(threads, "threads")
    check_rows(query, "query")
    augmentation = SquaredAugmentation(query, database)
    left = augmentation.queries(query).within(np.full(len(query), augmentation.key(radius)))

    def search(start: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        tile = database[start : start + TILE]
        found = _within(left, augmentation.items(tile, start))
        borderline = np.flatnonzero(found.products >= -found.uncertainty)
        distances = pair_distances(query, tile, found.rows[borderline], found.columns[borderline])
        inside = np.ones(len(found.rows), dtype=bool)
        inside[borderline] = distances < radius if strict else distances <= radius
        return found.rows[inside], found.columns[inside]

    starts = range(0, len(database), TILE)
    with workers(threads) as n_threads:
        return _compressed(list(in_order(search, starts, n_threads)), starts, len(query))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The database rows that are no farther from each query than its k-th nearest neighbour, with their distances.

    Parameters
    ----------
    k : int
        The requested number of neighbours. A query has more if several items tie with the k-th.
    indptr : (n_queries + 1,) int64
    indices : int64
        Query i has the neighbours ``indices[indptr[i] : indptr[i + 1]]``, ascending.
    distances : float64
        Distances of `indices`, in the same order.
    """

    k: int
    indptr: _Rows
    indices: _Rows
    distances: NDArray[np.float64]

    def first(self, k: int) -> tuple[_Rows, _Rows]:
        """Return (indptr, indices) of the rows that are no farther than the k-th nearest, ties included.

        Parameters
        ----------
        k : int
            From 1 to the requested number.

        Raises
        ------
        ProtocolError
            If `k` is out of its range.

        Examples
        --------
        >>> line = np.arange(5, dtype=np.float32)[:, None]
        >>> nearest(line[:2], line, 4).first(2)
        (array([0, 2, 5]), array([0, 1, 0, 1, 2]))
        """
        integer(k, "k", maximum=self.k)
        selected = self.distances <= np.repeat(_kth(self.indptr, self.distances, k), np.diff(self.indptr))
        return _starts(selected)[self.indptr], self.indices[selected]


def nearest(
    query: NDArray,
    database: NDArray,
    k: int,
    *,
    distance: Distance = "euclidean",
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Neighbours:
    """Return the database rows no farther from each query than its k-th nearest neighbour, exactly as by float64.

    Parameters
    ----------
    query, database : (n_queries, d) and (n_database, d) numbers
        Finite, of any real type, and compared without prior rounding; `database` may be memory-mapped,
        and is read sequentially, once for every 4,096 queries.
    k : int
        From 1 to n_database. More than k rows are returned if several items tie with the k-th.
    distance : {"euclidean", "cosine", "dot"}, default="euclidean"
        The cosine distance is 1 - the cosine; "dot" is minus the inner product.
    threads : int, default=1
        The result does not depend on it. Without threadpoolctl, one thread is used here, and the products use the
        threads of NumPy's BLAS.
    progress : callable, optional
        Called in the calling thread with the number of pairs compared since the last call; the total is
        n_queries x n_database.

    Returns
    -------
    Neighbours

    Raises
    ------
    ProtocolError
        If an item is not finite or, for the cosine, zero (the message names the first such row, of the queries if they
        have one), the numbers of features differ or are above a million, the queries or the database are empty, or an
        option is out of its range.

    Notes
    -----
    Memory does not grow with the database. In addition to the input, it is used for an augmented copy of up to 4,096
    queries, a few tiles per thread, and the candidate pairs: at most about 3 k + 1,024 per query, unless more items tie
    with the k-th.

    If most distances differ by less than the precision of float32, nearly all pairs are computed in float64 without a
    matrix product, which takes about a hundred times as long.

    Examples
    --------
    >>> line = np.arange(5, dtype=np.float32)[:, None]
    >>> nearest(line[:2], line, 2)
    Neighbours(k=2, indptr=array([0, 2, 5]), indices=array([0, 1, 0, 1, 2]), distances=array([0., 1., 1., 0., 1.]))
    """
    query, database = _matched(query, database)
    integer(k, "k", maximum=len(database))
    integer(threads, "threads")
    one_of(distance, DISTANCES, "distance")
    check_rows(query, "query", unit=distance == "cosine")
    if distance == "euclidean":
        augmentation: SquaredAugmentation | InnerAugmentation = SquaredAugmentation(query, database)
    else:
        augmentation = InnerAugmentation(database, unit=distance == "cosine")
    size = max(1, min(_QUERIES, _PAIRS // max(k, TILE)))
    with workers(threads) as n_threads:
        found = [
            _Search(query[start : start + size], database, k, distance, augmentation, n_threads).run(
                progress or _ignore
            )
            for start in range(0, len(query), size)
        ]
    counts = np.concatenate([np.diff(part.indptr) for part in found])
    return Neighbours(
        k=k,
        indptr=_starts(counts),
        indices=np.concatenate([part.indices for part in found]),
        distances=np.concatenate([part.distances for part in found]),
    )


def _ignore(pairs: int) -> None:
    """Ignore the progress."""


def _matched(query: NDArray, database: NDArray) -> tuple[NDArray, NDArray]:
    """Return queries and database as matrices with the same number of features."""
    query, database = _matrix(query, "query"), _matrix(database, "database")
    d = database.shape[1]
    if d > MOST_FEATURES:
        raise ProtocolError(f"database: expected at most {MOST_FEATURES:,} features, got {d:,}.")
    if query.shape[1] != d:
        raise ProtocolError(f"query: expected {d} features as in the database, got {query.shape[1]}.")
    return query, database


def _matrix(X: NDArray, name: str) -> NDArray:
    """Return `X` as a matrix of real numbers; the values are checked later, when they are read."""
    array = np.asarray(X)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ProtocolError(f"{name}: expected numbers of up to 64 bits, got dtype {array.dtype}.")
    if array.ndim != 2 or 0 in array.shape:
        raise ProtocolError(f"{name}: expected a non-empty 2-D array (n, d), got shape {array.shape}.")
    return array


class _Pairs(NamedTuple):
    """Pairs of a query and an item, by their rows, and the intervals that contain their keys.

    For `decided` pairs, the interval is that of their distance in float64.
    """

    rows: NDArray[np.int32]
    items: _Rows
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    decided: NDArray[np.bool_]

    @classmethod
    def none(cls) -> "_Pairs":
        """Return an empty set of pairs."""
        nothing = np.empty(0)
        return cls(nothing.astype(np.int32), nothing.astype(np.int64), nothing, nothing, nothing.astype(bool))

    def where(self, selected: NDArray) -> "_Pairs":
        """Return a subset of the pairs, by mask or position."""
        return _Pairs(*(column[selected] for column in self))

    @classmethod
    def joined(cls, parts: Sequence["_Pairs"], n_queries: int) -> tuple["_Pairs", _Rows]:
        """Return the pairs of all parts, ordered by row and then by part, and the indptr of the rows."""
        pairs = cls(*map(np.concatenate, zip(*parts, strict=True)))
        order = np.argsort(pairs.rows.astype(np.int16), kind="stable")  # NumPy sorts 16-bit integers by counting
        return pairs.where(order), _starts(np.bincount(pairs.rows, minlength=n_queries))


@dataclass
class _Search:
    """The search for the nearest items of up to 4,096 queries in one pass over the database."""

    query: NDArray
    database: NDArray
    k: int
    distance: Distance
    augmentation: SquaredAugmentation | InnerAugmentation
    threads: int

    def run(self, progress: Callable[[int], object]) -> Neighbours:
        """Return the nearest items."""
        n_queries, n_items = len(self.query), len(self.database)
        queries = self.augmentation.queries(self.query)
        bound = self._first_bound(queries)
        state = bound, queries.within(bound)
        pairs, pending, n_pending = _Pairs.none(), [], 0

        def search(start: int) -> _Pairs:
            bound, left = state  # the current values
            found = _within(left, self.augmentation.items(self.database[start : start + TILE], start))
            low = found.products + bound[found.rows]
            return _Pairs(
                found.rows,
                start + found.columns.astype(np.int64),
                low,
                low + found.uncertainty,
                np.zeros(len(low), bool),
            )

        starts = range(0, n_items, TILE)
        for start, found in zip(starts, in_order(search, starts, self.threads), strict=True):
            pending.append(found)
            n_pending += len(found.rows)
            if n_pending > max(n_queries * self.k, len(pairs.rows)):
                pairs, bound = self._closest(queries, _Pairs.joined([pairs, *pending], n_queries))
                state, pending, n_pending = (bound, queries.within(bound)), [], 0
            progress(n_queries * min(TILE, n_items - start))
        pairs, _ = self._closest(queries, _Pairs.joined([pairs, *pending], n_queries))
        return self._decided(pairs)

    def _first_bound(self, queries: AugmentedQueries) -> NDArray[np.float64]:
        """Return bounds within which each query has at least k of the first items."""
        left = queries.within(np.zeros(len(self.query)))
        n_first = min(len(self.database), -(-self.k // TILE) * TILE)

        def search(start: int) -> NDArray[np.float64]:
            right = self.augmentation.items(self.database[start : start + TILE], start)
            return left.vectors @ right.vectors.T + (left.uncertainty[:, None] + right.uncertainty)

        high = np.concatenate(list(in_order(search, range(0, n_first, TILE), self.threads)), axis=1)
        return np.minimum(np.partition(high, self.k - 1, axis=1)[:, self.k - 1], FARTHEST)

    def _closest(self, queries: AugmentedQueries, joined: tuple[_Pairs, _Rows]) -> tuple[_Pairs, NDArray[np.float64]]:
        """Return the pairs that may be among the nearest, and each query's bound on their keys.

        If a query has too many of them, or their keys are unbounded, they are decided in float64.
        """
        pairs, indptr = joined
        pairs, indptr, bound = self._bounded(pairs, indptr)
        crowded = np.diff(indptr) > 2 * self.k + _EXTRA_CANDIDATES
        open_pairs = np.flatnonzero(~pairs.decided & (crowded[pairs.rows] | np.isinf(pairs.high)))
        if open_pairs.size:
            rows = pairs.rows[open_pairs]
            pairs.low[open_pairs], pairs.high[open_pairs] = queries.keys(
                self._distances(rows, pairs.items[open_pairs]), rows
            )
            pairs.decided[open_pairs] = True
            pairs, indptr, bound = self._bounded(pairs, indptr)
        return pairs, bound

    def _bounded(self, pairs: _Pairs, indptr: _Rows) -> tuple[_Pairs, _Rows, NDArray[np.float64]]:
        """Return the pairs that may be as near as the k-th, their indptr, and the bounds."""
        bound = np.minimum(_kth(indptr, pairs.high, self.k), FARTHEST)
        selected = pairs.low <= bound[pairs.rows]
        return pairs.where(selected), _starts(selected)[indptr], bound

    def _decided(self, pairs: _Pairs) -> Neighbours:
        """Return the nearest among the pairs, which are ordered by row and item."""
        indptr = _starts(np.bincount(pairs.rows, minlength=len(self.query)))
        distances = self._distances(pairs.rows, pairs.items)
        selected = distances <= _kth(indptr, distances, self.k)[pairs.rows]
        return Neighbours(self.k, _starts(selected)[indptr], pairs.items[selected], distances[selected])

    def _distances(self, rows: NDArray[np.int32], items: _Rows) -> NDArray[np.float64]:
        """Return the distances of pairs; database rows are read in ascending order."""
        order = np.argsort(items, kind="stable")
        distances = np.empty(len(rows))
        distances[order] = pair_distances(
            self.query, self.database, rows[order], items[order], distance=self.distance, threads=self.threads
        )
        return distances


def _starts(counts: NDArray) -> _Rows:
    """Return the start of each part and the end of the last one, from the sizes of the parts: (n + 1,)."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _kth(indptr: _Rows, values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the k-th smallest value of each row; all rows have at least k: (n_rows,)."""
    return np.array([np.partition(values[a:b], k - 1)[k - 1] for a, b in pairwise(indptr)])


class _Found(NamedTuple):
    """Pairs with products <= 0, in order: rows of the queries and of the tile, products, and uncertainties."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    products: NDArray[np.float64]
    uncertainty: NDArray[np.float64]


def _within(left: Augmented, right: Augmented) -> _Found:
    """Return the pairs of a query and an item in one tile that may be within the query's bound."""
    n_items = len(right.vectors)
    product = np.empty((min(TILE, len(left.vectors)), n_items), dtype=np.float32)
    found = []
    for first in range(0, len(left.vectors), TILE):
        part = left.vectors[first : first + TILE]
        values = np.matmul(part, right.vectors.T, out=product[: len(part)])
        pairs = np.flatnonzero(values <= 0)
        rows, columns = np.divmod(pairs.astype(np.int32), np.int32(n_items))
        rows += first
        products = values.ravel()[pairs].astype(np.float64)
        found.append(_Found(rows, columns, products, left.uncertainty[rows] + right.uncertainty[columns]))
    return _Found(*map(np.concatenate, zip(*found, strict=True)))


def _compressed(
    found: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]], starts: range, n_queries: int
) -> tuple[_Rows, _Rows]:
    """Merge the pairs of the database's tiles, each in order, into CSR (indptr, indices)."""
    indptr = np.zeros(n_queries + 1, dtype=np.int64)
    for rows, _ in found:
        indptr[1:] += np.bincount(rows, minlength=n_queries)
    indptr = np.cumsum(indptr)
    indices, free = np.empty(indptr[-1], dtype=np.int64), indptr[:-1].copy()
    for start, (rows, columns) in zip(starts, found, strict=True):
        counts = np.bincount(rows, minlength=n_queries)
        before = np.cumsum(counts) - counts  # pairs of the tile before each query's first
        indices[(free - before)[rows] + np.arange(rows.size)] = start + columns
        free += counts
    return indptr, indices
