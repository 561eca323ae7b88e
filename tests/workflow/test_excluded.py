"""The key `exclude_queries` in the small experiment: what is rerun, and that scores are those of the other queries."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from project import SMALL, Results

import protocol as hp
from protocol import codes
from protocol.cli import main
from protocol.provenance import storage

FOLDER = Path("results", "small")


@pytest.fixture
def results(tiny, here):
    """A copy of the small experiment, in a folder with near-duplicates of its dataset."""
    copied = tiny.copy_to(Results(here))
    content = f"{copied.data}/content.h5"
    assert main(["find-duplicates", "--query", content, "--most", "300", "--csv", "pairs.csv"]) == 0
    return copied


def scores(name):
    return pd.read_csv(FOLDER / f"{name}.csv")


def test_all_scores_are_those_without_the_queries_and_no_model_is_trained_again(results, capsys):
    config = SMALL | {"exclude_queries": "pairs.csv"}
    everything = scores("metrics")
    rerun = {"excluded": 1, "score": 2, "metrics": 1, "examples": 2, "claims": 1, "report": 1}
    assert results.planned(config, "report") == rerun
    results.stages(config, "report")
    assert not results.planned(config, "report")

    excluded, metrics, summary = scores("excluded"), scores("metrics"), scores("summary")
    pairs = pd.read_csv("pairs.csv")
    partners = pd.concat([pairs, pairs.rename(columns={"query": "database", "database": "query"})])
    labels = storage.read(results.data / "items.h5")["labels"]
    for split in SMALL["splits"]:
        for run in range(SMALL["runs"]):
            parts = storage.read(FOLDER / "splits" / split / f"run{run}" / "splits.h5")
            others = {f"digit-{row:04d}" for part in ("database", "train") for row in parts[part].tolist()}
            affected = set(partners[partners["database"].isin(others)]["query"])
            rows = [at for at, row in enumerate(parts["query"].tolist()) if f"digit-{row:04d}" in affected]
            own = excluded[(excluded["split"] == split) & (excluded["run"] == run)]
            assert own["position"].tolist() == rows != []
            assert own["item"].tolist() == parts["query"][rows].tolist()

            stored = storage.read(FOLDER / "gist" / "random" / f"run{run}" / "itq" / "codes.h5")
            pair = codes.of_split(stored, parts, split)[16]
            evaluation = hp.evaluate(
                hp.Codes(pair["query"], n_bits=16),
                hp.Codes(pair["database"], n_bits=16),
                query_labels=labels[parts["query"]],
                database_labels=labels[parts["database"]],
                metrics=SMALL["metrics"],
            )
            here = {"split": split, "run": run, "hasher": "itq", "n_bits": 16, "extension": "none"}
            here |= {"ground_truth": "class_label"}
            for table, expected in ((metrics, evaluation.without(np.array(rows))), (everything, evaluation)):
                found = table[(table[list(here)] == pd.Series(here)).all(axis=1)].set_index("metric")["value"]
                assert found.to_dict() == pytest.approx(expected.metrics, abs=1e-8)
        labels_of_split = summary[summary["split"] == split]["excluded_queries"].unique()
        sizes = excluded[excluded["split"] == split].groupby("run").size()
        number = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes.max()}"
        assert [label.partition(" quer")[0] for label in labels_of_split] == [number]
    assert " queries excluded from all scores" in (FOLDER / "report.html").read_text()


def test_a_changed_file_reruns_the_scores_alone(results):
    config = SMALL | {"exclude_queries": "pairs.csv"}
    results.stages(config, "metrics")
    assert not results.planned(config, "metrics")
    Path("pairs.csv").write_text("id\ndigit-0001\n")
    assert results.planned(config, "metrics") == {"excluded": 1, "score": 2, "metrics": 1}


def test_a_missing_file_and_a_feature_with_several_items_per_image_are_refused(here, capsys):
    assert main(["check", "--config", "exclude_queries=pairs.csv"]) == 2
    assert "exclude_queries: pairs.csv: no such file (looked in " in capsys.readouterr().err
    Path("pairs.csv").write_text("query,database\n1,2\n3,4\n")
    assert main(["check", "--config", "exclude_queries=pairs.csv", "features={sift: {options: {items: local}}}"]) == 2
    assert "exclude_queries: feature 'sift' has several items per image." in capsys.readouterr().err
