"""The results of the small experiment, whose stages run in this process."""

import shutil

import numpy as np
import pandas as pd
import pytest
from browser import DRAWN, opened
from encoded import message_of, yaml_of
from project import RESULTS, SMALL, Results

from protocol import codes, registry
from protocol.provenance import storage
from protocol.truth import Items

COLUMNS = "dataset,feature,ground_truth,split,run,hasher,n_bits,extension,extension_bits,metric,value"
TABLES = ("metrics.csv", "summary.csv", "audit.csv")
STAGES = yaml_of("workflow/stages.yaml")


def read(project, name="metrics.csv"):
    return (project.folder / RESULTS / name).read_bytes()


def test_it_writes_all_files(tiny):
    header, *rows = read(tiny).decode().splitlines()
    assert header == COLUMNS
    cells = 2 * 2 * 2 * 2 * 3 * 2  # splits, runs, hashers, lengths, extensions, ground truths
    assert len(rows) == cells * len(SMALL["metrics"])
    metrics, summary = (pd.read_csv(tiny.folder / RESULTS / name) for name in ("metrics.csv", "summary.csv"))
    assert (summary["n_runs"] == 2).all()
    row = summary.iloc[17]
    keys = ["feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]
    a, b = metrics[(metrics[keys] == row[keys]).all(axis=1)]["value"]
    assert row["mean"] == pytest.approx((a + b) / 2, abs=1e-9)
    assert row["std"] == pytest.approx(abs(a - b) / 2**0.5, abs=1e-9)  # the sample standard deviation
    assert 'id="options"' not in read(tiny, "report.html").decode().partition("<script>")[0]
    assert not (tiny.folder / RESULTS / "selection.csv").exists()


def test_the_items_of_every_run_are_those_of_its_split(tiny):
    runs, summary = (pd.read_csv(tiny.folder / RESULTS / name) for name in ("runs.csv", "summary.csv"))
    assert len(runs) == 2 * 2 * 2  # splits, runs, ground truths
    assert runs["items"].nunique() == len(runs)
    sizes = summary.set_index(["ground_truth", "split"])[["relevance", "n_queries", "n_database"]].drop_duplicates()
    relevance = {"class_label": "class labels", "epsilon_ball": "neighbours"}
    for row in runs.itertuples():
        split = storage.read(tiny.folder / RESULTS / "splits" / row.split / f"run{row.run}" / "splits.h5")
        expected = [relevance[row.ground_truth], len(split["query"]), len(split["database"])]
        assert [row.relevance, row.n_queries, row.n_database] == expected
        assert sizes.loc[row.ground_truth, row.split].tolist() == expected


def test_every_file_has_a_provenance_record_with_its_inputs_seed_and_versions(tiny):
    folder, cell = tiny.folder / RESULTS, tiny.folder / RESULTS / "gist" / "random" / "run1"
    paths = {"features": tiny.data / "gist" / "features.h5", "sample": folder / "samples" / "random" / "run1.h5"}
    paths |= {"splits": folder / "splits" / "standard" / "run1" / "splits.h5"}
    paths |= {"codes": cell / "itq" / "codes.h5", "counts": tiny.folder / RESULTS / "gist" / "counts" / "itq.h5"}
    record = {name: storage.read_provenance(path) for name, path in paths.items()}
    made = record["codes"]
    assert made["maker"] == "hasher itq"
    assert made["inputs"]["features"] == record["features"]["digest"]
    assert made["inputs"]["sample"] == record["splits"]["inputs"]["sample"] == record["sample"]["digest"]
    assert record["counts"]["inputs"]["codes/standard/run1"] == made["digest"]
    assert record["counts"]["inputs"]["splits/standard/run1"] == record["splits"]["digest"]
    assert record["splits"]["seed"] == record["sample"]["seed"] > 0
    made_of = [made["fits"][n_bits]["made_of"] for n_bits in ("8", "16")]
    assert made_of[0]["seed"] != made_of[1]["seed"]
    assert made_of[0]["inputs"] == made["inputs"]
    assert {"numpy", "scipy", "python", "hashing-protocol"} <= set(made["versions"])


def test_the_report_opens_offline(tiny, browser):
    page = read(tiny, "report.html").decode()
    body = page.partition("<script>")[0]
    retrieved = 2 * 3 * (1 + 12)  # by two hashers, for three queries: the query and what is nearest to it
    assert body.count("<img") == body.count('<img src="data:image/png;base64,') == retrieved
    assert 'src="http' not in page
    assert "<link" not in page
    assert len(page) < 2.2e6
    for name in ("itq", "lsh", "class_label", "epsilon_ball", "train-in-database"):
        assert name in body
    with opened(browser, tiny.folder / RESULTS / "report.html", width=400) as (tab, wrong):
        drawn = tab.evaluate(DRAWN)
        assert {"by-length", "pr-curves", "empty-balls"} <= {name for name, marks in drawn.items() if marks > 2}
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []


def test_everything_is_fitted_on_the_training_set_alone(tiny):
    """Recompute one combination from the features and the split, without the scripts of the pipeline."""
    cell = tiny.folder / RESULTS / "gist" / "random" / "run1"
    X = storage.read(tiny.data / "gist" / "features.h5")["X"]
    split = storage.read(tiny.folder / RESULTS / "splits" / "improved" / "run1" / "splits.h5")
    mean = X[split["train"]].mean(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(storage.read(cell / "preprocessing.h5")["mean"], mean)
    centred = (X - mean).astype(np.float32)
    model = registry.get("hasher", "itq")(
        n_bits=16, seed=storage.read_provenance(cell / "itq" / "codes.h5")["fits"]["16"]["made_of"]["seed"]
    )
    model.fit(centred[split["train"]])
    packed = codes.of_split(storage.read(cell / "itq" / "codes.h5"), split)[16]
    kept = registry.get("hasher", "itq").from_arrays(storage.grouped(storage.read(cell / "itq" / "models.h5"))["16"])
    np.testing.assert_array_equal(kept.projection_, model.projection_)
    for part in ("query", "database"):
        different = codes.unpack(packed[part], 16) != kept.transform(centred[split[part]])
        assert different.mean() < 1e-4  # a bit on the border may fall otherwise in a product of another shape
    truth = storage.read(cell / "ground_truth.h5")
    items = {name: Items(centred[split[name]], None) for name in ("query", "database", "train")}
    seed = storage.read_provenance(cell / "ground_truth.h5")["seed"]
    ball = registry.get("ground_truth", "epsilon_ball")(**items, seed=seed)
    np.testing.assert_allclose(truth["improved/epsilon_ball/radius"], ball["radius"], rtol=1e-6)


@pytest.mark.parametrize("target", STAGES)
def test_every_stage_can_be_run_alone(tmp_path, target):
    assert set(Results(tmp_path).planned(SMALL, target)) == {*STAGES[target], target}


def test_the_audit_finds_a_fit_on_other_rows(tiny, tmp_path):
    results = tiny.edited(tmp_path, "preprocessing.py", '["train"])["train"]', '["query"])["query"]')
    fitted = tmp_path / RESULTS / "gist/random/run0/preprocessing.h5"
    for path in (fitted, tmp_path / RESULTS / "audit.csv"):
        path.unlink()
    findings = pd.read_csv(results.stages(SMALL, "audit").folder / RESULTS / "audit.csv")
    (row,) = findings[findings["finding"] == "preprocessing-leak"].to_dict("records")
    assert (row["file"], row["severity"]) == (str(fitted.relative_to(tmp_path)), "error")


# Altered files

SCORES, CODES = "gist/scores/itq.csv", "gist/random/run0/itq/codes.h5"


def another_value(content):
    """Return a table with another last digit in its last row."""
    line, _, end = content.rstrip(b"\n").rpartition(b"\n")
    return line + b"\n" + end[:-1] + (b"1" if end[-1:] != b"1" else b"2") + b"\n"


def half(content):
    return content[: len(content) // 2]


# What is altered, how, and the stage that is to be run. Last stages first: an altered file is newer than what was made
# from it, and Snakemake makes all of that again.
ALTERED = [
    ("metrics.csv", another_value, "report"),
    ("audit.csv", half, "report"),
    ("claims.json", lambda _: b"[]\n", "report"),
    ("gist/examples/improved/radii.csv", half, "report"),
    ("summary.csv", another_value, "claims"),
    (SCORES, another_value, "metrics"),
    (CODES, half, "counts"),
]


@pytest.mark.ci
def test_an_altered_file_is_refused_in_one_line_and_made_again_after_it_is_deleted(tiny, tmp_path):
    shutil.copytree(tiny.folder / "results", tmp_path / "results")
    ours, results = Results(tmp_path), tmp_path / RESULTS
    for name, alter, target in ALTERED:
        content = (results / name).read_bytes()
        (results / name).write_bytes(alter(content))
        message = message_of(ours.stages, SMALL, target)
        assert message.startswith(f"{RESULTS}/{name}: changed since it was written: "), message
        assert message.endswith(f" snakemake --force {RESULTS}/{name}, with the --configfile of its experiment.")
        (results / name).write_bytes(content)
    for name in (SCORES, CODES, *TABLES, *(f"{table}.sha256" for table in TABLES)):
        (results / name).unlink(missing_ok=True)  # a job that failed deleted its own
    ours.stages(SMALL, "all")
    for name in (*TABLES, SCORES, CODES, "claims.json"):
        assert read(ours, name) == read(tiny, name), name
