"""The configuration for embeddings, end to end on a few made-up ones."""

import numpy as np
import pandas as pd
import pytest
import yaml
from project import Results

from protocol.provenance import storage

CHANGES = {"runs": 1, "split_sizes": {"query": 20, "train": 100}, "splits": ["standard"]}
CHANGES |= {"hashers": ["sign", "median"], "n_bits": [16, 8]}


def expected_share(by_code, nearest, k):
    """Return the share of the k nearest among the top k by code, expected over ties, of one query."""
    last = np.sort(by_code)[k - 1]
    before, tied = by_code < last, by_code == last
    chance = (k - before.sum()) / tied.sum()
    return (before[nearest].sum() + chance * tied[nearest].sum()) / k


def test_the_share_of_neighbours_is_computed_from_the_embeddings_and_the_report_has_it(tmp_path, root):
    made = Results(tmp_path)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 16))[rng.integers(0, 6, 300)]
    np.save(tmp_path / "features.npy", (0.2 + centres + rng.normal(size=(300, 16))).astype(np.float32))
    shipped = yaml.safe_load((root / "workflow" / "config" / "embeddings.yaml").read_text())
    made.stages(shipped | CHANGES, "all")
    X = np.load(tmp_path / "features.npy").astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    results = tmp_path / "results" / "embeddings"
    scores = pd.read_csv(results / "metrics.csv").set_index(["hasher", "n_bits", "ground_truth", "metric"])
    split = storage.read(results / "splits" / "standard" / "run0" / "splits.h5")
    query, database = X[split["query"]], X[split["database"]]
    nearest = (-(query @ database.T)).argsort(axis=1)
    for hasher, threshold in {"sign": np.zeros(16), "median": np.median(X[split["train"]], axis=0)}.items():
        for n_bits in (8, 16):
            codes = [(rows > threshold)[:, :n_bits] for rows in (query, database)]
            by_code = (codes[0][:, None] != codes[1]).sum(axis=2)
            for k in (1, 10, 100):
                shares = [expected_share(by_code[row], nearest[row, :k], k) for row in range(len(query))]
                value = scores.loc[(hasher, n_bits, f"nearest_{k}", f"P@{k}"), "value"]
                assert value == pytest.approx(np.mean(shares), abs=1e-8)
    page = (results / "report.html").read_text().partition("<script>")[0]
    assert 'id="binarisation"' in page
    assert "Each query has K true nearest neighbours by the vectors" in page
