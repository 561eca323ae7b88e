"""Options that a small experiment selects from grids on the validation partitions."""

import numpy as np
import pandas as pd
import pytest
from project import RESULTS, SHORT, Results

from protocol import codes, registry
from protocol.hashers.selection import COLUMNS, Validation, search
from protocol.provenance import storage
from protocol.truth.relevance import LabelRelevance

GRIDS = {"sklsh": {"gamma": [0.01, 1, 3]}, "dsh": {"alpha": [1.5, 2], "n_neighbors": [3]}}
NESTED = SHORT | {"runs": 2, "hashers": ["lsh", *GRIDS], "n_bits": [16], "hasher_grids": GRIDS, "extensions": ["none"]}
CELL = "gist/random/run1"


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    return Results(tmp_path_factory.mktemp("nested")).stages(NESTED, "metrics", "audit")


def results(project):
    return project.folder / RESULTS


def selection(project):
    return pd.read_csv(results(project) / "selection.csv")


def test_every_point_of_every_run_has_a_row_and_the_first_best_is_chosen(nested):
    table = selection(nested)
    assert tuple(table) == COLUMNS
    assert len(table) == 2 * (3 + 2)  # runs, points
    assert set(table["sample"]) == {"random"}
    for (hasher, *_), own in table.groupby(["hasher", "sample", "run"]):
        options = "gamma={}" if hasher == "sklsh" else "alpha={} n_neighbors=3"
        assert own["options"].tolist() == [options.format(value) for value in next(iter(GRIDS[hasher].values()))]
        assert own["default"].tolist() == ([False, True, False] if hasher == "sklsh" else [True, False])
        assert own["chosen"].tolist() == [i == own["score"].argmax() for i in range(len(own))]
    assert table["score"].nunique() > len(table) / 4  # the scores to choose from differ
    assert not (table["chosen"] & table["default"]).all()


def prepared(project):
    """The vectors and labels of each partition, recomputed without the scripts of the pipeline."""
    X = storage.read(project.data / "gist" / "features.h5")["X"]
    y = storage.read(project.data / "items.h5")["labels"]
    split = storage.read(results(project) / "splits" / "improved" / "run1" / "splits.h5")
    mean = X[split["train"]].mean(axis=0, dtype=np.float64)
    return {name: ((X[rows] - mean).astype(np.float32), y[rows]) for name, rows in split.items()}


def test_scores_are_those_of_the_validation_partitions_alone(nested):
    part = prepared(nested)
    (query, y_query), (database, y_database) = part["validation_query"], part["validation_database"]
    validation = Validation(query, database, LabelRelevance(y_query, y_database), "mAP")
    seed = storage.read_provenance(results(nested) / CELL / "sklsh" / "codes.h5")["fits"]["16"]["made_of"]["seed"]
    grid = [{"gamma": gamma} for gamma in GRIDS["sklsh"]["gamma"]]
    expected = search(registry.get("hasher", "sklsh"), grid, part["train"][0], validation, seeds={16: seed}, options={})
    path = results(nested) / CELL / "sklsh" / "selection.h5"
    np.testing.assert_allclose(storage.read(path)["16/scores"], expected[16], atol=1e-6)
    assert set(storage.read_provenance(path)["read"]) == {"validation_query", "validation_database", "train"}


def test_codes_are_computed_with_the_selected_options(nested):
    part, table = prepared(nested), selection(nested)
    for hasher in GRIDS:
        path = results(nested) / CELL / hasher
        provenance, chosen = storage.read_provenance(path / "codes.h5"), storage.read_provenance(path / "selection.h5")
        fit = provenance["fits"]["16"]["made_of"]
        assert fit["options"].items() >= chosen["chosen"]["16"].items()
        assert provenance["inputs"]["selection"] == chosen["digest"]
        own = table[(table["hasher"] == hasher) & (table["run"] == 1)]
        text = " ".join(f"{option}={value}" for option, value in chosen["chosen"]["16"].items())
        assert own.loc[own["chosen"], "options"].tolist() == [text]
        model = registry.get("hasher", hasher)(n_bits=16, seed=fit["seed"], **chosen["chosen"]["16"])
        expected = model.fit(part["train"][0]).transform(part["query"][0])
        different = codes.unpack(storage.read(path / "codes.h5")["16/query"], 16) != expected
        assert different.mean() < 1e-3  # a bit on the border may fall otherwise in a product of another shape
    assert "selection" not in storage.read_provenance(results(nested) / CELL / "lsh" / "codes.h5")["inputs"]


def test_the_audit_finds_a_selection_on_test_queries(nested, tmp_path):
    rows = 'storage.read(job.input.sample, ["query", *PARTITIONS[1:]]).values()'
    of_queries = f"dict(zip(PARTITIONS, {rows}, strict=True))"
    unfair = nested.edited(tmp_path, "selection.py", "storage.read(job.input.sample, PARTITIONS)", of_queries)
    for path in [results(unfair) / "audit.csv", *results(unfair).glob("gist/random/run0/*/selection.h5*")]:
        path.unlink()
    unfair.stages(NESTED, "audit")
    findings = pd.read_csv(results(unfair) / "audit.csv")
    assert set(findings["finding"]) == {"truth-leak"}
    assert set(findings["severity"]) == {"error"}
    files = [f"{RESULTS}/gist/random/run0/{hasher}/selection.h5" for hasher in ("dsh", "sklsh")]
    assert sorted(findings["file"]) == files


def test_another_grid_searches_no_other_hasher_again(nested):
    other = NESTED | {"hasher_grids": GRIDS | {"sklsh": {"gamma": [1, 3]}}}
    jobs = {"selection": 2, "model": 2, "count": 1, "score": 1, "metrics": 1}
    assert nested.planned(other, "metrics") == jobs
