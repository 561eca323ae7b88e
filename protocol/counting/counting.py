"""The function `count`, from packed codes to `HammingCounts`; several ground truths share one pass over the distances.

Four algorithms give the same integers, and `count` chooses the one that it estimates to be fastest. Each of them is
much faster than the others for some inputs. This table shows 10^9 pairs per second on one core at 2.5 GHz, for 1,000
queries (10,000 up to 16 bits) and 59,000 items in 10 classes:

============ ======= ======= ======= ======= ======= ======== ==========
algorithm     8 bits 12 bits 16 bits 32 bits 64 bits 256 bits 1,024 bits
============ ======= ======= ======= ======= ======= ======== ==========
`Shell`         76.8    62.3     6.6       -       -        -          -
`BitPlanes`     10.1    14.2    14.5     6.9     5.0      1.1          -
`Words`          1.4     1.7     1.4     1.7     1.7      0.7        0.4
`Plain`          0.3       -       -     0.4     0.4      0.1       0.03
============ ======= ======= ======= ======= ======= ======== ==========

- `Shell` compares no pairs, but requires a table of all codes. It uses only NumPy.
- `BitPlanes` compares 512 items at once. It is faster than `Words` up to 256 bits if distances are widely spread, and
  up to 384 bits for random codes.
- `Words` increments a counter for each pair. It also computes mAP[index], with ties in database order.
- `Plain` is the reference that all others must equal. It has no start-up time, and is used if numba is not installed.

`BitPlanes` and `Words` require the optional dependency numba, and must load its compiled code. A process that counts
repeatedly, such as a training loop, loads this code as soon as that pays off for all its calls together, and uses it
from then on.
"""

import importlib.util
import itertools
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import install_hint, integer, warn_once
from protocol.counting._bit_planes import LONGEST, BitPlanes
from protocol.counting._buckets import Buckets
from protocol.counting._listed import Lists
from protocol.counting._plain import Plain, average_precision, gathered
from protocol.counting._shell import MOST_BITS, Shell
from protocol.counting._words import Words
from protocol.counting.counts import HammingCounts
from protocol.truth.relevance import LabelRelevance, Relevance, check_relevance

Algorithm = type[Plain] | type[BitPlanes] | type[Words] | type[Shell]

_KERNELS = "protocol.counting._kernels"
"""The module of the compiled code. Loading it takes most of `_COMPILED_START`."""

# Seconds, measured on one core of a server. Only their ratios matter, and only for the choice of the algorithm.
_COMPILED_START = 0.4
_COMPILED_PER_PAIR, _COMPILED_PER_BIT = 0.1e-9, 0.0025e-9
_PLAIN_PER_PAIR = 2e-9
_SHELL_PER_ADDITION, _SHELL_PER_BIT = 0.5e-9, 0.1e-3
_SORT_PER_PAIR, _RANK_PER_PAIR = 50e-9, 1e-9
_missed = {"seconds": 0.0}
"""The estimated seconds that the compiled code would have saved in the calls of this process so far."""
_WORTH_A_WARNING = 0.5
"""The estimated seconds that numba must save before its absence is worth a warning. For 300 million pairs of 64 bits,
NumPy takes one second, and numba a tenth of a second."""


