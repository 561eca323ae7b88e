"""Counting against loops over every query, item and distance."""

import numpy as np
import pytest

from protocol import codes
from protocol.counting import _buckets, _compiled, count, counting
from protocol.counting._buckets import Buckets
from protocol.counting._compiled import BitPlanes, Words
from protocol.counting._plain import Plain
from protocol.counting._shell import Shell
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


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(("algorithm", "n_bits"), CASES)
@pytest.mark.parametrize(("n_queries", "n_items", "n_distinct"), [(5, 40, 12), (1, 30, 30), (4, 1, 1), (3, 20, 1)])
def test_class_labels(algorithm, n_bits, n_queries, n_items, n_distinct):
    rng = np.random.default_rng(n_bits)
    pool = random_codes(rng, n_queries + n_items, n_bits, n_distinct)
    query, database = pool[:n_queries], pool[n_queries:]
    of_query, of_database = rng.integers(-1, 3, n_queries), rng.integers(-1, 3, n_items)
    counts = count(query, database, n_bits, {"class": LabelRelevance(of_query, of_database)})["class"]
    level_of = (of_query[:, None] == of_database).astype(int)
    assert_counts(counts, slow_counts(query, database, n_bits, level_of))


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    ("algorithm", "n_bits", "are_classes"),
    [(algorithm, n_bits, algorithm is BitPlanes) for algorithm, n_bits in CASES],
)
def test_several_truths_at_once(algorithm, n_bits, are_classes):
    """Lists, and labels as the algorithm counts them: one class of each item for `BitPlanes`, otherwise several."""
    rng = np.random.default_rng(n_bits)
    query, database = random_codes(rng, 6, n_bits, 6), random_codes(rng, 50, n_bits, 20)
    of_query, of_database = rng.random((6, 5)) < 0.4, rng.random((50, 5)) < 0.4
    of_query[0] = False  # a query without labels
    shared = of_query.astype(int) @ of_database.T.astype(int)
    if are_classes:
        of_query, of_database = rng.integers(0, 4, 6), rng.integers(0, 3, 50)
        shared = (of_query[:, None] == of_database).astype(int)
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


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("labels", [(0, 1), (0, 0)], ids=["none relevant", "all relevant"])
def test_extreme_truths(algorithm, labels):
    rng = np.random.default_rng(0)
    query, database = random_codes(rng, 3, 10, 3), random_codes(rng, 20, 10, 9)
    truth = LabelRelevance(np.full(3, labels[0]), np.full(20, labels[1]))
    level_of = np.full((3, 20), int(labels[0] == labels[1]))
    assert_counts(count(query, database, 10, {"t": truth})["t"], slow_counts(query, database, 10, level_of))


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    ("algorithm", "n_bits", "names"),
    [
        *((algorithm, 12, ["one", "several"]) for algorithm in (Plain, Words, Shell)),
        *((algorithm, 70, ["one", "several"]) for algorithm in (Plain, Words)),
        *((BitPlanes, n_bits, ["one"]) for n_bits in (12, 70)),
    ],
)
@pytest.mark.parametrize("n_distinct", [1, 4000, 10**6])
def test_many_items_blocks_and_threads(algorithm, n_bits, names, n_distinct):
    """Several tiles, with a last one that is partly filled; checked against distances as one matrix."""
    rng = np.random.default_rng(1)
    n_queries, n_items = 70, 20_000
    pool = rng.random((min(n_distinct, 20_070), n_bits)) < rng.random(n_bits)
    chosen = pool[rng.integers(0, len(pool), n_queries + n_items)]
    query, database = codes.pack(chosen[:n_queries]), codes.pack(chosen[n_queries:])
    of_query, of_database = rng.random((n_queries, 4)) < 0.3, rng.random((n_items, 4)) < 0.3
    one = rng.integers(0, 5, n_queries)
    truths = {
        "several": LabelRelevance(of_query, of_database),
        "one": LabelRelevance(one, np.arange(n_items) % 4),
    }
    truths = {name: truths[name] for name in names}
    alone, threaded = (count(query, database, n_bits, truths, index_order=True, threads=n) for n in (1, 3))
    distances = codes.hamming_distance(query, database)
    shared = of_query.astype(int) @ of_database.T.astype(int)
    for q in range(n_queries):
        np.testing.assert_array_equal(alone["one"].retrieved[q], np.bincount(distances[q], minlength=n_bits + 1))
        of_class = distances[q, np.arange(n_items) % 4 == one[q]]
        np.testing.assert_array_equal(alone["one"].relevant[q], np.bincount(of_class, minlength=n_bits + 1))
        for level in alone["several"].levels if "several" in alone else ():
            there = distances[q, shared[q] == level]
            row = alone["several"].at_level[q, level - 1]
            np.testing.assert_array_equal(row, np.bincount(there, minlength=n_bits + 1))
    each, sizes = np.unique(database, axis=0, return_counts=True)
    to_each = codes.hamming_distance(query, each)
    for radius in range(n_bits + 1):
        largest = np.where(to_each <= radius, sizes, 0).max(axis=1)
        np.testing.assert_array_equal(alone["one"].largest_bucket[:, radius], largest)
    for name in truths:
        for array, again in zip(alone[name].to_arrays().values(), threaded[name].to_arrays().values(), strict=True):
            np.testing.assert_array_equal(array, again)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    ("algorithm", "n_bits", "names"),
    [
        (BitPlanes, 40, ["class"]),
        (BitPlanes, 200, ["class"]),
        (Words, 40, ["class", "labels"]),
        (Words, 1000, ["class", "labels"]),
    ],
)
@pytest.mark.parametrize("n_items", [63, 64, 65, 1023, 1024, 1025, 8191, 8192, 8193])
def test_borders_of_vectors_and_tiles(algorithm, n_bits, names, n_items):
    """Classes that start and stop at these borders and near them, and an odd number of queries."""
    rng = np.random.default_rng(n_items)
    query, database = random_codes(rng, 5, n_bits, 5), random_codes(rng, n_items, n_bits, 700)
    of_query, of_database = np.array([0, 1, 2, 3, 4]), np.searchsorted([1, 63, 64, 512], np.arange(n_items), "right")
    shared = np.eye(5, dtype=bool)[:, of_database].T | (rng.random((n_items, 5)) < 0.1)
    several = np.eye(5, dtype=bool) | (rng.random((5, 5)) < 0.3)
    truths = {"class": LabelRelevance(of_query, of_database), "labels": LabelRelevance(several, shared)}
    counts = count(query, database, n_bits, {name: truths[name] for name in names}, largest_bucket=False)
    distances = codes.hamming_distance(query, database)
    at_level = {"class": (of_query[:, None] == of_database).astype(int), "labels": several.astype(int) @ shared.T}
    for name in names:
        level_of = at_level[name]
        for q in range(5):
            np.testing.assert_array_equal(counts[name].retrieved[q], np.bincount(distances[q], minlength=n_bits + 1))
            for level, row in zip(counts[name].levels, counts[name].at_level[q], strict=True):
                there = np.bincount(distances[q, level_of[q] == level], minlength=n_bits + 1)
                np.testing.assert_array_equal(row, there)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    ("algorithm", "n_bits", "names"), [(BitPlanes, 64, ["class"]), (Words, 300, ["class", "labels"])]
)
def test_blocks_of_queries(monkeypatch, algorithm, n_bits, names):
    monkeypatch.setattr(_compiled, "_PAIRS", 1)
    monkeypatch.setattr(_compiled, "_LEAST_QUERIES", 2)
    monkeypatch.setattr(_compiled, "_ROW_BYTES", 1)
    monkeypatch.setattr(_compiled, "_HISTOGRAM_BYTES", 1)
    rng = np.random.default_rng(3)
    query, database = random_codes(rng, 37, n_bits, 30), random_codes(rng, 600, n_bits, 100)
    truths = {
        "class": LabelRelevance(rng.integers(0, 3, 37), rng.integers(0, 3, 600)),
        "labels": LabelRelevance(rng.random((37, 4)) < 0.4, rng.random((600, 4)) < 0.4),
    }
    truths = {name: truths[name] for name in names}
    done = []
    found = count(query, database, n_bits, truths, index_order=True, progress=done.append)
    assert len(done) > 2
    monkeypatch.setattr(counting, "_choose", lambda *args: Plain)
    expected = count(query, database, n_bits, truths, index_order=True)
    for name in truths:
        for array, plain in zip(found[name].to_arrays().values(), expected[name].to_arrays().values(), strict=True):
            np.testing.assert_allclose(array, plain, rtol=1e-12)


