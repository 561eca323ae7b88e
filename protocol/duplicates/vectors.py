"""Find near-duplicates among vectors by cosine: all pairs in small sets, random-hyperplane keys for large ones."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol.duplicates.candidates import Done, best_matches, in_blocks
from protocol.duplicates.proposals import FURTHER, Pairs
from protocol.parallel import in_order, workers
from protocol.truth import pair_distances

EXACT = 1e12
"""Maximum number of multiplications for which all pairs are compared."""
TABLES = 24
"""Number of sorted lists of keys, each with its own random hyperplanes."""
SEGMENT, MARGIN = 128, 16
"""Number of items in a sorted list with which a query is compared: in its segment, and on either side of it."""
_BITS = 32  # per key
_PARTNERS = FURTHER + 1  # partners per query
_BLOCK = 1 << 13  # queries per thread and block
_ROWS = 1 << 13  # rows per read
_SLACK = 1e-3  # error bound of the float32 cosines that preselect pairs


def is_small(query: NDArray, database: NDArray) -> bool:
    """Return whether all pairs are compared by default."""
    return float(len(query)) * len(database) * database.shape[1] <= EXACT


def similar_vectors(
    query: NDArray,
    database: NDArray,
    least: float,
    *,
    same: bool = False,
    exact: bool,
    threads: int = 1,
    done: Done = None,
) -> Pairs:
    """Return, for each query, its most similar candidates with a cosine of at least `least`.

    Parameters
    ----------
    query, database : ndarray, shapes (n_queries, d) and (n_database, d)
        Finite and not zero (`protocol.truth.check_rows`); they may be memory-mapped.
    least : float
        From -1 to 1.
    same : bool, default=False
        Whether both are the same items; an item is then not its own partner.
    exact : bool
        Whether to compare all pairs. Otherwise, candidates are items with similar keys; see `keyed_candidates`.
    threads : int, default=1
        The result does not depend on it.
    done : callable, optional
        Called with the number of queries just finished; the total is `n_steps`.

    Returns
    -------
    Pairs
        The score is the cosine, computed in float64.
    """
    if exact:
        unit = _unit(database)
        rows, values = best_matches(
            unit if same else _unit(query), unit, _PARTNERS, same=same, threads=threads, done=done
        )
        left, right = np.repeat(np.arange(len(query)), rows.shape[1]), rows.ravel()
        is_candidate = values.ravel() >= least - _SLACK
        left, right = left[is_candidate], right[is_candidate]
    else:
        left, right = keyed_candidates(query, database, least - _SLACK, same=same, threads=threads, done=done)
    score = 1 - pair_distances(query, database, left, right, distance="cosine", threads=threads)
    is_similar = score >= least
    return Pairs(left[is_similar], right[is_similar], score[is_similar])


def n_steps(n_queries: int, *, exact: bool) -> int:
    """Return the total number of queries that `similar_vectors` reports: once per table."""
    return n_queries if exact else n_queries * TABLES


def _unit(X: NDArray) -> NDArray[np.float32]:
    """Return the rows scaled to unit length."""
    unit = np.empty(X.shape, dtype=np.float32)
    for start in range(0, len(X), _ROWS):
        block = X[start : start + _ROWS]
        unit[start : start + _ROWS] = block / _lengths(block)[:, None]
    return unit


def _lengths(X: NDArray) -> NDArray[np.float64]:
    """Return the lengths of rows, none of which is zero."""
    lengths = np.empty(len(X))
    for start in range(0, len(X), _ROWS):
        block = X[start : start + _ROWS].astype(np.float64)
        largest = np.abs(block).max(axis=1)
        block /= largest[:, None]  # squares of numbers below 1e-162 would underflow
        lengths[start : start + _ROWS] = largest * np.sqrt(np.einsum("ij,ij->i", block, block))
    return lengths


def keyed_candidates(
    query: NDArray,
    database: NDArray,
    least: float,
    *,
    same: bool = False,
    threads: int = 1,
    done: Done = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of a query and a candidate, by their rows, with a cosine in float32 of at least `least`.

    A key has a bit for each of 32 random hyperplanes through the mean of the database: the side on which a vector lies
    (Charikar 2002, Similarity estimation techniques from rounding algorithms). The database is sorted by key and
    divided into segments. A query is compared with the segment to which its key belongs, and with `MARGIN` items on
    either side. There are `TABLES` such lists, each with its own hyperplanes. Only the most similar candidates of each
    query are kept, so time and memory do not depend on the number of similar items.

    The parameters are those of `similar_vectors`.
    """
    best: list[Pairs] = []
    with workers(threads) as n_threads:
        sides = _Sides.of(query, database, same=same)
        for table in range(TABLES):
            compare, starts = _sorted_by_keys(sides, least, table, n_threads)
            candidates = Pairs.joined([*best, *in_blocks(compare, starts, n_threads, done)])
            best = [candidates.once(same=False).best()]
    return best[0].query, best[0].database


