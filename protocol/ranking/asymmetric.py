r"""Asymmetric ranking: real-valued outputs of the queries against binary codes of the database, by inner product.

.. math:: s(q, b) = \sum_j q_j b_j = \sum_j |q_j| - 2 \sum_{j:\ \mathrm{sign}(q_j) \ne b_j} |q_j|, \quad b_j = \pm 1

So a query ranks by a Hamming distance whose bits weigh as much as the query's outputs are far from the threshold; for
outputs of one magnitude, such as -1 and +1, the order is that of the Hamming distance.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError, integer
from protocol.ranking.counts import HammingCounts
from protocol.ranking.relevance import Relevance, check_relevance

_BLOCK_BYTES = 64 << 20
"""Memory for the scores and the counts of one block of queries."""
_SIGN_BYTES = 64 << 20
"""Memory for the codes of the database as -1 and +1: the scores of more codes are computed in parts."""
_EXACT_BITS = 52
"""A float64 holds every integer up to 2 ** 53, so sums of rounded values that stay below are exact."""
_Row = tuple[NDArray[np.int64], NDArray[np.int64], float]


def asymmetric_counts(
    query_outputs: NDArray[np.floating],
    database_codes: NDArray[np.uint8],
    n_bits: int,
    relevance: Relevance,
    *,
    index_order: bool = False,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Iterator[HammingCounts]:
    """Yield the counts of the asymmetric ranking of consecutive blocks of queries.

    Parameters
    ----------
    query_outputs : ndarray of float, shape (n_queries, n_bits)
        Real values, 0 at the threshold between the bits 0 and 1.
    database_codes : ndarray of uint8, shape (n_database, ceil(n_bits / 8))
        Packed as by `protocol.codes.pack`; a bit 0 stands for -1.
    n_bits : int
    relevance : Relevance
    index_order : bool, default=False
        Whether to compute the average precision with ties in the order of the database.
    threads : int, default=1
        The results do not depend on it.
    progress : callable, optional
        Called with the number of queries just done.

    Yields
    ------
    HammingCounts
        Of a block of queries, in their order. The last axis is not a distance: it numbers groups of items, from the
        largest score down, and is padded with empty groups. Tied items are always in one group. Adjacent groups whose
        items are all irrelevant, or all at one level, are merged, since the order within them has no effect on the
        relevance at any rank. So every metric of the ranking can be computed from these counts, but none of a Hamming
        ball. There is no largest bucket.

    Raises
    ------
    ProtocolError
        If there are no queries or no database, the outputs are not finite numbers (n_queries, n_bits), the codes are
        not packed codes of `n_bits` bits, the ground truth has another number of queries or database items, or
        `threads` is below 1.

    Notes
    -----
    Each query's outputs are first rounded to multiples of 2^(E - 52), where 2^E is the smallest power of two that is
    at least n_bits times the power of two above the largest magnitude. All sums of the rounded values are exact in
    float64. So items tie exactly where these sums are equal, and the ranking does not depend on the order of addition,
    the library or the number of threads. Outputs in single precision are not changed by the rounding at 64 bits unless
    they are below 2^-22 of the query's largest one.

    Memory grows with the database, never with queries x database.

    References
    ----------
    Dong, Charikar, Li 2008, *Asymmetric Distance Estimation with Sketches for Similarity Search in High-Dimensional
    Spaces*, SIGIR. Gordo, Perronnin, Gong, Lazebnik 2014, *Asymmetric Distances for Binary Embeddings*, IEEE TPAMI 36.
    Both keep the queries real-valued; their distances are other functions of the query's values than this inner
    product.

    Examples
    --------
    >>> from protocol.ranking import LabelRelevance
    >>> database = codes.pack([[1, 1], [1, 0], [0, 1], [0, 0]])
    >>> counts, = asymmetric_counts(np.array([[0.2, -0.9]]), database, 2, LabelRelevance([5], [6, 5, 6, 5]))
    >>> counts.retrieved, counts.relevant
    (array([[2, 2]]), array([[2, 0]]))
    """
    _check(query_outputs, database_codes, n_bits)
    check_relevance(relevance, len(query_outputs), len(database_codes), "asymmetric")
    integer(threads, "threads")
    return _blocks(query_outputs, database_codes, n_bits, relevance, index_order, threads, progress)


def _check(query_outputs: NDArray[np.floating], database_codes: NDArray[np.uint8], n_bits: int) -> None:
    codes.check(database_codes, n_bits, "database codes")
    if not len(database_codes):
        raise ProtocolError("database codes: expected at least one code, got none.")
    if query_outputs.ndim != 2 or query_outputs.shape[1] != n_bits or not len(query_outputs):
        raise ProtocolError(f"query outputs: expected shape (n_queries, {n_bits}), got {query_outputs.shape}.")
    finite = np.isfinite(query_outputs).all(axis=1)
    if not finite.all():
        row = np.flatnonzero(~finite)[0]
        raise ProtocolError(f"query outputs: expected finite numbers, got NaN or infinity, first in row {row}.")


def _blocks(
    query_outputs: NDArray[np.floating],
    database_codes: NDArray[np.uint8],
    n_bits: int,
    relevance: Relevance,
    index_order: bool,
    threads: int,
    progress: Callable[[int], object] | None,
) -> Iterator[HammingCounts]:
    n_queries, n_database = len(query_outputs), len(database_codes)
    scorer = _Scorer(database_codes, n_bits)
    block_size = max(1, _BLOCK_BYTES // (8 * n_database * (2 + relevance.levels.size)))
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, n_queries, block_size):
            queries = range(start, min(start + block_size, n_queries))
            scores = scorer.scores(query_outputs[queries.start : queries.stop])

            def row(at: int, queries: range = queries, scores: NDArray[np.float64] = scores) -> _Row:
                return _groups(-scores[at], scorer.code_of_item, queries[at], relevance, index_order)

            rows = list(pool.map(row, range(len(queries))))
            yield _padded(rows, relevance.levels, scorer.bucket_sizes, index_order)
            if progress is not None:
                progress(len(queries))


class _Scorer:
    """The inner products of outputs with the different codes of a database.

    Attributes
    ----------
    code_of_item : ndarray of int64, shape (n_database,)
        The number of each item's code among the different ones.
    bucket_sizes : ndarray of int64, shape (n_codes,)
        The numbers of items that share a code, descending.
    """

    def __init__(self, database_codes: NDArray[np.uint8], n_bits: int) -> None:
        words = codes.words(database_codes)
        order = np.lexsort(words.T)
        is_first = np.append(True, (np.diff(words[order], axis=0) != 0).any(axis=1))
        self.code_of_item = np.empty(len(words), dtype=np.int64)
        self.code_of_item[order] = np.cumsum(is_first) - 1
        self.bucket_sizes = np.sort(np.diff(np.flatnonzero(is_first), append=len(words)))[::-1]
        self._codes, self._n_bits = database_codes[order[is_first]], n_bits
        step = max(1, _SIGN_BYTES // (8 * n_bits))
        self._parts = [slice(start, start + step) for start in range(0, len(self._codes), step)]
        self._signs = self._of_part(self._parts[0]) if len(self._parts) == 1 else None

    def scores(self, outputs: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the scores of the different codes, (n_outputs, n_codes), multiplied by a power of two for each row."""
        values = _as_integers(outputs)
        scores = np.empty((len(values), len(self._codes)))
        for part in self._parts:
            signs = self._of_part(part) if self._signs is None else self._signs
            np.matmul(values, signs.T, out=scores[:, part])
        return scores

    def _of_part(self, part: slice) -> NDArray[np.float64]:
        return np.where(codes.unpack(self._codes[part], self._n_bits), 1.0, -1.0)


