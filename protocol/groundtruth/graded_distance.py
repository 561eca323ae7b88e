"""Graded ground truth: the nearer an item is to the query in feature space, the higher its level of relevance."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.groundtruth._items import Items
from protocol.groundtruth._neighbour_search import CHUNK, distances, neighbours_within
from protocol.registry import GroundTruthRecord


@GroundTruthRecord(
    "graded_distance",
    source="He, Cakir, Bargal and Sclaroff 2018 (TALR), section 5.3: LabelMe",
    deviations="Distances are compared with percentiles of distances; the released code compares squared distances "
    "with percentiles of distances that are not squared.",
)
def graded_distance(
    query: Items,
    database: Items,
    train: Items,
    *,
    seed: int = 0,
    percentiles: Sequence[float] = (5, 1, 0.2, 0.1),
    levels: Sequence[int] = (1, 2, 5, 10),
    n_sample: int = 1000,
) -> dict[str, NDArray]:
    """Relevant items lie within a radius of the query, and the smaller the radius the higher the level.

    Parameters
    ----------
    query, database, train : Items
        Prepared features (n, d); only those of `train` fit the radii.
    seed : int, default=0
        Draws the training points.
    percentiles : sequence of float, default=(5, 1, 0.2, 0.1)
        Of the distances between the drawn training points: the radii. In (0, 100), descending.
    levels : sequence of int, default=(1, 2, 5, 10)
        The level within each radius, from 1, ascending.
    n_sample : int, default=1000
        Training points that are drawn, all where there are fewer.

    Returns
    -------
    dict
        ``indptr`` int64 (n_queries + 1,), ``indices`` int64 and ``levels`` int64: the relevant database positions of
        each query, ascending, and their levels; ``radii`` float64, as the percentiles.

    Raises
    ------
    ProtocolError
        If percentiles and levels are not of one length or out of their ranges, or there are fewer than two training
        points.
    """
    radii = _radii(train.X, percentiles, levels, n_sample, seed)
    indptr, indices = neighbours_within(query.X, database.X, float(radii[0]))
    of_query = np.repeat(np.arange(len(query.X)), np.diff(indptr))
    graded = np.empty(indices.size, dtype=np.int64)
    size = max(1, CHUNK // query.X.shape[1])
    for start in range(0, indices.size, size):
        chunk = slice(start, start + size)
        apart = distances(query.X[of_query[chunk]], database.X[indices[chunk]])
        within = (apart[:, None] <= radii).sum(axis=1)
        graded[chunk] = np.asarray(levels, dtype=np.int64)[within - 1]
    return {"indptr": indptr, "indices": indices, "levels": graded, "radii": radii}


def _radii(
    X: NDArray[np.float32], percentiles: Sequence[float], levels: Sequence[int], n_sample: int, seed: int
) -> NDArray[np.float64]:
    """Return the percentiles of the distances between drawn points."""
    shares = np.asarray(percentiles, dtype=np.float64)
    ordered = shares.size and (np.diff(shares) < 0).all() and (np.diff(levels, prepend=0) > 0).all()
    if len(levels) != shares.size or not ordered or not 0 < shares.min() <= shares.max() < 100:
        raise ProtocolError(
            "ground truth 'graded_distance': wanted descending percentiles in (0, 100) and as many ascending levels "
            f"from 1, came {list(percentiles)} and {list(levels)}"
        )
    if len(X) < 2:
        raise ProtocolError("ground truth 'graded_distance': wanted two training points, came one")
    drawn = X[np.random.default_rng(seed).permutation(len(X))[:n_sample]]
    apart = [distances(drawn[row + 1 :], drawn[row]) for row in range(len(drawn) - 1)]
    return np.percentile(np.concatenate(apart), shares)
