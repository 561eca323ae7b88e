"""The function `count`, from packed codes to `HammingCounts`; several ground truths share one pass over the distances.

Four algorithms give the same integers:

- `Shell` compares no pairs, but requires a table of all codes: for up to 16 bits and few classes. It uses only NumPy.
- `BitPlanes` compares 64 items with each logical operation. It is the fastest for 14 to 64 bits and class labels
  or lists.
- `Words` increments a counter for each pair. It counts long codes and several labels for each item. Its loops also
  compute mAP[database-order], with ties in database order.
- `Plain` is the reference that the others must equal. It has no start-up time, and is used if numba is not installed.

`BitPlanes` and `Words` require the optional dependency numba. Their compiled code is loaded as soon as it would have
saved the process, in all calls so far, the time that loading takes: in the first call for some 300 million pairs, or
after a few smaller calls. `python tests/benchmarks/side_by_side.py` measures the speed.
"""

import importlib.util
import itertools
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import install_hint, integer, warn_once
from protocol.counting._compiled import LONGEST, BitPlanes, Words
from protocol.counting._plain import MOST_BITS, Buckets, Plain, Shell
from protocol.counting.counts import HammingCounts, Integers, Packed, unpack_counts
from protocol.parallel import Step, in_order, unreported
from protocol.truth.relevance import LabelRelevance, Relevance, check_relevance

Result = TypeVar("Result")
_KERNELS = "protocol.counting._kernels"
"""The module of the compiled code. Loading it takes most of `_COMPILED_START`."""

# Seconds, measured on one core of a server. Only their ratios matter, and only for the choice of the algorithm.
_COMPILED_START = 0.6
_PLAIN_PER_PAIR, _SORT_PER_PAIR = 2e-9, 50e-9
_PLANES_PER_PAIR, _WORDS_PER_PAIR = 0.15e-9, 0.7e-9
_SHELL_PER_ADDITION, _SHELL_PER_BIT = 0.5e-9, 0.1e-3
_WORTH_A_WARNING = 0.5
"""The estimated seconds that numba must save before its absence is worth a warning. For 300 million pairs of 64 bits,
NumPy takes one second, and numba a tenth of a second."""

_missed = SimpleNamespace(seconds=0.0)
"""The estimated seconds that the compiled code would have saved this process before it was loaded."""


def count(
    query_codes: Packed,
    database_codes: Packed,
    n_bits: int,
    relevances: Mapping[str, Relevance],
    *,
    buckets: bool = True,
    index_order: bool = False,
    threads: int = 1,
    progress: Step = unreported,
) -> dict[str, HammingCounts]:
    r"""Count, for every query, all database items and the relevant ones at each Hamming distance.

    .. math:: n_{q,d} = |\{x : d_H(q, x) = d\}|, \quad n^{v}_{q,d} = |\{x : d_H(q, x) = d,\ \mathrm{level}_q(x) = v\}|

    Also find the buckets of the database. A bucket is the set of items with the same code.

    Parameters
    ----------
    query_codes : ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes of the queries, packed by `protocol.codes.pack`.
    database_codes : ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes of the database, packed likewise.
    n_bits : int
    relevances : mapping of str to Relevance
        Ground truths by name. The distances are computed once for all of them.
    buckets : bool, default=True
        Whether to find the sizes of all buckets, and the largest one within each radius. The codes are sorted for it.
    index_order : bool, default=False
        Whether to compute the precisions with ties in database order.
    threads : int, default=1
        The results do not depend on it.
    progress : callable, optional
        Called with the number of queries that were just processed, from the calling thread.

    Returns
    -------
    dict of str to HammingCounts
        The counts for each ground truth. They share the arrays that do not depend on the ground truth.

    Raises
    ------
    ProtocolError
        If there are no queries or no database items, the codes are not packed codes of `n_bits` bits, a ground truth
        has a different number of queries or database items, or `threads` is below 1.

    Notes
    -----
    Queries are processed in blocks: memory grows with the database and the counts, not with queries x database.

    Examples
    --------
    >>> from protocol.truth.relevance import LabelRelevance
    >>> query, database = codes.pack([[0, 0, 0]]), codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1]])
    >>> counts = count(query, database, 3, {"class": LabelRelevance([5], [5, 5, 6, 6])})["class"]
    >>> counts.retrieved, counts.relevant, counts.largest_bucket
    (array([[1, 2, 0, 1]]), array([[1, 1, 0, 0]]), array([[1, 2, 2, 2]]))
    """
    codes.check_pair(query_codes, database_codes, n_bits)
    for name, relevance in relevances.items():
        check_relevance(relevance, len(query_codes), len(database_codes), name)
    integer(threads, "threads")
    queries, items = codes.words(query_codes), codes.words(database_codes)
    by_label = {name: relevance for name, relevance in relevances.items() if isinstance(relevance, LabelRelevance)}
    counter = _choose(len(queries) * len(items), n_bits, by_label, index_order)(queries, items, n_bits, by_label)
    of_database = Buckets.of(items) if buckets else None
    work = partial(_of_block, counter, relevances, of_database, index_order)
    blocks = _in_blocks(work, len(queries), counter.block_size, threads, progress)
    arrays = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    arrays |= {f"{name}/levels": relevance.levels for name, relevance in relevances.items()}
    if of_database is not None:
        arrays["bucket_sizes"] = of_database.sizes
    by_truth = unpack_counts(arrays)
    return {name: by_truth[name] for name in relevances}


