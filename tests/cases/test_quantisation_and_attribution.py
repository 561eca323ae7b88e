"""Rankings by restored vectors, and kinds of distances, on small inputs that once failed."""

import numpy as np
import pytest

import protocol as hp


def unit(X):
    return X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)


def shares(query, database, scores):
    """Return the mean share of the ten nearest items by cosine among the first ten by scores."""
    true = np.argsort(-unit(query) @ unit(database).T, axis=1)[:, :10]
    found = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return np.mean([np.isin(*rows).mean() for rows in zip(true, found, strict=True)])


@pytest.mark.case("22-cosine-of-quantised-vectors")
def test_restored_vectors_are_ranked_by_their_cosine(case):
    faiss = pytest.importorskip("faiss")
    query, database = np.load("q.npy"), np.load("d.npy")
    sides = [unit(side).astype(np.float32) for side in (query, database)]
    index = faiss.IndexPQ(32, 8, 8)
    index.pq.cp.seed, index.pq.cp.min_points_per_centroid = 0, 1
    index.train(sides[1])
    index.add(sides[1])
    restored = {"pq:m=8": index.reconstruct_n(0, 800), "truncate:dims=16": sides[1] * (np.arange(32) < 16)}
    result = hp.quantisation(hp.Nearest("q.npy", "d.npy", k=10), quantisers=["sign", *restored])
    found = {one.name: one.shares[10].expected for one in result.equal_bytes}
    by_product = {name: shares(query, database, sides[0] @ items.T) for name, items in restored.items()}
    by_cosine = {name: shares(query, database, sides[0] @ unit(items).T) for name, items in restored.items()}
    assert {name: found[name] for name in restored} == pytest.approx(by_cosine, abs=1e-12)
    assert by_cosine["pq:m=8"] > by_product["pq:m=8"]
    assert by_cosine["truncate:dims=16"] != by_product["truncate:dims=16"]
    assert result.ranked_by == {
        "sign": "the Hamming distance",
        "pq:m=8": "the cosine with the restored vectors",
        "truncate:dims=16": "the cosine with the restored vectors",
    }
    text = " ".join(str(result).split())
    ranked = "ranked by the Hamming distance: sign ranked by the cosine with the restored vectors"
    assert f"{ranked}: pq:m=8, truncate:dims=16" in text


@pytest.mark.case("15-kind-of-distances")
@pytest.mark.parametrize(
    ("ids", "distances", "order"), [("ids", "quarter_ip", "descending"), ("ids_bytes", "bytes", "ascending")]
)
def test_distances_that_no_known_kind_explains_have_none(case, ids, distances, order):
    codes = np.load("q.npy"), np.load("d.npy")
    found = hp.attribute(f"{ids}.npy", codes, distances=f"{distances}.npy", exact=True)
    said = "of no known kind, or rows are in another order, so not compared with those of the items;"
    assert found.rows[0].distances == f"{said} {order} with the rank"
    assert "impossible distances" not in {fault.kind for fault in found.faults}