class _Sides(NamedTuple):
    """Queries and database of a search, with the lengths of their rows."""

    query: NDArray
    database: NDArray
    query_lengths: NDArray[np.float64]
    database_lengths: NDArray[np.float64]
    centre: NDArray[np.float64]
    same: bool

    @classmethod
    def of(cls, query: NDArray, database: NDArray, *, same: bool) -> "_Sides":
        lengths = _lengths(database)
        total = np.zeros(database.shape[1])
        for start in range(0, len(database), _ROWS):
            total += (database[start : start + _ROWS] / lengths[start : start + _ROWS, None]).sum(axis=0)
        return cls(query, database, lengths if same else _lengths(query), lengths, total / len(database), same)


def _sorted_by_keys(sides: _Sides, least: float, table: int, threads: int) -> tuple[Callable[[int], Pairs], range]:
    """Return a function that compares a block of queries with the segments of their keys, and the blocks' starts."""
    planes = np.random.default_rng(table).standard_normal((sides.database.shape[1], _BITS)).astype(np.float32)
    keys = _keys(sides.database, sides.database_lengths, sides.centre, planes, threads)
    order = np.argsort(keys, kind="stable")
    if sides.same:
        by_key, places = order, np.arange(len(order))
    else:
        query_keys = _keys(sides.query, sides.query_lengths, sides.centre, planes, threads)
        by_key = np.argsort(query_keys, kind="stable")
        places = np.searchsorted(keys[order], query_keys[by_key])

    def compare(start: int) -> Pairs:
        rows = by_key[start : start + _BLOCK]
        segments = np.minimum(places[start : start + _BLOCK], len(order) - 1) // SEGMENT
        bounds = [0, *(np.flatnonzero(np.diff(segments)) + 1).tolist(), len(rows)]
        parts = []
        for first, last in pairwise(bounds):
            begin = int(segments[first]) * SEGMENT
            items = order[max(0, begin - MARGIN) : begin + SEGMENT + MARGIN]
            parts.append(_compared(sides, rows[first:last], items, least))
        return Pairs.joined(parts)

    return compare, range(0, len(by_key), _BLOCK)


def _compared(sides: _Sides, rows: NDArray[np.int64], items: NDArray[np.int64], least: float) -> Pairs:
    """Return the most similar pairs for each of some queries among some items."""
    left = (sides.query[rows] / sides.query_lengths[rows, None]).astype(np.float32)
    right = (sides.database[items] / sides.database_lengths[items, None]).astype(np.float32)
    values = left @ right.T
    if sides.same:
        values[rows[:, None] == items] = -np.inf
    hits = values >= least
    if hits.sum() > _PARTNERS * len(rows) and len(items) > _PARTNERS:
        columns = np.argpartition(-values, _PARTNERS - 1, axis=1)[:, :_PARTNERS]
        most = np.zeros_like(hits)
        np.put_along_axis(most, columns, True, axis=1)
        hits &= most
    i, j = np.nonzero(hits)
    return Pairs(rows[i], items[j], values[i, j])


def _keys(
    X: NDArray, lengths: NDArray[np.float64], centre: NDArray[np.float64], planes: NDArray[np.float32], threads: int
) -> NDArray[np.uint32]:
    """Return the key of each row."""

    def keyed(start: int) -> NDArray[np.uint32]:
        block = slice(start, start + _ROWS)
        centred = (X[block] / lengths[block, None] - centre).astype(np.float32)
        return np.packbits(centred @ planes > 0, axis=1).view(">u4").ravel().astype(np.uint32)

    return np.concatenate(list(in_order(keyed, range(0, len(X), _ROWS), threads)))
