"""Faults that a run survives: kills, a full disk, read-only folders, another run, and a clock that was set back."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from kills import kill_and_resume
from project import ELSEWHERE, RESULTS

TABLES = ("metrics.csv", "summary.csv", "audit.csv")
TARGETS = ("metrics", "audit")  # which write the tables that are compared


def read(project, name="metrics.csv"):
    return (project.folder / RESULTS / name).read_bytes()


def same_tables(project, other):
    return all(read(project, name) == read(other, name) for name in TABLES)


@contextlib.contextmanager
def tmpfs(folder: Path, options: str):
    """Mount a separate file system; skip the test if that is not allowed."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a tmpfs can't be mounted here: needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.nightly
def test_a_repeatedly_killed_run_ends_with_the_same_bytes(small, project):
    """The parent, the group and one job are killed in turn."""
    project.write(ELSEWHERE)
    n_files = len(list((small.folder / "results").rglob("*.h5")))
    n_jobs = len({*(small.folder / "results").rglob("*.log")} - {small.folder / RESULTS / "logs" / "paper.log"})
    started, in_flight = kill_and_resume(project, kills=3, seed=0, n_files=n_files)
    assert in_flight
    assert same_tables(project, small)
    assert 0 <= started - n_jobs <= sum(in_flight)


@pytest.mark.nightly
def test_a_full_disk_is_one_clear_error_and_the_run_resumes_with_more_space(small, project):
    project.write(ELSEWHERE)
    results = project.folder / "results"
    with tmpfs(results, "size=3m"):
        done = project.run(fails=True)
        assert "Traceback" not in done.stderr
        # Snakemake writes the benchmark of each job, so it may be the first that finds the disk full.
        printed = done.stdout + done.stderr
        assert "No space left on device" in printed, printed
        assert not (project.folder / RESULTS / "metrics.csv").exists()
        subprocess.run(["mount", "-o", "remount,size=300m", results], check=True)
        project.run(*TARGETS, "--rerun-incomplete")
        assert same_tables(project, small)


@pytest.mark.ci
def test_results_that_can_not_be_written_stop_before_any_job(project):
    with tmpfs(project.folder / "results", "ro"):
        done = project.run(fails=True)
    assert len({line for line in (done.stdout + done.stderr).splitlines() if "can't be written" in line}) == 1
    assert "Select jobs" not in done.stderr
