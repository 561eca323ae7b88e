"""Epsilon-ball ground truth: relevant items lie within one radius of the query in feature space."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.groundtruth._distances import CHUNK, euclidean
from protocol.groundtruth._items import Items
from protocol.groundtruth._neighbour_search import neighbours_within
from protocol.registry import GroundTruthRecord


def _check(
    *,
    n_neighbours: int,
    n_sample: int,
    reading: str,
    comparison: str,
    count_in: str,
    n_train: int | None = None,
    n_database: int | None = None,
) -> None:
    """Raise ProtocolError if an option is out of its range, or does not fit the numbers of items that are known."""
    one_of(reading, ("average_count", "mean_distance"), "reading")
    one_of(comparison, ("<=", "<"), "comparison")
    one_of(count_in, ("database", "train"), "count_in")
    for name, value in (("n_neighbours", n_neighbours), ("n_sample", n_sample)):
        if value < 1:
            raise ProtocolError(f"{name}: expected an integer >= 1, got {value}.")
    if n_train is not None and n_train < 2:
        raise ProtocolError(f"ground truth 'epsilon_ball': expected at least two training points, got {n_train}.")
    others = None if n_train is None else n_train - 1
    pool = n_database if count_in == "database" else others
    if pool is not None and n_neighbours >= pool:
        raise ProtocolError(
            f"n_neighbours: expected less than the {pool:,} items to count in (count_in={count_in!r}), got "
            f"{n_neighbours}."
        )
    if pool is not None and n_train is not None and reading == "mean_distance":
        _check_rank(n_neighbours, pool, n_train)


def _check_rank(n_neighbours: int, pool: int, n_train: int) -> None:
    """Raise ProtocolError if R neighbours in the pool are less than one among the training points."""
    share = n_neighbours / pool
    if int(share * (n_train - 1)) < 1:
        raise ProtocolError(
            f"ground truth 'epsilon_ball': {n_train} training points are too few to judge so small a share of the "
            f"database ({share:.2g}): expected at least {math.ceil(1 / share) + 1}, a larger n_neighbours, or "
            "count_in='train'."
        )


@GroundTruthRecord(
    "epsilon_ball",
    printed="epsilon ball",
    source="Moran 2016, thesis section 3.3.1, eq. 3.1",
    deviations="The neighbours of a training point are counted among training points and scaled to the size of the "
    "database, so that nothing but training data fits the radius; the author's released code counts them among all "
    "non-test items, the point itself included, and compares with <.",
    check=_check,
)
def epsilon_ball(
    query: Items,
    database: Items,
    train: Items,
    *,
    seed: int = 0,
    n_neighbours: int = 50,
    n_sample: int = 100,
    reading: Literal["mean_distance", "average_count"] = "mean_distance",
    comparison: Literal["<=", "<"] = "<=",
    count_in: Literal["database", "train"] = "database",
) -> dict[str, NDArray]:
    r"""Relevant items lie within one radius of the query: the mean distance of an item to its R-th neighbour.

    .. math:: S_{ij} = 1 \iff \lVert x_i - x_j \rVert_2 \le \varepsilon

    Parameters
    ----------
    query, database, train : Items
        Prepared features (n, d); only those of `train` fit the radius.
    seed : int, default=0
        Draws the training points.
    n_neighbours : int, default=50
        R of the thesis.
    n_sample : int, default=100
        Training points that are drawn, all where there are fewer.
    reading : {"mean_distance", "average_count"}, default="mean_distance"
        How to read "the Euclidean distance at which each data-point has R nearest neighbours on average": the mean of
        the drawn points' distances to their R-th neighbour, which is what the author's code does, or the one radius at
        which they have R neighbours on average. Where density varies they differ widely: on CIFAR-10 with GIST, over
        ten standard splits, the first makes 448 items relevant to a query on average (median 23) and leaves 24 % of the
        queries with none; the second some 50 (median 0), and leaves 60 % with none.
    comparison : {"<=", "<"}, default="<="
        As in the text, or as in the author's code.
    count_in : {"database", "train"}, default="database"
        R neighbours in a database of ``len(database.X)`` items, judged from the density of the training points (a rank
        between two neighbours is interpolated); or R among the training points, whatever the size of the database.

    Returns
    -------
    dict
        ``indptr`` int64 (n_queries + 1,) and ``indices`` int64: the relevant database positions of each query,
        ascending; ``radius`` float64 (1,).

    Raises
    ------
    ProtocolError
        If an option is unknown, there are fewer than two training points or not more items than `n_neighbours`, or so
        few training points that R neighbours in the database are less than one of them.

    Notes
    -----
    Distances are exact: pairs that float32 arithmetic can't decide are computed again in float64.
    """
    _check(
        n_neighbours=n_neighbours,
        n_sample=n_sample,
        reading=reading,
        comparison=comparison,
        count_in=count_in,
        n_train=len(train.X),
        n_database=len(database.X),
    )
    pool = len(database.X) if count_in == "database" else len(train.X) - 1
    radius = _radius(train.X, share=n_neighbours / pool, n_sample=n_sample, reading=reading, seed=seed)
    indptr, indices = neighbours_within(query.X, database.X, radius, strict=comparison == "<")
    return {"indptr": indptr, "indices": indices, "radius": np.array([radius])}


def _radius(X: NDArray[np.float32], *, share: float, n_sample: int, reading: str, seed: int) -> float:
    """Return the radius that holds a `share` of the other points, by either reading."""
    drawn = np.random.default_rng(seed).permutation(len(X))[:n_sample]
    n_others = len(X) - 1
    wanted = share * n_others
    if reading == "average_count":
        rank = max(1, round(wanted * len(drawn)))
        nearest = np.empty(0)  # pairs, of which never more than `rank` can matter
        for row in drawn:
            nearest = _smallest(np.concatenate([nearest, _distances_to_others(X, row)]), rank)
        return float(nearest.max())
    rank = int(wanted)
    ranks = [rank - 1, min(rank, n_others - 1)]
    below, above = np.array([np.partition(_distances_to_others(X, row), ranks)[ranks] for row in drawn]).T
    return float((below + (wanted - rank) * (above - below)).mean())


def _distances_to_others(X: NDArray[np.float32], row: int) -> NDArray[np.float64]:
    """Return the distances of one point to the other points: (n - 1,)."""
    size = max(1, CHUNK // X.shape[1])
    to_all = [euclidean(X[start : start + size], X[row]) for start in range(0, len(X), size)]
    return np.delete(np.concatenate(to_all), row)


def _smallest(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the `n` smallest values in any order, or all where there are fewer."""
    return np.partition(values, n - 1)[:n] if values.size > n else values
