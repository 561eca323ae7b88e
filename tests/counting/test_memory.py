"""The memory that a ground truth of many classes takes: measured in a separate process."""

import subprocess
import sys

import numpy as np
import pytest

resource = pytest.importorskip("resource")

N_QUERIES, N_DATABASE, N_CLASSES = 50, 100_000, 1000
CODE = """
import resource, sys
import numpy as np
from protocol.inputs.labels import label_pair
from protocol.truth.relevance import LabelRelevance, ground_truth_sha256
scale = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
truth = LabelRelevance(*label_pair("ql.npy", "dl.npy", 50, 100_000)[:2])
ground_truth_sha256(truth), truth.level_numbers(0), truth.row(0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale - before)
"""


def test_boolean_labels_are_not_copied_several_times(tmp_path):
    """With a copy for each check, a Boolean matrix of 100 MB takes 13 times as much."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "ql.npy", rng.random((N_QUERIES, N_CLASSES)) < 0.005)
    np.save(tmp_path / "dl.npy", rng.random((N_DATABASE, N_CLASSES), dtype=np.float32) < 0.005)
    done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2 * N_DATABASE * N_CLASSES, done.stdout
