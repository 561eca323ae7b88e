"""Kill a run repeatedly at random moments, resume it every time, and check that nothing was lost.

    python tests/workflow/kills.py

kills the embedded default 20 times in a copy of the project and prints a row for each kill: whom, when, what was in
flight, what was left. It fails if the tables differ from those of an undisturbed run, if more was repeated than was in
flight, or if any file under its final name is not whole.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from project import Project

from protocol.provenance import storage

WHOM = ("the parent", "the group", "one job")
TABLES = ("metrics.csv", "summary.csv", "audit.csv")


@dataclass(frozen=True)
class Kill:
    """One kill: the target, the numbers of files and running jobs, and whether Snakemake's state was also deleted."""

    whom: str
    files: int
    in_flight: int
    forgotten: bool
    parts: int

    def __str__(self) -> str:
        lost = ", .snakemake deleted" if self.forgotten else ""
        return (
            f"{self.whom}{lost}: after {self.files} files, {self.in_flight} in flight, {self.parts} half-written left"
        )


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

    def kill(self, whom: str, *, after: int, delay: float, forget: bool, rng: np.random.Generator) -> Kill | None:
        """Run until `after` files exist and `delay` seconds have passed; return None if the run ended before."""
        running = self._start()
        while len(self.files()) < after and running.poll() is None:
            time.sleep(0.1)
        time.sleep(delay)
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
        killed = Kill(whom, len(self.files()), self._in_flight(), forget, len(list(self.results.rglob(".*.part"))))
        if forget:
            shutil.rmtree(self.project.folder / ".snakemake")
        return killed

    def resume(self) -> int:
        """Run to the end and return the exit status; no started process keeps running."""
        status = self._start().wait()
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        return status

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


def kill_and_resume(victim: Victim, *, kills: int, seed: int, n_files: int, report=lambda line: None) -> list[Kill]:
    """Kill a run `kills` times at seeded random moments, then let it end; every file must be complete after every kill.

    Parameters
    ----------
    victim : Victim
    kills, seed : int
    n_files : int
        Files (.h5) that a whole run leaves: the moments are drawn over them, up to half a second past each.
    report : callable
        Told of every kill.
    """
    rng, done = np.random.default_rng(seed), []
    moments = np.sort(rng.integers(0, n_files, kills))
    for number, moment in enumerate(moments):
        # Every second kill also deletes Snakemake's record of finished and unfinished files.
        killed = victim.kill(
            WHOM[number % len(WHOM)], after=moment, delay=rng.uniform(0, 0.5), forget=number % 2 == 1, rng=rng
        )
        if killed is None:
            break
        done.append(killed)
        report(str(killed))
        for path in victim.files():
            storage.read(path)  # raises if the file is not complete
    if victim.resume() != 0:
        raise RuntimeError(f"the last leg failed; see {victim.project.folder / 'legs.log'}")
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="default: 20")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    parser.add_argument(
        "--reference", type=Path, required=True, help="folder `results` of an undisturbed run of nothing else"
    )
    arguments = parser.parse_args()
    n_files = sum(1 for _ in arguments.reference.rglob("*.h5"))
    n_jobs = sum(1 for _ in arguments.reference.rglob("*.log"))
    report = lambda line: print(line, flush=True)  # noqa: E731, T201
    with tempfile.TemporaryDirectory() as folder:
        victim = Victim(Project(Path(folder), Path(__file__).parents[2]), "workflow/config/digits.yaml")
        start = time.monotonic()
        done = kill_and_resume(victim, kills=arguments.kills, seed=arguments.seed, n_files=n_files, report=report)
        made, expected = victim.results / "digits", arguments.reference / "digits"
        same = all((made / name).read_bytes() == (expected / name).read_bytes() for name in TABLES)
        repeated, in_flight = victim.jobs_started() - n_jobs, sum(kill.in_flight for kill in done)
        report(
            f"{len(done)} kills in {time.monotonic() - start:.0f} s; tables {'the same bytes' if same else 'DIFFER'}; "
            f"{n_jobs} jobs, {repeated} more started, {in_flight} were in flight"
        )
    return 0 if same and repeated <= in_flight else 1


if __name__ == "__main__":
    sys.exit(main())
