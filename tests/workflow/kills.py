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


class Victim:
    """An experiment that is run in several legs, each of which may be killed."""

    def __init__(self, project: Project, config: str) -> None:
        self.project, self._log = project, project.folder / "legs.log"
        self._log.touch()
        self._command = project.command("--cores", "2", "--rerun-incomplete", "--configfile", config)
        self._groups: list[int] = []

    def files(self) -> list[Path]:
        """Return the files that have their final name."""
        return [path for path in (self.project.folder / "results").rglob("*.h5") if not path.name.startswith(".")]

    def jobs_started(self) -> int:
        """Return how many jobs all legs together have started, without target rules, which print no message."""
        return len(STARTED.findall(self._log.read_text()))

    def kill(self, whom: str, *, after: int, rng: np.random.Generator) -> int | None:
        """Run until `after` files exist and a moment longer; kill, and return how many jobs were running.

        Return None if the run ended before.
        """
        before, running, jobs = len(self._log.read_text()), self._start(), []
        while running.poll() is None and (len(self.files()) < after or not jobs):
            time.sleep(rng.uniform(0.01, 0.2))
            jobs = self._jobs(running)
        if running.poll() is not None:
            return None
        if whom == "the parent":
            running.kill()
        elif whom == "the group":
            os.killpg(running.pid, signal.SIGKILL)
        else:
            with contextlib.suppress(psutil.NoSuchProcess):
                jobs[rng.integers(len(jobs))].kill()
        running.wait()
        leg = self._log.read_text()[before:]
        return len({*STARTED.findall(leg)} - {*ENDED.findall(leg)})

    def resume(self) -> int:
        """Run to the end and return the exit status; no started process keeps running."""
        status = self._start().wait()
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        return status

    def _start(self) -> subprocess.Popen:
        options = {"cwd": self.project.folder, "env": self.project.environment()}
        if any(self.project.folder.glob(".snakemake/locks/*")):
            subprocess.run([*self._command, "--unlock"], check=True, capture_output=True, **options)
        with open(self._log, "a") as log:
            started = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True, **options)
        self._groups.append(started.pid)
        return started

    def _jobs(self, running: subprocess.Popen) -> list[psutil.Process]:
        """Return the running scripts."""
        jobs = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(running.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "python" in Path(process.exe()).name and ".snakemake/scripts" in " ".join(process.cmdline()):
                        jobs.append(process)
        return jobs


def kill_and_resume(victim: Victim, *, kills: int, seed: int, n_files: int) -> list[int]:
    """Kill a run `kills` times at seeded random moments, then let it end; every file must be complete after every kill.

    Return how many jobs each kill ended; there are fewer kills if the run ends before. A complete run leaves `n_files`
    files (.h5), over which the moments are drawn.
    """
    rng, in_flight = np.random.default_rng(seed), []
    for number, moment in enumerate(np.sort(rng.integers(0, n_files, kills))):
        ended = victim.kill(WHOM[number % len(WHOM)], after=moment, rng=rng)
        if ended is None:
            break
        in_flight.append(ended)
        for path in victim.files():
            storage.read(path)  # raises if the file is not complete
    if victim.resume() != 0:
        raise RuntimeError(f"the last leg failed; see {victim.project.folder / 'legs.log'}")
    return in_flight
