"""The workflows, which only call tested scripts, the templates of issues, and the script of a release."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml

from protocol import __version__

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


def steps(workflow):
    return [step for job in yaml.safe_load(workflow.read_text())["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_only_calls_scripts_that_are_tested(workflow):
    commands = [step["run"].split() for step in steps(workflow) if "run" in step]
    assert len(commands) == 1
    (script, *_), *_ = commands
    assert os.access(ROOT / script, os.X_OK)
    runs_it = (ROOT / ".ci" / "run").read_text() + (ROOT / "CONTRIBUTING.md").read_text() + Path(__file__).read_text()
    assert script in runs_it
    assert yaml.safe_load(workflow.read_text())["permissions"] == {"contents": "read"}


def test_only_the_jobs_that_publish_have_more_rights():
    rights = {
        (path.stem, name): job.get("permissions")
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }
    assert rights == {
        ("checks", "checks"): None,
        ("documentation", "build"): None,
        ("documentation", "publish"): {"pages": "write", "id-token": "write"},
        ("release", "build"): None,
        ("release", "publish"): {"id-token": "write"},
    }


@pytest.fixture
def libraries(tmp_path):
    """A folder with links to NumPy and to the build backend, because a registry may be out of reach."""
    names = ("numpy", "hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
    for name in names:
        files = distribution(name).files
        tops = {Path(str(file)).parts[0] for file in files} - {"..", "__pycache__"}
        for top in tops:
            link = tmp_path / "libraries" / top
            link.parent.mkdir(exist_ok=True)
            if not link.exists():
                link.symlink_to(Path(str(distribution(name).locate_file(top))).resolve())
    return tmp_path / "libraries"


def release(*arguments, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    return subprocess.run([ROOT / ".ci" / "release", *arguments], env=clean | variables, capture_output=True, text=True)


@pytest.mark.ci
def test_the_files_of_a_release_work_in_an_empty_environment(libraries, tmp_path):
    """Without a registry: the libraries are links, and pip neither gets dependencies nor isolates the build."""
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": str(libraries)}
    done = release(tmp_path / "dist", PYTHON=sys.executable, PIP_DISABLE_PIP_VERSION_CHECK="1", **offline)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" scores codes, audits a split and contains the workflow.\n") == 2
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    # No results of runs and no caches; the links of the repository are files or folders in the archive.
    assert {name for name in names if name.startswith(("results/", "protocol/", ".github/"))} <= tracked
    assert names >= {name for name in tracked if name.startswith(("protocol/", "workflow/", "config/", "envs/"))}


def test_the_files_about_the_software_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    jinja, recipe = re.split(r"(?<=%})\n", (ROOT / "envs" / "recipe" / "meta.yaml").read_text())
    recipe = yaml.safe_load(re.sub(r"\{\{ (\w+) }}", r"\1", recipe))
    (stated,) = re.findall(r'\{% set version = "(.+)" %}', jinja)
    assert {citation["version"], codemeta["version"], stated, project["version"]} == {__version__}
    assert {citation["license"], recipe["about"]["license"], project["license"]} == {"MIT"}
    assert codemeta["license"] == "https://spdx.org/licenses/MIT"
    assert codemeta["identifier"] == recipe["package"]["name"] == project["name"]
    assert citation["title"] == codemeta["name"] == f"protocol: {project['description'].replace('Rep', 'rep')}"
    assert recipe["about"]["summary"] == project["description"]
    assert [codemeta["description"], codemeta["keywords"]] == [citation["abstract"], citation["keywords"]]
    assert [one["name"] for one in codemeta["author"]] == [one["name"] for one in citation["authors"]]
    assert codemeta["runtimePlatform"] == f"Python {project['requires-python']}"
    assert recipe["build"]["entry_points"] == [f"{name} = {path}" for name, path in project["scripts"].items()]


def test_a_tag_must_be_the_version_and_the_changelog_must_have_it(tmp_path):
    done = release(tmp_path, "v99")
    assert done.returncode == 1
    assert done.stderr == f"tag v99: the version in pyproject.toml is {__version__}.\n"
    if f"\n## {__version__}, not released yet\n" in (ROOT / "CHANGELOG.md").read_text():
        done = release(tmp_path, f"v{__version__}")
        assert (done.returncode, done.stderr) == (
            1,
            f"CHANGELOG.md: no heading '## {__version__}' or '## {__version__}, DATE'.\n",
        )
