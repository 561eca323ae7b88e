"""What every test may use: the project's folder, and the shared data where it is."""

import fcntl
import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, settings

# Before anything loads NumPy: on matrices as small as the tests', threads spend their time waiting for each other.
os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
os.environ["COLUMNS"] = ""  # readline, which pytest imports, sets it for other processes

from browser import launched

# No test depends on the time that it takes.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
yaml.SafeLoader = yaml.CSafeLoader  # the same in C: tables of cases have thousands of lines

ROOT = Path(__file__).parents[1]


def pytest_collection_finish() -> None:
    """Leave modules and thousands of tests out of later garbage collections."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_lines_of_progress():
    """After ten seconds, which a busy machine may need for any command, a line would be printed on standard error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protocol.progress._FIRST", 10**6)
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, as the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data that PROTOCOL_SHARED names; a test that needs it is skipped without."""
    if "PROTOCOL_SHARED" not in os.environ:
        pytest.skip("PROTOCOL_SHARED is not set: needs the folder with data/")
    return Path(os.environ["PROTOCOL_SHARED"]).resolve()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return a function that returns a folder by its name, which the first of all workers to need it has filled."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder(name: str, fill: Callable[[Path], None]) -> Path:
        with open(base / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
            if not (base / name).is_dir():
                filling = tmp_path_factory.mktemp(name)
                fill(filling)
                filling.rename(base / name)
        return base / name

    return folder


@pytest.fixture(scope="session")
def browser():
    """Return the headless browser that all pages are opened in."""
    with launched() as found:
        yield found
