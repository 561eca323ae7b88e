"""What an exact search by code or by vector finds, and what the distances that an engine returned may be."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes as packing
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts, LabelRelevance, NeighbourRelevance, Relevance, count_in_shards
from protocol.evaluation.code_pairs import CodePair, read_codes
from protocol.evaluation.ground_truth import Nearest, check_sizes
from protocol.inputs.conversion import named
from protocol.truth import Distance, Neighbours, check_rows, nearest, pair_distances

PRECISION = 2.0**-23
"""The distance from 1 to the next number in float32, in which engines compute distances."""
_ROUNDINGS = 4
_LESS_THAN_HALF_A_BIT = 0.49
_ROWS = 4096

Values = NDArray[np.float64]


class Exact(NamedTuple):
    """What exact search finds for a block of queries: items nearer than the K-th item, and those as far as it.

    Parameters
    ----------
    kth : ndarray of float64, shape (n_block, 1)
        The key of the K-th item. A key grows with the distance.
    nearer : ndarray of int64, shape (n_block,)
        The number of items nearer than the K-th.
    tied : ndarray of int64, shape (n_block,)
        The number of items at the distance of the K-th.
    counts : HammingCounts or None
        With codes and vectors: the counts of the true neighbours.
    truth : Neighbours or None
        With codes and vectors: the true neighbours.
    """

    kth: Values
    nearer: NDArray[np.int64]
    tied: NDArray[np.int64]
    counts: HammingCounts | None = None
    truth: Neighbours | None = None


class ByVector(NamedTuple):
    """A search by vector. Keys are squared Euclidean distances, or the other distances.

    Parameters
    ----------
    query, database : ndarray
    metric : {"cosine", "euclidean", "dot"}
    longest : float
        For ``dot``, the length of the longest database vector.
    """

    query: NDArray
    database: NDArray
    metric: Distance
    longest: float

    @classmethod
    def of(cls, vectors: Nearest) -> "ByVector":
        """Return the search by vectors that were read and checked."""
        query, database = vectors.vectors()
        check_rows(query, named(vectors.query, "query vectors"), unit=vectors.distance == "cosine")
        starts = range(0, len(database) if vectors.distance == "dot" else 0, _ROWS)
        lengths = (np.linalg.norm(database[at : at + _ROWS].astype(np.float64), axis=1).max() for at in starts)
        return cls(query, database, vectors.distance, max(map(float, lengths), default=0.0))

    def nearest(self, block: slice, k: int, threads: int) -> Neighbours:
        """Return the K nearest items and those that tie with the last."""
        return nearest(self.query[block], self.database, k, distance=self.metric, threads=threads)

    def exact(self, block: slice, k: int, threads: int) -> Exact:
        """Return what exact search finds."""
        truth = self.nearest(block, k, threads)
        keys, starts, sizes = self._keys(truth.distances), truth.indptr[:-1], np.diff(truth.indptr)
        kth = np.maximum.reduceat(keys, starts)[:, None]
        below = kth - self.tolerance(block, kth)
        nearer = np.add.reduceat((keys < np.repeat(below[:, 0], sizes)).astype(np.int64), starts)
        return Exact(kth, nearer, sizes - nearer)

    def keys(self, block: slice, ids: NDArray[np.int64]) -> Values:
        """Return the keys of items, (n_block, n)."""
        rows = np.repeat(np.arange(len(ids)), ids.shape[1])
        distances = pair_distances(self.query[block], self.database, rows, ids.ravel(), distance=self.metric)
        return self._keys(distances).reshape(ids.shape)

    def _keys(self, distances: Values) -> Values:
        return distances**2 if self.metric == "euclidean" else distances

    def distance(self, keys: Any) -> Any:
        """Return the distances of keys."""
        return np.sqrt(keys) if self.metric == "euclidean" else keys

    def tolerance(self, block: slice, keys: Values, precision: float = PRECISION) -> Values:
        """Return the errors that keys may have if an engine adds d products: 4 sqrt(d) roundings of their size.

        An item is at most as long as the query plus their distance.
        """
        relative = _ROUNDINGS * precision * self.query.shape[1] ** 0.5
        lengths = np.linalg.norm(self.query[block].astype(np.float64), axis=1)[:, None]
        sizes = {"euclidean": lengths**2 + (lengths + self.distance(np.abs(keys))) ** 2, "dot": lengths * self.longest}
        return np.broadcast_to(relative * sizes.get(self.metric, np.ones(1)), keys.shape)

    def forms(self, values: Values) -> dict[str, Values]:
        """Return the keys for each thing that an engine's distances may be."""
        squares = values * np.abs(values)  # so that a negative number is no distance
        if self.metric == "euclidean":
            return {"Euclidean distances": squares, "squared Euclidean distances": values}
        if self.metric == "dot":
            return {"negative inner products": values, "inner products": -values}
        units = {"Euclidean distances of unit vectors": squares / 2, "their squares": values / 2}
        return {"cosine distances": values, "cosines": 1 - values, **units}


