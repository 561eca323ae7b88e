"""The stored tables are those of their experiments and of each other, and one of them is made again by the pipeline."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from page_blocks import script
from project import Results

from protocol import configuration
from protocol.shipped import PROJECT, configs

REFERENCE = PROJECT / "results" / "reference"
CELL = ["feature", "ground_truth", "split", "hasher", "n_bits", "extension", "extension_bits", "metric"]
SUMMARIES, EXPERIMENTS = yaml.safe_load(Path(__file__).with_name("stored.yaml").read_text()).values()


def read(folder, *names):
    """Return stored tables."""
    return [pd.read_csv(REFERENCE / folder / f"{name}.csv") for name in names]


@pytest.mark.parametrize(("folder", "table", "experiment", "columns"), EXPERIMENTS)
def test_a_stored_table_has_the_combinations_of_its_experiment(folder, table, experiment, columns):
    (stored,) = read(folder, table)
    config = configuration.load(configuration.read(configs()[experiment])).config
    for column in columns:
        key = column if column == "n_bits" else f"{column}s"
        assert set(stored[column]) == set(config[key]), column
    n_runs = stored.groupby(columns)["run"].nunique() if "run" in stored else stored["n_runs"]
    expected = {config["runs"]} | {of.get("runs", config["runs"]) for of in config["features"].values() if of}
    assert set(n_runs) <= expected


@pytest.mark.parametrize(("folder", "runs", "summary"), SUMMARIES)
def test_the_summary_is_that_of_the_runs(folder, runs, summary):
    per_run, stored = read(folder, runs, summary)
    cell = [name for name in CELL if name in per_run]
    by_cell = per_run.groupby(cell)["value"].agg(["mean", "std", "size"])
    stored = stored[(stored["metric"] == "mAP") | (folder == "learned")]
    if "extension" in stored and folder == "cifar10":
        stored = stored[stored["extension"] == "none"]
    expected = by_cell.loc[pd.MultiIndex.from_frame(stored[cell])]
    assert len(stored)
    np.testing.assert_allclose(stored["mean"], expected["mean"], atol=2e-6)
    np.testing.assert_allclose(stored["std"], expected["std"], atol=2e-6)
    np.testing.assert_array_equal(stored["n_runs"], expected["size"])
    assert summary == "extensions" or len(by_cell) == len(stored)


def test_the_summary_of_supervised_hashers_is_that_of_the_runs_that_all_of_them_have():
    per_run, stored = read("supervised", "runs", "summary")
    place = ["dataset", "feature", "ground_truth", "split"]
    cell = [*place, "hasher", "n_bits", "metric"]
    per_run = per_run[per_run["hasher"] != "itq"]
    complete = per_run.groupby([*place, "run"])["hasher"].transform("nunique")
    common = per_run[complete == per_run.groupby(place)["hasher"].transform("nunique")]
    expected = common.groupby(cell)["value"].agg(["mean", "std", "size"]).loc[pd.MultiIndex.from_frame(stored[cell])]
    np.testing.assert_allclose(stored[["mean", "std", "n_runs"]], expected, rtol=1e-7, atol=1e-9)
    assert len(stored) == common.groupby(cell).ngroups


def test_the_page_on_unseen_classes_has_the_tables_of_its_scores():
    unseen = script("unseen")
    page, scores = unseen.PAGE.read_text(), unseen.scores()
    assert unseen.filled(page) == page, "run python docs/unseen.py"
    runs = scores.groupby(["score", "hasher", "n_bits"])["run"].nunique().groupby("score").agg(["min", "max", "size"])
    assert set(runs.index) == set(unseen.SCORES)
    assert (runs["size"] == 32 * 4).all()
    assert {name: {*row} for name, row in runs[["min", "max"]].T.items()} == {
        name: {4 if name in ("clean", "worst") else 5} for name in unseen.SCORES
    }


@pytest.mark.ci
def test_the_pipeline_makes_a_stored_table_again(tmp_path):
    config = yaml.safe_load((REFERENCE / "hashers" / "config.yaml").read_text())
    part = {"runs": 2, "hashers": ["itq", "lsh"]}
    Results(tmp_path).stages(config | part, "metrics")
    cell = ["split", "run", "hasher", "n_bits"]
    made = pd.read_csv(tmp_path / "results" / "hashers" / "metrics.csv").set_index(cell)["value"]
    assert len(made) == 2 * 2 * 2
    stored = read("hashers", "map_by_run")[0].set_index(cell)["value"]
    # Rounding on another machine changes single bits, and a run's mAP by far less than the runs differ.
    np.testing.assert_allclose(made, stored[made.index], atol=1e-3)
