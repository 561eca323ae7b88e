import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from protocol.truth import _neighbour_search, neighbours_within
from protocol.truth._neighbour_search import Keys


def distance(a, b):
    return np.sqrt(((a.astype(np.float64) - b.astype(np.float64)) ** 2).sum())


def obvious(query, database, radius, strict):
    """Return the neighbours of each query as lists, pair by pair."""
    reached = [[distance(a, b) for b in database] for a in query]
    return [[j for j, it in enumerate(row) if (it < radius if strict else it <= radius)] for row in reached]


def as_lists(indptr, indices):
    assert indptr.dtype == indices.dtype == np.int64
    assert indptr[0] == 0
    assert indptr[-1] == indices.size
    return [indices[a:b].tolist() for a, b in itertools.pairwise(indptr)]


@st.composite
def searches(draw):
    """Return queries, database and radius: many duplicates, and often pairs whose distance is the radius itself."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.sampled_from([1, 2, 3, 8, 33]))
    X = rng.standard_normal((draw(st.integers(2, 40)), d))
    X = np.round(3 * X) if draw(st.booleans()) else X[rng.integers(0, len(X), len(X))]
    X = (X + draw(st.sampled_from([0.0, 0.1, 100.0, 2.0**20, -1e7]))) * draw(
        st.sampled_from([1.0, 1e-3, 1e-20, 1e-38, 1e6, 1e20, 1e30])
    )
    X = X.astype(np.float32)
    n_queries = draw(st.integers(1, len(X) - 1))
    query, database = X[:n_queries], X[n_queries:]
    between = distance(query[0], database[-1])
    factor = draw(st.sampled_from([1.0, 1.0, 1 + 1e-15, 1 - 1e-15, 1 - 1e-9, 1 + 1e-7, 1 - 1e-5, 0.5, 2.0, 0.0, 1e-12]))
    return query, database, float(between * factor)


@settings(deadline=None, max_examples=300)
@given(searches(), st.booleans(), st.sampled_from([1, 5, 16, 512]), st.sampled_from([1, 2, 3]))
def test_neighbours_match_a_naive_loop(search, strict, tile, threads):
    query, database, radius = search
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_neighbour_search, "TILE", tile)
        found = neighbours_within(query, database, radius, strict=strict, threads=threads)
    assert as_lists(*found) == obvious(query, database, radius, strict)


@pytest.mark.parametrize("d", [1, 3, 16, 130])
@pytest.mark.parametrize("offset", [0, 100])
def test_neighbours_equal_scikit_learn_with_duplicates_and_boundary_points(d, offset):
    # integers: scikit-learn's squared distances are exact in float64
    X = np.random.default_rng(d).integers(-3, 4, (900, d)).astype(np.float32) + offset
    X[100:140] = X[0]
    query, database = X[:300], X[200:]
    radius = distance(query[0], database[0])
    peer = NearestNeighbors(algorithm="brute").fit(database.astype(np.float64))
    expected = peer.radius_neighbors(query.astype(np.float64), radius, return_distance=False)
    found = as_lists(*neighbours_within(query, database, radius))
    assert found == [sorted(row.tolist()) for row in expected]
    assert 0 in found[0]
    assert 0 not in as_lists(*neighbours_within(query, database, radius, strict=True))[0]


@pytest.mark.parametrize("radius", [1e39, 1e300, np.inf])
def test_a_radius_beyond_all_items_finds_them_all(radius):
    X = np.array([[-3e38, 3e38], [3e38, -3e38], [0, 1e-45]], dtype=np.float32)
    assert as_lists(*neighbours_within(X, X, radius, strict=True)) == [[0, 1, 2]] * 3


def peak_memory(call):
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


def test_memory_is_bounded_if_every_pair_is_on_the_boundary():
    database = np.zeros((1200, 64), dtype=np.float32)
    database[:, ::16] = 1  # every item at distance 2 of every query; their differences take 430 MB in float64
    query = np.zeros((700, 64), dtype=np.float32)
    (_, indices), peak = peak_memory(lambda: neighbours_within(query, database, 2.0, strict=True))
    assert indices.size == 0
    assert peak < 40e6


def test_memory_is_bounded_if_every_pair_is_inside():
    X = np.random.default_rng(0).standard_normal((3000, 4)).astype(np.float32)
    (_, indices), peak = peak_memory(lambda: neighbours_within(X, X, 100.0))
    assert indices.size == 9_000_000
    assert peak < 3 * indices.nbytes


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
    found = keys.within(keys.queries(query), keys.items(database, 0), np.full(4, np.inf))
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
