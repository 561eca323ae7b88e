"""Copies of the project to run Snakemake in."""

import shutil

import pytest
from project import ELSEWHERE, Project


@pytest.fixture
def project(tmp_path, root) -> Project:
    return Project(tmp_path, root)


@pytest.fixture(scope="session")
def small(tmp_path_factory, root) -> Project:
    """A copy in which the small experiment has run on two cores; tests may read it, not change it."""
    made = Project(tmp_path_factory.mktemp("small"), root)
    done = made.run("all", "paper")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def ran(small, project) -> Project:
    """A copy of `small` that a test may change."""
    for part in ("results", ".snakemake"):
        shutil.copytree(small.folder / part, project.folder / part)
    return project


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory, root) -> Project:
    """A copy in which `ELSEWHERE` has run on this machine, for comparison with tables from elsewhere."""
    made = Project(tmp_path_factory.mktemp("elsewhere"), root)
    made.write(ELSEWHERE)
    done = made.run()
    assert done.returncode == 0, done.stdout + done.stderr
    return made
