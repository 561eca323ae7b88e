"""Kill a run repeatedly at random moments, resume it every time, and check that every file is complete."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
from project import Project

from protocol.provenance import storage

WHOM = ("the parent", "the group", "one job")
STARTED, ENDED = re.compile(r"^Job (\d+): ", re.M), re.compile(r"^Finished jobid: (\d+)", re.M)


def kill_and_resume(project: Project, *, kills: int, seed: int, n_files: int) -> tuple[int, list[int]]:
    """Kill a run `kills` times at seeded random moments, then let it end; every file must be complete after every kill.

    Return how many jobs were started, without target rules, which print no message, and how many each kill ended; there
    are fewer kills if the run ends before. A complete run leaves `n_files` files (.h5): the moments are among them.
    """
    command = project.command("--cores", "2", "--rerun-incomplete", "--configfile", "small.yaml")
    options = {"cwd": project.folder, "env": project.environment()}
    rng, log, groups, in_flight = np.random.default_rng(seed), project.folder / "legs.log", [], []
    log.touch()

    def start() -> subprocess.Popen:
        if any(project.folder.glob(".snakemake/locks/*")):
            subprocess.run([*command, "--unlock"], check=True, capture_output=True, **options)
        with open(log, "a") as output:
            started = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True, **options)
        groups.append(started.pid)
        return started

    for number, moment in enumerate(np.sort(rng.integers(0, n_files, kills))):
        before, running, jobs = len(log.read_text()), start(), []
        while running.poll() is None and (len(final_files(project)) < moment or not jobs):
            time.sleep(rng.uniform(0.01, 0.2))
            jobs = scripts_of(running.pid)
        if running.poll() is not None:
            break
        with contextlib.suppress(psutil.NoSuchProcess):
            whom = WHOM[number % len(WHOM)]
            if whom == "the group":
                os.killpg(running.pid, signal.SIGKILL)
            else:
                (running if whom == "the parent" else jobs[rng.integers(len(jobs))]).kill()
        running.wait()
        leg = log.read_text()[before:]
        in_flight.append(len({*STARTED.findall(leg)} - {*ENDED.findall(leg)}))
        for path in final_files(project):
            storage.read(path)  # raises if the file is not complete
    assert start().wait() == 0, log.read_text()
    for group in groups:  # no started process keeps running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    return len(STARTED.findall(log.read_text())), in_flight


def final_files(project: Project) -> list[Path]:
    """Return the files that have their final name."""
    return [path for path in (project.folder / "results").rglob("*.h5") if not path.name.startswith(".")]


def scripts_of(pid: int) -> list[psutil.Process]:
    """Return the running scripts below a process."""
    jobs = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "python" in Path(process.exe()).name and ".snakemake/scripts" in " ".join(process.cmdline()):
                    jobs.append(process)
    return jobs
