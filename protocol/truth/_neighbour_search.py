r"""Distances, and exact search for neighbours within a radius, or the k nearest, at the speed of a matrix product.

The three distances between vectors are defined by formulas in float64, which determine order and ties:

- ``euclidean``: ``sqrt(sum((a - b)**2))``
- ``cosine``: ``1 - sum(a * b) / sqrt(sum(a * a) * sum(b * b))``, so the distance of equal vectors is exactly 0. Vectors
  in float64 are first scaled by powers of two, which prevents overflow and changes nothing else.
- ``dot``: ``-sum(a * b)``: the larger the product, the nearer the item.

Sums are NumPy's, along the rows of an array in C order.

The *key* of a pair grows with its distance and consists of inner products: the squared distance
:math:`|a|^2 + |b|^2 - 2 \langle a, b \rangle`, or minus the inner product of the pair (cosine and dot). One product
of matrices, tile by tile, gives a lower bound on the keys of all pairs. Pairs whose lower bound exceeds the key of the
radius, or the k-th smallest key found so far, are dropped. The rest is recomputed from the formulas, so the result is
theirs, independent of tiles, threads and the order of additions.

Let u = 2^-53. An inner product of d terms, added in any order, is off by at most d u |a||b| (Higham, Accuracy and
Stability of Numerical Algorithms, 2nd ed., section 3.1), and by 2^-1074 for each term that underflows. Keys and
formulas together contain at most five such sums and fewer than 40 single roundings, so a key differs from that of the
formula by less than (5 d + 40) u times the size of the pair, |a|^2 + |b|^2 or |a||b|, which is the bound used here.

scikit-learn's brute-force search takes 0.7 to 0.8 of the CPU time (k = 100; 500 x 50,000 x 768 and 1,000 x 60,000 x
128), but has no dot distance, holds the whole database in memory, cuts ties with the k-th item, and rounds differently
from the formulas. So its result would need the same bounds and a second search, and evaluating codes would require it.
A version of this module in float32 took 0.6 of the CPU time and 160 more lines, for bounds on the rounding of the
vectors.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer, one_of
from protocol.parallel import Step, in_order, unreported, workers

Distance = Literal["euclidean", "cosine", "dot"]
DISTANCES: tuple[str, ...] = get_args(Distance)
CHUNK = 1 << 15
"""Numbers converted to float64 at a time: 256 KB, which fit into the cache."""
TILE = 512
"""Queries, and database items, per tile: its product of 2 MB fits into the cache."""
MOST_FEATURES = 1 << 20
"""The maximum number of features: the squares of this many numbers up to `_LARGEST_NUMBER` can be added."""
_LARGEST_NUMBER, _SMALLEST_NUMBER = 2.0**500, 2.0**-450
_NUMBERS = 1 << 22  # per block of checks, and in the sample for the centre
_QUERIES = 4096
"""Queries searched in one pass over the database; fewer for large k."""
_PAIRS = 1 << 22
"""Maximum number of pairs of a query and a nearest item per pass; each takes up to 100 bytes."""
_EXTRA_CANDIDATES = 1024
"""Number of candidates above 2 k per query after which undecided pairs are computed by the formulas."""
_Rows = NDArray[np.int64]


def euclidean(A: NDArray, B: NDArray) -> NDArray[np.float64]:
    """Return the Euclidean distance of each row of `A` to the same row of `B`, or to a single item `B`: (n,)."""
    return np.sqrt(((A.astype(np.float64) - B) ** 2).sum(axis=1))


def cosine(A: NDArray, B: NDArray) -> NDArray[np.float64]:
    """Return 1 - the cosine of the angle between each row of `A` and the same row of `B`, which are not zero: (n,)."""
    A, B = balanced(A)[0], balanced(B)[0]
    return 1 - (A * B).sum(axis=1) / np.sqrt((A * A).sum(axis=1) * (B * B).sum(axis=1))


def negative_dot(A: NDArray, B: NDArray) -> NDArray[np.float64]:
    """Return minus the inner product of each row of `A` and the same row of `B`: (n,)."""
    return -(A.astype(np.float64) * B.astype(np.float64)).sum(axis=1)


def balanced(A: NDArray) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return rows in float64, divided by powers of two, and the exponents of these: (n, d), (n,).

    Only rows that are float64 originally are divided, so that their largest magnitude is in [0.5, 1); squares of
    narrower types can neither overflow nor underflow float64.
    """
    A64 = A.astype(np.float64)
    if A.dtype != np.float64:
        return A64, np.zeros(len(A), dtype=np.int32)
    exponents = np.frexp(np.abs(A64).max(axis=1))[1]
    return np.ldexp(A64, -exponents[:, None]), exponents


