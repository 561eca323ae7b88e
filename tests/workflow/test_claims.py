"""The target `claims`."""

import json

import pytest
from project import SMALL

from protocol.papers import FIELDS

pytestmark = pytest.mark.ci
TINY = SMALL | {"runs": 1, "splits": ["standard"], "ground_truths": ["class_label"], "hashers": ["lsh"], "n_bits": [8]}


def test_the_claims_are_checked_against_the_experiment(project):
    project.write(TINY, "tiny.yaml")
    done = project.run("claims", config="tiny.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    entries = {entry["id"]: entry for entry in json.loads((project.folder / "results/small/claims.json").read_text())}
    assert all(list(entry) == list(FIELDS) for entry in entries.values())
    assert entries["X-06"]["status"] == "replicated on a substitute"
    assert "pairs of rows: 8" in entries["X-06"]["ours"]  # two of mAP, two of others at a radius twice, two of RAMAP
    assert entries["S0-08"]["status"] == "not run"  # these are no rows of CIFAR-10
    assert project.jobs("claims", config="tiny.yaml") == {}
    with open(project.folder / "protocol/papers/thesis/claims.py", "a") as file:
        file.write("# an edit\n")
    assert project.jobs("claims", config="tiny.yaml") == {"claims": 1}
