"""Counting a database that is larger than memory: in shards, parts of the database whose counts are added up.

Only the histograms can be added up. A bucket may have items in several shards, so the sizes of buckets are found by
sorting all codes in memory. Average precision with ties in database order is not supported, because it requires the
distances of all previous items.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from protocol import codes
from protocol.checks import ProtocolError, counted, integer
from protocol.counting._plain import Buckets
from protocol.counting.counting import count, largest_buckets
from protocol.counting.counts import HammingCounts, Packed, total_of
from protocol.parallel import Step, unreported
from protocol.truth.relevance import Relevance, check_relevance

SHARD_ITEMS = 1 << 20
"""The number of items in a shard. Counting one takes about 200 MB for 64 bits; shards of eight million items took four
times as long."""
MOST_SORTED = 2 << 30
"""The largest size in bytes, as 64-bit words, of all codes that are sorted in memory to find the buckets. Sorting takes
up to three times this memory."""


def count_in_shards(
    query_codes: Packed,
    database_codes: Packed,
    n_bits: int,
    relevances: Mapping[str, Relevance],
    *,
    shard_items: int = SHARD_ITEMS,
    buckets: bool = True,
    threads: int = 1,
    progress: Step = unreported,
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
    buckets : bool, default=True
        Whether to find the buckets. If there are several shards, all codes are sorted in memory for it, and compared
        with those that several items share.
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
    >>> from protocol.truth.relevance import LabelRelevance
    >>> query, database = codes.pack([[0, 0, 0]]), codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1]])
    >>> truth = {"class": LabelRelevance([5], [5, 5, 6, 6])}
    >>> counts = count_in_shards(query, database, 3, truth, shard_items=2)["class"]
    >>> counts.retrieved, counts.relevant, counts.bucket_sizes, counts.largest_bucket
    (array([[1, 2, 0, 1]]), array([[1, 1, 0, 0]]), array([2, 1, 1]), array([[1, 2, 2, 2]]))
    """
    n_queries, n_database = len(query_codes), len(database_codes)
    counted = partial(count, query_codes, n_bits=n_bits, threads=threads)
    if n_database <= integer(shard_items, "shard_items"):
        return counted(database_codes, relevances=relevances, buckets=buckets, progress=progress)
    for name, relevance in relevances.items():
        check_relevance(relevance, n_queries, n_database, name)
    n_shards = -(-n_database // shard_items)
    shards = [shard(n_database, number, n_shards) for number in range(n_shards)]
    of_database = _buckets(database_codes, n_bits, shards) if buckets else None
    total: dict[str, HammingCounts] = {}
    for items in shards:
        parts = {name: relevance.part(items.start, items.stop) for name, relevance in relevances.items()}
        total = total_of(total, counted(np.asarray(database_codes[items]), relevances=parts, buckets=False))
        progress(n_queries * items.stop // n_database - n_queries * items.start // n_database)
    if of_database is None:
        return total
    retrieved = next(iter(total.values())).retrieved
    largest = largest_buckets(query_codes, n_bits, of_database, retrieved, threads=threads)
    return {name: replace(own, bucket_sizes=of_database.sizes, largest_bucket=largest) for name, own in total.items()}


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


def _buckets(database_codes: Packed, n_bits: int, shards: list[slice]) -> Buckets:
    """Return the buckets of a database, reading its codes one shard at a time."""
    shape = (len(database_codes), -(-n_bits // 64))
    if 8 * shape[0] * shape[1] > MOST_SORTED:
        size = f"database codes: {shape[0]:,} of {n_bits} bits are more than the {MOST_SORTED // (8 * shape[1]):,} that"
        sort = "metrics of buckets, such as utilisation and mLGAP, can sort in memory"
        raise ProtocolError(f"{size} {sort}. Choose other metrics.")
    words = np.empty(shape, dtype=np.uint64)
    for items in shards:
        part = np.asarray(database_codes[items])
        codes.check(part, n_bits, "database codes")
        words[items] = codes.words(part)
    return Buckets.of(words)
