"""The small experiment on a Slurm cluster of one node, with the same bytes as without Slurm."""

import importlib.util
import re

import pytest
import single_node
from project import ELSEWHERE, RESULTS, finished

PLUGIN, LACKING = importlib.util.find_spec("snakemake_executor_plugin_slurm"), single_node.missing()
# Marks, because they come before the run that `elsewhere` is.
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(PLUGIN is None, reason="the executor plugin is missing: see envs/remote.lock"),
    pytest.mark.skipif(bool(LACKING), reason=f"slurm is not installed: no {', '.join(LACKING)}"),
]


def test_slurm_writes_the_same_bytes_as_a_local_run(elsewhere, project):
    project.write(ELSEWHERE)
    arguments = ["--workflow-profile", "workflow/profiles/slurm", "--configfile", "small.yaml"]
    with single_node.single_node() as environment:
        environment |= project.environment() | {"PATH": environment["PATH"]}
        done = finished(project.command(*arguments), project.folder, environment)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    submitted = re.findall(r"has been submitted with SLURM jobid (\d+)", printed)
    assert len(set(submitted)) > 5
    for name in ("metrics.csv", "summary.csv", "audit.csv"):
        assert (project.folder / RESULTS / name).read_bytes() == (elsewhere.folder / RESULTS / name).read_bytes(), name
