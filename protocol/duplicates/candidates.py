"""Search for candidate near-duplicates: the items with the largest inner products, in blocks of a fixed size."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol.parallel import in_order, workers

_QUERIES, _ITEMS = 256, 1 << 15  # per matrix product, whose result has 32 MB
_GROUP = 32  # items; only groups with large maxima are searched
_T = TypeVar("_T")
Done = Callable[[int], object] | None
"""Called with the number of queries just finished."""


def best_matches(
    query: NDArray[np.float32],
    database: NDArray[np.float32],
    k: int,
    *,
    same: bool = False,
    threads: int = 1,
    done: Done = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the database rows with the k largest inner products with each query, the largest first.

    Parameters
    ----------
    query, database : ndarray of float32, shapes (n_queries, d) and (n_database, d)
    k : int
        At least 1; the result has fewer columns if the database has fewer rows.
    same : bool, default=False
        Whether both are the same items; an item is then not a candidate for itself.
    threads : int, default=1
        The result does not depend on it.
    done : callable, optional
        Called with the number of queries just finished.

    Returns
    -------
    rows : ndarray of int64, shape (n_queries, k)
    products : ndarray of float32, shape (n_queries, k)

    Notes
    -----
    `protocol.truth.nearest` returns all items that tie with the k-th, so a thousand blank images would yield a
    million pairs. This search keeps only k of them. It needs 40 MB per thread.

    Examples
    --------
    >>> line = np.array([[3.0], [1.0], [2.0]], dtype=np.float32)
    >>> best_matches(line, line, 2, same=True)[0].tolist()
    [[2, 1], [0, 2], [0, 1]]
    """
    k = min(k, len(database) - same)

    def search(start: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        block = query[start : start + _QUERIES]
        rows = np.empty((len(block), 0), dtype=np.int64)
        products = np.empty((len(block), 0), dtype=np.float32)
        for first in range(0, len(database), _ITEMS):
            values = _products(block, database[first : first + _ITEMS])
            if same:
                columns_of_self = start + np.arange(len(block)) - first
                inside = (columns_of_self >= 0) & (columns_of_self < values.shape[1])
                values[np.flatnonzero(inside), columns_of_self[inside]] = -np.inf
            columns = _largest(values, k)
            rows = np.concatenate([rows, columns + first], axis=1)
            products = np.concatenate([products, np.take_along_axis(values, columns, axis=1)], axis=1)
            order = np.lexsort((rows, -products), axis=1)[:, :k]
            rows, products = np.take_along_axis(rows, order, axis=1), np.take_along_axis(products, order, axis=1)
        return rows, products

    rows, products = zip(*in_blocks(search, range(0, len(query), _QUERIES), threads, done), strict=True)
    return np.concatenate(rows), np.concatenate(products)


def in_blocks(work: Callable[[int], _T], starts: range, threads: int, done: Done = None) -> Iterator[_T]:
    """Yield ``work(start)`` for each block of queries, in order; `done` is called with the size of each block."""
    with workers(threads) as n_threads:
        for start, result in zip(starts, in_order(work, starts, n_threads), strict=True):
            yield result
            if done is not None:
                done(min(starts.step, starts.stop - start))


def _products(block: NDArray[np.float32], items: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inner products, padded with columns of minus infinity to a multiple of `_GROUP`."""
    width = -(-len(items) // _GROUP) * _GROUP
    if width == len(items):
        return block @ items.T
    values = np.full((len(block), width), -np.inf, dtype=np.float32)
    values[:, : len(items)] = block @ items.T
    return values


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the columns of the k largest values of each row, unordered, from the k groups with the largest maxima."""
    n_groups = values.shape[1] // _GROUP
    k_groups = min(k, n_groups)
    maxima = values.reshape(len(values), _GROUP, n_groups).max(axis=1)
    groups = np.argpartition(-maxima, k_groups - 1, axis=1)[:, :k_groups]
    columns = (groups[:, None, :] + n_groups * np.arange(_GROUP)[:, None]).reshape(len(values), -1)
    within = np.take_along_axis(values, columns, axis=1)
    largest = np.argpartition(-within, min(k, within.shape[1]) - 1, axis=1)[:, :k]
    return np.take_along_axis(columns, largest, axis=1)
