"""The workflow as a module of another one: from a checkout, from a git repository, and as the catalogue deploys it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from project import PARTS, ROOT, SHORT, Project, copied, finished

from protocol import configuration

pytestmark = pytest.mark.ci
# Two workflows, and a stand-in for conda.
IMPORTING, DEPLOYED, CONDA = (
    (Path(__file__).parent / "modules" / name).read_text() for name in ("importing.smk", "deployed.smk", "conda")
)


class Workflow:
    """A folder with a workflow that imports this one."""

    def __init__(self, folder, snakefile, environment):
        self.folder, self.snakefile, self.environment = folder, folder / "workflow" / "Snakefile", environment
        self.snakefile.parent.mkdir(parents=True)
        self.snakefile.write_text(snakefile)
        Project.write(self, SHORT, "experiment.yaml")

    def run(self, *arguments, start=("-m", "snakemake"), fails=False):
        """Run Snakemake and return what it printed."""
        done = finished([sys.executable, *start, "--cores", "1", *arguments], self.folder, self.environment)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def source(tmp_path):
    """A checkout of the project with the files that its rules read."""
    return copied(ROOT, tmp_path / "hosted" / "owner" / "protocol", *PARTS, "results/reference")


@pytest.fixture
def environment(tmp_path):
    """An environment in which a copy of the package is installed, outside any checkout, with what a wheel contains."""
    installed = copied(ROOT, tmp_path / "installed", "protocol")
    copied(ROOT, installed / "protocol" / "pipeline", "config", "workflow")
    own = {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return os.environ | own


@pytest.fixture
def hosted(source, environment):
    """The checkout as a repository with a tag; git finds github.com in a folder of this machine."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", str(source)]
    for command in ("init --quiet --initial-branch main", "add .", "commit --quiet -m test", "tag v1"):
        subprocess.run([*git, *command.split()], check=True, capture_output=True)
    return environment | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{source.parents[1]}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }


@pytest.fixture
def deployed(tmp_path, hosted):
    """The folder that snakedeploy writes."""
    return Workflow(copied(ROOT, tmp_path / "deployed", "config", "profiles"), DEPLOYED, hosted)


def test_another_workflow_imports_this_one_and_makes_splits(source, environment, tmp_path):
    snakefile = IMPORTING.replace("SOURCE", str(source / "workflow" / "Snakefile"))
    empty = Workflow(tmp_path / "empty", snakefile.replace('configfile: "experiment.yaml"', ""), environment)
    problem = 'The module has no configuration. Write `configfile: "my.yaml"` before it and `config: config` in it.'
    assert problem in empty.run("--dry-run", fails=True)
    workflow = Workflow(tmp_path / "user", snakefile, environment)
    plan = workflow.run("--dry-run", "--quiet", "rules")
    assert "protocol_dataset" in plan
    assert "protocol_model" not in plan
    workflow.run()
    files = (workflow.folder / "summary.txt").read_text().split()
    assert [file for file in files if file.endswith("splits.h5")] == files != []
    moved = source.rename(source.with_name("moved"))  # which is not a change
    workflow.snakefile.write_text(workflow.snakefile.read_text().replace(str(source), str(moved)))
    assert "Nothing to be done" in workflow.run("--dry-run")


def test_a_deployed_workflow_runs_the_default_experiment_and_edits_of_it_also_in_conda_environments(deployed, tmp_path):
    """Without network: conda is a stand-in, so that its environments are not solved."""
    plan = dict(re.findall(r"^(\w+) +(\d+)$", deployed.run("--dry-run", "--quiet", "rules"), re.M))
    combinations = configuration.load({}, from_file=False).combinations
    trained = {(row["feature"], row["sample"], row["run"], row["hasher"]) for row in combinations}
    assert (int(plan["model"]), plan["report"], plan["all"]) == (len(trained), "1", "1")
    (deployed.folder / "config" / "config.yaml").write_text(yaml.safe_dump(SHORT))
    conda = tmp_path / "bin" / "conda"
    conda.parent.mkdir()
    conda.write_text(CONDA.replace("FOLDER", str(tmp_path)).replace("PYTHON", sys.executable))
    conda.chmod(0o755)
    (conda.parent / "activate").write_text('PATH="$1/bin:$PATH"\n')
    deployed.environment["PATH"] = f"{conda.parent}:{os.environ['PATH']}"
    splits = ("--sdm", "conda", "--", "splits")
    deployed.run(*splits)
    started = (tmp_path / "started").read_text()
    assert sorted(re.findall(r"(\w+)\.py$", started, re.M)) == ["dataset", "sample", "split"]
    # A report needs the published figures and the stored reference tables, which come with the workflow's source.
    files = deployed.run("--filegraph", "--", "report", "claims", "paper")
    assert "cifar10_gist.csv" in files
    assert "results/reference/cifar10/full.csv" in files


def test_a_deployed_workflow_without_the_package_prints_the_command_that_installs_it(deployed):
    start = "import sys; sys.modules['protocol'] = None; from snakemake.cli import main; main()"
    printed = deployed.run("--dry-run", start=("-c", start), fails=True)
    assert "pip install 'hashing-protocol[pipeline] @ git+https://github.com/owner/protocol@v1'" in printed
