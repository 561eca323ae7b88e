"""Counts of queries that are the database items: each query leaves its own row out of the database.

Item i is subtracted from the counts of query i, so all metrics are those of the database without this item, also where
it is tied with others. `protocol.counting.asymmetric` leaves it out of the ranking instead.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from protocol import codes
from protocol.checks import ProtocolError
from protocol.counting._plain import InOrder, distances_from, in_order_of
from protocol.counting.counts import HammingCounts, Integers, Packed
from protocol.counting.sharding import count_in_shards
from protocol.parallel import Step, in_order, unreported
from protocol.truth.relevance import LabelRelevance, Relevance


def count_leave_one_out(
    query_codes: Packed,
    database_codes: Packed,
    n_bits: int,
    relevances: Mapping[str, Relevance],
    *,
    index_order: bool = False,
    threads: int = 1,
    progress: Step = unreported,
) -> dict[str, HammingCounts]:
    """Count as in `protocol.counting.count`, but without item i of the database for query i.

    Parameters
    ----------
    query_codes : ndarray of uint8, shape (n, ceil(n_bits / 8))
    database_codes : ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes of the same items; they may differ from those of the queries.
    n_bits : int
    relevances : mapping of str to Relevance
        Ground truths by name, with or without each query's own item.
    index_order : bool, default=False
        Whether to compute the precisions with ties in database order, which takes a sort for each query.
    threads : int, default=1
        The results do not depend on it.
    progress : callable, optional
        Called with the number of queries that were just processed.

    Returns
    -------
    dict of str to HammingCounts
        The counts for each ground truth, each row of n - 1 items. They lack the arrays of the buckets, because each
        query leaves out an item of another bucket.

    Raises
    ------
    ProtocolError
        As for `count`; or if there are not as many queries as database items, or fewer than two.

    Examples
    --------
    >>> same, truth = codes.pack([[0, 0], [0, 0], [0, 1]]), LabelRelevance([5, 5, 6], [5, 5, 6])
    >>> counts = count_leave_one_out(same, same, 2, {"class": truth})["class"]
    >>> counts.retrieved[0], counts.relevant[0], counts.n_relevant
    (array([1, 1, 0]), array([1, 0, 0]), array([1, 1, 0]))
    """
    check_same_number(len(query_codes), len(database_codes))
    pair = (query_codes, database_codes)
    counts = count_in_shards(*pair, n_bits, relevances, buckets=False, threads=threads, progress=progress)
    rows = np.arange(len(query_codes))
    own_distance = np.bitwise_count(query_codes ^ database_codes).sum(axis=1, dtype=np.int64)
    for name, relevance in relevances.items():
        of_all, levels = counts[name], own_levels(relevance)
        retrieved, at_level, relevant = of_all.retrieved.copy(), of_all.at_level.copy(), np.flatnonzero(levels)
        retrieved[rows, own_distance] -= 1
        at_level[relevant, np.searchsorted(of_all.levels, levels[relevant]), own_distance[relevant]] -= 1
        counts[name] = replace(of_all, retrieved=retrieved, at_level=at_level)
        if index_order:
            arrays = _in_database_order(query_codes, database_codes, relevance, counts[name].relevant, threads)
            counts[name] = replace(counts[name], **arrays._asdict())
    return counts


def check_same_number(n_queries: int, n_database: int, leaving: str = "leave_one_out") -> None:
    """Raise ProtocolError unless the queries can be the database items, and a query has other items to rank.

    `leaving` is the option or the convention that leaves an item out.
    """
    if n_queries != n_database or n_queries < 2:
        needed = "the same items as queries and as database, at least two"
        got = f"{n_queries:,} queries and {n_database:,} database items"
        raise ProtocolError(f"{leaving} needs {needed}, but there are {got}.")


def own_levels(relevance: Relevance) -> Integers:
    """Return the relevance level of item i for query i, 0 where it is not relevant, (n_queries,).

    Examples
    --------
    >>> own_levels(LabelRelevance([[1, 1], [1, 0], [0, 0]], [[1, 1], [0, 1], [0, 0]]))
    array([2, 0, 0])
    """
    if isinstance(relevance, LabelRelevance):
        query, database = relevance.labels
        return (query == database).astype(np.int64) if query.ndim == 1 else (query & database).sum(axis=1)
    rows = enumerate(map(relevance.row, range(relevance.n_queries)))
    return np.array([levels[positions == query].sum() for query, (positions, levels) in rows], dtype=np.int64)


def _in_database_order(
    query_codes: Packed, database_codes: Packed, relevance: Relevance, relevant: Integers, threads: int
) -> InOrder:
    """Return the arrays with ties in database order; `relevant` are the numbers of items at each distance."""
    queries, items = codes.words(query_codes), np.ascontiguousarray(codes.words(database_codes).T)

    def of_query(query: int) -> InOrder:
        level = np.zeros(items.shape[1], dtype=np.int64)
        positions, level[positions] = relevance.row(query)
        order = np.argsort(distances_from(queries[query], items), kind="stable")
        others = level[order[order != query]]
        ranks = np.flatnonzero(others)
        return in_order_of(ranks + 1, others[ranks], relevance, relevant[query])

    return InOrder(*map(np.array, zip(*in_order(of_query, range(len(queries)), threads), strict=True)))
