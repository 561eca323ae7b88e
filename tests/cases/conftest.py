"""Run a test in a copy of a small input that once failed, from the folder `cases` of the shared data."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def case(shared, request, tmp_path, monkeypatch) -> Path:
    """The folder of the case that the marker `case("NAME")` names, as the current folder."""
    name = request.node.get_closest_marker("case").args[0]
    shutil.copytree(shared / "cases" / name, tmp_path, dirs_exist_ok=True, copy_function=shutil.copyfile)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path
