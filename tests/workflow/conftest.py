"""Folders with results of the small experiment: made in this process (`tiny`) or by Snakemake (all others)."""

import shutil
from pathlib import Path

import pytest
from project import ELSEWHERE, SMALL, Project, Results


@pytest.fixture
def project(tmp_path, root) -> Project:
    return Project(tmp_path, root)


def run(folder: Path, root: Path, config: dict, *targets: str) -> Project:
    """Return a copy of the project in which Snakemake ran a configuration."""
    project = Project(folder, root)
    project.write(config)
    done = project.run(*targets)
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture(scope="session")
def tiny(made_once) -> Results:
    """The results of the small experiment; its stages ran in this process. Tests may read them, not change them."""
    return Results(made_once("tiny", lambda folder: Results(folder).stages(SMALL, "all", "paper")))


@pytest.fixture(scope="session")
def small(tmp_path_factory, root) -> Project:
    """A copy in which Snakemake ran the small experiment on two cores; tests may read it, not change it."""
    return run(tmp_path_factory.mktemp("small"), root, SMALL, "all", "paper")


@pytest.fixture
def ran(small, project) -> Project:
    """A copy of `small` that a test may change."""
    for part in ("results", ".snakemake"):
        shutil.copytree(small.folder / part, project.folder / part)
    return project


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory, root) -> Project:
    """A copy in which `ELSEWHERE` has run on this machine, for comparison with tables from elsewhere."""
    return run(tmp_path_factory.mktemp("elsewhere"), root, ELSEWHERE)
