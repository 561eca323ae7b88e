r"""Exact search for neighbours, within a radius or the nearest ones, at the speed of a matrix product.

Whether two items lie within the radius of each other is the sign of one inner product of d + 2 numbers,

.. math:: \lVert a - b \rVert^2 - \varepsilon^2
          = \langle (-2a, \lVert a \rVert^2 - \varepsilon^2, 1), (b, 1, \lVert b \rVert^2) \rangle,

so a float32 product of two folded matrices, a tile at a time, leaves nothing to do but to look for signs. The tile is
scanned while it is in cache. Rounding can turn the sign of pairs close to the radius only; how close is bounded pair by
pair (see `_Fold`), and those pairs alone are computed again from the items as they came, in float64. So the answer is
that of float64, whatever the tiles, the threads, and the order in which the product adds.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer, matrix, one_of

Distance = Literal["euclidean", "cosine", "dot"]
TILE = 512
"""Queries, and database items, of a tile: its product of 1 MB stays in cache."""
CHUNK = 1 << 15
"""Numbers at a time in float64: 256 KB, so that they stay in cache."""
_BLOCK = 1 << 24
"""Products at a time where whole rows of them are needed: 64 MB."""
_Rows = NDArray[np.int64]
_Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]  # rows of the queries, and of a tile of the database
_MOST_FEATURES = 1 << 20  # up to here the bound of the rounding error holds


def neighbours_within(
    query: NDArray[np.float32],
    database: NDArray[np.float32],
    radius: float,
    *,
    strict: bool = False,
    threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the database rows within `radius` of each query, exactly as Euclidean distances in float64 decide.

    Parameters
    ----------
    query, database : (n_queries, d) and (n_database, d) float32
        Finite, of any magnitude.
    radius : float
        At least 0.
    strict : bool, default=False
        Whether an item at distance `radius` is outside.
    threads : int, default=1
        For the products; the result is the same for any number.

    Returns
    -------
    indptr : (n_queries + 1,) int64
    indices : int64
        Query i has the neighbours ``indices[indptr[i] : indptr[i + 1]]``, ascending.

    Raises
    ------
    ProtocolError
        If an item is not finite, the numbers of features differ or are above a million, `radius` is negative or NaN,
        or `threads` is below 1.

    Notes
    -----
    Beside its input it holds a folded copy of the queries, the pairs found (twice), and a few tiles a thread.

    Examples
    --------
    >>> line = np.arange(5, dtype=np.float32)[:, None]
    >>> neighbours_within(line[:2], line, 1.0)
    (array([0, 2, 5]), array([0, 1, 0, 1, 2]))
    """
    query, database = _matched(query, database)
    if not radius >= 0:  # infinity is allowed
        raise ProtocolError(f"radius search: radius: expected a number >= 0, got {radius!r}.")
    integer(threads, "threads")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    fold = _Fold(query, database, radius)
    left = fold.queries(query)

    def search(start: int) -> _Pairs:
        tile = database[start : start + TILE]
        return _search(left, fold.items(tile), partial(_decide, query, tile, radius, strict))

    starts = range(0, len(database), TILE)
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(search, starts))
    return _compressed(found, starts, len(query))


