"""Counting in shards: the same counts as at once, whatever the shards, and no more than a shard in memory."""

import numpy as np
import pytest
from encoded import message_of, refuses
from plainly import assert_same_counts, peak_memory

from protocol import codes
from protocol.counting import HammingCounts, count, count_in_shards, shard, sharding
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

N_QUERIES, N_DATABASE = 7, 103


def relevances(rng):
    """Class labels, sets of labels, and neighbours with levels, one of them only in the last items."""
    relevant = rng.random((N_QUERIES, N_DATABASE)) < 0.2
    relevant[3] = False
    indptr = np.append(0, np.cumsum(relevant.sum(axis=1)))
    levels = rng.integers(1, 4, indptr[-1])
    levels[-1] = 9
    neighbours = NeighbourRelevance(indptr, np.nonzero(relevant)[1], N_DATABASE, levels)
    many = rng.random((N_DATABASE, 5)) < 0.3
    many[: N_DATABASE // 2, 2:] = False  # three shared labels occur only in the second half
    return {
        "labels": LabelRelevance(rng.integers(0, 4, N_QUERIES), rng.integers(0, 5, N_DATABASE)),
        "sets": LabelRelevance(rng.random((N_QUERIES, 5)) < 0.6, many),
        "neighbours": neighbours,
    }


def pair(rng, n_bits):
    bits = (rng.random((n, n_bits)) < 0.2 for n in (N_QUERIES, N_DATABASE))  # many equal codes
    return tuple(map(codes.pack, bits))


@pytest.mark.parametrize(("shard_items", "threads"), [(1, 1), (10, 2), (52, 1), (102, 1), (103, 2)])
@pytest.mark.parametrize("n_bits", [5, 16, 70])
def test_the_counts_of_shards_are_those_of_the_database(n_bits, shard_items, threads):
    rng = np.random.default_rng(0)
    truths, (query, database) = relevances(rng), pair(rng, n_bits)
    found = count_in_shards(query, database, n_bits, truths, shard_items=shard_items, threads=threads)
    expected = count(query, database, n_bits, truths)
    assert list(found) == list(expected)
    for name, counts in expected.items():
        assert_same_counts(found[name], counts)


def test_refusals(monkeypatch):
    rng = np.random.default_rng(6)
    truths, (query, database) = relevances(rng), pair(rng, 16)

    def refused(**options):
        return message_of(count_in_shards, query, database, 16, truths, **options)

    assert refused(shard_items=0) == "shard_items must be an integer >= 1, got 0."
    monkeypatch.setattr(sharding, "MOST_SORTED", 800)
    message = "database codes: 103 of 16 bits are more than the 100 that metrics of buckets"
    refuses(message, count_in_shards, query, database, 16, truths, shard_items=20)
    assert count_in_shards(query, database, 16, truths, shard_items=20, buckets=False)
    refuses(r"^4 shards for 3 database items: each shard needs an item\.$", shard, 3, 0, 4)


def test_memory_is_that_of_a_shard(tmp_path, monkeypatch):
    """Codes and labels, 64 MB, stay in their files; counting reads one shard at a time and needs little else."""
    for name, shape, dtype in (("codes", (4_000_000, 8), np.uint8), ("labels", (4_000_000,), np.int64)):
        np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", dtype, shape).flush()
    database, labels = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("codes", "labels"))
    counted = []

    def noted(query_codes, part, *, n_bits, relevances, **options):
        counted.append((len(part), relevances["t"].n_database))
        return {"t": HammingCounts.from_histograms([[len(part)]] * len(query_codes), [[0]] * len(query_codes))}

    monkeypatch.setattr(sharding, "count", noted)

    def counts():
        truth = {"t": LabelRelevance(np.zeros(2, dtype=int), labels)}
        return count_in_shards(database[:2], database, 64, truth, shard_items=50_000, buckets=False)["t"]

    found, peak = peak_memory(counts)
    assert found.n_database == 4_000_000
    assert counted == [(50_000, 50_000)] * 80
    assert peak < 2_000_000
