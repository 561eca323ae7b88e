"""Jobs import the package of the checkout whose Snakefile runs, even if another one is installed."""

import pytest
from project import ROOT, SHORT, Project, copied, finished

pytestmark = pytest.mark.ci
BROKEN = "the checkout's own code ran"


@pytest.fixture
def installed(tmp_path):
    """A folder with the package in working order, as a regular installation puts it on the path."""
    return copied(ROOT, tmp_path / "installed", "protocol")


@pytest.fixture
def checkout(tmp_path):
    """Another checkout; loading a dataset fails in its own package."""
    (tmp_path / "checkout").mkdir()
    checkout = Project(tmp_path / "checkout")
    checkout.write(SHORT)
    with open(checkout.folder / "protocol" / "datasets" / "_dataset.py", "a") as source:
        source.write(f"\n\ndef load(*_):\n    raise ProtocolError({BROKEN!r})\n")
    return checkout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--", "dataset"],  # from another working directory
        ["--mode", "remote", "--target-jobs", "dataset:", "--allowed-rules", "dataset"],  # as a job of a cluster
    ],
    ids=["local", "remote"],
)
def test_jobs_import_the_package_of_the_checkout_that_runs(checkout, installed, tmp_path, arguments):
    """A job on another node parses the Snakefile again, in a process of its own."""
    folder = checkout.folder if "remote" in arguments else tmp_path
    files = ["--snakefile", checkout.folder / "workflow" / "Snakefile", "--configfile", checkout.folder / "small.yaml"]
    command = checkout.command("--cores", "1", *map(str, files), *arguments)
    done = finished(command, folder, checkout.environment() | {"PYTHONPATH": str(installed)})
    assert done.returncode != 0, "the job ran the installed package's code"
    assert BROKEN in done.stdout + done.stderr
    assert not list(folder.glob("results/**/*.h5"))
