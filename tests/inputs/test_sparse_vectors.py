"""Sparse vectors give the same results as dense ones, wherever vectors are read."""

import numpy as np
import pytest
from scipy import sparse

import protocol as hp

SPARSE = sparse.random(260, 40, 0.3, "csr", dtype=np.float32, random_state=3)
DENSE = SPARSE.toarray()
CODES = np.random.default_rng(0).random((260, 16)) < 0.5


@pytest.fixture
def files(tmp_path):
    for name, rows in {"query": SPARSE[:60], "database": SPARSE[60:]}.items():
        sparse.save_npz(tmp_path / f"{name}.npz", rows)
    return str(tmp_path / "query.npz"), str(tmp_path / "database.npz")


def scored(query, database):
    truth = hp.Nearest(query, database, k=5, distance="euclidean")
    return hp.evaluate(CODES[:60], CODES[60:], truth=truth, metrics=["mAP", "neighbours@5"]).metrics


def compared(query, database):
    truth = hp.Nearest(query, database, k=5, distance="euclidean")
    return hp.quantisation(truth, hp.Hashing("pcah", 8)).metrics


def duplicates(query, database):
    pairs = hp.find_duplicates(query, database, vectors=True, most=50, least=0.5).pairs
    return [values.tolist() for values in (pairs.query, pairs.database, pairs.score)]


@pytest.mark.parametrize("result", [scored, compared, duplicates])
def test_results_are_those_of_dense_vectors(files, result):
    found = result(*files)
    assert found
    assert found == result(DENSE[:60], DENSE[60:])
