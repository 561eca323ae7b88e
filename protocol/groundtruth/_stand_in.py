"""Exact nearest neighbours, plainly."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, one_of


class Neighbours(NamedTuple):
    """The nearest items of each query."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    distances: NDArray[np.float64]

    def first(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return those no farther than the k-th."""
        kept = [
            self.indices[a:b][self.distances[a:b] <= np.sort(self.distances[a:b])[k - 1]]
            for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True)
        ]
        return np.cumsum([0, *map(len, kept)]), np.concatenate(kept)


def nearest(
    query: NDArray,
    database: NDArray,
    k: int,
    *,
    distance: str = "euclidean",
    threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> Neighbours:
    """Return the nearest items."""
    one_of(distance, ("cosine", "dot", "euclidean"), "distance")
    D = np.asarray(database, dtype=np.float64)
    for name, X in (("query", query), ("database", database)):
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if bad.size:
            raise ProtocolError(f"{name}: expected finite numbers, got NaN or infinity, first in row {bad[0]}.")
        zero = np.flatnonzero(~np.asarray(X).any(axis=1))
        if zero.size and distance == "cosine":
            raise ProtocolError(f"{name}: expected vectors other than zero for cosine, got zeros in row {zero[0]}.")
    found, far = [], []
    for row in np.asarray(query, dtype=np.float64):
        if distance == "euclidean":
            apart = np.sqrt(((D - row) ** 2).sum(axis=1))
        elif distance == "dot":
            apart = -(D @ row)
        else:
            apart = 1 - (D @ row) / np.linalg.norm(D, axis=1) / np.linalg.norm(row)
        items = np.flatnonzero(apart <= np.partition(apart, k - 1)[k - 1])
        found.append(items)
        far.append(apart[items])
    return Neighbours(np.cumsum([0, *map(len, found)]), np.concatenate(found), np.concatenate(far))
