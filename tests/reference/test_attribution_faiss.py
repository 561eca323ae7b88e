"""The results of faiss's indexes: exact ones have no faults, approximate ones lose less recall with more effort."""

import numpy as np
import pytest

import protocol as hp
from protocol import codes

faiss = pytest.importorskip("faiss", reason="needs faiss-cpu")
K, D, N_BITS = 10, 32, 64
RNG = np.random.default_rng(0)
CENTRES, PLANES = RNG.normal(size=(40, D)), RNG.normal(size=(D, N_BITS))
VECTORS = [(CENTRES[RNG.integers(0, 40, n)] + 0.5 * RNG.normal(size=(n, D))).astype(np.float32) for n in (200, 5000)]
PACKED = [codes.pack(side @ PLANES > 0) for side in VECTORS]
CODES = tuple(hp.Codes(side, N_BITS) for side in PACKED)


def searches(index, sides, place=None, efforts=()):
    """Return the distances and ids of an index by effort, which is an attribute of it or of its graph."""
    faiss.omp_set_num_threads(1)
    index.train(sides[1])
    index.add(sides[1])
    results = {} if efforts else {"flat": index.search(sides[0], K)}
    for effort in efforts:
        setattr(getattr(index, "hnsw", index), place, effort)
        results[str(effort)] = index.search(sides[0], K)
    return results


def attribute(results, distance="euclidean", root=lambda distances: distances, **options):
    ids = {name: pair[1] for name, pair in results.items()}
    distances = {name: root(pair[0]) for name, pair in results.items()}
    return hp.attribute(ids, distances=distances, vectors=hp.Nearest(*VECTORS, k=K, distance=distance), **options)


def test_binary_flat_is_exact():
    found = attribute(searches(faiss.IndexBinaryFlat(N_BITS), PACKED), codes=CODES, exact=True)
    (row,) = found.rows
    assert not found.faults
    assert (row.lost_to_index, row.exact, row.distances) == (pytest.approx(0, abs=1e-15), 1, "Hamming distances")
    assert row.lost_to_code + row.lost_to_ties == pytest.approx(1 - row.recall)
    assert row.lost_to_ties != 0
    by_code = hp.quantisation(hp.Nearest(*VECTORS, k=K, distance="euclidean"), CODES).metrics["neighbours@10"]
    assert 1 - row.lost_to_code == pytest.approx(by_code)


@pytest.mark.parametrize("kind", ["lists", "graph"])
def test_more_effort_loses_less_recall(kind):
    """Of codes in lists, and of vectors in a graph, whose distances are squares."""
    if kind == "lists":
        index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(N_BITS), N_BITS, 32)
        found = attribute(searches(index, PACKED, "nprobe", (1, 2, 4, 32)), codes=CODES, exact=True)
        assert {fault.name for fault in found.faults} == {"1", "2", "4"}
        assert (found.rows[-1].lost_to_index, found.rows[-1].exact) == (pytest.approx(0, abs=1e-15), 1)
    else:
        results = searches(faiss.IndexHNSWFlat(D, 8), VECTORS, "efSearch", (10, 40, 160))
        found = attribute(results, root=np.sqrt)
        assert {row.distances for row in attribute(results).rows} == {"squared Euclidean distances"}
        assert not found.faults
    lost, exact = ([getattr(row, name) for row in found.rows] for name in ("lost_to_index", "exact"))
    assert lost == sorted(lost, reverse=True)
    assert exact == sorted(exact)
    assert lost[0] > lost[-1]


@pytest.mark.parametrize(
    ("kind", "distance", "root", "name"),
    [
        ("IndexFlatL2", "euclidean", np.sqrt, "Euclidean distances"),
        ("IndexFlatL2", "euclidean", lambda squares: squares, "squared Euclidean distances"),
        ("IndexFlatIP", "dot", lambda products: products, "inner products"),
    ],
)
def test_a_flat_index_of_vectors_is_exact(kind, distance, root, name):
    found = attribute(searches(getattr(faiss, kind)(D), VECTORS), distance, root, exact=True)
    assert (found.rows[0].distances, found.rows[0].lost_to_index, found.faults) == (name, 0, ())
