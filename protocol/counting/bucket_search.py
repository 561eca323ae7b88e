"""Bucket search: hash tables over segments of the code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import integer
from protocol.counting.counts import Integers, Packed
from protocol.truth.relevance import Relevance, check_relevance


class BucketSearch(NamedTuple):
    """The result of a bucket search for each query; each array is int64 (n_queries,).

    Parameters
    ----------
    true_positives : ndarray
        Relevant items among the retrieved ones.
    retrieved : ndarray
        Items that share a bucket with the query in at least one table; each is counted once.
    relevant : ndarray
        Relevant items in the complete database.
    """

    true_positives: Integers
    retrieved: Integers
    relevant: Integers


def bucket_search(
    query: Packed, database: Packed, n_bits: int, relevance: Relevance, *, bits_per_table: int, n_tables: int
) -> BucketSearch:
    """Search `n_tables` hash tables and return counts for the union of the query's buckets.

    Table l hashes by bits l K, ..., l K + K - 1 of the code, where K is `bits_per_table`; bits after K L are not used.
    A query and an item that differ in fewer than L of the K L bits always collide, because they agree in some segment.

    Parameters
    ----------
    query : ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes of the queries, packed as by `protocol.codes.pack`.
    database : ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes of the database, packed likewise.
    n_bits : int
    relevance : Relevance
    bits_per_table : int
        K, at least 1.
    n_tables : int
        L, at least 1; K L must not exceed `n_bits`.

    Returns
    -------
    BucketSearch

    Raises
    ------
    ProtocolError
        If K or L is out of range, and as for `protocol.counting.count`.

    Notes
    -----
    Memory grows with the database times the number of tables.

    References
    ----------
    Thesis, sections 3.4.2 and 3.4.3, figure 3.5.

    Examples
    --------
    With two tables of one bit each, the last item collides in none:

    >>> from protocol.truth.relevance import LabelRelevance
    >>> query, database = codes.pack([[0, 0]]), codes.pack([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> truth = LabelRelevance([7], [7, 8, 8, 7])
    >>> found = bucket_search(query, database, 2, truth, bits_per_table=1, n_tables=2)
    >>> found.true_positives, found.retrieved, found.relevant
    (array([1]), array([3]), array([2]))
    """
    check_relevance(relevance, len(query), len(database), "bucket search")
    codes.check_pair(query, database, n_bits)
    integer(bits_per_table, "bits_per_table", maximum=n_bits)
    integer(n_tables, f"n_tables (of {bits_per_table} bits each)", maximum=n_bits // bits_per_table)
    starts_of_tables = range(0, n_tables * bits_per_table, bits_per_table)
    sides = [codes.unpack(side, n_bits) for side in (query, database)]
    tables = [_lookups(*(bits[:, start : start + bits_per_table] for bits in sides)) for start in starts_of_tables]
    totals, retrieved = np.empty((3, len(query)), dtype=np.int64), np.zeros(len(database), dtype=bool)
    for row in range(len(query)):
        retrieved[:] = False
        for order, starts, stops in tables:
            retrieved[order[starts[row] : stops[row]]] = True
        positions = relevance.row(row)[0]
        totals[:, row] = np.count_nonzero(retrieved[positions]), np.count_nonzero(retrieved), positions.size
    return BucketSearch(*totals)


def _lookups(query: NDArray, database: NDArray) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the items sorted by bucket, and where the bucket of each query starts and stops, for bits of one table."""
    packed = codes.pack(np.concatenate([database, query]))
    _, bucket = np.unique(packed.view(f"V{packed.shape[1]}")[:, 0], return_inverse=True)
    database_keys, query_keys = bucket[: len(database)], bucket[len(database) :]
    order = np.argsort(database_keys, kind="stable")
    ordered = database_keys[order]
    return order, np.searchsorted(ordered, query_keys), np.searchsorted(ordered, query_keys, side="right")
