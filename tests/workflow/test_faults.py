"""Faults that a run survives: kills, a full disk, read-only folders, another run, and a clock that was set back."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest
from kills import TABLES, Victim, kill_and_resume

pytestmark = pytest.mark.ci
RESULTS = "results/small"
DATA = "results/datasets/digits"
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


def remount(folder: Path, options: str):
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def errors(done):
    """Return the lines of a failed run that report an error of a file."""
    return {line for line in (done.stdout + done.stderr).splitlines() if "can't be written" in line}


@pytest.mark.nightly
def test_a_repeatedly_killed_run_ends_with_the_same_bytes(small, project):
    """The parent, the group and one job are killed in turn; the second time, `.snakemake` is also deleted."""
    victim = Victim(project, "small.yaml")
    n_files = len(list((small.folder / "results").rglob("*.h5")))
    n_jobs = len({*(small.folder / "results").rglob("*.log")} - {small.folder / RESULTS / "logs" / "paper.log"})
    done = kill_and_resume(victim, kills=3, seed=0, n_files=n_files)
    assert len(done) == 3
    assert same_tables(project, small)
    assert 0 <= victim.jobs_started() - n_jobs <= sum(kill.in_flight for kill in done)


def test_an_altered_file_is_refused_with_one_line(ran):
    path = ran.folder / RESULTS / "gist" / "thesis" / "run0" / "itq" / "codes.h5"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    (ran.folder / RESULTS / "metrics.csv").unlink()
    done = ran.run("metrics")
    assert done.returncode != 0
    assert f"error: {RESULTS}/gist/thesis/run0/itq/codes.h5: altered since it was written" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (ran.folder / RESULTS / "metrics.csv").exists()


def test_a_results_folder_that_can_not_be_written_stops_before_any_job(project):
    (project.folder / "results").write_text("")
    done = project.run()
    assert done.returncode != 0
    assert "a file exists where a folder is needed" in done.stderr
    assert "Select jobs" not in done.stderr


@pytest.mark.nightly
def test_a_full_disk_is_one_clear_error_and_the_run_resumes_with_more_space(small, project):
    results = project.folder / "results"
    with tmpfs(results, "size=3m"):
        done = project.run()
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        # Snakemake writes the benchmark of each job, so it may be the first that finds the disk full.
        printed = done.stdout + done.stderr
        assert "can't be written: the disk is full" in printed or "No space left on device" in printed, printed
        assert not (project.folder / RESULTS / "metrics.csv").exists()
        remount(results, "size=300m")
        done = project.run(*TARGETS, "--rerun-incomplete")
        assert done.returncode == 0, done.stderr
        assert same_tables(project, small)


def test_read_only_results_stop_before_any_job(project):
    with tmpfs(project.folder / "results", "ro"):
        done = project.run()
    assert done.returncode != 0
    assert len(errors(done)) == 1
    assert "Select jobs" not in done.stderr


def test_a_second_run_in_the_same_folder_is_refused_and_the_first_continues(small, project):
    first = subprocess.Popen(
        project.command(*TARGETS, "--cores", "1", "--configfile", "small.yaml"),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not any(project.folder.glob(f"{DATA}/*.h5")):
        time.sleep(0.05)
    second = project.run(
        "--rerun-incomplete"
    )  # as the default profile: a file that the first run is writing does not stop it
    assert first.wait() == 0
    assert second.returncode != 0
    assert "Directory cannot be locked" in second.stdout + second.stderr
    assert same_tables(project, small)


def test_a_clock_set_back_is_one_clear_error_until_the_files_are_touched(small, ran):
    """A draw has a date of tomorrow, so everything computed from it would always look outdated."""
    draw = ran.folder / RESULTS / "draws" / "thesis" / "run1.h5"
    tomorrow = time.time() + 86_400
    os.utime(draw, (tomorrow, tomorrow))
    codes = f"{RESULTS}/gist/thesis/run1/itq/codes.h5"
    (ran.folder / codes).unlink()
    done = ran.run(codes)
    assert done.returncode != 0
    assert "has older modification time" in done.stderr
    assert "clock skew" in done.stderr
    os.utime(draw)
    assert ran.run(codes).returncode == 0
    assert ran.run(*TARGETS).returncode == 0
    assert same_tables(ran, small)
    assert ran.jobs(*TARGETS) == {}
