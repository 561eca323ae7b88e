"""Epsilon-ball ground truth: items within a fixed radius of the query in feature space are relevant."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer, one_of
from protocol.registry import GroundTruthRecord
from protocol.truth._items import Items
from protocol.truth._neighbour_search import CHUNK, euclidean, neighbours_within


def _check(
    *, n_neighbours: int, n_sample: int, reading: str, n_train: int | None = None, n_database: int | None = None
) -> None:
    """Raise ProtocolError if an option is out of its range or incompatible with the known numbers of items."""
    one_of(reading, ("average_count", "mean_distance"), "reading")
    integer(n_neighbours, "n_neighbours")
    integer(n_sample, "n_sample")
    if n_train is not None and n_train < 2:
        raise ProtocolError(f"ground truth 'epsilon_ball' needs at least two training points, got {n_train}.")
    if n_database is not None and n_neighbours >= n_database:
        raise ProtocolError(f"n_neighbours must be less than {n_database:,}, the database size, got {n_neighbours:,}.")
    share = n_neighbours / n_database if n_database else 1
    if n_train is not None and reading == "mean_distance" and int(share * (n_train - 1)) < 1:
        # The neighbours correspond to less than one training point.
        aim = f"to estimate the radius that contains {share:.2g} of the database"
        needed, advice = f"{math.ceil(1 / share) + 1:,} training points {aim}", "Use more, or a larger n_neighbours."
        raise ProtocolError(f"ground truth 'epsilon_ball' needs at least {needed}, got {n_train:,}. {advice}")


@GroundTruthRecord.declared_with(check=_check)
def epsilon_ball(
    query: Items,
    database: Items,
    train: Items,
    *,
    seed: int = 0,
    n_neighbours: int = 50,
    n_sample: int = 100,
    reading: Literal["mean_distance", "average_count"] = "mean_distance",
) -> dict[str, NDArray]:
    r"""Items within a radius are relevant to a query; the radius is the mean distance of an item to its R-th neighbour.

    .. math:: S_{ij} = 1 \iff \lVert x_i - x_j \rVert_2 \le \varepsilon

    Parameters
    ----------
    query : Items
        Prepared features (n, d) of the queries.
    database : Items
        Prepared features (n, d) of the database.
    train : Items
        Prepared features (n, d) of the training set, on which alone the radius is fitted.
    seed : int, default=0
        Seed of the sample of training points.
    n_neighbours : int, default=50
        R in the thesis, in a database of ``len(database.X)`` items: estimated from the density of the training points
        (fractional ranks are interpolated).
    n_sample : int, default=100
        Number of training points in the sample; all if there are fewer.
    reading : {"mean_distance", "average_count"}, default="mean_distance"
        Interpretation of "the Euclidean distance at which each data-point has R nearest neighbours on average": the
        mean of the sampled points' distances to their R-th neighbour, as in the author's code, or the radius at which
        they have R neighbours on average. If density varies, the two differ widely: on CIFAR-10 with GIST, over ten
        standard splits, a query has 448 relevant items on average (median 23) with the first, and 24 % of the queries
        have none; with the second, it has about 50 (median 0), and 60 % have none.

    Returns
    -------
    dict
        ``indptr`` int64 (n_queries + 1,) and ``indices`` int64: the relevant database positions of each query,
        ascending; ``radius`` float64 (1,).

    Raises
    ------
    ProtocolError
        If an option is invalid, there are fewer than two training points or not more items than `n_neighbours`, or R
        neighbours in the database correspond to less than one training point.

    Notes
    -----
    Distances are exact: pairs that float32 arithmetic can't decide are recomputed in float64.
    """
    sizes = {"n_train": len(train.X), "n_database": len(database.X)}
    _check(n_neighbours=n_neighbours, n_sample=n_sample, reading=reading, **sizes)
    radius = _radius(train.X, share=n_neighbours / len(database.X), n_sample=n_sample, reading=reading, seed=seed)
    indptr, indices = neighbours_within(query.X, database.X, radius)
    return {"indptr": indptr, "indices": indices, "radius": np.array([radius])}


def _radius(X: NDArray[np.float32], *, share: float, n_sample: int, reading: str, seed: int) -> float:
    """Return the radius that contains a `share` of the other points, by either interpretation."""
    drawn = np.random.default_rng(seed).permutation(len(X))[:n_sample]
    n_others = len(X) - 1
    exact_rank = share * n_others
    if reading == "average_count":
        rank = max(1, round(exact_rank * len(drawn)))
        nearest = np.empty(0)  # distances of pairs, of which only the `rank` smallest are kept
        for row in drawn:
            nearest = np.concatenate([nearest, _distances_to_others(X, row)])
            nearest = np.partition(nearest, rank - 1)[:rank] if nearest.size > rank else nearest
        return float(nearest.max())
    rank = int(exact_rank)
    ranks = [rank - 1, min(rank, n_others - 1)]
    below, above = np.array([np.partition(_distances_to_others(X, row), ranks)[ranks] for row in drawn]).T
    return float((below + (exact_rank - rank) * (above - below)).mean())


def _distances_to_others(X: NDArray[np.float32], row: int) -> NDArray[np.float64]:
    """Return the distances of one point to the other points: (n - 1,)."""
    size = max(1, CHUNK // X.shape[1])
    to_all = [euclidean(X[start : start + size], X[row]) for start in range(0, len(X), size)]
    return np.delete(np.concatenate(to_all), row)