def _as_integers(outputs: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return each row times a power of two, rounded to integers, such that no sum of its magnitudes reaches 2 ** 53."""
    values = outputs.astype(np.float64)
    _, exponents = np.frexp(np.abs(values).max(axis=1, keepdims=True))
    return np.rint(np.ldexp(values, _EXACT_BITS - exponents - (values.shape[1] - 1).bit_length()))


def _groups(
    keys: NDArray[np.float64], code_of_item: NDArray[np.int64], query: int, relevance: Relevance, index_order: bool
) -> _Row:
    """Return the items and the relevant items at each level by group of a query's ranking, and its average precision.

    `keys` are those of the different codes, the smallest first in the ranking. The average precision has ties in the
    order of the database; it is NaN without relevant items, or if it is not requested.
    """
    positions, levels = relevance.row(query)
    of_item = keys[code_of_item]
    ordered = np.sort(of_item)
    different, tie = np.unique(of_item[positions], return_inverse=True)
    edges = np.stack([np.searchsorted(ordered, different, side) for side in ("left", "right")], axis=1)
    # The ties with relevant items, and the irrelevant items before, between and after them.
    retrieved = np.diff(edges.ravel(), prepend=0, append=ordered.size)
    at_level = np.zeros((relevance.levels.size, retrieved.size), dtype=np.int64)
    cells = np.searchsorted(relevance.levels, levels) * different.size + tie
    counted = np.bincount(cells, minlength=relevance.levels.size * different.size)
    at_level[:, 1::2] = counted.reshape(relevance.levels.size, -1)
    precision = np.nan
    if index_order and positions.size:
        precision = _average_precision(keys, code_of_item, positions)
    return *_merged(retrieved, at_level), precision


def _merged(retrieved: NDArray[np.int64], at_level: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return groups without empty ones, and with adjacent ones merged that have items of one and the same level."""
    some = retrieved > 0
    retrieved, at_level = retrieved[some], at_level[:, some]
    of_all_levels = np.vstack([retrieved - at_level.sum(axis=0), at_level])
    is_pure = (of_all_levels > 0).sum(axis=0) == 1
    level = np.where(is_pure, of_all_levels.argmax(axis=0), -1)
    starts = np.flatnonzero(np.append(True, (level[1:] != level[:-1]) | ~is_pure[1:]))
    return np.add.reduceat(retrieved, starts), np.add.reduceat(at_level, starts, axis=1)


def _average_precision(
    keys: NDArray[np.float64], code_of_item: NDArray[np.int64], positions: NDArray[np.int64]
) -> float:
    """Return the average precision of a ranking with ties in the order of the database, of items at some positions."""
    different, place = np.unique(keys, return_inverse=True)
    places = place.astype(np.min_scalar_type(different.size))  # 16 bits or fewer are sorted by digits
    is_relevant = np.zeros(code_of_item.size, dtype=bool)
    is_relevant[positions] = True
    ranks = np.flatnonzero(is_relevant[np.argsort(places[code_of_item], kind="stable")]) + 1
    return float((np.arange(1, ranks.size + 1) / ranks).mean())


def _padded(
    rows: list[_Row], levels: NDArray[np.int64], bucket_sizes: NDArray[np.int64], index_order: bool
) -> HammingCounts:
    """Return the counts of a block of queries, with empty groups after the last of each."""
    n_groups = max(retrieved.size for retrieved, *_ in rows)
    retrieved = np.zeros((len(rows), n_groups), dtype=np.int64)
    at_level = np.zeros((len(rows), levels.size, n_groups), dtype=np.int64)
    for at, (of_row, by_level, _) in enumerate(rows):
        retrieved[at, : of_row.size] = of_row
        at_level[at, :, : of_row.size] = by_level
    precisions = np.array([precision for *_, precision in rows]) if index_order else None
    return HammingCounts(retrieved, at_level, levels, bucket_sizes, index_average_precision=precisions)
