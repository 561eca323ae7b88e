"""From packed codes to `HammingCounts`: one pass over the distances serves every ground truth."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError
from protocol.ranking.counts import HammingCounts
from protocol.ranking.relevance import Relevance


def count(
    query_codes: NDArray[np.uint8],
    database_codes: NDArray[np.uint8],
    n_bits: int,
    relevances: Mapping[str, Relevance],
) -> dict[str, HammingCounts]:
    r"""Count, for every query, the database items at each Hamming distance, all of them and the relevant ones.

    .. math:: n_{q,d} = |\{x : d_H(q, x) = d\}|, \quad n^{v}_{q,d} = |\{x : d_H(q, x) = d,\ \mathrm{level}_q(x) = v\}|

    and the fullest bucket of the database (a bucket: the items that share one code) within each radius.

    Parameters
    ----------
    query_codes, database_codes : ndarray of uint8, shape (n, ceil(n_bits / 8))
        Packed as by `protocol.codes.pack`.
    n_bits : int
    relevances : mapping of str to Relevance
        Ground truths by name. Those of one call share the distances, which are computed once.

    Returns
    -------
    dict of str to HammingCounts
        By the name of the ground truth. They share the arrays that don't depend on it.

    Raises
    ------
    ProtocolError
        If there are no queries or no database, the codes are not packed codes of `n_bits` bits, or a ground truth has
        another number of queries or database items.

    Notes
    -----
    A query at a time: memory grows with the database, never with queries x database.

    Examples
    --------
    >>> from protocol.ranking import LabelRelevance
    >>> query, database = codes.pack([[0, 0, 0]]), codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1]])
    >>> counts = count(query, database, 3, {"class": LabelRelevance([5], [5, 5, 6, 6])})["class"]
    >>> counts.retrieved, counts.relevant, counts.largest_bucket
    (array([[1, 2, 0, 1]]), array([[1, 1, 0, 0]]), array([[1, 2, 2, 2]]))
    """
    _check(query_codes, database_codes, n_bits, relevances)
    queries, database = codes.words(query_codes), np.ascontiguousarray(codes.words(database_codes).T)
    member, sizes = _buckets(database)
    repeated, n_repeated = member[sizes > 1], sizes[sizes > 1]
    shape = (len(queries), n_bits + 1)
    retrieved, largest = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    at_level = {
        name: np.empty((len(queries), relevance.levels.size, n_bits + 1), dtype=np.int64)
        for name, relevance in relevances.items()
    }
    for i, query in enumerate(queries):
        distances = _distances(query, database)
        retrieved[i] = np.bincount(distances, minlength=n_bits + 1)
        largest[i] = retrieved[i] > 0  # a bucket of one item, unless a repeated code says more
        np.maximum.at(largest[i], distances[repeated], n_repeated)
        for name, relevance in relevances.items():
            at_level[name][i] = _by_level(distances, relevance, i, n_bits)
    np.maximum.accumulate(largest, axis=1, out=largest)
    shared = {"retrieved": retrieved, "largest_bucket": largest, "bucket_sizes": np.sort(sizes)[::-1]}
    return {
        name: HammingCounts(at_level=at_level[name], levels=relevance.levels, **shared)
        for name, relevance in relevances.items()
    }


def _check(
    query_codes: NDArray[np.uint8],
    database_codes: NDArray[np.uint8],
    n_bits: int,
    relevances: Mapping[str, Relevance],
) -> None:
    codes.check(query_codes, n_bits, "query codes")
    codes.check(database_codes, n_bits, "database codes")
    wanted = (len(query_codes), len(database_codes))
    if 0 in wanted:
        raise ProtocolError(f"counting: wanted queries and a database, came {wanted[0]} queries and {wanted[1]} items")
    for name, relevance in relevances.items():
        came = (relevance.n_queries, relevance.n_database)
        if came != wanted:
            raise ProtocolError(
                f"relevance {name!r}: wanted {wanted[0]} queries and {wanted[1]} database items as there are codes, "
                f"came {came[0]} and {came[1]}"
            )


def _distances(query: NDArray[np.uint64], database: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the Hamming distance of every database item; `query` is (n_words,), `database` (n_words, n_database)."""
    return np.bitwise_count(database ^ query[:, None]).sum(axis=0, dtype=np.uint16)


def _buckets(database: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return one member of each bucket and the number of its members; `database` is (n_words, n_database)."""
    order = np.lexsort(database)
    ordered = database[:, order]
    first = np.flatnonzero(np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)))
    return order[first], np.diff(first, append=order.size)


def _by_level(distances: NDArray[np.uint16], relevance: Relevance, query: int, n_bits: int) -> NDArray[np.int64]:
    """Return the relevant items of a query at each level and distance, (n_levels, n_bits + 1)."""
    positions, levels = relevance.row(query)
    cells = distances[positions].astype(np.int64)
    if relevance.levels.size > 1:
        cells += np.searchsorted(relevance.levels, levels) * (n_bits + 1)
    shape = (relevance.levels.size, n_bits + 1)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