def count(
    query_codes: NDArray[np.uint8],
    database_codes: NDArray[np.uint8],
    n_bits: int,
    relevances: Mapping[str, Relevance],
    *,
    bucket_sizes: bool = True,
    largest_bucket: bool = True,
    index_order: bool = False,
    calls: int = 1,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> dict[str, HammingCounts]:
    r"""Count, for every query, all database items and the relevant ones at each Hamming distance.

    .. math:: n_{q,d} = |\{x : d_H(q, x) = d\}|, \quad n^{v}_{q,d} = |\{x : d_H(q, x) = d,\ \mathrm{level}_q(x) = v\}|

    Also find the largest bucket of the database within each radius. A bucket is the set of items with the same code.

    Parameters
    ----------
    query_codes, database_codes : ndarray of uint8, shape (n, ceil(n_bits / 8))
        Packed by `protocol.codes.pack`.
    n_bits : int
    relevances : mapping of str to Relevance
        Ground truths by name. The distances are computed once for all of them.
    bucket_sizes : bool, default=True
        Whether to find the sizes of all buckets, which requires sorting the codes.
    largest_bucket : bool, default=True
        Whether to find the largest bucket within each radius.
    index_order : bool, default=False
        Whether to compute the average precision with ties in database order.
    calls : int, default=1
        How many such calls the process will make. The compiled code is loaded once for all of them. The results do not
        depend on it.
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
    pairs = len(queries) * len(items)
    by_label = {name: relevance for name, relevance in relevances.items() if isinstance(relevance, LabelRelevance)}
    algorithm = _choose(pairs, n_bits, by_label, index_order, calls)
    counter: Plain | BitPlanes | Words | Shell
    if algorithm is Words:
        counter = Words(queries, items, n_bits, relevances)
    else:
        counter = algorithm(queries, items, n_bits, by_label)
    is_compiled = algorithm in (BitPlanes, Words)
    ranker = None
    if index_order and is_compiled:
        ranker = counter if isinstance(counter, Words) else Words(queries, items, n_bits, relevances)
    buckets = (
        Buckets.of(items, _keys(items) if is_compiled and items.shape[1] > 1 else None)
        if bucket_sizes or largest_bucket
        else None
    )
    listed = {name: relevances[name] for name in relevances if name not in by_label and algorithm is not Words}
    lists = {name: Lists(relevance) for name, relevance in listed.items()}

    shape = (len(queries), n_bits + 1)
    retrieved = np.empty(shape, dtype=np.int64)
    largest = np.empty(shape, dtype=np.int64) if largest_bucket else None
    at_level = {
        name: np.empty((len(queries), relevance.levels.size, n_bits + 1), dtype=np.int64)
        for name, relevance in relevances.items()
    }
    in_order = {name: np.empty(len(queries)) for name in relevances if index_order}

    def work(block: slice) -> int:
        retrieved[block], labelled = counter.count(block)
        if largest is not None and buckets is not None:
            largest[block] = counter.largest(block, retrieved[block], buckets)
        for name, counts in at_level.items():
            counts[block] = (
                labelled[name] if name in labelled else gathered(queries, items, lists[name], block, counts.shape)
            )
        if ranker is not None:
            relevant = [counts[block].sum(axis=1) for counts in at_level.values()]
            values = ranker.average_precision(block, retrieved[block], relevant)
            for precisions, of_block in zip(in_order.values(), values, strict=True):
                precisions[block] = of_block
        else:
            for name, precisions in in_order.items():
                precisions[block] = average_precision(queries, items, relevances[name], block)
        return block.stop - block.start

    block_size = min(counter.block_size, counter.block_size if ranker is None else ranker.block_size)
    _in_blocks(work, len(queries), block_size, threads, progress)
    return {
        name: HammingCounts(
            retrieved=retrieved,
            at_level=at_level[name],
            levels=relevance.levels,
            bucket_sizes=buckets.sizes if buckets is not None and bucket_sizes else None,
            largest_bucket=largest,
            index_average_precision=in_order.get(name),
        )
        for name, relevance in relevances.items()
    }


def _keys(items: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each code, because sorting hashes is faster than sorting codes of several words."""
    from protocol.counting._kernels import write_keys  # loads numba

    keys = np.empty(len(items), dtype=np.uint64)
    write_keys(items, keys)
    return keys


def _choose(
    pairs: int, n_bits: int, by_label: Mapping[str, LabelRelevance], index_order: bool, calls: int
) -> Algorithm:
    """Return the algorithm with the shortest estimated time."""
    seconds: dict[Algorithm, float] = {Plain: pairs * _PLAIN_PER_PAIR * -(-n_bits // 64)}
    if n_bits <= MOST_BITS:
        transforms = 1 + sum(truth.n_groups * truth.levels.size for truth in by_label.values())
        additions = transforms * n_bits * (n_bits + 1) / 2 * 2**n_bits
        seconds[Shell] = _SHELL_PER_BIT * n_bits + _SHELL_PER_ADDITION * additions
    of_numpy = min(seconds, key=seconds.__getitem__)
    compiled: Algorithm = BitPlanes if n_bits <= LONGEST else Words
    seconds[compiled] = pairs * (_COMPILED_PER_PAIR + _COMPILED_PER_BIT * n_bits)
    first = compiled if index_order else min(seconds, key=seconds.__getitem__)
    saved = seconds[of_numpy] - seconds[first] + index_order * pairs * (_SORT_PER_PAIR - _RANK_PER_PAIR)
    if not _numba_is_installed():
        if calls * saved - _COMPILED_START > _WORTH_A_WARNING:
            warn_once(
                "numba is not installed, so counting uses NumPy, which is about ten times slower. "
                f"{install_hint('fast')}"
            )
        return of_numpy
    if _KERNELS not in sys.modules and saved <= _loading_seconds(calls):
        _missed["seconds"] += saved
        return of_numpy
    return first


def _loading_seconds(calls: int) -> float:
    """Return the time per call of loading the compiled code; 0 if it would have paid off in earlier calls.

    The code is loaded at the latest when it would have saved as much time as loading takes, so a process loses at most
    twice that time.
    """
    return max(0.0, _COMPILED_START / calls - _missed["seconds"])


def _numba_is_installed() -> bool:
    return importlib.util.find_spec("numba") is not None


def _in_blocks(
    work: Callable[[slice], int],
    n_queries: int,
    block_size: int,
    threads: int,
    progress: Callable[[int], object] | None,
) -> None:
    """Process all queries in blocks of equal size, with the same number of blocks for every thread."""
    n_blocks = threads * -(-n_queries // (block_size * threads))
    edges = [n_queries * block // n_blocks for block in range(n_blocks + 1)]
    blocks = [slice(start, stop) for start, stop in itertools.pairwise(edges) if start < stop]
    with ThreadPoolExecutor(threads) as pool:
        for done in pool.map(work, blocks):
            if progress is not None:
                progress(done)
