"""The k nearest items, and those within a radius, equal those of a full matrix of distances in float64, with ties."""

import itertools
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plainly import all_distances, peak_memory

from protocol import checks
from protocol.truth import _neighbour_search, nearest, neighbours_within
from protocol.truth._neighbour_search import Keys

DISTANCES = ["euclidean", "cosine", "dot"]
TYPES = ["float32", "float64", "float16", "int8", "uint8", "int64"]


def obvious(query, database, k, distance):
    """Return the neighbours of each query, and their distances, from all distances."""
    values = all_distances(query, database, distance)
    near = values <= np.sort(values, axis=1)[:, [k - 1]]
    return [np.flatnonzero(row).tolist() for row in near], values[near].tolist()


def as_lists(indptr, indices):
    assert indptr.dtype == indices.dtype == np.int64
    return [indices[a:b].tolist() for a, b in itertools.pairwise(indptr)]


@st.composite
def searches(draw):
    """Return vectors that are hard to distinguish in float32: ties, offsets, and all magnitudes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype, d = draw(st.sampled_from(TYPES)), draw(st.sampled_from([1, 2, 3, 8, 33]))
    n = draw(st.integers(2, 40))
    if "int" in dtype:
        largest = 2**40 if dtype == "int64" and draw(st.booleans()) else 3
        X = rng.integers(0 if dtype == "uint8" else -largest, largest + 1, (n, d)).astype(dtype)
    else:
        X = rng.standard_normal((n, d))
        X = np.round(3 * X) if draw(st.booleans()) else X[rng.integers(0, n, n)]
        X += draw(st.sampled_from([0.0, 0.1, 100.0, 2.0**20, -1e7]))
        X *= 10.0 ** rng.uniform(-6, 6, (n, 1)) if draw(st.booleans()) else 1
        scales = {"float32": [1.0, 1e-3, 1e-20, 1e-44, 1e25], "float64": [1.0, 1e-120, 1e-100, 1e100, 1e130]}
        X *= draw(st.sampled_from(scales.get(dtype, [1.0])))
        if draw(st.booleans()):
            X[:, 0] = 1e30
        X = (np.clip(X, -6e4, 6e4) if dtype == "float16" else X).astype(dtype)
    n_queries = draw(st.integers(1, n - 1))
    return X[:n_queries], X[n_queries:]


@settings(deadline=None, max_examples=60)
@given(
    searches(),
    st.integers(1, 40),
    st.sampled_from(DISTANCES),
    st.sampled_from([(1, 1, 0), (5, 3, 2), (16, 4096, 0), (512, 4096, 1024)]),
    st.sampled_from([1, 2]),
)
def test_the_nearest_equal_the_sorted_matrix_of_distances(search, k, distance, sizes, threads):
    query, database = search
    if distance == "cosine":
        query[~query.any(axis=1)] = 1
        database[~database.any(axis=1)] = 1
    k = min(k, len(database))
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(("TILE", "_QUERIES", "_EXTRA_CANDIDATES"), sizes, strict=True):
            patch.setattr(_neighbour_search, name, size)
        found = nearest(query, database, k, distance=distance, threads=threads)
    rows, apart = obvious(query, database, k, distance)
    assert as_lists(found.indptr, found.indices) == rows
    assert found.distances.tolist() == apart
    fewer = (k + 1) // 2
    assert as_lists(*found.first(fewer)) == obvious(query, database, fewer, distance)[0]


FACTORS = [1.0, 1.0, 1 + 1e-15, 1 - 1e-15, 1 - 1e-9, 1 + 1e-7, 1 - 1e-5, 0.5, 2.0, 0.0, 1e-12]
"""Radii in units of a pair's distance."""


@settings(deadline=None, max_examples=120)
@given(searches(), st.sampled_from(FACTORS), st.sampled_from([1, 5, 16, 512]))
def test_the_neighbours_within_a_radius_equal_those_by_the_matrix_of_distances(search, factor, tile):
    query, database = search
    apart = all_distances(query, database, "euclidean")
    radius = float(apart[0, -1] * factor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_neighbour_search, "TILE", tile)
        found = neighbours_within(query, database, radius)
    assert as_lists(*found) == [np.flatnonzero(row <= radius).tolist() for row in apart]


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_adds_up_and_is_shown_by_the_calling_thread(threads, monkeypatch):
    monkeypatch.setattr(_neighbour_search, "_QUERIES", 7)
    X = np.random.default_rng(0).standard_normal((1500, 4)).astype(np.float32)
    done = []
    nearest(X[:20], X, 3, threads=threads, progress=lambda n: done.append((n, threading.current_thread())))
    assert sum(n for n, _ in done) == 20 * 1500
    assert {thread for _, thread in done} == {threading.current_thread()}


