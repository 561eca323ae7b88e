"""Supervised hashers in the pipeline, which learn from the training rows alone."""

import numpy as np
import pandas as pd
import pytest
from project import SMALL, Results

from protocol import codes, registry
from protocol.provenance import storage

STEPS = {"n_steps": 5}
SUPERVISED = SMALL | {
    "hashers": ["itq", "talr_ap", "talr_ndcg"],
    "affinities": "graded_distance",
    "hasher_options": {"talr_ap": STEPS, "talr_ndcg": {}},
    "hasher_grids": {"talr_ndcg": {"n_steps": [3, 5]}},
}
SUPERVISED |= {"runs": 1, "splits": ["improved"], "n_bits": [8], "extensions": ["none"], "metrics": ["mAP", "nDCG"]}


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    results = Results(tmp_path_factory.mktemp("supervised")).stages(SUPERVISED, "metrics", "selections")
    return results.folder / "results" / "small" / "gist" / "random" / "run0"


@pytest.fixture(scope="module")
def train(cell):
    """The vectors and labels of the training rows, recomputed without the scripts of the pipeline."""
    results, data = cell.parents[2], cell.parents[3] / "datasets" / "digits"
    rows = storage.read(results / "splits" / "improved" / "run0" / "splits.h5")["train"]
    X, y = storage.read(data / "gist" / "features.h5")["X"][rows], storage.read(data / "items.h5")["labels"][rows]
    return (X - X.mean(axis=0, dtype=np.float64)).astype(np.float32), y


def test_supervision_has_the_training_rows_and_records_them(cell, train):
    X, y = train
    np.testing.assert_array_equal(storage.read(cell / "labels.h5")["query_labels"], y)
    levels, radii = (storage.read(cell / "affinities.h5")[name] for name in ("levels", "radii"))
    assert set(levels) == {1, 2, 5, 10}
    assert len(storage.read(cell / "affinities.h5")["indptr"]) == len(X) + 1
    assert (np.diff(radii) < 0).all()
    for kind in ("labels", "affinities"):
        provenance = storage.read_provenance(cell / f"{kind}.h5")
        assert provenance["maker"] == f"supervision {kind}"
        assert provenance["fitted_on_labels"] == storage.array_digest(y)
        assert provenance["fitted_on"] == storage.read_provenance(cell / "itq" / "codes.h5")["fitted_on"]


def test_each_hasher_reads_what_it_needs_and_nothing_else(cell):
    expected = {"itq": None, "talr_ap": "labels", "talr_ndcg": "affinities"}
    for hasher, kind in expected.items():
        inputs = storage.read_provenance(cell / hasher / "codes.h5")["inputs"]
        assert "labels" not in inputs
        assert inputs.get("supervision") == (kind and storage.read_provenance(cell / f"{kind}.h5")["digest"])


def test_codes_are_those_of_a_fit_by_hand(cell, train):
    X, y = train
    seed = storage.read_provenance(cell / "talr_ap" / "codes.h5")["fits"]["8"]["made_of"]["seed"]
    model = registry.get("hasher", "talr_ap")(n_bits=8, seed=seed, **STEPS).fit(X, y)
    kept = storage.read(cell / "talr_ap" / "models.h5")
    np.testing.assert_allclose(kept["8/projection_"], model.projection_, atol=1e-3 * np.abs(model.projection_).max())
    packed = codes.pack(model.transform(X))
    assert packed.shape == (len(X), 1)


def test_options_are_selected_with_the_same_supervision(cell):
    chosen = storage.read_provenance(cell / "talr_ndcg" / "selection.h5")
    assert chosen["inputs"]["supervision"] == storage.read_provenance(cell / "affinities.h5")["digest"]
    assert chosen["chosen"]["8"]["n_steps"] in (3, 5)


def test_declared_training_labels_replace_those_of_the_dataset_for_hashers_alone(tmp_path):
    results = Results(tmp_path)
    config = SUPERVISED | {"ground_truths": ["class_label"], "hashers": ["itq", "talr_ap"], "hasher_grids": {}}
    config |= {"hasher_options": {"talr_ap": STEPS}}
    results.stages(config, "splits")
    y = storage.read(results.data / "items.h5")["labels"]
    noisy = np.where(np.arange(len(y)) % 4 == 0, (y + 1) % 10, y)
    np.savez(tmp_path / "noisy.npz", noisy=noisy, clean=y)
    results.stages(config | {"training_labels": "noisy.npz:noisy"}, "metrics", "audit")
    folder = tmp_path / "results" / "small"
    cell, rows = folder / "gist" / "random" / "run0", storage.read(next(folder.glob("splits/*/run0/splits.h5")))
    np.testing.assert_array_equal(storage.read(cell / "labels.h5")["query_labels"], noisy[rows["train"]])
    truth = storage.grouped(storage.read(cell / "ground_truth.h5"))["improved"]
    np.testing.assert_array_equal(truth["class_label/query_labels"], y[rows["query"]])
    n_other = int((rows["train"] % 4 == 0).sum())
    note = f"Trained on noisy.npz:noisy: {n_other} of 300 labels ({n_other / 300:.1%}) differ"
    notes = [" ".join(storage.read_provenance(cell / h / "codes.h5")["notes"]) for h in config["hashers"]]
    assert [note in own for own in notes] == [False, True]
    findings = pd.read_csv(folder / "audit.csv").set_index("finding")
    assert (findings["severity"] != "error").all()
    assert findings.loc["other-training-labels", "count"] == n_other
    summary = pd.read_csv(folder / "summary.csv", keep_default_na=False).set_index("hasher")["supervision"]
    assert set(summary["talr_ap"]) == {"labels of noisy.npz:noisy"}
    assert set(summary["itq"]) == {"none"}
    other = results.planned(config | {"training_labels": "noisy.npz:clean"}, "metrics", "audit")
    assert {"supervision", "model"} <= set(other)
    assert not {"ground_truth", "sample"} & set(other)
