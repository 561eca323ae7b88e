"""Very large and very small vectors and features: right results, or one line, never NumPy's warnings only."""

from importlib.util import find_spec

import numpy as np
import pytest
from encoded import refuses

from protocol import registry
from protocol.auditing.evidence import first_equal
from protocol.checks import ProtocolError
from protocol.evaluation import Nearest
from protocol.hashers import TrainingSet
from protocol.quantisers import quantisation
from protocol.truth import nearest

TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
HASHERS = [pytest.param(entry.name, marks=[TORCH] * (entry.extra is not None)) for entry in registry.entries("hasher")]
RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 8)) * np.linspace(1, 3, 8) + RNG.normal(size=8)).astype(np.float32)
LABELS = np.searchsorted([9, 22, 39], np.argsort(np.argsort(X[:, 0])))  # no two classes of one size: eigenvalues differ
BRIEF = {"n_steps": 5, "epochs": 3, "n_anchors": 20, "n_trees": 5}
REFUSED = r"the largest magnitude of the features is \S+\. Scale them, so that it is at (most|least) \S+, because "
COMPARES = ("sign", "median")


def codes(name, scale, dtype=np.float32):
    plugin, rows = registry.get("hasher", name), (X.astype(np.float64) * scale).astype(dtype)
    hasher = plugin(n_bits=6, seed=1)
    hasher.set_params(**{name: BRIEF[name] for name in BRIEF.keys() & hasher.get_params().keys()})
    supervision = {None: None, "pairs": rows[:, ::-1]}.get(plugin.supervision, LABELS)
    hasher.fit(rows, supervision)
    return np.hstack([hasher.transform(rows), hasher.transform_database(rows)])


@pytest.mark.parametrize("name", HASHERS)
def test_features_are_encoded_as_scaled_ones_or_refused(name):
    """Powers of 2 are exact in float32; only the waves of SKLSH have a scale of their own."""
    for scale in (1e-170, 1e-30, 1e-20, 1e20, 1e30, 1e170):
        if name in COMPARES and 1e-38 < scale < 1e38:
            np.testing.assert_array_equal(codes(name, 2.0 ** round(np.log2(scale))), codes(name, 1))
        else:
            refuses(REFUSED, codes, name, scale, np.float64)
    if name == "sklsh":
        refuses(r"^X: SKLSH with gamma=1 can't resolve features of magnitude \S+ in ", codes, name, 2.0**33)
    else:
        expected = codes(name, 1)
        for scale in (2.0**-30, 2.0**33):
            np.testing.assert_array_equal(codes(name, scale), expected)


@pytest.mark.parametrize("name", HASHERS)
def test_items_far_beyond_the_training_rows_are_refused(name):
    plugin = registry.get("hasher", name)
    hasher = plugin(n_bits=6)
    hasher.set_params(**{name: BRIEF[name] for name in BRIEF.keys() & hasher.get_params().keys()})
    hasher.fit(X, {None: None, "pairs": X[:, ::-1]}.get(plugin.supervision, LABELS))
    for encode in (hasher.transform, hasher.transform_database):
        with pytest.raises(ProtocolError, match=r"^X: the largest magnitude of the features is 1e\+40\. Scale them"):
            encode(np.vstack([X, np.full(8, 1e40)]))
        if name not in COMPARES:
            refuses(REFUSED, encode, np.vstack([X, np.full(8, 1e13)]))
        assert encode(X * np.float32(1e-30)).shape == (60, 6)


def test_training_rows_of_zeros_or_infinity():
    assert TrainingSet(np.zeros((3, 2))).X.tolist() == [[0, 0]] * 3
    with pytest.raises(ProtocolError, match=r"^X: expected finite numbers, got NaN or infinity in 1 of 2 rows"):
        TrainingSet([[1.0, 2.0], [np.inf, 0.0]])
    refuses(REFUSED, TrainingSet, np.array([[-1e39, 1]]))


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot"])
def test_neighbours_of_very_small_vectors(distance):
    """Down to 2^-450, squares of differences of one rounding do not underflow; the cosine does not depend on scale."""
    rows = X.astype(np.float64)
    expected = nearest(rows[:20], rows, 3, distance=distance)
    for scale in (2.0**-440, 2.0**490):
        found = nearest(rows[:20] * scale, rows * scale, 3, distance=distance)
        np.testing.assert_array_equal(found.indices, expected.indices)
    arrays = {"query": (rows[:20] * 1e-170, rows), "database": (rows[:20], rows * 1e-170)}
    for side, (query, database) in arrays.items():
        if distance == "cosine":
            np.testing.assert_array_equal(nearest(query, database, 3, distance=distance).indices, expected.indices)
            continue
        with pytest.raises(ProtocolError, match=rf"^{side} row 0: expected a number of at least 3\.4e-136, or zeros, "):
            nearest(query, database, 3, distance=distance)


def test_rows_of_zeros_are_not_too_small():
    zeros = np.vstack([X, np.zeros(8)])
    assert nearest(zeros, zeros, 1).distances.tolist() == [0] * 61


def test_vectors_are_quantised_before_they_lose_their_values():
    """In float32, 1e-50 is 0 and 1e50 infinite."""
    for scale in (1e-50, 1e50):
        vectors = Nearest(X[:5].astype(np.float64) * scale, X.astype(np.float64) * scale, [3], "euclidean")
        refuses(rf"^hasher sign: X: {REFUSED}", quantisation, vectors, metrics="mAP")
        refuses(rf"^vectors: {REFUSED}", quantisation, vectors, (X[:5] > 0, X > 0), quantisers=["int8"], metrics="mAP")
    vectors = Nearest(X[:5], X.astype(np.float64) * 1e50, [3], "euclidean")
    refuses(rf"^X: {REFUSED}", quantisation, vectors, train=X, metrics="mAP")


def test_distinct_features_are_no_copies_because_float32_rounds_them_to_0():
    rows = X.astype(np.float64)
    for scale in (1.0, 1e-50, 1e-130, 1e-170):
        assert first_equal(rows * scale).tolist() == list(range(60))
