"""Epsilon-ball ground truth: relevant items lie within one radius of the query in feature space."""

import math

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of
from protocol.groundtruth._items import Items
from protocol.registry import register

_BLOCK = 256  # queries at a time: 256 x 60,000 distances are 61 MB


@register(
    "ground_truth",
    "epsilon_ball",
    source="Moran 2016, thesis section 3.3.1, eq. 3.1",
    deviations="The neighbours of a training point are counted among training points and scaled to the size of the "
    "database, so that nothing but training data fits the radius; the author's released code counts them among all "
    "non-test items, the point itself included, and compares with <.",
)
def epsilon_ball(
    query: Items,
    database: Items,
    train: Items,
    *,
    seed: int = 0,
    n_neighbours: int = 50,
    n_sample: int = 100,
    reading: str = "mean_distance",
    comparison: str = "<=",
    count_in: str = "database",
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
    one_of(reading, ("average_count", "mean_distance"), "reading")
    one_of(comparison, ("<=", "<"), "comparison")
    one_of(count_in, ("database", "train"), "count_in")
    others = len(train.X) - 1
    pool = len(database.X) if count_in == "database" else others
    if others < 1 or not 1 <= n_neighbours < pool:
        raise ProtocolError(
            f"ground truth 'epsilon_ball': wanted two training points and more than n_neighbours={n_neighbours} items "
            f"to count in, came {len(train.X)} and {pool}"
        )
    radius = _radius(train.X, share=n_neighbours / pool, n_sample=n_sample, reading=reading, seed=seed)
    indptr, indices = neighbours_within(query.X, database.X, radius, strict=comparison == "<")
    return {"indptr": indptr, "indices": indices, "radius": np.array([radius])}


def _radius(X: NDArray[np.float32], *, share: float, n_sample: int, reading: str, seed: int) -> float:
    """Return the radius that holds a `share` of the other points, by either reading."""
    drawn = np.random.default_rng(seed).permutation(len(X))[:n_sample]
    points = X.astype(np.float64)
    distances = np.array([np.sqrt(((points - points[row]) ** 2).sum(axis=1)) for row in drawn])
    distances[np.arange(len(drawn)), drawn] = np.inf  # a point is not its own neighbour
    n_others = len(X) - 1
    if reading == "average_count":
        rank = max(1, round(share * n_others * len(drawn)))
        return float(np.partition(distances.ravel(), rank - 1)[rank - 1])
    wanted = share * n_others
    rank = int(wanted)
    if rank < 1:
        raise ProtocolError(
            f"ground truth 'epsilon_ball': {len(X)} training points are too few to judge so small a share of the "
            f"database ({share:.2g}); wanted at least {math.ceil(1 / share) + 1}, a larger n_neighbours, or "
            "count_in='train'"
        )
    distances.sort(axis=1)
    below, above = distances[:, rank - 1], distances[:, min(rank, n_others - 1)]
    return float((below + (wanted - rank) * (above - below)).mean())


def neighbours_within(
    query: NDArray[np.float32], database: NDArray[np.float32], radius: float, *, strict: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the database rows within `radius` of each query as CSR (indptr, indices), exact, in blocks of queries.

    Squared distances come from one float32 product a block; where its rounding error could change the answer, the pair
    is computed again in float64.
    """
    limit = radius * radius
    database_norm = np.einsum("ij,ij->i", database, database, dtype=np.float64)
    counts, found = [np.zeros(1, dtype=np.int64)], []
    for start in range(0, len(query), _BLOCK):
        block = query[start : start + _BLOCK]
        norm = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        squared = (
            (block @ database.T) * np.float32(-2) + database_norm.astype(np.float32) + norm[:, None].astype(np.float32)
        )
        # the error of a float32 dot product of length d is below d * eps * |a| |b| <= d * eps * (|a|^2 + |b|^2) / 2
        slack = (block.shape[1] + 4) * np.finfo(np.float32).eps * (norm.max() + database_norm.max())
        inside = squared < np.float32(limit - slack)
        rows, columns = np.nonzero(np.abs(squared - np.float32(limit)) <= np.float32(2 * slack))
        for i in range(0, len(rows), 1 << 14):
            r, c = rows[i : i + (1 << 14)], columns[i : i + (1 << 14)]
            exact = np.sqrt(((block[r].astype(np.float64) - database[c]) ** 2).sum(axis=1))
            inside[r, c] = exact < radius if strict else exact <= radius
        hit_rows, hit_columns = np.nonzero(inside)
        counts.append(np.bincount(hit_rows, minlength=len(block)))
        found.append(hit_columns)
    return np.cumsum(np.concatenate(counts)), np.concatenate(found).astype(np.int64)