def _of_block(
    counter: Plain, relevances: Mapping[str, Relevance], buckets: Buckets | None, index_order: bool, block: slice
) -> dict[str, NDArray]:
    """Return the arrays of a block of queries, by their names for `unpack_counts`."""
    retrieved, at_levels = counter.count(block)
    arrays: dict[str, NDArray] = {"retrieved": retrieved}
    if buckets is not None:
        arrays["largest_bucket"] = counter.largest_buckets(block, buckets, retrieved)
    for name, relevance in relevances.items():
        at_level = at_levels[name] if name in at_levels else counter.at_levels(relevance, block)
        arrays[f"{name}/at_level"] = at_level
        if index_order:
            in_order = counter.in_database_order(relevance, block, retrieved, at_level.sum(axis=1))
            arrays |= {f"{name}/{array}": values for array, values in in_order._asdict().items()}
    return arrays


def largest_buckets(
    query_codes: Packed, n_bits: int, buckets: Buckets, retrieved: Integers, *, threads: int = 1
) -> Integers:
    """Return the size of the largest bucket of a database within each radius, (n_queries, n_bits + 1).

    `retrieved` are the numbers of items at each distance, of the same shape.
    """
    repeated = buckets.repeated_words
    algorithm = Words if repeated.size and _numba_is_installed() else Plain
    counter = algorithm(codes.words(query_codes), repeated, n_bits, {})

    def work(block: slice) -> Integers:
        return counter.largest_buckets(block, buckets, retrieved[block])

    return np.concatenate(_in_blocks(work, len(query_codes), counter.block_size, threads, unreported))


def _choose(pairs: int, n_bits: int, by_label: Mapping[str, LabelRelevance], index_order: bool) -> type[Plain]:
    """Return the fastest algorithm.

    A call alone may not be worth loading the compiled code, and later calls are not known. It is loaded once all calls
    so far have missed its time of loading, so that a process never takes more than that time longer than necessary.
    """
    of_numpy, seconds = _fastest_of_numpy(pairs, n_bits, by_label)
    kinds = [relevance.kind for relevance in by_label.values()]
    compiled: type[Plain] = BitPlanes if n_bits <= LONGEST and kinds in ([], ["class labels"]) else Words
    of_compiled = pairs * (_PLANES_PER_PAIR if compiled is BitPlanes else _WORDS_PER_PAIR)
    saved = seconds - of_compiled + index_order * pairs * _SORT_PER_PAIR
    if saved <= 0:
        return of_numpy
    _missed.seconds += saved
    if not _numba_is_installed():
        if _missed.seconds > _COMPILED_START + _WORTH_A_WARNING:
            hint = install_hint("fast")
            warn_once(f"numba is not installed, so counting uses NumPy, which is about ten times slower. {hint}")
        return of_numpy
    return compiled if _KERNELS in sys.modules or _missed.seconds > _COMPILED_START else of_numpy


def _fastest_of_numpy(pairs: int, n_bits: int, by_label: Mapping[str, LabelRelevance]) -> tuple[type[Plain], float]:
    """Return the faster algorithm of those that use only NumPy, and the estimated seconds."""
    seconds = pairs * _PLAIN_PER_PAIR * -(-n_bits // 64)
    if n_bits > MOST_BITS:
        return Plain, seconds
    transforms = 1 + sum(truth.n_groups * truth.levels.size for truth in by_label.values())
    additions = transforms * n_bits * (n_bits + 1) / 2 * 2**n_bits
    of_shell = _SHELL_PER_BIT * n_bits + _SHELL_PER_ADDITION * additions
    return (Shell, of_shell) if of_shell < seconds else (Plain, seconds)


def _numba_is_installed() -> bool:
    return importlib.util.find_spec("numba") is not None


def _in_blocks(
    work: Callable[[slice], Result], n_queries: int, block_size: int, threads: int, progress: Step
) -> list[Result]:
    """Process all queries in blocks of equal size, with the same number of blocks for every thread."""
    n_blocks, results = threads * -(-n_queries // (block_size * threads)), []
    edges = [n_queries * block // n_blocks for block in range(n_blocks + 1)]
    blocks = [slice(start, stop) for start, stop in itertools.pairwise(edges) if start < stop]
    for block, result in zip(blocks, in_order(work, blocks, threads), strict=True):
        results.append(result)
        progress(block.stop - block.start)
    return results