_FORMULAS = {"euclidean": euclidean, "cosine": cosine, "dot": negative_dot}


def pair_distances(
    query: NDArray,
    database: NDArray,
    query_rows: NDArray[np.integer],
    database_rows: NDArray[np.integer],
    *,
    distance: Distance = "euclidean",
    threads: int = 1,
) -> NDArray[np.float64]:
    """Return the distances between pairs of a query and a database item, by the formulas of `nearest`: (n_pairs,).

    Parameters
    ----------
    query : (n_queries, d) numbers
        Vectors that have passed the checks of `nearest`.
    database : (n_database, d) numbers
        Such vectors; may be memory-mapped, and its rows are read in the given order.
    query_rows : (n_pairs,) integers
        The row of the query of each pair.
    database_rows : (n_pairs,) integers
        The row of the database item of each pair.
    distance : {"euclidean", "cosine", "dot"}, default="euclidean"
    threads : int, default=1

    Examples
    --------
    >>> line = np.arange(5.0)[:, None]
    >>> pair_distances(line, line, np.array([0, 4]), np.array([3, 4]))
    array([3., 0.])
    """
    formula = _FORMULAS[one_of(distance, DISTANCES, "distance")]
    values = np.empty(len(query_rows))
    size = max(1, CHUNK // query.shape[1])

    def measure(start: int) -> None:
        chunk = slice(start, start + size)
        values[chunk] = formula(query[query_rows[chunk]], database[database_rows[chunk]])

    for _ in in_order(measure, range(0, len(values), size), threads):
        pass
    return values


class _Side(NamedTuple):
    """One side of the product, (n, d + 1); the sizes of the vectors, |a|^2 or |a|; and what is added to the product."""

    vectors: NDArray[np.float64]
    size: NDArray[np.float64]
    constant: NDArray[np.float64]


class Keys:
    """Lower and upper bounds on the keys of pairs, from a product of matrices.

    Parameters
    ----------
    database : (n, d)
        A sample is read for the centre that is subtracted from vectors, which makes rounding errors small.
    distance : {"euclidean", "cosine", "dot"}
    """

    def __init__(self, database: NDArray, distance: Distance) -> None:
        self._database, self._distance, d = database, distance, database.shape[1]
        self._euclidean, self._unit = distance == "euclidean", distance == "cosine"
        self._error, self._underflow = (5 * d + 40) * 2.0**-53, d * 2.0**-1070
        n_rows = max(1, min(1024, _NUMBERS // d))
        sample = database[:: len(database) // n_rows + 1].astype(np.float64)
        sample = sample[np.abs(sample).max(axis=1) <= _LARGEST_NUMBER]
        self._centre = sample.mean(axis=0) if self._euclidean and len(sample) else np.zeros(d)

    def of(self, distance: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return the keys of distances."""
        with np.errstate(over="ignore", under="ignore"):
            return np.square(distance) if self._euclidean else np.asarray(distance)

    def distances(self, query: NDArray, rows: NDArray, columns: NDArray, threads: int = 1) -> NDArray[np.float64]:
        """Return the distances of pairs of a query and an item; database rows are read in ascending order."""
        order, distances = np.argsort(columns, kind="stable"), np.empty(len(rows))
        pairs = rows[order], columns[order]
        distances[order] = pair_distances(query, self._database, *pairs, distance=self._distance, threads=threads)
        return distances

    def queries(self, X: NDArray) -> _Side:
        """Return the left side of the product; `X` must have passed `check_rows`."""
        side = self._side(X)
        if self._euclidean:
            side.vectors[:, :-1] *= -2
            side.vectors[:, -1] = 1
            return side._replace(constant=side.size * (1 - self._error) - self._underflow)
        np.negative(side.vectors, out=side.vectors)
        side.vectors[:, -1] = -self._error * side.size
        return side._replace(constant=np.full(len(X), float(self._unit) - self._underflow))

    def items(self, X: NDArray) -> _Side:
        """Return the right side of the product; raise ProtocolError as `check_rows` for the database."""
        largest = np.abs(X).max(axis=1).astype(np.float64)
        usual = (largest >= _SMALLEST_NUMBER) & (largest <= _LARGEST_NUMBER)
        if not (usual | ((largest == 0) & (not self._unit))).all():
            check_rows(self._database, "database", unit=self._unit)
        side = self._side(X)
        side.vectors[:, -1] = side.size * (1 - self._error) if self._euclidean else side.size
        return side

    def _side(self, X: NDArray) -> _Side:
        vectors = np.empty((len(X), X.shape[1] + 1))
        if self._unit:
            scaled = balanced(X)[0]
            np.divide(scaled, np.sqrt(np.vecdot(scaled, scaled))[:, None], out=vectors[:, :-1])
        else:
            np.subtract(X, self._centre, out=vectors[:, :-1])
        squared = np.vecdot(vectors[:, :-1], vectors[:, :-1])
        return _Side(vectors, squared if self._euclidean else np.sqrt(squared), squared)

    def within(self, query: _Side, items: _Side, bound: NDArray[np.float64]) -> "_Pairs":
        """Return the pairs of a query and an item in one tile whose keys may be at most the query's bound."""
        tiles, n_items = [], len(items.vectors)
        product = np.empty((min(TILE, len(query.vectors)), n_items))
        for first in range(0, len(query.vectors), TILE):
            part = _Side(*(array[first : first + TILE] for array in query))
            values = np.matmul(part.vectors, items.vectors.T, out=product[: len(part.vectors)])
            pairs = np.flatnonzero(values <= (bound[first : first + TILE] - part.constant)[:, None])
            rows, columns = np.divmod(pairs.astype(np.int32), np.int32(n_items))
            low = values.ravel()[pairs] + part.constant[rows]
            size = (np.add if self._euclidean else np.multiply)(part.size[rows], items.size[columns])
            tiles.append(_Pairs(rows + first, columns, low, low + (2 * self._error * size + 2 * self._underflow)))
        return _Pairs(*map(np.concatenate, zip(*tiles, strict=True)))


class _Pairs(NamedTuple):
    """Pairs of a query and an item, by their rows, and the intervals that contain their keys.

    If both ends are equal, they are the key of the distance by the formula.
    """

    rows: NDArray[np.int32]
    columns: NDArray[Any]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def where(self, selected: NDArray) -> "_Pairs":
        """Return a subset of the pairs, by mask or position."""
        return _Pairs(*(column[selected] for column in self))


def neighbours_within(query: NDArray, database: NDArray, radius: float) -> tuple[_Rows, _Rows]:
    """Return the database rows within `radius` of each query, exactly as by Euclidean distances in float64.

    Parameters
    ----------
    query : (n_queries, d) numbers
        Finite, of any real type, and compared without prior rounding.
    database : (n_database, d) numbers
        Likewise; may be memory-mapped.
    radius : float
        At least 0.

    Returns
    -------
    indptr : (n_queries + 1,) int64
    indices : int64
        Query i has the neighbours ``indices[indptr[i] : indptr[i + 1]]``, ascending.

    Raises
    ------
    ProtocolError
        If an item is not finite, the numbers of features differ or are above a million, the queries or the database are
        empty, or `radius` is negative or NaN.

    Notes
    -----
    In addition to the input, memory is used for a copy of the queries in float64, two copies of the pairs, and a few
    tiles.

    Examples
    --------
    >>> line = np.arange(5, dtype=np.float32)[:, None]
    >>> neighbours_within(line[:2], line, 1.0)
    (array([0, 2, 5]), array([0, 1, 0, 1, 2]))
    """
    query, database = _matched(query, database)
    if not radius >= 0:  # infinity is allowed
        raise ProtocolError(f"radius must be a number >= 0, got {radius!r}.")
    check_rows(query, "query")
    keys = Keys(database, "euclidean")
    queries, bound = keys.queries(query), np.full(len(query), keys.of(radius))

    def search(start: int) -> _Rows:
        """Return the pairs of the queries and a tile, each as one number: query * n_database + item."""
        tile = database[start : start + TILE]
        pairs = keys.within(queries, keys.items(tile), bound)
        borderline = np.flatnonzero(pairs.high >= bound[0])
        distances = pair_distances(query, tile, pairs.rows[borderline], pairs.columns[borderline])
        inside = np.ones(len(pairs.rows), dtype=bool)
        inside[borderline] = distances <= radius
        return pairs.rows[inside].astype(np.int64) * len(database) + (start + pairs.columns[inside])

    with workers(1):
        numbers = np.sort(np.concatenate(list(in_order(search, range(0, len(database), TILE), 1))))
    return _starts(np.bincount(numbers // len(database), minlength=len(query))), numbers % len(database)


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
    progress: Step = unreported,
) -> Neighbours:
    """Return the database rows no farther from each query than its k-th nearest neighbour, exactly as by float64.

    Parameters
    ----------
    query : (n_queries, d) numbers
        Finite, of any real type, and compared without prior rounding.
    database : (n_database, d) numbers
        Likewise; may be memory-mapped, and is read sequentially, once for every 4,096 queries.
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
    Memory does not grow with the database. In addition to the input, it is used for a copy of up to 4,096 queries in
    float64, a few tiles per thread, and the candidate pairs: at most about 3 k + 1,024 per query, unless more items
    tie with the k-th.

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
    keys = Keys(database, distance)
    size = max(1, min(_QUERIES, _PAIRS // max(k, TILE)))
    with workers(threads) as n_threads:
        blocks = (query[start : start + size] for start in range(0, len(query), size))
        parts = [_nearest(block, database, k, keys, n_threads, progress) for block in blocks]
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    indices, distances = (np.concatenate([getattr(part, of) for part in parts]) for of in ("indices", "distances"))
    return Neighbours(k, _starts(counts), indices, distances)


def _matched(query: NDArray, database: NDArray) -> list[NDArray]:
    """Return queries and database as matrices with the same number of features; values are checked when they are read.

    An object whose rows are decoded from the array `stored` when they are read remains as it is.
    """
    sides = [side if hasattr(side, "stored") else np.asarray(side) for side in (query, database)]
    for side, name in zip(sides, ("query", "database"), strict=True):
        if side.dtype.kind not in "fiub" or side.dtype.itemsize > 8:
            raise ProtocolError(f"{name}: expected numbers of up to 64 bits, got dtype {side.dtype}.")
        if side.ndim != 2 or 0 in side.shape or side.shape[1] > MOST_FEATURES:
            most = f"at most {MOST_FEATURES:,} features"
            raise ProtocolError(f"{name}: expected a non-empty 2-D array (n, d), {most}, got shape {side.shape}.")
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ProtocolError(f"query: {sides[0].shape[1]:,} features, but the database has {sides[1].shape[1]:,}.")
    return sides


def _nearest(query: NDArray, database: NDArray, k: int, keys: Keys, threads: int, progress: Step) -> Neighbours:
    """Return the nearest items of up to 4,096 queries in one pass over the database."""
    n_queries, queries, bound = len(query), keys.queries(query), np.full(len(query), np.inf)

    def search(start: int) -> _Pairs:
        pairs = keys.within(queries, keys.items(database[start : start + TILE]), bound)
        return pairs._replace(columns=start + pairs.columns.astype(np.int64))

    def closest(pairs: _Pairs) -> tuple[_Pairs, NDArray[np.float64]]:
        """Return the pairs that may be as near as the k-th, by row and item, and each query's bound on their keys.

        If a query has too many of them, they are decided by the formulas.
        """
        pairs = pairs.where(np.argsort(pairs.rows.astype(np.int16), kind="stable"))  # 16-bit integers are counted
        while True:
            bound = _kth(_starts(np.bincount(pairs.rows, minlength=n_queries)), pairs.high, k)
            pairs = pairs.where(pairs.low <= bound[pairs.rows])
            crowded = np.bincount(pairs.rows, minlength=n_queries) > 2 * k + _EXTRA_CANDIDATES
            undecided = np.flatnonzero((pairs.low < pairs.high) & crowded[pairs.rows])
            if not undecided.size:
                return pairs, bound
            distances = keys.distances(query, pairs.rows[undecided], pairs.columns[undecided], threads)
            pairs.low[undecided] = pairs.high[undecided] = keys.of(distances)

    starts, parts, n_pending = range(0, len(database), TILE), list[_Pairs](), 0
    for start, pairs_of_tile in zip(starts, in_order(search, starts, threads), strict=True):
        parts.append(pairs_of_tile)
        n_pending += len(pairs_of_tile.rows)
        if n_pending > max(n_queries * k, len(parts[0].rows)) or start == starts[-1]:
            pairs, bound = closest(_Pairs(*map(np.concatenate, zip(*parts, strict=True))))
            parts, n_pending = [pairs], 0
        progress(n_queries * min(TILE, len(database) - start))
    distances = keys.distances(query, pairs.rows, pairs.columns, threads)
    indptr = _starts(np.bincount(pairs.rows, minlength=n_queries))
    selected = distances <= _kth(indptr, distances, k)[pairs.rows]
    return Neighbours(k, _starts(selected)[indptr], pairs.columns[selected], distances[selected])


def _starts(counts: NDArray) -> _Rows:
    """Return the start of each part and the end of the last one, from the sizes of the parts: (n + 1,)."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _kth(indptr: _Rows, values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the k-th smallest value of each row, infinity for rows with fewer than k values: (n_rows,)."""
    return np.array([np.partition(values[a:b], k - 1)[k - 1] if b - a >= k else np.inf for a, b in pairwise(indptr)])


def check_rows(X: NDArray, name: str, *, unit: bool = False) -> None:
    """Raise ProtocolError for the first row that is not finite, too large for float64 to square, or too small.

    If `unit`, only zeros are too small, because the row is scaled; otherwise, zeros are not too small.

    Parameters
    ----------
    X : (n, d)
    name : str
        Name of the array, for the message.
    unit : bool, default=False
    """
    size = max(1, _NUMBERS // X.shape[1])
    for start in range(0, len(X), size):
        largest = np.abs(X[start : start + size].astype(np.float64)).max(axis=1)
        zero = largest == 0
        bad = ~(largest <= _LARGEST_NUMBER) | (zero if unit else ~zero & (largest < _SMALLEST_NUMBER))
        if bad.any():
            row = int(bad.argmax())
            expected, got = "finite numbers", f"{largest[row]:.2g}"
            if zero[row]:
                n_zero = sum(int(np.count_nonzero(~X[at : at + size].any(axis=1))) for at in range(start, len(X), size))
                rows = f"row {start + row:,} has zeros only, so no cosine distance ({counted(n_zero, 'such row')})"
                remedy = "Leave such rows out, or use the distance euclidean where it can be chosen."
                raise ProtocolError(f"{name}: {rows}. {remedy}")
            if largest[row] < _SMALLEST_NUMBER:
                expected, got = f"a number of at least {_SMALLEST_NUMBER:.1e}, or zeros", f"at most {got}"
            elif np.isfinite(largest[row]):
                expected = f"numbers up to {_LARGEST_NUMBER:.1e}"
            raise ProtocolError(f"{name} row {start + row}: expected {expected}, got {got}.")
