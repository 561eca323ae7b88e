"""The three distances between vectors, each defined by a formula in float64, which determines order and ties.

The formulas, for vectors converted to float64:

- ``euclidean``: ``sqrt(sum((a - b)**2))``
- ``cosine``: ``1 - sum(a * b) / sqrt(sum(a * a) * sum(b * b))``, so the distance of equal vectors is exactly 0. Vectors
  in float64 are first scaled by powers of two, which prevents overflow and changes nothing else.
- ``dot``: ``-sum(a * b)``: the larger the product, the nearer the item.

Sums are NumPy's, along the rows of an array in C order.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from protocol.checks import one_of

Distance = Literal["euclidean", "cosine", "dot"]
DISTANCES: tuple[str, ...] = get_args(Distance)
CHUNK = 1 << 15
"""Numbers converted to float64 at a time: 256 KB, which fit into the cache."""


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


_FORMULAS: dict[str, Callable[[NDArray, NDArray], NDArray[np.float64]]] = {
    "euclidean": euclidean,
    "cosine": cosine,
    "dot": negative_dot,
}


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

    starts = range(0, len(values), size)
    if threads == 1 or len(starts) < 2:
        for start in starts:
            measure(start)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(measure, starts):
                pass
    return values
