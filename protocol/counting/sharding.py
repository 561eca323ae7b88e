"""Counting a database that is larger than memory: in shards, parts of the database whose counts are added up.

Only the histograms can be added up. A bucket may have items in several shards, so the sizes of buckets are found by
sorting all codes in memory. Average precision with ties in database order is not supported, because it requires the
distances of all previous items.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError, counted, integer
from protocol.counting.counting import count
from protocol.counting.counts import HammingCounts
from protocol.truth.relevance import LabelRelevance, Relevance, check_relevance

SHARD_ITEMS = 1 << 20
"""The number of items in a shard. Counting one takes about 200 MB for 64 bits; shards of eight million items took four
times as long."""
MOST_SORTED = 2 << 30
"""The largest size in bytes, as 64-bit words, of all codes that are sorted in memory to find the buckets. Sorting takes
up to three times this memory."""


def count_in_shards(
    query_codes: NDArray[np.uint8],
    database_codes: NDArray[np.uint8],
    n_bits: int,
    relevances: Mapping[str, Relevance],
    *,
    shard_items: int = SHARD_ITEMS,
    bucket_sizes: bool = True,
    largest_bucket: bool = True,
    calls: int = 1,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> dict[str, HammingCounts]:
    """Count as in `protocol.counting.count`, with only one shard of the database in memory at a time.

    Parameters
    ----------
    query_codes : ndarray of uint8, shape (n_queries, ceil(n_bits / 8))
    database_codes : ndarray of uint8, shape (n_database, ceil(n_bits / 8))
        May be memory-mapped (`numpy.memmap`), or any array that is read by slices of rows.
    n_bits : int
    relevances : mapping of str to Relevance
    shard_items : int, default=SHARD_ITEMS
        The largest number of items in a shard. The results do not depend on it.
    bucket_sizes : bool, default=True
        Whether to return the array of this name. If there are several shards, all codes are sorted in memory for it.
    largest_bucket : bool, default=True
        Whether to return the array of this name. If there are several shards, this also requires counting those items a
        second time that share their code with another item.
    calls : int, default=1
        How many such calls the process will make, as for `count`.
    threads : int, default=1
        The results do not depend on it.
    progress : callable, optional
        Called with the number of queries that have just been compared with all items of the database.

    Returns
    -------
    dict of str to HammingCounts
        The counts for each ground truth.

    Raises
    ------
    ProtocolError
        As for `count`; or if there are several shards, buckets are requested and the codes take more than
        `MOST_SORTED` bytes.

    Examples
    --------
    >>> query, database = codes.pack([[0, 0, 0]]), codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1]])
    >>> truth = {"class": LabelRelevance([5], [5, 5, 6, 6])}
    >>> counts = count_in_shards(query, database, 3, truth, shard_items=2)["class"]
    >>> counts.retrieved, counts.relevant, counts.bucket_sizes, counts.largest_bucket
    (array([[1, 2, 0, 1]]), array([[1, 1, 0, 0]]), array([2, 1, 1]), array([[1, 2, 2, 2]]))
    """
    n_database, counter = len(database_codes), partial(count, query_codes, n_bits=n_bits, threads=threads)
    if n_database <= integer(shard_items, "shard_items"):
        counter = partial(counter, bucket_sizes=bucket_sizes, largest_bucket=largest_bucket)
        return counter(database_codes, relevances=relevances, calls=calls, progress=progress)
    codes.check(query_codes, n_bits, "query codes")
    for name, relevance in relevances.items():
        check_relevance(relevance, len(query_codes), n_database, name)
    shards = list(_shards(n_database, shard_items))
    sizes, repeated = None, []
    if bucket_sizes or largest_bucket:
        buckets = _Buckets.of(database_codes, n_bits, shards)
        sizes = buckets.sizes if bucket_sizes else None
        repeated = list(buckets.repeated(shard_items)) if largest_bucket else []
        del buckets
    report = _Progress(progress, len(query_codes), n_database + sum(map(len, repeated)))

    def counted(part: NDArray[np.uint8], truths: Mapping[str, Relevance], *, largest: bool) -> dict[str, HammingCounts]:
        done, of_buckets = report.of_part(len(part)), {"bucket_sizes": False, "largest_bucket": largest}
        return counter(part, relevances=truths, calls=calls * len(shards), progress=done, **of_buckets)

    largest = np.zeros((len(query_codes), n_bits + 1), dtype=np.int64)
    while repeated:
        part = codes.from_words(repeated.pop(), n_bits)
        nothing = LabelRelevance(np.zeros(len(query_codes), dtype=np.int64), np.ones(len(part), dtype=np.int64))
        np.maximum(largest, counted(part, {"": nothing}, largest=True)[""].requested("largest_bucket"), out=largest)
    total: dict[str, HammingCounts] = {}
    for items in shards:
        truths = {name: relevance.part(items.start, items.stop) for name, relevance in relevances.items()}
        of_shard = counted(np.asarray(database_codes[items]), truths, largest=False)
        total = {name: total[name] + counts for name, counts in of_shard.items()} if total else of_shard
    for counts in total.values():  # at least 1 if the ball has an item
        np.maximum(largest, counts.retrieved_within > 0, out=largest)
    largest_buckets = largest if largest_bucket else None
    return {name: replace(counts, bucket_sizes=sizes, largest_bucket=largest_buckets) for name, counts in total.items()}


def shard(n_items: int, number: int, n_shards: int) -> slice:
    """Return the items of one of `n_shards` shards, whose sizes differ by at most one.

    Parameters
    ----------
    n_items : int
        The size of the database.
    number : int
        The number of the shard, from 0.
    n_shards : int

    Raises
    ------
    ProtocolError
        If there are more shards than items.

    Examples
    --------
    >>> [shard(7, number, 3) for number in range(3)]
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    if n_shards > n_items:
        raise ProtocolError(f"{n_shards:,} shards for {counted(n_items, 'database item')}: each shard needs an item.")
    return slice(n_items * number // n_shards, n_items * (number + 1) // n_shards)


def _shards(n_items: int, most: int) -> Iterator[slice]:
    n_shards = -(-n_items // most)
    return (shard(n_items, number, n_shards) for number in range(n_shards))


@dataclass(frozen=True)
class _Buckets:
    """The buckets of a database, from its sorted codes.

    Parameters
    ----------
    words : ndarray of uint64, shape (n, n_words)
        The codes of all items that share their code with another item, sorted.
    of_several : ndarray of int64, shape (n_repeated,)
        The sizes of these buckets, in the order of `words`.
    of_one : int
        The number of buckets of one item.
    """

    words: NDArray[np.uint64]
    of_several: NDArray[np.int64]
    of_one: int

    @classmethod
    def of(cls, database_codes: NDArray[np.uint8], n_bits: int, shards: list[slice]) -> Self:
        """Return the buckets of a database, reading its codes one shard at a time."""
        shape = (len(database_codes), -(-n_bits // 64))
        if 8 * shape[0] * shape[1] > MOST_SORTED:
            raise ProtocolError(
                f"database codes: {shape[0]:,} of {n_bits} bits are more than the {MOST_SORTED // (8 * shape[1]):,} "
                "that metrics of buckets, such as utilisation and mLGAP, can sort in memory. Choose other metrics."
            )
        words = np.empty(shape, dtype=np.uint64)
        for items in shards:
            part = np.asarray(database_codes[items])
            codes.check(part, n_bits, "database codes")
            words[items] = codes.words(part)
        if shape[1] == 1:
            words.ravel().sort()
        else:
            words = words[np.lexsort(words.T)]
        is_first = np.ones(len(words) + 1, dtype=bool)  # in its bucket; the last entry marks the end
        is_first[1:-1] = False
        for column in words.T:
            is_first[1:-1] |= column[1:] != column[:-1]
        alone = is_first[:-1] & is_first[1:]
        starts, ends = (np.flatnonzero(edge & ~alone) for edge in (is_first[:-1], is_first[1:]))
        return cls(words[~alone], ends + 1 - starts, int(np.count_nonzero(alone)))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The sizes of all buckets, descending."""
        return np.concatenate([np.sort(self.of_several)[::-1], np.ones(self.of_one, dtype=np.int64)])

    def repeated(self, n_items: int) -> Iterator[NDArray[np.uint64]]:
        """Yield the codes of the buckets with several items, in blocks of complete buckets of about `n_items` items."""
        ends = np.append(0, np.cumsum(self.of_several))
        after = np.searchsorted(ends, np.arange(0, ends[-1], n_items))
        edges = np.unique(np.append(ends[after], ends[-1]))
        return (self.words[start:stop] for start, stop in itertools.pairwise(edges.tolist()))


class _Progress:
    """Reports the number of processed queries, from the number of processed pairs of a query and an item."""

    def __init__(self, progress: Callable[[int], object] | None, n_queries: int, n_items: int) -> None:
        self._progress, self._n_queries, self._n_items = progress, n_queries, n_items
        self._pairs = self._reported = 0

    def of_part(self, n_items: int) -> Callable[[int], object] | None:
        """Return the progress function for counting a part."""
        return None if self._progress is None else lambda queries: self._add(queries * n_items)

    def _add(self, pairs: int) -> None:
        self._pairs += pairs
        done = self._pairs // self._n_items
        if done > self._reported and self._progress is not None:
            self._progress(done - self._reported)
            self._reported = done
