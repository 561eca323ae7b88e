"""Splits in the pipeline: lists of the user, and protocols without validation partitions."""

import re

import numpy as np
import pandas as pd
import pytest
from project import SMALL, Results, planned
from snakemake.settings.types import SchedulingSettings
from split_files import write_list

from protocol import codes, datasets, evaluate, registry
from protocol.provenance import storage
from protocol.splits import sharing

DIGITS = datasets.load("digits", {}, {})
SIZES = SMALL["split_sizes"]


def lists(folder, seed):
    """Write the partitions of a random split except the validation sets, and return their rows."""
    parts = registry.get("split", "improved").split(1797, DIGITS.labels, sizes=SIZES, seed=seed)
    parts = {name: parts[name] for name in ("query", "train", "database")}
    for name, rows in parts.items():
        write_list(folder / f"{name}.txt", rows, DIGITS.ids, DIGITS.labels)
    return parts


def test_own_lists_are_used_and_an_edited_list_is_rerun(tmp_path, caplog):
    made = Results(tmp_path)
    parts = lists(tmp_path, 1)
    files = {name: f"{name}.txt" for name in parts}
    config = {key: value for key, value in SMALL.items() if key != "split_sizes"}
    config |= {"splits": ["from_lists"], "split_options": {"from_lists": files}, "hashers": ["lsh"], "n_bits": [8]}
    results = made.stages(config, "models", "audit").folder / "results" / "small"
    for run in (0, 1):
        found = storage.read(results / "splits" / "from_lists" / f"run{run}" / "splits.h5")
        for name, rows in parts.items():
            np.testing.assert_array_equal(found[name], rows)
        assert found["validation_query"].size == found["validation_database"].size == 0
    assert (results / "audit.csv").read_text().count("error") == 0
    codes = [storage.read(results / f"gist/from_lists/run{run}/lsh/codes.h5")["8/query"] for run in (0, 1)]
    assert (codes[0] != codes[1]).any()  # the same items, another model
    assert made.planned(config, "models", "audit") == {}
    lists(tmp_path, 2)
    jobs = made.planned(config, "models", "audit")
    assert (jobs["sample"], jobs["split"]) == (2, 2)
    leaking = np.concatenate([parts["database"], parts["query"][:5]])
    lists(tmp_path, 1)
    write_list(tmp_path / "database.txt", leaking, DIGITS.ids, DIGITS.labels)
    made.stages(config, "audit")
    with planned(tmp_path, config, "audit") as workflow:
        workflow.scheduling_settings = SchedulingSettings()
        workflow.execute(run=lambda: None)
    said = r"Error found by the audit: query-in-database: 5 in \S+run0/splits\.h5\. A query retrieves itself"
    assert re.search(said, caplog.text)


def test_the_four_scores_of_unseen_classes_are_those_of_one_model(tmp_path):
    config = SMALL | {"splits": ["unseen"], "split_options": {"unseen": {"unseen": [3, 7]}}, "runs": 1}
    config |= {"hashers": ["itq"], "n_bits": [8], "extensions": ["none"], "metrics": ["mAP"]}
    config |= {"ground_truths": ["class_label"]}
    made = Results(tmp_path).stages(config, "metrics", "audit")
    results = made.folder / "results" / "small"
    stored, labels = storage.read(results / "gist/unseen/run0/itq/codes.h5"), DIGITS.labels
    scores = pd.read_csv(results / "metrics.csv", comment="#").set_index("split")["value"]
    assert set(scores.index) == set(sharing("unseen"))
    is_unseen = np.isin(labels, [3, 7])
    for split, value in scores.items():
        rows = storage.read(results / "splits" / split / "run0" / "splits.h5")
        of_queries, of_database = split.split("_at_")
        assert set(is_unseen[rows["query"]]) == {of_queries == "unseen"}
        found = {"all": {True, False}, "seen": {False}, "unseen": {True}}[of_database]
        assert set(is_unseen[rows["database"]]) == found
        assert not is_unseen[np.concatenate([rows["train"], rows["validation_query"]])].any()
        items = codes.unpack(stored["8/items"], 8)
        pair = items[rows["query"]], items[rows["database"]]
        mine = evaluate(*pair, query_labels=labels[rows["query"]], database_labels=labels[rows["database"]])
        assert mine.metrics["mAP"] == pytest.approx(value, abs=1e-9)
    assert (results / "audit.csv").read_text().count("error") == 0
