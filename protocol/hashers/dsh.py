"""DSH: density-sensitive hashing, with hyperplanes halfway between neighbouring clusters."""

import math

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, integer
from protocol.hashers import THRESHOLDS, LinearHasher, TrainingSet
from protocol.hashers.linear_algebra import squared_distances
from protocol.registry import Count, HasherRecord, Positive


@HasherRecord.declared
class DSH(LinearHasher):
    """Density-sensitive hashing: each bit is the side of the plane halfway between two neighbouring clusters.

    ``bit(x) = [u . x > t]`` with ``u = c_i - c_j`` and ``t = u . (c_i + c_j) / 2``, for the n_bits pairs (i, j) of
    neighbouring centres whose planes split the training rows most evenly: with p the share of rows whose cluster's
    centre has ``u . c > t``, the largest ``min(p, 1 - p) / max(p, 1 - p)``.

    Parameters
    ----------
    n_bits : int, default 32
        Code length, at least 1.
    seed : int, default 0
        Seed of the rows with which k-means starts.
    alpha : float, default 1.5
        Number of clusters per bit, above 0; ``alpha n_bits`` is rounded half up.
    n_neighbors : int, default 3
        The paper's r: the number of nearest centres with which each centre is paired.
    n_iter : int, default 3
        Number of iterations of k-means, at least 1.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (n_features_in_,)
        Mean of the training rows, which is subtracted first; it only affects rounding.
    projection_ : ndarray of float32, shape (n_features_in_, n_bits)
        The normals u as columns, the most even split first.
    threshold_ : ndarray of float32, shape (n_bits,)
        The thresholds t, relative to `mean_`.
    fit_record_ : dict
        ``n_clusters``, and ``n_planes``, the number of distinct pairs from which n_bits were chosen.

    Raises
    ------
    ProtocolError
        In fit, if there are fewer training rows than clusters, or fewer distinct pairs of neighbours than bits.

    Notes
    -----
    Planes that split equally evenly are ordered by the distance of their centres, then by the numbers (i, j) with
    i < j. k-means starts from distinct random training rows. An empty cluster takes the row farthest from the centre of
    its cluster. The weight of a cluster is its size in the last iteration. Constant features have no effect. If all
    training rows are equal, all bits of their codes are 0.

    References
    ----------
    Jin, Li, Lin, Cai, *Density Sensitive Hashing*, IEEE Transactions on Cybernetics 44(8), 2014, section III.

    Examples
    --------
    Two clusters with one plane between them:

    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> codes = DSH(n_bits=1).fit(X).transform(X).ravel()
    >>> bool(codes[0] == codes[1] != codes[2] == codes[3])
    True
    """

    learned = THRESHOLDS

    alpha: Positive = 1.5
    n_neighbors: Count = 3
    n_iter: Count = 3

    def _check(self) -> None:
        integer(self._n_clusters(), "alpha * n_bits, rounded: the number of clusters", minimum=2)

    def _n_clusters(self) -> int:
        return math.floor(self.alpha * self.n_bits + 0.5)

    def _fit(self, training: TrainingSet, rng: np.random.Generator) -> dict:
        n_clusters = self._n_clusters()
        if n_clusters > len(training.X):
            needed = f"{n_clusters:,} training vectors, one for each cluster ({self.n_bits} bits, alpha={self.alpha})"
            raise ProtocolError(f"X: DSH needs at least {needed}, got {len(training.X):,}.")
        self.mean_ = training.mean
        X = training.X - self.mean_
        centres = X[rng.choice(len(X), n_clusters, replace=False)]
        for _ in range(self.n_iter):  # of Lloyd's k-means
            member = _assign(squared_distances(centres, X)) == np.arange(n_clusters)[:, None]
            sizes = member.sum(axis=1)
            centres = (member.astype(np.float32) @ X) / sizes[:, None]
        pairs, distances = _neighbours(centres, self.n_neighbors)
        if len(pairs) < self.n_bits:
            most = f"{len(pairs):,}, the number of distinct pairs of {n_clusters:,} neighbouring clusters"
            advice = f"Raise alpha={self.alpha} or n_neighbors={self.n_neighbors}."
            raise ProtocolError(f"n_bits must be at most {most}, got {self.n_bits}. {advice}")
        one, other = centres[pairs.T]
        normals = one - other
        thresholds = (normals * (one + other)).sum(axis=1) / 2
        beyond = (centres @ normals.T > thresholds).T @ sizes
        evenness = np.minimum(beyond, len(X) - beyond) / np.maximum(beyond, len(X) - beyond)
        best = np.lexsort((distances, -evenness))[: self.n_bits]
        self.projection_ = normals[best].T.astype(np.float32)
        self.threshold_ = thresholds[best].astype(np.float32)
        return {"n_clusters": n_clusters, "n_planes": len(pairs)}


def _assign(distances: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the nearest centre of each row; an empty cluster takes the farthest row of a cluster with several rows."""
    labels = distances.argmin(axis=0)
    nearest = distances.min(axis=0)
    sizes = np.bincount(labels, minlength=len(distances))
    for cluster in np.flatnonzero(sizes == 0):
        farthest = np.where(sizes[labels] > 1, nearest, -1).argmax()
        sizes[labels[farthest]] -= 1
        sizes[cluster] = 1
        labels[farthest] = cluster
    return labels


def _neighbours(centres: NDArray[np.floating], n_neighbors: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the distinct pairs i < j of neighbouring centres, (m, 2), and their squared distances."""
    distances = squared_distances(centres, centres.astype(np.float32))
    np.fill_diagonal(distances, np.inf)  # a centre is not its own neighbour
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(n_neighbors, len(centres) - 1)]
    first = np.repeat(np.arange(len(centres)), nearest.shape[1])
    pairs = np.unique(np.sort(np.column_stack([first, nearest.ravel()]), axis=1), axis=0)
    return pairs, distances[tuple(pairs.T)]
