"""Graded ground truth: the nearer an item is to the query in feature space, the higher its relevance level."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer
from protocol.registry import GroundTruthRecord
from protocol.truth._items import Items
from protocol.truth._neighbour_search import euclidean, neighbours_within, pair_distances


def _check(
    *,
    percentiles: Sequence[float],
    levels: Sequence[int],
    n_sample: int,
    n_train: int | None = None,
    n_database: int | None = None,
) -> None:
    """Raise ProtocolError if an option is out of its range or there are fewer than two training points."""
    in_range = all(0 < share < 100 for share in percentiles)
    if not percentiles or not in_range or any(a <= b for a, b in pairwise(percentiles)):
        raise ProtocolError(f"percentiles must be descending numbers above 0 and below 100, got {list(percentiles)}.")
    if len(levels) != len(percentiles) or any(a >= b for a, b in pairwise([0, *levels])):
        expected = f"{counted(len(percentiles), 'ascending integer')} >= 1, one for each percentile"
        raise ProtocolError(f"levels must be {expected}, got {list(levels)}.")
    integer(n_sample, "n_sample", minimum=2)
    if n_train is not None and n_train < 2:
        raise ProtocolError(f"ground truth 'graded_distance' needs at least two training points, got {n_train}.")


@GroundTruthRecord.declared_with(check=_check)
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
    """Items within a radius of the query are relevant; the smaller the radius, the higher the relevance level.

    Parameters
    ----------
    query : Items
        Prepared features (n, d) of the queries.
    database : Items
        Prepared features (n, d) of the database.
    train : Items
        Prepared features (n, d) of the training set, on which alone the radii are fitted.
    seed : int, default=0
        Seed of the sample of training points.
    percentiles : sequence of float, default=(5, 1, 0.2, 0.1)
        The radii, as percentiles of the distances between the sampled training points, in (0, 100), descending.
    levels : sequence of int, default=(1, 2, 5, 10)
        The relevance level within each radius, at least 1, ascending.
    n_sample : int, default=1000
        Number of training points in the sample, at least 2; all if there are fewer.

    Returns
    -------
    dict
        ``indptr`` int64 (n_queries + 1,), ``indices`` int64 and ``levels`` int64: the relevant database positions of
        each query, ascending, and their levels; ``radii`` float64, in the order of the percentiles.

    Raises
    ------
    ProtocolError
        If percentiles and levels have different lengths, an option is out of its range, or there are fewer than two
        training points.
    """
    _check(percentiles=percentiles, levels=levels, n_sample=n_sample, n_train=len(train.X))
    drawn = train.X[np.random.default_rng(seed).permutation(len(train.X))[:n_sample]]
    apart = [euclidean(drawn[row + 1 :], drawn[row]) for row in range(len(drawn) - 1)]
    radii = np.percentile(np.concatenate(apart), np.asarray(percentiles, dtype=np.float64))
    indptr, indices = neighbours_within(query.X, database.X, float(radii[0]))
    distances = pair_distances(query.X, database.X, np.repeat(np.arange(len(query.X)), np.diff(indptr)), indices)
    smallest = len(radii) - 1 - np.searchsorted(radii[::-1], distances)  # the last radius not below the distance
    graded = np.asarray(levels, dtype=np.int64)[smallest]
    return {"indptr": indptr, "indices": indices, "levels": graded, "radii": radii}
