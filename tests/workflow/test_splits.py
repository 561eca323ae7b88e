"""Splits in the pipeline: lists of the user, and protocols without validation partitions."""

import numpy as np
from project import SMALL, Results
from split_files import write_list

from protocol import datasets, registry
from protocol.provenance import storage

DIGITS = datasets.load("digits", {}, {})
SIZES = SMALL["split_sizes"]


def lists(folder, seed):
    """Write the partitions of a random split except the validation sets, and return their rows."""
    parts = registry.get("split", "improved").split(1797, DIGITS.labels, sizes=SIZES, seed=seed)
    parts = {name: parts[name] for name in ("query", "train", "database")}
    for name, rows in parts.items():
        write_list(folder / f"{name}.txt", rows, DIGITS.ids, DIGITS.labels)
    return parts


def test_own_lists_are_used_and_an_edited_list_is_rerun(tmp_path):
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
