"""The target `quantisers`: its table is that of `protocol.quantisation` on the splits of the experiment."""

import numpy as np
import pandas as pd
import pytest
from project import SHORT, Results

import protocol as hp
from protocol.provenance import storage

NEAREST = [{"name": f"nearest_{k}", "base": "nearest_neighbours", "options": {"n_neighbours": k}} for k in (5, 20)]
CONFIG = SHORT | {
    "features": {"pixels": {"options": {"image_size": 8}, "preprocessing": ["centre"]}},
    "ground_truths": NEAREST,
    "splits": ["standard", "improved"],
    "hashers": ["lsh"],
    "metrics": ["P@5"],
    "quantisers": ["int8", "itq:n_bits=8", "lsh:n_bits=16"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return Results(tmp_path_factory.mktemp("quantisers")).stages(CONFIG, "quantisers")


def test_the_table_is_that_of_the_function(results):
    folder = results.folder / "results" / "small"
    table = pd.read_csv(folder / "quantisers.csv")
    assert list(table["quantiser"].unique()) == ["itq:n_bits=8", "lsh:n_bits=16", "sign", "int8"]
    assert len(table) == 2 * 4 * 2
    X = storage.read(next(results.data.glob("pixels*/features.h5")))["X"].astype(np.float32)
    for split, own in table.groupby("split"):
        parts = storage.read(folder / "splits" / split / "run0" / "splits.h5", ["query", "database", "train"])
        query, database, train = (X[parts[name]] - X[parts["train"]].mean(axis=0) for name in parts)
        vectors = hp.Nearest(query, database, [5, 20], "euclidean")
        represented = hp.quantisation(vectors, quantisers=["int8"], train=train).equal_bytes
        (int8,) = (each for each in represented if each.name == "int8")
        rows = own[own["quantiser"] == "int8"].set_index("k")
        assert (rows["bytes"] == 64).all()
        for k, share in int8.shares.items():
            assert rows.loc[k, "share"] == pytest.approx(share.expected, abs=0.02)
            assert rows.loc[k, "share"] > own[own["quantiser"] == "sign"].set_index("k").loc[k, "share"]


def test_other_quantisers_rerun_only_their_jobs(results):
    assert not results.planned(CONFIG, "quantisers")
    changed = CONFIG | {"quantisers": ["int8"]}
    assert results.planned(changed, "quantisers") == {"quantised": 1, "quantisers": 1}
    assert not {"quantised", "quantisers"} & results.planned(changed, "report").keys()