class ByCode(NamedTuple):
    """A search by code. Keys are Hamming distances.

    Parameters
    ----------
    pair : CodePair
    query : ndarray of uint64
        The codes of the queries as words.
    database : ndarray of uint64
        The codes of the database as words.
    vectors : ByVector or None
        The vectors by which the true neighbours are nearest.
    """

    pair: CodePair
    query: NDArray[np.uint64]
    database: NDArray[np.uint64]
    vectors: ByVector | None

    @classmethod
    def of(cls, codes: tuple[Any, Any], vectors: ByVector | None) -> "ByCode":
        """Return the search by codes that were read and checked."""
        pair = read_codes(*codes)
        if pair.ranking != "hamming":
            raise ProtocolError("The queries need binary codes, not real-valued outputs.")
        if vectors is not None:
            check_sizes(pair.sizes, vectors.query, vectors.database)
        return cls(pair, packing.words(pair.query), packing.words(pair.database), vectors)

    def exact(self, block: slice, k: int, threads: int) -> Exact:
        """Return what exact search finds."""
        rows, (queries, database, n_bits) = np.arange(len(self.query[block])), self.pair[:3]
        truth = None if self.vectors is None else self.vectors.nearest(block, k, threads)
        relevance: Relevance = LabelRelevance(0 * rows, np.ones(len(database), dtype=np.int64))
        if truth is not None:
            relevance = NeighbourRelevance(truth.indptr, truth.indices, len(database))
        counter = partial(count_in_shards, bucket_sizes=False, largest_bucket=False, threads=threads)
        counts = counter(queries[block], database, n_bits, {"": relevance})[""]
        kth = (counts.retrieved_within >= k).argmax(axis=1)
        tied = counts.retrieved[rows, kth]
        nearer = counts.retrieved_within[rows, kth] - tied
        return Exact(kth[:, None].astype(np.float64), nearer, tied, None if truth is None else counts, truth)

    def keys(self, block: slice, ids: NDArray[np.int64]) -> Values:
        """Return the keys of items, (n_block, n)."""
        differing = self.database[ids] ^ self.query[block][:, None]
        return np.bitwise_count(differing).sum(axis=2, dtype=np.int64).astype(np.float64)

    def distance(self, keys: Any) -> Any:
        """Return the distances of keys."""
        return keys

    def tolerance(self, block: slice, keys: Values, precision: float = PRECISION) -> Values:
        """Return the errors that keys may have, always below half a bit."""
        return np.full_like(keys, min(_LESS_THAN_HALF_A_BIT, _ROUNDINGS * precision * self.pair.n_bits))

    def forms(self, values: Values) -> dict[str, Values]:
        """Return the keys for each thing that an engine's distances may be."""
        n_bits = self.pair.n_bits
        return {
            "Hamming distances": values,
            "Hamming distances divided by the code length": values * n_bits,
            "numbers of equal bits": n_bits - values,
            "inner products of codes as -1 and +1": (n_bits - values) / 2,
            "squared Hamming distances": np.sqrt(np.maximum(values, 0)),
            "square roots of Hamming distances": values * np.abs(values),
        }
