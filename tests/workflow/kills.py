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


class Victim:
    """An experiment that is run in several legs, each of which may be killed."""

    def __init__(self, project: Project, config: str, cores: int = 2) -> None:
        self.project, self.results = project, project.folder / "results"
        self._command = project.command("--cores", str(cores), "--rerun-incomplete", "--configfile", config)
        self._log = project.folder / "legs.log"
        self._groups: list[int] = []

    def files(self) -> list[Path]:
        """Return the files that have their final name."""
        return [path for path in self.results.rglob("*.h5") if not path.name.startswith(".")]

    def jobs_started(self) -> int:
        """Return how many jobs all legs together have started, without target rules, which print no message."""
        return len(re.findall(r"^Job \d+: ", self._log.read_text(), re.M))

    def kill(self, whom: str, *, after: int, lines: int, rng: np.random.Generator) -> int | None:
        """Run until `after` files exist and the log has so many further lines; return how many jobs were running.

        Return None if the run ended before.
        """
        running = self._start()
        while len(self.files()) < after and running.poll() is None:
            time.sleep(0.1)
        lines += self._n_lines()
        while self._n_lines() < lines and running.poll() is None:
            time.sleep(0.005)
        jobs = self._jobs(running)
        while whom == "one job" and not jobs and running.poll() is None:
            time.sleep(0.005)
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
        return self._in_flight()

    def resume(self) -> int:
        """Run to the end and return the exit status; no started process keeps running."""
        status = self._start().wait()
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        return status

    def _n_lines(self) -> int:
        return self._log.read_bytes().count(b"\n")

    def _in_flight(self) -> int:
        """Return how many jobs the last leg had started and not finished, according to its output."""
        leg = self._log.read_text()[self._leg_began :]
        return len(set(re.findall(r"^Job (\d+): ", leg, re.M)) - set(re.findall(r"^Finished jobid: (\d+)", leg, re.M)))

    def _start(self) -> subprocess.Popen:
        self._unlock()
        self._leg_began = len(self._log.read_text()) if self._log.exists() else 0
        with open(self._log, "a") as log:
            environment = self.project.environment()
            started = subprocess.Popen(
                self._command, cwd=self.project.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self._groups.append(started.pid)
        return started

    def _unlock(self) -> None:
        if any(self.project.folder.glob(".snakemake/locks/*")):
            command = [*self._command, "--unlock"]
            subprocess.run(
                command, cwd=self.project.folder, env=self.project.environment(), check=True, capture_output=True
            )

    def _jobs(self, running: subprocess.Popen) -> list[psutil.Process]:
        """Return the running scripts."""
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(running.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "python" in Path(process.exe()).name and ".snakemake/scripts" in " ".join(process.cmdline()):
                        found.append(process)
        return found


def kill_and_resume(victim: Victim, *, kills: int, seed: int, n_files: int) -> list[int]:
    """Kill a run `kills` times at seeded random moments, then let it end; every file must be complete after every kill.

    Return how many jobs each kill ended; there are fewer kills if the run ends before. A complete run leaves `n_files`
    files (.h5): the moments are drawn over them, up to 20 lines of the log past each.
    """
    rng, in_flight = np.random.default_rng(seed), []
    for number, moment in enumerate(np.sort(rng.integers(0, n_files, kills))):
        whom = WHOM[number % len(WHOM)]
        ended = victim.kill(whom, after=moment, lines=int(rng.integers(0, 20)), rng=rng)
        if ended is None:
            break
        in_flight.append(ended)
        for path in victim.files():
            storage.read(path)  # raises if the file is not complete
    if victim.resume() != 0:
        raise RuntimeError(f"the last leg failed; see {victim.project.folder / 'legs.log'}")
    return in_flight
