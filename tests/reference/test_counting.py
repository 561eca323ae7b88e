"""Counting against the distances of all pairs, query by query."""

import numpy as np
import pytest

from protocol import codes
from protocol.counting import _compiled, _plain, count, counting
from protocol.counting._compiled import BitPlanes, Words
from protocol.counting._plain import Buckets, Plain, Shell
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

LENGTHS = (1, 7, 8, 9, 16, 17, 63, 64, 65, 128, 255, 256, 512, 1024, 4096)
ALGORITHMS = (Plain, BitPlanes, Words, Shell)
LONGEST = {Shell: 9, BitPlanes: 512}
CASES = [
    (algorithm, n_bits) for algorithm in ALGORITHMS for n_bits in LENGTHS if n_bits <= LONGEST.get(algorithm, 4096)
]
CASES.append((Shell, 16))


@pytest.fixture
def forced(monkeypatch, algorithm):
    monkeypatch.setattr(counting, "_choose", lambda *args: algorithm)


def in_database_order(distances, levels, n_bits, all_levels):
    """Return the precisions at the relevant items, summed by distance, the top, and the discounts, of one query."""
    relevant = levels > 0
    order, by_distance, n_relevant = np.argsort(distances, kind="stable"), np.zeros(n_bits + 1), int(relevant.sum())
    ranks = np.flatnonzero(relevant[order]) + 1
    precisions = [hits / rank for hits, rank in enumerate(ranks.tolist(), start=1)]
    for rank, precision in zip(ranks, precisions, strict=True):
        by_distance[distances[order[rank - 1]]] += precision
    top = [precision for rank, precision in zip(ranks, precisions, strict=True) if rank <= n_relevant]
    of_ranks = levels[order[ranks - 1]]
    discounts = [sum(1 / np.log2(rank + 1) for rank in ranks[of_ranks == level]) for level in all_levels]
    return by_distance, [ranks[0] if ranks.size else 0, len(top), sum(top)], discounts


def check(query, database, n_bits, truths, **options):
    """Count, and compare with the distances; `truths` has (relevance, level of each query and item) by name."""
    given = query.copy(), database.copy()
    counts = count(query, database, n_bits, {name: relevance for name, (relevance, _) in truths.items()}, **options)
    np.testing.assert_array_equal(np.vstack([query, database]), np.vstack(given))
    distances = codes.hamming_distance(query, database)
    each, sizes = np.unique(database, axis=0, return_counts=True)
    to_each = codes.hamming_distance(query, each)
    for name, (_, level_of) in truths.items():
        found = counts[name]
        for q, (row, levels) in enumerate(zip(distances, level_of, strict=True)):
            np.testing.assert_array_equal(found.retrieved[q], np.bincount(row, minlength=n_bits + 1))
            for level, here in zip(found.levels, found.at_level[q], strict=True):
                np.testing.assert_array_equal(here, np.bincount(row[levels == level], minlength=n_bits + 1))
            if options.get("index_order"):
                precisions, top, discounts = in_database_order(row, levels, n_bits, found.levels)
                np.testing.assert_allclose(found.index_precisions[q], precisions, rtol=1e-12)
                np.testing.assert_allclose(found.index_top[q], top, rtol=1e-12)
                np.testing.assert_allclose(found.index_discounts[q], discounts, rtol=1e-12)
        assert set(np.unique(level_of)) - {0} <= set(found.levels.tolist())
        if options.get("buckets", True):
            for radius in range(n_bits + 1):
                largest = np.where(to_each <= radius, sizes, 0).max(axis=1)
                np.testing.assert_array_equal(found.largest_bucket[:, radius], largest)
            assert found.bucket_sizes.tolist() == sorted(sizes.tolist(), reverse=True)
        else:
            assert found.bucket_sizes is None
    return counts


def random_codes(rng, n, n_bits, n_distinct):
    return codes.pack((rng.random((n_distinct, n_bits)) < 0.5)[rng.integers(0, n_distinct, n)])


def of_classes(of_query, of_database):
    return LabelRelevance(of_query, of_database), (of_query[:, None] == of_database).astype(int)


def of_labels(of_query, of_database):
    return LabelRelevance(of_query, of_database), of_query.astype(int) @ of_database.T.astype(int)


def of_lists(levels, *, graded=True):
    """Return lists of the items that have a level, with these levels or all with level 1."""
    indptr = np.append(0, np.cumsum((levels > 0).sum(axis=1)))
    items = np.nonzero(levels)[1], levels.shape[1]
    if graded:
        return NeighbourRelevance(indptr, *items, levels[levels > 0]), levels
    return NeighbourRelevance(indptr, *items), (levels > 0).astype(int)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(("algorithm", "n_bits"), CASES)
