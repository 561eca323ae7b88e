"""Agreement with faiss: the items that its own indexes return for the same training vectors and seeds."""

import numpy as np
import pytest

from protocol.evaluation import Nearest, Quantisers, quantisation
from protocol.evaluation.representations import fit
from protocol.truth import nearest

faiss = pytest.importorskip("faiss")
K, D, SEED = 10, 32, 7
RNG = np.random.default_rng(1)
CENTRES = RNG.normal(size=(20, D))
QUERY, DATABASE = (
    (CENTRES[RNG.integers(0, 20, n)] + 0.8 * RNG.normal(size=(n, D))).astype(np.float32) for n in (150, 4000)
)
UNIT = tuple(
    (X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)).astype(np.float32) for X in (QUERY, DATABASE)
)


def scaled(X):
    return (X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)).astype(np.float32)


def product(metric, m, n_bits=8):
    index = faiss.IndexPQ(D, m, n_bits, metric)
    index.pq.cp.seed = SEED
    return index


def optimised(metric):
    rotation, parts = faiss.OPQMatrix(D, 8), faiss.ProductQuantizer(D, 8, 4)
    parts.cp.seed, rotation.pq = SEED, parts
    index = faiss.IndexPreTransform(rotation, product(metric, 8, 4))
    index.referenced_objects = [*index.referenced_objects, parts]
    return index


def rabitq(metric):
    rotation = faiss.RandomRotationMatrix(D, D)
    rotation.init(SEED)
    index = faiss.IndexRaBitQ(D, metric)
    index.qb = 0
    return faiss.IndexPreTransform(rotation, index)


def scalar(kind):
    return lambda metric: faiss.IndexScalarQuantizer(D, kind, metric)


INDEXES = {
    "float16": scalar(faiss.ScalarQuantizer.QT_fp16),
    "int8:calibration=minmax": scalar(faiss.ScalarQuantizer.QT_8bit),
    "int4": scalar(faiss.ScalarQuantizer.QT_4bit),
    "pq:m=8": lambda metric: product(metric, 8),
    "pq:m=16,n_bits=4": lambda metric: product(metric, 16, 4),
    "opq:m=8,n_bits=4": optimised,
    "rabitq": rabitq,
}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot"])
def test_the_items_of_an_index(name, distance):
    """Wherever the K-th and the next item clearly differ in distance, faiss returns our first K items."""
    faiss.omp_set_num_threads(1)
    index = INDEXES[name](faiss.METRIC_L2 if distance == "euclidean" else faiss.METRIC_INNER_PRODUCT)
    query, database = (scaled(QUERY), scaled(DATABASE)) if distance == "cosine" else (QUERY, DATABASE)
    index.train(database)
    index.add(database)
    _, theirs = index.search(query, K)
    options = Quantisers([name], seed=SEED)
    ours = fit(options, name, DATABASE, distance)(QUERY, DATABASE, None)
    assert ours.n_bytes == index.sa_code_size()
    found = nearest(ours.query, ours.items, K + 1, distance=ours.distance)
    unique, shares = np.zeros(len(QUERY), bool), []
    true = nearest(QUERY, DATABASE, K, distance=distance)
    for row in range(len(QUERY)):
        part = slice(*found.indptr[row : row + 2])
        order = np.argsort(found.distances[part], kind="stable")
        items, distances = found.indices[part][order], found.distances[part][order]
        unique[row] = distances[K] - distances[K - 1] > 1e-5 * np.abs(distances[K])
        assert not unique[row] or set(items[:K]) == set(theirs[row]), row
        shares.append(np.isin(true.indices[slice(*true.indptr[row : row + 2])], theirs[row]).mean())
    assert unique.mean() > 0.9
    result = quantisation(Nearest(QUERY, DATABASE, K, distance), quantisers=options)
    one = next(one for one in result.equal_bytes.represented if one.name == name)
    np.testing.assert_allclose(one.per_query[K][unique], np.array(shares)[unique], rtol=1e-12)
