"""Folders with results of the small experiment, made in this process or by Snakemake (`small`)."""

import pytest
from project import ELSEWHERE, SMALL, Project, Results


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="session")
def tiny(made_once) -> Results:
    """The results of the small experiment; its stages ran in this process. Tests may read them, not change them."""
    return Results(made_once("tiny", lambda folder: Results(folder).stages(SMALL, "all", "paper")))


@pytest.fixture(scope="session")
def small(made_once) -> Project:
    """A copy of the project in which Snakemake ran `ELSEWHERE`; tests may read it, not change it."""

    def fill(folder):
        project = Project(folder)
        project.write(ELSEWHERE)
        project.run("all", "paper")

    return Project(made_once("small", fill))


@pytest.fixture
def ran(tiny, project) -> Project:
    """A copy of the project with the results of `tiny` that a test may change."""
    return tiny.copy_to(project)


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory) -> Results:
    """The results of `ELSEWHERE`, made in this process, for comparison with tables from elsewhere."""
    return Results(tmp_path_factory.mktemp("elsewhere")).stages(ELSEWHERE, "all")
