r"""Asymmetric ranking: real-valued outputs of the queries against binary codes of the database, by inner product.

.. math:: s(q, b) = \sum_j q_j b_j = \sum_j |q_j| - 2 \sum_{j:\ \mathrm{sign}(q_j) \ne b_j} |q_j|, \quad b_j = \pm 1

The ranking is therefore that of a weighted Hamming distance, in which the weight of a bit is the distance of the
query's output from the threshold. If all outputs have the same magnitude, such as -1 and +1, it is the Hamming ranking.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError, integer
from protocol.counting._plain import InOrder, in_order_of
from protocol.counting.counts import Floats, HammingCounts, Integers, Packed, padded
from protocol.counting.leave_one_out import check_same_number
from protocol.inputs.validation import check_finite
from protocol.parallel import Step, unreported
from protocol.truth.relevance import Relevance, check_relevance

_BLOCK_BYTES = 64 << 20
"""Memory for the scores and the counts of one block of queries."""
_SIGN_BYTES = 64 << 20
"""Memory for the database codes as -1 and +1; for larger databases, scores are computed in parts."""
_EXACT_BITS = 52
"""float64 represents all integers up to 2 ** 53 exactly, so sums of rounded values below it are exact."""
Row = tuple[Integers, Integers, InOrder]


def asymmetric_counts(
    query_outputs: NDArray[np.floating],
    database_codes: Packed,
    n_bits: int,
    relevance: Relevance,
    *,
    index_order: bool = False,
    leave_one_out: bool = False,
    threads: int = 1,
    progress: Step = unreported,
) -> Iterator[HammingCounts]:
    """Yield the counts of the asymmetric ranking of consecutive blocks of queries.

    Parameters
    ----------
    query_outputs : ndarray of float, shape (n_queries, n_bits)
        Real values; 0 is the threshold between the bits 0 and 1.
    database_codes : ndarray of uint8, shape (n_database, ceil(n_bits / 8))
        Packed by `protocol.codes.pack`; bit 0 counts as -1.
    n_bits : int
    relevance : Relevance
    index_order : bool, default=False
        Whether to compute the precisions with ties in database order.
    leave_one_out : bool, default=False
        Whether the queries are the database items, and item i is left out of the ranking of query i.
    threads : int, default=1
        The results do not depend on it.
    progress : callable, optional
        Called with the number of queries that were just processed.

    Yields
    ------
    HammingCounts
        The counts of a block of queries, in order. The last axis is not a distance: it numbers groups of items by
        descending score, and is padded with empty groups. Tied items are always in the same group. Adjacent groups
        whose items are all irrelevant, or all at the same level, are merged, because the order within them does not
        affect the relevance at any rank. All metrics of the ranking can therefore be computed from these counts, but
        no metrics of a Hamming ball. There is no largest bucket.

    Raises
    ------
    ProtocolError
        If there are no queries or no database items, the outputs are not finite numbers (n_queries, n_bits), the codes
        are not packed codes of `n_bits` bits, the ground truth has a different number of queries or database items,
        `threads` is below 1, or `leave_one_out` is requested for different numbers of queries and database items.

    Notes
    -----
    The outputs of each query are first rounded to multiples of 2^(E - 52), where 2^E is the smallest power of two that
    is at least n_bits times the power of two above the largest magnitude. All sums of the rounded values are exact in
    float64. Items are therefore tied exactly where these sums are equal, and the ranking does not depend on the order
    of addition, the library or the number of threads. With 64 bits, the rounding does not change outputs in single
    precision unless they are below 2^-22 of the query's largest output.

    Memory grows with the database, not with queries x database.

    References
    ----------
    Dong, Charikar, Li 2008, *Asymmetric Distance Estimation with Sketches for Similarity Search in High-Dimensional
    Spaces*, SIGIR. Gordo, Perronnin, Gong, Lazebnik 2014, *Asymmetric Distances for Binary Embeddings*, IEEE TPAMI 36.
    Both use real-valued queries, but with other distances than this inner product.

    Examples
    --------
    >>> from protocol.truth.relevance import LabelRelevance
    >>> database = codes.pack([[1, 1], [1, 0], [0, 1], [0, 0]])
    >>> counts, = asymmetric_counts(np.array([[0.2, -0.9]]), database, 2, LabelRelevance([5], [6, 5, 6, 5]))
    >>> counts.retrieved, counts.relevant
    (array([[2, 2]]), array([[2, 0]]))
    """
    codes.check(database_codes, n_bits, "database codes")
    if not len(database_codes):
        raise ProtocolError("database codes: the array is empty.")
    if query_outputs.ndim != 2 or query_outputs.shape[1] != n_bits or not len(query_outputs):
        raise ProtocolError(f"query outputs: expected shape (n_queries, {n_bits}), got {query_outputs.shape}.")
    check_finite(query_outputs, "query outputs")
    check_relevance(relevance, len(query_outputs), len(database_codes), "asymmetric")
    integer(threads, "threads")
    words = codes.words(database_codes)
    _, first, number, sizes = np.unique(words, axis=0, return_index=True, return_inverse=True, return_counts=True)
    distinct, bucket_sizes = database_codes[first], None if leave_one_out else np.sort(sizes)[::-1]
    n_signs = max(1, _SIGN_BYTES // (8 * n_bits))

    @functools.lru_cache(maxsize=1)  # those of few codes are computed once
    def signs(start: int) -> Floats:
        return np.where(codes.unpack(distinct[start : start + n_signs], n_bits), 1.0, -1.0)

    def keys_of(rows: slice) -> Floats:
        """Return the scores of the distinct codes, (n_rows, n_codes), negative and times a power of two."""
        values = -_as_integers(query_outputs[rows])
        keys = np.empty((len(values), len(distinct)))
        for start in range(0, len(distinct), n_signs):
            np.matmul(values, signs(start).T, out=keys[:, start : start + n_signs])
        return keys

    ranking = (keys_of, number.reshape(-1), relevance)
    yield from counts_by_keys(*ranking, index_order, leave_one_out, threads, progress, bucket_sizes)


def counts_by_keys(
    keys_of: Callable[[slice], Iterable[Floats]],
    code_of_item: Integers,
    relevance: Relevance,
    index_order: bool,
    leave_one_out: bool,
    threads: int,
    progress: Step,
    bucket_sizes: Integers | None = None,
) -> Iterator[HammingCounts]:
    """Yield the counts of consecutive queries, as many as fit into `_BLOCK_BYTES`.

    `keys_of` returns, for each query in a slice, the keys of the distinct codes; smaller keys rank first.
    """
    if leave_one_out:
        check_same_number(relevance.n_queries, relevance.n_database)
    block_size = max(1, _BLOCK_BYTES // (8 * code_of_item.size * (2 + relevance.levels.size)))
    groups = functools.partial(_groups, code_of_item, relevance, index_order, leave_one_out)
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, relevance.n_queries, block_size):
            rows = list(pool.map(groups, itertools.count(start), keys_of(slice(start, start + block_size))))
            yield _padded(rows, relevance.levels, bucket_sizes, index_order)
            progress(len(rows))


def _as_integers(outputs: NDArray[np.floating]) -> Floats:
    """Scale each row by a power of two and round it to integers, such that the sum of magnitudes is below 2 ** 53."""
    values = outputs.astype(np.float64)
    _, exponents = np.frexp(np.abs(values).max(axis=1, keepdims=True))
    return np.rint(np.ldexp(values, _EXACT_BITS - exponents - (values.shape[1] - 1).bit_length()))


def _groups(
    code_of_item: Integers, relevance: Relevance, index_order: bool, leave_one_out: bool, query: int, keys: Floats
) -> Row:
    """Count all items, and the relevant items at each level, in each group of a query's ranking.

    Also return the rows with ties in database order, which are 0 if they are not requested.
    """
    positions, levels = relevance.row(query)
    if leave_one_out:
        others, code_of_item = positions != query, np.delete(code_of_item, query)
        positions, levels = positions[others] - (positions[others] > query), levels[others]
    of_item = keys[code_of_item]
    ordered = np.sort(of_item)
    different, tie = np.unique(of_item[positions], return_inverse=True)
    edges = np.stack([np.searchsorted(ordered, different, side) for side in ("left", "right")], axis=1)
    # The groups are the ties with relevant items, and the irrelevant items before, between and after them.
    retrieved = np.diff(edges.ravel(), prepend=0, append=ordered.size)
    at_level = np.zeros((relevance.levels.size, retrieved.size), dtype=np.int64)
    cells = np.searchsorted(relevance.levels, levels) * different.size + tie
    counted = np.bincount(cells, minlength=relevance.levels.size * different.size)
    at_level[:, 1::2] = counted.reshape(relevance.levels.size, -1)
    # Empty groups are removed, and adjacent groups are merged if all their items have the same level.
    some = retrieved > 0
    retrieved, at_level = retrieved[some], at_level[:, some]
    of_all_levels = np.vstack([retrieved - at_level.sum(axis=0), at_level])
    is_pure = (of_all_levels > 0).sum(axis=0) == 1
    level = np.where(is_pure, of_all_levels.argmax(axis=0), -1)
    starts = np.flatnonzero(np.append(True, (level[1:] != level[:-1]) | ~is_pure[1:]))
    retrieved, at_level = np.add.reduceat(retrieved, starts), np.add.reduceat(at_level, starts, axis=1)
    ranks = _ranks(keys, code_of_item, positions) if index_order else np.empty(0, dtype=np.int64)
    return retrieved, at_level, in_order_of(ranks, levels, relevance, at_level.sum(axis=0))


def _ranks(keys: Floats, code_of_item: Integers, positions: Integers) -> Integers:
    """Return the ranks of the items at some positions, with ties in database order."""
    different, group = np.unique(keys, return_inverse=True)
    places = group.astype(np.min_scalar_type(different.size))  # NumPy uses radix sort for up to 16 bits
    ranks = np.empty(code_of_item.size, dtype=np.int64)
    ranks[np.argsort(places[code_of_item], kind="stable")] = np.arange(1, ranks.size + 1)
    return ranks[positions]


def _padded(rows: list[Row], levels: Integers, bucket_sizes: Integers | None, index_order: bool) -> HammingCounts:
    """Return the counts of a block of queries, padded with empty groups."""
    n_groups = max(retrieved.size for retrieved, *_ in rows)

    def widened(arrays: Sequence[NDArray]) -> NDArray:
        return np.array([padded(array, 0, n_groups - array.shape[-1]) for array in arrays])

    retrieved, at_level, in_order = zip(*rows, strict=True)
    precisions, top, discounts = zip(*in_order, strict=True)
    arrays = (widened(precisions), np.array(top), np.array(discounts)) if index_order else ()
    return HammingCounts(widened(retrieved), widened(at_level), levels, bucket_sizes, None, *arrays)