@pytest.mark.parametrize(("distance", "dtype"), [*zip(DISTANCES, ["float32", "float64", "uint8"], strict=True)])
def test_memory_does_not_grow_with_a_mapped_database(distance, dtype, tmp_path):
    rng = np.random.default_rng(0)
    path, (n, d) = tmp_path / "x.npy", (20_000, 96)
    np.save(path, (1 + 254 * rng.random((n, d))).astype(dtype))
    database = np.load(path, mmap_mode="r")
    query = np.array(database[:50])
    found, peak = peak_memory(lambda: nearest(query, database, 10, distance=distance, threads=2))
    assert found.indices.size >= 500
    assert peak < 16e6  # 4 MB of it for checks and sample; the database in float32 takes 15 MB, all products 8 MB


def test_memory_is_bounded_if_float32_distinguishes_no_pair():
    rng = np.random.default_rng(0)
    database = np.repeat([[-1.0], [1.0]], 10_000, axis=0) + 1e-9 * rng.standard_normal((20_000, 1))
    query = database[::1000].copy()
    found, peak = peak_memory(lambda: nearest(query, database, 5))
    expected = [sorted(np.argsort(np.abs(database[:, 0] - a), kind="stable")[:5].tolist()) for a in query[:, 0]]
    assert as_lists(found.indptr, found.indices) == expected
    assert peak < 10e6  # 20 x 20,000 pairs take 13 MB


def test_items_much_larger_than_the_sample_are_found():
    database = np.ones((3000, 4), dtype=np.float32)
    database[1] = 1e30
    database[2] = -1e35
    found = nearest(database[:1] * 1e10, database, 2, distance="dot")
    assert 1 in found.indices
    assert found.indices.size == 2999
    found = nearest(database[:1], database, 2999)
    assert found.indices.tolist() == [0, 1, *range(3, 3000)]


def test_a_radius_beyond_all_items_finds_them_all():
    X = np.array([[-3e38, 3e38], [3e38, -3e38], [0, 1e-45]], dtype=np.float32)
    assert as_lists(*neighbours_within(X, X, np.inf)) == [[0, 1, 2]] * 3


def test_memory_is_bounded_if_every_pair_is_on_the_boundary():
    database = np.zeros((1200, 64), dtype=np.float32)
    database[:, ::16] = 1  # every item at distance 2 of every query; their differences take 430 MB in float64
    query = np.zeros((700, 64), dtype=np.float32)
    (_, indices), peak = peak_memory(lambda: neighbours_within(query, database, 2.0))
    assert indices.size == 700 * 1200
    assert peak < 40e6


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 16, 60]),
    st.sampled_from([0.0, 3.0, 1e4]),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from(["euclidean", "cosine", "dot"]),
)
def test_the_interval_of_a_pair_is_narrow_and_contains_the_key_in_exact_arithmetic(seed, d, offset, dtype, distance):
    rng = np.random.default_rng(seed)
    X = (offset + 10 ** rng.uniform(-3, 3, (16, 1)) * rng.standard_normal((16, d))).astype(dtype)
    query, database = X[:4], X[4:]
    keys = Keys(database, distance)
    found = keys.within(keys.queries(query), keys.items(database), np.full(4, np.inf))
    assert len(found.rows) == 48
    exact = [[Fraction(float(x)) for x in row] for row in X]
    for i, j, low, high in zip(*found, strict=True):
        a, b = exact[i], exact[4 + j]
        inner, squares = sum(x * y for x, y in zip(a, b, strict=True)), [sum(x * x for x in v) for v in (a, b)]
        if distance == "cosine":
            key, size = 1 - float(inner / Fraction(float(squares[0] * squares[1]) ** 0.5)), 1
        else:
            key = sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) if distance == "euclidean" else -inner
            size = 4 * float((X.astype(np.float64) ** 2).sum(axis=1).max())
        assert low <= key <= high
        assert high - low <= 1e-12 * size


def test_without_threadpoolctl_the_result_is_the_same_and_it_warns_once_that_one_thread_is_used(monkeypatch):
    X = np.random.default_rng(0).standard_normal((600, 5))
    expected = nearest(X[:9], X, 4, threads=2)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    checks.warn_once.cache_clear()
    nearest(X[:9], X, 4)  # a warning would be an error
    with pytest.warns(UserWarning, match=r"^threadpoolctl is not installed, so one thread is used instead of 2\. "):
        found = nearest(X[:9], X, 4, threads=2)
    nearest(X[:9], X, 4, threads=2)
    np.testing.assert_array_equal(found.indices, expected.indices)
