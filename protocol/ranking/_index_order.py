"""Average precision with ties in the order of the database: the one number here that distances alone don't give."""

import numpy as np
from numpy.typing import NDArray

from protocol.ranking._plain import distances_from
from protocol.ranking.relevance import Relevance


def average_precision(
    queries: NDArray[np.uint64],
    database: NDArray[np.uint64],
    relevance: Relevance,
    block: slice,
    retrieved: NDArray[np.int64],
    relevant: NDArray[np.int64],
    *,
    compiled: bool,
) -> NDArray[np.float64]:
    """Return the average precision of a block of queries in the stable ranking, over all relevant items.

    Parameters
    ----------
    queries, database : ndarray of uint64, shape (n_queries, n_words), (n_words, n_database)
    relevance : Relevance
    block : slice
        Of the queries.
    retrieved, relevant : ndarray of int64, shape (n_block, n_bits + 1)
        Items at each distance, all and relevant ones.
    compiled : bool
        Walk through the database in a compiled loop, rather than sort.

    Returns
    -------
    ndarray of float64, shape (n_block,)
        NaN for a query without relevant items.
    """
    before, relevant_before = (counts.cumsum(axis=1) - counts for counts in (retrieved, relevant))
    values = np.full(len(retrieved), np.nan)
    room = np.empty(database.shape[1], dtype=np.uint16)
    for row, query in enumerate(range(len(queries))[block]):
        positions = np.sort(relevance.row(query)[0])
        if not positions.size:
            continue
        if compiled:
            from protocol.ranking._kernels import sum_of_precisions  # loads numba

            total = sum_of_precisions(queries[query], database, positions, before[row], relevant_before[row], room)
        else:
            total = _by_sorting(distances_from(queries[query], database), positions)
        values[row] = total / positions.size
    return values


def _by_sorting(distances: NDArray[np.uint16], positions: NDArray[np.int64]) -> float:
    place = np.empty(distances.size, dtype=np.int64)
    place[np.argsort(distances, kind="stable")] = np.arange(1, distances.size + 1)
    return float((np.arange(1, positions.size + 1) / np.sort(place[positions])).sum())
