"""Nearest-neighbour ground truth: the k items nearest to the query in feature space are relevant."""

import numpy as np
from numpy.typing import NDArray

from protocol.checks import integer, one_of
from protocol.registry import GroundTruthRecord
from protocol.truth._items import Items
from protocol.truth._neighbour_search import DISTANCES, Distance, nearest


def _check(*, n_neighbours: int, distance: str, n_train: int | None = None, n_database: int | None = None) -> None:
    """Raise ProtocolError unless the distance is known and 1 <= `n_neighbours` <= `n_database` (if not None)."""
    one_of(distance, DISTANCES, "distance")
    integer(n_neighbours, "n_neighbours", maximum=n_database)


@GroundTruthRecord.declared_with(check=_check)
def nearest_neighbours(
    query: Items,
    database: Items,
    train: Items,
    *,
    seed: int = 0,
    n_neighbours: int = 100,
    distance: Distance = "euclidean",
) -> dict[str, NDArray[np.int64]]:
    """Items that are no farther from the query than its k-th nearest neighbour are relevant.

    Parameters
    ----------
    query : Items
        Prepared features (n, d) of the queries.
    database : Items
        Prepared features (n, d) of the database.
    train : Items
        Not used: nothing is fitted.
    seed : int, default=0
        Not used: nothing is random.
    n_neighbours : int, default=100
        k, from 1 to the size of the database.
    distance : {"euclidean", "cosine", "dot"}, default="euclidean"
        The distance between features: Euclidean, 1 - the cosine, or minus the inner product.

    Returns
    -------
    dict
        ``indptr`` int64 (n_queries + 1,) and ``indices`` int64: the relevant database positions of each query,
        ascending.

    Raises
    ------
    ProtocolError
        If an option is out of its range, or a vector is zero and the distance is the cosine distance.

    Notes
    -----
    Distances are exact: pairs that float32 arithmetic can't decide are recomputed in float64.
    """
    _check(n_neighbours=n_neighbours, distance=distance, n_database=len(database.X))
    neighbours = nearest(query.X, database.X, n_neighbours, distance=distance)
    return {"indptr": neighbours.indptr, "indices": neighbours.indices}
