"""Average precision with ties in the order of the database: the one number here that distances alone don't give."""

import numpy as np
from numpy.typing import NDArray

from protocol.ranking._plain import distances_from
from protocol.ranking.relevance import Relevance


def average_precision(
    queries: NDArray[np.uint64], database: NDArray[np.uint64], relevance: Relevance, block: slice
) -> NDArray[np.float64]:
    """Return the average precision of a block of queries in the stable ranking, over all relevant items.

    Parameters
    ----------
    queries, database : ndarray of uint64, shape (n_queries, n_words), (n_database, n_words)
    relevance : Relevance
    block : slice
        Of the queries.

    Returns
    -------
    ndarray of float64, shape (n_block,)
        NaN for a query without relevant items.
    """
    numbers = range(len(queries))[block]
    values = np.full(len(numbers), np.nan)
    place = np.empty(len(database), dtype=np.int64)
    for row, query in enumerate(numbers):
        positions = relevance.row(query)[0]
        if positions.size:
            order = np.argsort(distances_from(queries[query], database.T), kind="stable")
            place[order] = np.arange(1, order.size + 1)
            values[row] = (np.arange(1, positions.size + 1) / np.sort(place[positions])).mean()
    return values
