"""The results of the small experiment, whose stages run in this process."""

import numpy as np
import pandas as pd
import pytest
from browser import DRAWN, opened
from project import SMALL, Results

from protocol import codes, registry
from protocol.provenance import storage
from protocol.truth import Items

COLUMNS = "dataset,feature,ground_truth,split,run,hasher,n_bits,extension,extension_bits,metric,value"
RESULTS = "results/small"
TRUTHS = {"dataset", "feature", "draw", "split", "preprocessing", "ground_truth"}


def read(project, name="metrics.csv"):
    return (project.folder / RESULTS / name).read_bytes()


def test_it_writes_all_files(tiny):
    header, *rows = read(tiny).decode().splitlines()
    assert header == COLUMNS
    cells = 2 * 2 * 2 * 2 * 3 * 2  # splits, runs, hashers, lengths, extensions, ground truths
    assert len(rows) == cells * len(SMALL["metrics"])
    summary = pd.read_csv(tiny.folder / RESULTS / "summary.csv")
    assert list(summary) == [
        *(set(COLUMNS.split(",")) & {"dataset"}),
        *COLUMNS.replace("run,", "").split(",")[1:-1],
        *("mean", "std", "n_runs"),
        *("relevance", "n_queries", "n_database", "options", "supervision"),
        *("empty", "ties", "ranking", "convention", "version"),
    ]
    assert (summary["n_runs"] == 2).all()


def test_the_items_of_every_run_are_those_of_its_split(tiny):
    runs, summary = (pd.read_csv(tiny.folder / RESULTS / name) for name in ("runs.csv", "summary.csv"))
    assert len(runs) == 2 * 2 * 2  # splits, runs, ground truths
    assert runs["items"].nunique() == len(runs)
    sizes = summary.set_index(["ground_truth", "split"])[["relevance", "n_queries", "n_database"]].drop_duplicates()
    for row in runs.itertuples():
        split = storage.read(tiny.folder / RESULTS / "splits" / row.split / f"run{row.run}" / "splits.h5")
        expected = [row.relevance, len(split["query"]), len(split["database"])]
        assert [row.relevance, row.n_queries, row.n_database] == expected
        assert sizes.loc[row.ground_truth, row.split].tolist() == expected
    assert dict(zip(runs["ground_truth"], runs["relevance"], strict=True)) == {
        "class_label": "class labels",
        "epsilon_ball": "neighbours",
    }


