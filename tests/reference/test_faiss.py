"""Agreement with faiss: the items that its own indexes return for the same training vectors, of any length or of 1."""

import numpy as np
import pytest

from protocol.evaluation import Nearest
from protocol.metrics import neighbours_found
from protocol.quantisers import quantisation
from protocol.quantisers.representations import represent, training_rows
from protocol.truth import nearest
from protocol.truth.relevance import NeighbourRelevance

faiss = pytest.importorskip("faiss")
K, D, SEED = 10, 32, 7
RNG = np.random.default_rng(1)
CENTRES = RNG.normal(size=(20, D))
QUERY, DATABASE = (
    (CENTRES[RNG.integers(0, 20, n)] + 0.8 * RNG.normal(size=(n, D))).astype(np.float32) for n in (100, 2000)
)


def scaled(X):
    return (X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)).astype(np.float32)


UNIT = scaled(QUERY), scaled(DATABASE)


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
    "pq:m=8": lambda metric: product(metric, 8),
    "pq:m=16,n_bits=4": lambda metric: product(metric, 16, 4),
    "opq:m=8,n_bits=4": optimised,
    "rabitq": rabitq,
}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot of unit vectors"])
def test_the_items_of_an_index(name, distance):
    """Wherever the K-th and the next item clearly differ in distance, faiss returns our first K items.

    For the cosine, faiss searches among the vectors that its index restores, scaled to unit length; RaBitQ estimates
    the distances of unit vectors.
    """
    faiss.omp_set_num_threads(1)
    distance, _, of = distance.partition(" ")
    query, database = UNIT if of else (QUERY, DATABASE)
    metric = faiss.METRIC_INNER_PRODUCT if distance == "dot" else faiss.METRIC_L2
    index = INDEXES[name](metric)
    sides = UNIT if distance == "cosine" else (query, database)
    index.train(sides[1])
    index.add(sides[1])
    if distance == "cosine" and name != "rabitq":
        items = scaled(index.reconstruct_n(0, len(database)))
        flat = faiss.IndexFlatIP(items.shape[1])
        flat.add(items)
        theirs = flat.search(np.ascontiguousarray(sides[0][:, : items.shape[1]]), K)[1]
    else:
        theirs = index.search(sides[0], K)[1]
    ours = represent(name, query, database, distance, training_rows(None, database, SEED), seed=SEED)
    assert ours.n_bytes == index.sa_code_size()
    scores = nearest(ours.query, ours.items, K + 1, distance=ours.distance)
    unique, shares = np.zeros(len(query), bool), []
    true = nearest(query, database, K, distance=distance)
    for row in range(len(query)):
        part = slice(*scores.indptr[row : row + 2])
        order = np.argsort(scores.distances[part], kind="stable")
        items, distances = scores.indices[part][order], scores.distances[part][order]
        unique[row] = distances[K] - distances[K - 1] > 1e-5 * np.abs(distances[K])
        assert not unique[row] or set(items[:K]) == set(theirs[row]), row
        shares.append(np.isin(true.indices[slice(*true.indptr[row : row + 2])], theirs[row]).mean())
    assert unique.mean() > 0.9
    result = quantisation(Nearest(query, database, K, distance), quantisers=[name], seed=SEED, metrics="mAP")
    one = next(one for one in result.equal_bytes if one.name == name)
    relevance = NeighbourRelevance(*true.first(K), len(database))
    values = neighbours_found(ours.counts({K: relevance}, 1, None)[K], nearest=K, retrieved=K)
    np.testing.assert_allclose(values[unique], np.array(shares)[unique], rtol=1e-12)
    assert one.shares[K].expected == pytest.approx(values.mean(), rel=1e-12)