@pytest.mark.parametrize("n_words", [1, 3])
@pytest.mark.parametrize("collide", [False, True])
def test_buckets_do_not_depend_on_the_hashes(monkeypatch, n_words, collide):
    if collide:
        monkeypatch.setattr(_buckets, "hashes", lambda words: words.sum(axis=1) % np.uint64(4))
    rng = np.random.default_rng(n_words)
    words = rng.integers(0, 3, (200, n_words)).astype(np.uint64)
    buckets = Buckets.of(words)
    each, sizes = np.unique(words, axis=0, return_counts=True)
    assert buckets.sizes.tolist() == sorted(sizes.tolist(), reverse=True)
    expected = {tuple(code): size for code, size in zip(each.tolist(), sizes.tolist(), strict=True) if size > 1}
    repeated = map(tuple, buckets.repeated_words.tolist())
    assert dict(zip(repeated, buckets.repeated_sizes.tolist(), strict=True)) == expected


def test_equal_codes_have_equal_hashes():
    words = np.arange(6, dtype=np.uint64).reshape(2, 3)[[0, 1, 0]]
    first, other, again = _buckets.hashes(words).tolist()
    assert first == again != other


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.usefixtures("forced")
def test_without_the_sizes_of_buckets(algorithm):
    rng = np.random.default_rng(0)
    query, database = random_codes(rng, 3, 10, 3), random_codes(rng, 20, 10, 9)
    truths = {"t": LabelRelevance(np.zeros(3, int), np.zeros(20, int))}
    counts, full = (count(query, database, 10, truths, bucket_sizes=sizes)["t"] for sizes in (False, True))
    assert counts.bucket_sizes is None
    np.testing.assert_array_equal(counts.largest_bucket, full.largest_bucket)
    np.testing.assert_array_equal(counts.retrieved, full.retrieved)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(("algorithm", "n_bits"), CASES)