def test_summary_is_mean_and_sample_standard_deviation(tiny):
    metrics, summary = (pd.read_csv(tiny.folder / RESULTS / name) for name in ("metrics.csv", "summary.csv"))
    row = summary.iloc[17]
    keys = ["feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]
    a, b = metrics[(metrics[keys] == row[keys]).all(axis=1)]["value"]
    assert row["mean"] == pytest.approx((a + b) / 2, abs=1e-9)
    assert row["std"] == pytest.approx(abs(a - b) / 2**0.5, abs=1e-9)


def test_identities_of_the_extension_codes_hold_on_the_run(tiny):
    table = pd.read_csv(tiny.folder / RESULTS / "metrics.csv").drop(columns=["dataset", "extension_bits"])
    wide = table.pivot_table(
        index=[c for c in table if c not in ("extension", "value")], columns="extension", values="value"
    )
    wide = wide.reset_index()
    mean_ap = wide[wide["metric"].str.startswith("mAP")]
    assert len(mean_ap) == 64
    assert (mean_ap["none"] - mean_ap["same"]).abs().max() < 1e-9
    assert (mean_ap["none"] - mean_ap["different"]).abs().max() < 1e-9
    at_radius = wide[wide["metric"].str.contains("^(?:precision|recall)@")]
    assert (at_radius["none"] - at_radius["same"]).abs().max() < 1e-9
    assert (at_radius["none"] - at_radius["different"]).abs().max() > 1e-3
    aware = wide[wide["metric"] == "RAMAP@r2"]
    assert (aware["none"] >= aware["same"]).all()
    assert (aware["same"] >= aware["different"]).all()
    assert (aware["none"] > aware["same"]).any()


def test_every_file_has_a_provenance_record_with_its_inputs_seed_and_versions(tiny):
    cell = tiny.folder / RESULTS / "gist" / "thesis" / "run1"
    features = storage.read_provenance(tiny.data / "gist" / "features.h5")
    draw = storage.read_provenance(tiny.folder / RESULTS / "draws" / "thesis" / "run1.h5")
    splits = storage.read_provenance(tiny.folder / RESULTS / "splits" / "standard" / "run1" / "splits.h5")
    codes, counts = (storage.read_provenance(cell / "itq" / name) for name in ("codes.h5", "counts.h5"))
    assert codes["maker"] == "hasher itq"
    assert codes["inputs"]["features"] == features["digest"]
    assert codes["inputs"]["draw"] == splits["inputs"]["draw"] == draw["digest"]
    assert counts["inputs"]["codes"] == codes["digest"]
    assert counts["inputs"]["standard"] == splits["digest"]
    assert splits["seed"] == draw["seed"] > 0
    made_of = [codes["fits"][n_bits]["made_of"] for n_bits in ("8", "16")]
    assert made_of[0]["seed"] != made_of[1]["seed"]
    assert made_of[0]["inputs"] == codes["inputs"]
    assert {"numpy", "scipy", "python", "hashing-protocol"} <= set(codes["versions"])


def test_the_report_opens_offline(tiny):
    page = read(tiny, "report.html").decode()
    body = page.partition("<script>")[0]
    retrieved = 2 * 5 * (1 + 12)  # by two hashers, for five queries: the query and what is nearest to it
    assert (
        body.count("<img") == body.count('<img src="data:image/png;base64,') == 1 + retrieved
    )  # and the contact sheet
    assert 'src="http' not in page
    assert "<link" not in page
    assert len(page) < 2.2e6
    for name in ("itq", "lsh", "class_label", "epsilon_ball", "train-in-database"):
        assert name in body


def test_without_grids_no_options_are_selected(tiny):
    assert 'id="options"' not in read(tiny, "report.html").decode().partition("<script>")[0]
    assert not (tiny.folder / RESULTS / "selection.csv").exists()


def test_the_report_is_drawn_by_a_browser(tiny, browser):
    with opened(browser, tiny.folder / RESULTS / "report.html", width=400) as (tab, wrong):
        drawn = tab.evaluate(DRAWN)
        assert {"by-length", "pr-curves", "bucket-sizes"} <= {name for name, marks in drawn.items() if marks > 2}
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []


def test_everything_is_fitted_on_the_training_set_alone(tiny):
    """Recompute one combination from the features and the split, without the scripts of the pipeline."""
    cell = tiny.folder / RESULTS / "gist" / "thesis" / "run1"
    X = storage.read(tiny.data / "gist" / "features.h5")["X"]
    split = storage.read(tiny.folder / RESULTS / "splits" / "improved" / "run1" / "splits.h5")
    mean = X[split["train"]].mean(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(storage.read(cell / "preprocessing.h5")["mean"], mean)
    centred = (X - mean).astype(np.float32)
    model = registry.get("hasher", "itq")(
        n_bits=16, seed=storage.read_provenance(cell / "itq" / "codes.h5")["fits"]["16"]["made_of"]["seed"]
    )
    model.fit(centred[split["train"]])
    packed = codes.of_split(storage.read(cell / "itq" / "codes.h5"), split["database"])[16]
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


def test_a_run_does_not_depend_on_other_combinations(tiny, tmp_path):
    part = {"runs": 1, "hashers": ["itq"], "n_bits": [16], "splits": ["improved"], "extensions": ["none"]}
    made = Results(tmp_path)
    made.stages(SMALL | part, "metrics")
    ours = set(read(made).decode().splitlines())
    assert len(ours) == 1 + 2 * len(SMALL["metrics"])
    assert ours <= set(read(tiny).decode().splitlines())


@pytest.mark.parametrize(
    ("target", "rules"),
    [
        ("features", {"dataset", "feature"}),
        ("splits", {"dataset", "draw", "split"}),
        ("ground_truths", TRUTHS),
        ("models", {"dataset", "feature", "draw", "preprocessing", "model"}),
        ("counts", TRUTHS | {"model", "count"}),
        ("metrics", TRUTHS | {"model", "count", "score"}),
        ("audit", TRUTHS),
        ("claims", TRUTHS | {"model", "count", "score", "metrics"}),
    ],
)
def test_every_stage_can_be_run_alone(tmp_path, target, rules):
    assert set(Results(tmp_path).planned(SMALL, target)) == rules | {target}
