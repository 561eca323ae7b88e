"""The workflow as a module of another one: from a checkout, and from a git repository with the package installed."""

import os
import subprocess
import sys

import pytest
from project import PARTS, ROOT, SMALL, Project, copied

pytestmark = pytest.mark.ci
SHORT = SMALL | {"splits": ["improved"], "runs": 1}
SNAKEFILE = """
configfile: "experiment.yaml"


module protocol:
    snakefile:
        {source}
    config:
        config


use rule * from protocol as protocol_*


rule summary:
    default_target: True
    input:
        rules.protocol_splits.input,
    output:
        "summary.txt",
    shell:
        "ls {{input}} > {{output}}"
"""


class Workflow:
    """Another workflow, in a separate folder, that imports this one."""

    def __init__(self, folder, source, environment):
        self.folder, self.environment = folder, environment
        folder.mkdir()
        Project.write(self, SHORT, "experiment.yaml")
        (folder / "Snakefile").write_text(SNAKEFILE.format(source=source))

    def run(self, *arguments):
        """Run Snakemake and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "1", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def source(tmp_path):
    """A checkout of the project with the files that its rules read."""
    return copied(ROOT, tmp_path / "hosted" / "owner" / "protocol", *PARTS, "results/reference")


@pytest.fixture
def environment(tmp_path):
    """An environment in which a copy of the package is installed, outside any checkout."""
    return os.environ | {
        "PYTHONPATH": str(copied(ROOT, tmp_path / "installed", "protocol")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


@pytest.fixture
def from_checkout(tmp_path, source, environment):
    return Workflow(tmp_path / "user", repr(str(source / "Snakefile")), environment)


@pytest.fixture
def from_git(tmp_path, source, environment):
    """The workflow as `github(...)` names it; git finds github.com in a folder of this machine."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", str(source)]
    for command in (["init", "--quiet", "--initial-branch", "main"], ["add", "."], ["commit", "--quiet", "-m", "test"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    environment |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{source.parents[1]}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }
    return Workflow(tmp_path / "user", 'github("owner/protocol", path="Snakefile", branch="main")', environment)


@pytest.mark.parametrize("way", ["from_checkout", "from_git"])
def test_another_workflow_imports_this_one_and_makes_splits(way, request, source):
    workflow = request.getfixturevalue(way)
    plan = workflow.run("--dry-run", "--quiet", "rules")
    assert "protocol_dataset" in plan
    assert "protocol_model" not in plan
    # A report needs the published figures and the stored reference tables, which come with the workflow's source.
    files = workflow.run("--filegraph", "--", "protocol_report", "protocol_claims", "protocol_paper")
    assert "cifar10_gist.csv" in files
    assert "results/reference/cifar10/summary.csv" in files
    workflow.run()
    files = (workflow.folder / "summary.txt").read_text().split()
    assert [file for file in files if file.endswith("splits.h5")] == files != []
    if way == "from_checkout":  # whose move is not a change
        moved = source.rename(source.with_name("moved"))
        snakefile = workflow.folder / "Snakefile"
        snakefile.write_text(snakefile.read_text().replace(str(source), str(moved)))
    assert "Nothing to be done" in workflow.run("--dry-run")