@pytest.mark.parametrize(("n_items", "n_distinct"), [(1, 1), (30, 1), (30, 4), (30, 30)])
def test_average_precision_in_index_order(algorithm, n_bits, n_items, n_distinct):
    rng = np.random.default_rng(n_bits)
    pool = random_codes(rng, 6 + n_items, n_bits, n_distinct)
    query, database = pool[:6], pool[6:]
    of_query, of_database = np.array([0, 0, 1, 1, 2, 3]), rng.integers(0, 3, n_items)
    truth = LabelRelevance(of_query, of_database)
    listed = [np.flatnonzero(of_database == label) for label in of_query]
    neighbours = NeighbourRelevance(
        np.append(0, np.cumsum([row.size for row in listed])), np.concatenate(listed), n_items
    )
    counts = count(query, database, n_bits, {"labels": truth, "lists": neighbours}, index_order=True)
    reference = []
    for q, distances in enumerate(codes.hamming_distance(query, database).tolist()):
        ranking = sorted(range(n_items), key=distances.__getitem__)  # stable
        hits, precisions = 0, []
        for place, item in enumerate(ranking, start=1):
            if of_database[item] == of_query[q]:
                hits += 1
                precisions.append(hits / place)
        reference.append(sum(precisions) / hits if hits else np.nan)
    for name in counts:
        np.testing.assert_allclose(counts[name].index_average_precision, reference, rtol=1e-12)
    assert np.isnan(reference[-1])
