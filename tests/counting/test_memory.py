"""The memory that a ground truth of many classes takes."""

import tracemalloc

import numpy as np

from protocol.inputs.labels import label_pair
from protocol.truth.relevance import LabelRelevance, ground_truth_sha256


def test_boolean_labels_are_not_copied_several_times(tmp_path, monkeypatch):
    """With a copy for each check, a Boolean matrix takes 13 times as much."""
    monkeypatch.chdir(tmp_path)
    n_database, n_classes, rng = 20_000, 1000, np.random.default_rng(0)
    for name, n in (("q", 50), ("d", n_database)):
        np.save(f"{name}.npy", rng.random((n, n_classes), dtype=np.float32) < 0.005)
    tracemalloc.start()
    truth = LabelRelevance(*label_pair("q.npy", "d.npy", 50, n_database)[:2])
    ground_truth_sha256(truth), truth.level_numbers(0), truth.row(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * n_database * n_classes
