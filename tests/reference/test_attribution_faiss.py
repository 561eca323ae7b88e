"""The results of faiss's indexes: exact ones have no faults, approximate ones lose less recall with more effort."""

import numpy as np
import pytest

import protocol as hp
from protocol import codes

faiss = pytest.importorskip("faiss", reason="needs faiss-cpu")
K, N_BITS = 10, 64


@pytest.fixture(scope="module")
def data():
    """200 queries and 5,000 items in 40 groups, and the signs of random projections as codes."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 32))
    vectors = [
        (centres[rng.integers(0, 40, n)] + 0.5 * rng.normal(size=(n, 32))).astype(np.float32) for n in (200, 5000)
    ]
    planes = rng.normal(size=(32, N_BITS))
    packed = [codes.pack(side @ planes > 0) for side in vectors]
    faiss.omp_set_num_threads(1)
    return vectors, packed


def attribute(data, searches, **options):
    """Return the attribution of (distances, ids) by name, by code unless `codes` is None."""
    (vq, vd), packed = data
    by_code = {"codes": tuple(hp.Codes(side, N_BITS) for side in packed)}
    given = by_code | {"vectors": hp.Nearest(vq, vd, k=K, distance="euclidean")} | options
    results, distances = ({name: pair[at] for name, pair in searches.items()} for at in (1, 0))
    return hp.attribute(results, distances=distances, **given)


def lost_and_exact(found):
    return [row.lost_to_index for row in found.rows], [row.exact for row in found.rows]


def test_binary_flat_is_exact(data):
    index = faiss.IndexBinaryFlat(N_BITS)
    index.add(data[1][1])
    found = attribute(data, {"flat": index.search(data[1][0], K)}, exact=True)
    (row,) = found.rows
    assert not found.faults
    assert (row.lost_to_index, row.exact, row.distances) == (pytest.approx(0, abs=1e-15), 1, "Hamming distances")
    assert row.lost_to_code + row.lost_to_ties == pytest.approx(1 - row.recall)
    assert row.lost_to_ties != 0
    assert 1 - row.lost_to_code == pytest.approx(
        hp.quantisation(
            hp.Nearest(*data[0], k=K, distance="euclidean"), tuple(hp.Codes(x, N_BITS) for x in data[1])
        ).metrics["neighbours@10"]
    )


def test_binary_ivf_is_exact_if_every_list_is_probed(data):
    index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(N_BITS), N_BITS, 32)
    index.train(data[1][1])
    index.add(data[1][1])
    searches = {}
    for index.nprobe in (1, 2, 4, 32):
        searches[str(index.nprobe)] = index.search(data[1][0], K)
    found = attribute(data, searches, exact=True)
    lost, exact = lost_and_exact(found)
    assert exact == sorted(exact)
    assert lost == sorted(lost, reverse=True)
    assert (lost[-1], exact[-1]) == (pytest.approx(0, abs=1e-15), 1)
    assert lost[0] > 0.01
    assert {fault.name for fault in found.faults} == {"1", "2", "4"}


def test_float_hnsw_searches_vectors(data):
    index, flat = faiss.IndexHNSWFlat(32, 8), faiss.IndexFlatL2(32)
    index.add(data[0][1])
    flat.add(data[0][1])
    searches = {"flat": flat.search(data[0][0], K)}
    for index.hnsw.efSearch in (10, 40, 160):
        searches[str(index.hnsw.efSearch)] = index.search(data[0][0], K)
    found = attribute(data, searches, codes=None)
    assert {row.distances for row in found.rows} == {"of no known kind"}  # faiss returns squares
    searches = {name: (np.sqrt(squares), ids) for name, (squares, ids) in searches.items()}
    found = attribute(data, searches, codes=None)
    lost, _ = lost_and_exact(found)
    assert lost[0] == 0
    assert lost[1] > lost[2] > lost[3]
    assert {row.distances for row in found.rows} == {"Euclidean distances"}
    assert not found.faults
    assert not attribute(data, {"flat": searches["flat"]}, codes=None, exact=True).faults


def test_inner_products(data):
    index = faiss.IndexFlatIP(32)
    index.add(data[0][1])
    vectors = hp.Nearest(*data[0], k=K, distance="dot")
    found = attribute(data, {"ip": index.search(data[0][0], K)}, codes=None, vectors=vectors, exact=True)
    assert (found.rows[0].distances, found.faults) == ("inner products", ())
