"""Jobs import the package of the checkout whose Snakefile runs, even if another one is installed."""

import shutil
import subprocess
import sys

import pytest
from project import SMALL, Project

pytestmark = pytest.mark.ci
BROKEN = "the checkout's own code ran"
# One split protocol and one run are enough to see which code a job imports.
SHORT = SMALL | {"splits": ["improved"], "runs": 1}


@pytest.fixture
def installed(tmp_path, root):
    """A folder with the package in working order, as a regular installation puts it on the path."""
    folder = tmp_path / "installed"
    shutil.copytree(root / "protocol", folder / "protocol")
    return folder


@pytest.fixture
def checkout(tmp_path, root):
    """Another checkout; loading a dataset fails in its own package."""
    (tmp_path / "checkout").mkdir()
    checkout = Project(tmp_path / "checkout", root)
    checkout.write(SHORT)
    source = checkout.folder / "protocol" / "datasets" / "_dataset.py"
    text = source.read_text()
    head = next(line for line in text.splitlines() if line.startswith("def load("))
    start = text.index('"""', text.index(head))
    end = text.index('"""', start + 3) + 3
    source.write_text(f"{text[:end]}\n    raise ProtocolError({BROKEN!r})\n{text[end:]}")
    return checkout


def run(checkout, installed, *arguments, folder=None):
    """Run the checkout's Snakefile in an environment where another copy of the package is installed."""
    # Unlike `Project.run`, this does not put the checkout on the path.
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "1",
            "--configfile",
            str(checkout.folder / "small.yaml"),
            *arguments,
        ],
        cwd=folder or checkout.folder,
        env=checkout.environment() | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_jobs_import_the_package_of_the_checkout_that_runs(checkout, installed):
    done = run(checkout, installed, "--", "dataset")
    assert done.returncode != 0, "the job ran the installed package's code"
    assert BROKEN in done.stdout + done.stderr
    assert not list(checkout.folder.glob("results/**/*.h5"))


def test_jobs_import_the_checkout_from_another_working_directory(checkout, installed, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    done = run(checkout, installed, "--snakefile", str(checkout.folder / "Snakefile"), "--", "dataset", folder=folder)
    assert done.returncode != 0, "the job ran the installed package's code"
    assert BROKEN in done.stdout + done.stderr


def test_a_job_on_another_node_imports_the_checkout(checkout, installed):
    """A cluster's job parses the Snakefile again, in a process of its own."""
    done = run(checkout, installed, "--mode", "remote", "--target-jobs", "dataset:", "--allowed-rules", "dataset")
    assert done.returncode != 0, "the job ran the installed package's code"
    assert BROKEN in done.stdout + done.stderr