@dataclass(frozen=True)
class Neighbours:
    """The database rows that are no farther from each query than its k-th nearest, and their distances.

    Parameters
    ----------
    k : int
        The number of neighbours searched for. A query has more where several items are as far as the k-th.
    indptr : (n_queries + 1,) int64
    indices : int64
        Query i has the neighbours ``indices[indptr[i] : indptr[i + 1]]``, ascending.
    distances : float64
        In the order of `indices`.
    """

    k: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    distances: NDArray[np.float64]

    def first(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (indptr, indices) of the rows that are no farther than the k-th nearest, ties included.

        Parameters
        ----------
        k : int
            From 1 to the number searched for.
        """
        integer(k, "k", maximum=self.k)
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        kept = self.distances <= _kth(rows, self.distances, k)[rows]
        return np.concatenate([[0], np.cumsum(kept)])[self.indptr], self.indices[kept]


def nearest(
    query: NDArray,
    database: NDArray,
    k: int,
    *,
    distance: Distance = "euclidean",
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Neighbours:
    """Return the database rows that are no farther from each query than its k-th nearest neighbour."""
    one_of(distance, _MEASURES, "distance")
    integer(k, "k", maximum=len(database))
    found, apart = [], []
    for row in range(len(query)):
        rows = np.full(len(database), row)
        values = pair_distances(query, database, rows, np.arange(len(database)), distance=distance)
        found.append(np.flatnonzero(values <= np.partition(values, k - 1)[k - 1]))
        apart.append(values[found[-1]])
        if progress is not None:
            progress(len(database))
    indptr = np.cumsum([0, *map(len, found)])
    return Neighbours(k, indptr, np.concatenate(found), np.concatenate(apart))


def pair_distances(
    query: NDArray, database: NDArray, query_rows: _Rows, database_rows: _Rows, *, distance: Distance = "euclidean"
) -> NDArray[np.float64]:
    """Return the distance of each pair of a query row and a database row, in float64: (n,).

    The formulas are those of `nearest`, so that equal items and ties agree with it to the last bit.
    """
    measure = _MEASURES[one_of(distance, _MEASURES, "distance")]
    values = np.empty(len(query_rows))
    size = max(1, CHUNK // query.shape[1])
    for start in range(0, len(values), size):
        chunk = slice(start, start + size)
        values[chunk] = measure(query[query_rows[chunk]], database[database_rows[chunk]])
    return values


def _kth(rows: _Rows, values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the k-th smallest value of each row: (n_rows,). Each of the rows, counted from 0, has at least k."""
    order = np.lexsort((values, rows))
    counts = np.bincount(rows)
    return values[order][np.cumsum(counts) - counts + k - 1]


def _matched(query: NDArray, database: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return queries and database as finite matrices of the same width."""
    query, database = matrix(query, "query"), matrix(database, "database")
    d = database.shape[1]
    if query.shape[1] != d or d > _MOST_FEATURES:
        raise ProtocolError(
            f"neighbour search: wanted queries and database items of the same number of features, at most "
            f"{_MOST_FEATURES}, came {query.shape[1]} and {d}"
        )
    return query, database


def distances(A: NDArray[np.float32], B: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean distance of each row of `A` to that of `B`, or to `B` if it is a single item: (n,)."""
    return np.sqrt(((A.astype(np.float64) - B) ** 2).sum(axis=1))


def _cosine(A: NDArray, B: NDArray) -> NDArray[np.float64]:
    A, B = A.astype(np.float64), B.astype(np.float64)
    return 1 - (A * B).sum(axis=1) / np.sqrt((A * A).sum(axis=1) * (B * B).sum(axis=1))


def _dot(A: NDArray, B: NDArray) -> NDArray[np.float64]:
    return -(A.astype(np.float64) * B.astype(np.float64)).sum(axis=1)


_MEASURES: dict[str, Callable[[NDArray, NDArray], NDArray[np.float64]]] = {
    "euclidean": distances,
    "cosine": _cosine,
    "dot": _dot,
}


class _Folded(NamedTuple):
    """Folded items (n, d + 2), and the share of each (n,) in twice the bound of their products' errors."""

    vectors: NDArray[np.float32]
    doubt: NDArray[np.float64]


class _Fold:
    r"""Folds items so that their inner product tells whether they are within the radius, and how surely.

    Items are moved to near the centre of the database, which makes norms, and with them rounding errors, small, and
    are scaled down by a power of two where float32 could overflow. Let :math:`\alpha, \beta` be two such items in
    exact arithmetic, `a`, `b` their float32 values, :math:`A = |a|^2 + |b|^2`, m = d + 2, u = 2^-24 the unit roundoff,
    and :math:`\gamma = mu / (1 - mu)`. Between :math:`|\alpha - \beta|^2 - \varepsilon^2` and the product lie

    - centring: :math:`|a - \alpha| \le u |\alpha|`, so the squared distance moves by less than 4.1 u A;
    - two norms in float32: :math:`u (A + \varepsilon^2)`;
    - an inner product of m terms added in any order, with or without fused operations:
      :math:`\gamma (2|a||b| + A + \varepsilon^2) \le \gamma (2 A + \varepsilon^2)` (Higham, Accuracy and Stability of
      Numerical Algorithms, 2nd ed., section 3.1);
    - underflow, also where it is flushed to zero: 2^-126 a term, and as much a centred number of at most 2^32, which
      moves the squared distance by less than 2^-90 m;
    - float64 in norms and in the distances that decide: below u A / 1000.

    Together that is less than :math:`c (A + \varepsilon^2) + t` with c = (3m + 8) u and t = 2^-89 m, for mu < 1/15. The
    folded norms are lessened by it, so the product is not positive for any pair within the radius; and where it is
    below :math:`-2 (c (A + \varepsilon^2) + t)`, the pair is within it for sure. What lies between is borderline.
    """

    def __init__(self, query: NDArray[np.float32], database: NDArray[np.float32], radius: float) -> None:
        centre = database[:: len(database) // 1024 + 1].mean(axis=0, dtype=np.float64)  # any point will do
        reach = max(
            np.linalg.norm(np.maximum(X.max(axis=0) - centre, centre - X.min(axis=0))) for X in (query, database)
        )
        exponent = int(np.frexp(reach)[1])
        # No norm is above 2^32: none is above 2^exponent, nor above four times that once the centre is rounded.
        self.scale = np.float32(2.0 ** min(0, 30 - exponent))
        self.centre = (centre * self.scale).astype(np.float32)
        # A larger radius than 2^34 holds every pair, as 2^34 does.
        self.squared_radius = min(radius * float(self.scale), 2.0**34) ** 2
        m = database.shape[1] + 2
        self.relative, self.absolute = (3 * m + 8) * 2.0**-24, m * 2.0**-89

    def queries(self, X: NDArray[np.float32]) -> _Folded:
        """Return the left side of the product."""
        folded, squared = self._centred(X)
        error = self.relative * (squared + self.squared_radius) + self.absolute
        folded[:, :-2] *= -2
        folded[:, -2] = squared - self.squared_radius - error
        folded[:, -1] = 1
        return _Folded(folded, 2 * error)

    def items(self, X: NDArray[np.float32]) -> _Folded:
        """Return the right side of the product."""
        folded, squared = self._centred(X)
        error = self.relative * squared
        folded[:, -2] = 1
        folded[:, -1] = squared - error
        return _Folded(folded, 2 * error)

    def _centred(self, X: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the items moved and scaled, with room for two columns, and their squared norms."""
        folded = np.empty((len(X), X.shape[1] + 2), dtype=np.float32)
        centred = folded[:, :-2]
        np.multiply(X, self.scale, out=centred)
        centred -= self.centre
        return folded, np.einsum("ij,ij->i", centred, centred, dtype=np.float64)


def _search(left: _Folded, right: _Folded, decide: Callable[[_Rows, _Rows], NDArray[np.bool_]]) -> _Pairs:
    """Return the pairs of a query and an item of one tile that are within the radius, in order."""
    n_items = len(right.vectors)
    product = np.empty((min(TILE, len(left.vectors)), n_items), dtype=np.float32)
    found: list[_Pairs] = [(np.empty(0, dtype=np.int32),) * 2]
    for first in range(0, len(left.vectors), TILE):
        part = left.vectors[first : first + TILE]
        values = np.matmul(part, right.vectors.T, out=product[: len(part)])
        pairs = np.flatnonzero(values <= 0)
        if pairs.size:
            rows, columns = np.divmod(pairs, n_items)
            rows += first
            inside = values.ravel()[pairs] < -(left.doubt[rows] + right.doubt[columns])
            borderline = np.flatnonzero(~inside)
            inside[borderline] = decide(rows[borderline], columns[borderline])
            found.append((rows[inside].astype(np.int32), columns[inside].astype(np.int32)))
    found_rows, found_columns = zip(*found, strict=True)
    return np.concatenate(found_rows), np.concatenate(found_columns)


def _decide(
    query: NDArray[np.float32], tile: NDArray[np.float32], radius: float, strict: bool, rows: _Rows, columns: _Rows
) -> NDArray[np.bool_]:
    """Return which of the pairs (row of `query`, row of `tile`) are within the radius, in float64, chunk by chunk."""
    inside = np.empty(rows.size, dtype=bool)
    size = max(1, CHUNK // query.shape[1])
    for start in range(0, rows.size, size):
        chunk = slice(start, start + size)
        distance = distances(query[rows[chunk]], tile[columns[chunk]])
        inside[chunk] = distance < radius if strict else distance <= radius
    return inside


def _compressed(
    found: Sequence[_Pairs], starts: Iterable[int], n_queries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