@pytest.mark.parametrize(("n_queries", "n_items", "n_distinct"), [(6, 50, 20), (4, 1, 1), (1, 30, 4)])
def test_several_truths_at_once(algorithm, n_bits, n_queries, n_items, n_distinct):
    """Classes, one of them negative, lists with and without levels and, unless it is `BitPlanes`, several labels."""
    rng = np.random.default_rng(n_bits)
    pool = random_codes(rng, n_queries + n_items, n_bits, n_distinct)
    levels = rng.integers(0, 4, (n_queries, n_items)) * (rng.random((n_queries, n_items)) < 0.3)
    truths = {"class": of_classes(rng.integers(-1, 3, n_queries), rng.integers(-1, 3, n_items))}
    truths |= {"graded": of_lists(levels), "ball": of_lists(levels, graded=False)}
    if algorithm is not BitPlanes:
        of_query, of_database = rng.random((n_queries, 5)) < 0.4, rng.random((n_items, 5)) < 0.4
        of_query[0] = False  # a query without labels
        truths["labels"] = of_labels(of_query, of_database)
    for index_order in (False, True):
        check(pool[:n_queries], pool[n_queries:], n_bits, truths, index_order=index_order)


def labelled(rng, algorithm, n_queries, n_items):
    """Return classes that start and stop at borders of words, and several labels unless they are for `BitPlanes`."""
    of_database = np.searchsorted([1, 63, 64, 512], np.arange(n_items), "right")
    truths = {"class": of_classes(rng.integers(0, 5, n_queries), of_database)}
    if algorithm is not BitPlanes:
        several = np.eye(5, dtype=bool)[of_database] | (rng.random((n_items, 5)) < 0.1)
        truths["labels"] = of_labels(rng.random((n_queries, 5)) < 0.3, several)
    return truths


BORDERS = (63, 64, 65, 1025, 8191, 8192)
LARGE = [
    *((algorithm, 12, 70, 9_000, n_distinct) for algorithm in ALGORITHMS for n_distinct in (1, 10**6)),
    *((algorithm, 70, 70, 9_000, n_distinct) for algorithm in (Plain, Words, BitPlanes) for n_distinct in (1, 10**6)),
    *((BitPlanes, n_bits, 5, n_items, 700) for n_bits in (40, 200) for n_items in BORDERS),
    *((Words, n_bits, 5, n_items, 700) for n_bits in (40, 1000) for n_items in BORDERS),
]


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(("algorithm", "n_bits", "n_queries", "n_items", "n_distinct"), LARGE)
def test_tiles_their_borders_and_threads(algorithm, n_bits, n_queries, n_items, n_distinct):
    """Several tiles, with a last one that is partly filled; bits with unlike shares of ones."""
    rng = np.random.default_rng(n_items)
    pool = rng.random((min(n_distinct, n_queries + n_items), n_bits)) < rng.random(n_bits)
    chosen = codes.pack(pool[rng.integers(0, len(pool), n_queries + n_items)])
    query, database, truths = chosen[:n_queries], chosen[n_queries:], labelled(rng, algorithm, n_queries, n_items)
    alone = check(query, database, n_bits, truths, index_order=True)
    relevance = {name: relevance for name, (relevance, _) in truths.items()}
    threaded = count(query, database, n_bits, relevance, index_order=True, threads=3)
    for name in truths:
        for array, again in zip(alone[name].to_arrays().values(), threaded[name].to_arrays().values(), strict=True):
            np.testing.assert_array_equal(array, again)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("limits", [["_PAIRS", "_LEAST_QUERIES", "_ROW_BYTES", "_HISTOGRAM_BYTES"], ["_ROW_BYTES"]])
@pytest.mark.parametrize(("algorithm", "n_bits"), [(BitPlanes, 64), (BitPlanes, 5), (Words, 300)])
def test_blocks_of_queries(monkeypatch, algorithm, n_bits, limits):
    """In one block for all counts, precisions in database order still have blocks of their own, of 16 queries."""
    for limit in limits:
        monkeypatch.setattr(_compiled, limit, 1)
    rng, done = np.random.default_rng(3), []
    query, database = random_codes(rng, 37, n_bits, 30), random_codes(rng, 600, n_bits, 100)
    truths = labelled(rng, algorithm, 37, 600)
    check(query, database, n_bits, truths, index_order=True, progress=done.append)
    assert len(done) > 2 or (algorithm, limits) == (BitPlanes, ["_ROW_BYTES"])


@pytest.mark.parametrize("n_words", [1, 3])
@pytest.mark.parametrize("collide", [False, True])
def test_buckets_do_not_depend_on_the_hashes(monkeypatch, n_words, collide):
    if collide:
        monkeypatch.setattr(_plain, "hashes", lambda words: words.sum(axis=1) % np.uint64(4))
    rng = np.random.default_rng(n_words)
    words = rng.integers(0, 3, (200, n_words)).astype(np.uint64)
    buckets = Buckets.of(words)
    each, sizes = np.unique(words, axis=0, return_counts=True)
    assert buckets.sizes.tolist() == sorted(sizes.tolist(), reverse=True)
    expected = {tuple(code): size for code, size in zip(each.tolist(), sizes.tolist(), strict=True) if size > 1}
    repeated = map(tuple, buckets.repeated_words.tolist())
    assert dict(zip(repeated, buckets.repeated_sizes.tolist(), strict=True)) == expected
