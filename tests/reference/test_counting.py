"""Counting against loops over every query, item and distance."""

import numpy as np
import pytest

from protocol import codes
from protocol.ranking import LabelRelevance, NeighbourRelevance, count

LENGTHS = (1, 7, 8, 9, 16, 17, 63, 64, 65, 128, 512)


def slow_counts(query, database, n_bits, level_of):
    """`level_of[q, i]` is 0 where item i is not relevant to query q."""
    distances = codes.hamming_distance(query, database)
    levels = sorted(set(level_of.ravel().tolist()) - {0})
    retrieved = np.zeros((len(query), n_bits + 1), dtype=int)
    largest = np.zeros_like(retrieved)
    at_level = {level: np.zeros_like(retrieved) for level in levels}
    buckets = {}
    for item, code in enumerate(database):
        buckets.setdefault(code.tobytes(), []).append(item)
    for q in range(len(query)):
        for item in range(len(database)):
            retrieved[q, distances[q, item]] += 1
            if level_of[q, item]:
                at_level[level_of[q, item]][q, distances[q, item]] += 1
        for radius in range(n_bits + 1):
            inside = [len(items) for items in buckets.values() if distances[q, items[0]] <= radius]
            largest[q, radius] = max(inside, default=0)
    sizes = sorted((len(items) for items in buckets.values()), reverse=True)
    return retrieved, at_level, largest, sizes


def assert_counts(counts, slow):
    retrieved, at_level, largest, sizes = slow
    np.testing.assert_array_equal(counts.retrieved, retrieved)
    np.testing.assert_array_equal(counts.largest_bucket, largest)
    assert counts.bucket_sizes.tolist() == sizes
    for level, here in zip(counts.levels.tolist(), counts.at_level.swapaxes(0, 1), strict=True):
        np.testing.assert_array_equal(here, at_level.get(level, np.zeros_like(retrieved)))
    assert set(at_level) <= set(counts.levels.tolist())


def random_codes(rng, n, n_bits, n_distinct):
    return codes.pack((rng.random((n_distinct, n_bits)) < 0.5)[rng.integers(0, n_distinct, n)])


@pytest.mark.parametrize("n_bits", LENGTHS)
@pytest.mark.parametrize(("n_queries", "n_items", "n_distinct"), [(5, 40, 12), (1, 30, 30), (4, 1, 1), (3, 20, 1)])
def test_class_labels(n_bits, n_queries, n_items, n_distinct):
    rng = np.random.default_rng(n_bits)
    pool = random_codes(rng, n_queries + n_items, n_bits, n_distinct)
    query, database = pool[:n_queries], pool[n_queries:]
    of_query, of_database = rng.integers(-1, 3, n_queries), rng.integers(-1, 3, n_items)
    counts = count(query, database, n_bits, {"class": LabelRelevance(of_query, of_database)})["class"]
    level_of = (of_query[:, None] == of_database).astype(int)
    assert_counts(counts, slow_counts(query, database, n_bits, level_of))


@pytest.mark.parametrize("n_bits", LENGTHS)
def test_several_truths_at_once(n_bits):
    rng = np.random.default_rng(n_bits)
    query, database = random_codes(rng, 6, n_bits, 6), random_codes(rng, 50, n_bits, 20)
    of_query, of_database = rng.random((6, 5)) < 0.4, rng.random((50, 5)) < 0.4
    of_query[0] = False  # a query without labels
    shared = of_query.astype(int) @ of_database.T.astype(int)
    listed = rng.integers(0, 4, (6, 50)) * (rng.random((6, 50)) < 0.3)
    indptr = np.append(0, np.cumsum((listed > 0).sum(axis=1)))
    truths = {
        "labels": LabelRelevance(of_query, of_database),
        "graded": NeighbourRelevance(indptr, np.nonzero(listed)[1], 50, listed[listed > 0]),
        "ball": NeighbourRelevance(indptr, np.nonzero(listed)[1], 50),
    }
    counts = count(query, database, n_bits, truths)
    assert_counts(counts["labels"], slow_counts(query, database, n_bits, shared))
    assert_counts(counts["graded"], slow_counts(query, database, n_bits, listed))
    assert_counts(counts["ball"], slow_counts(query, database, n_bits, (listed > 0).astype(int)))


@pytest.mark.parametrize("labels", [(0, 1), (0, 0)], ids=["none relevant", "all relevant"])
def test_extreme_truths(labels):
    rng = np.random.default_rng(0)
    query, database = random_codes(rng, 3, 10, 3), random_codes(rng, 20, 10, 9)
    truth = LabelRelevance(np.full(3, labels[0]), np.full(20, labels[1]))
    level_of = np.full((3, 20), int(labels[0] == labels[1]))
    assert_counts(count(query, database, 10, {"t": truth})["t"], slow_counts(query, database, 10, level_of))
