"""Results of stages that run in this process, a copy of the project to run Snakemake in, and a small experiment."""

import asyncio
import contextlib
import itertools
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings import types
from snakemake.workflow import Workflow

from protocol.provenance import checksums

ROOT = Path(__file__).parents[2]

PARTS = ("config", "workflow", "protocol", "envs")
RESULTS = "results/small"
SMALL = yaml.safe_load(Path(__file__).with_name("small.yaml").read_text())
SHORT = SMALL | {"splits": ["improved"], "runs": 1}
# Every job that Snakemake starts takes seconds: one split and one run are enough where it does.
ELSEWHERE = SHORT | {"hashers": ["lsh", "sklsh"], "hasher_grids": {"sklsh": {"gamma": [0.01, 3]}}}


def copied(source: Path, folder: Path, *parts: str) -> Path:
    """Copy files and folders into another folder, and return it."""
    for part in parts:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (source / part).is_dir() else shutil.copy)(source / part, folder / part)
    return folder


def finished(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess:
    """Return a process that has ended, and what it printed."""
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@contextlib.contextmanager
def planned(folder: Path, config: dict, *targets: str) -> Iterator[Workflow]:
    """Yield Snakemake's plan of some targets, made in this process, in a folder where the block runs."""
    file = folder / ".snakemake" / "planned.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(config))
    # Snakemake starts and ends its event loop in another thread, because the browser's may run in this one.
    with (
        contextlib.chdir(folder),
        warnings.catch_warnings(),
        ThreadPoolExecutor(1) as thread,
        contextlib.ExitStack() as end,
    ):
        api = SnakemakeApi(types.OutputSettings(quiet={types.Quietness.ALL})).__enter__()
        end.callback(lambda: thread.submit(api.__exit__, None, None, None).result())
        warnings.simplefilter("ignore")  # those of Snakemake
        plan = api.workflow(
            resource_settings=types.ResourceSettings(cores=1),
            config_settings=types.ConfigSettings(configfiles=[file]),
            snakefile=ROOT / "workflow" / "Snakefile",
            workdir=folder,
        )
        plan.dag(types.DAGSettings(targets=set(targets)))
        workflow = plan._workflow
        workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=True)
        thread.submit(workflow._build_dag).result()
        yield workflow


class Results:
    """A folder with results; `stages` makes them in this process, with the scripts in the folder `scripts`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.scripts = folder, ROOT / "workflow" / "scripts"

    @property
    def data(self) -> Path:
        """The folder of the loaded dataset and its features, which all experiments in the folder share."""
        (folder,) = (self.folder / "results" / "datasets").iterdir()
        return folder

    def copy_to(self, other: "Results") -> "Results":
        """Copy the results, and Snakemake's record of how they were made, into another folder."""
        copied(self.folder, other.folder, "results", ".snakemake")
        return other

    def edited(self, folder: Path, script: str, old: str, new: str) -> "Results":
        """Return a copy of the results with a script in which a text is another one."""
        other = self.copy_to(Results(folder))
        other.scripts = Path(shutil.copytree(self.scripts, folder / "scripts"))
        text = (other.scripts / script).read_text()
        assert old in text
        (other.scripts / script).write_text(text.replace(old, new))
        return other

    def planned(self, config: dict, *targets: str) -> dict[str, int]:
        """Return how many jobs of each rule Snakemake would run, by the existing files and their times."""
        with planned(self.folder, config, *targets) as workflow:
            return dict(Counter(job.rule.name for job in workflow.dag.needrun_jobs()))

    def stages(self, config: dict, *targets: str) -> "Results":
        """Run the jobs of some targets in this process: Snakemake plans them, and `main` of each script is called.

        No job starts a process and imports its libraries again, so this takes a fraction of the time of `Project.run`.
        Snakemake records them as its own, but does not verify or resume anything, and there are no logs. As Snakemake
        does, an output is deleted before its job runs.
        """
        with planned(self.folder, config, *targets) as workflow, ThreadPoolExecutor(1) as thread:
            workflow.execution_settings = types.ExecutionSettings()
            for job in itertools.chain.from_iterable(workflow.dag.toposorted()):
                if job.rule.script and workflow.dag.needrun(job):
                    with warnings.catch_warnings(action="error"):
                        run_job(job, workflow.config, self.scripts)
                    thread.submit(asyncio.run, workflow.persistence.finished(job)).result()
        return self


def run_job(job, config: dict, scripts: Path) -> None:
    """Call `main` of a planned job's script, and write its benchmark file, which the report reads."""
    for path in [*job.output, *job.log, *filter(None, [job.benchmark])]:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    for path in job.output:
        shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink(missing_ok=True)
    names = ("input", "output", "params", "wildcards", "log", "threads", "resources")
    start = time.perf_counter()
    main = runpy.run_path(str(scripts / Path(job.rule.script).name))["main"]
    own = SimpleNamespace(rule=job.rule.name, config=config, **{name: getattr(job, name) for name in names})
    main(own)
    checksums.record_origin(own)
    if job.benchmark:
        seconds = time.perf_counter() - start
        Path(job.benchmark).write_text(f"s\tmax_rss\tcpu_time\n{seconds}\t100\t{seconds}\n")


class Project(Results):
    """A copy of the project; `run` runs its Snakemake with its own package."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if not (folder / "workflow").exists():
            copied(ROOT, folder, *PARTS)
            self.write(SMALL)

    def write(self, config: dict, name: str = "small.yaml") -> None:
        (self.folder / name).write_text(yaml.safe_dump(config))

    def environment(self) -> dict[str, str]:
        """Return the environment without the tests' own limits on threads and without their import path.

        The pipeline has to set both itself.
        """
        left_out = [name for name in os.environ if name.endswith("_NUM_THREADS") or name == "PYTHONPATH"]
        outside = {name: value for name, value in os.environ.items() if name not in left_out}
        return outside | {"PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", *arguments]

    def run(
        self, *arguments: str, cores: int = 2, config: str | None = "small.yaml", fails: bool = False
    ) -> subprocess.CompletedProcess:
        """Run Snakemake, which must succeed or fail."""
        chosen = ["--configfile", config] if config else []
        done = finished(self.command(*arguments, "--cores", str(cores), *chosen), self.folder, self.environment())
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done

    def jobs(self, *arguments: str, config: str = "small.yaml") -> dict[str, int]:
        """Return how often a dry run would run each rule."""
        done = self.run(*arguments, "-n", "--quiet", "rules", config=config)
        table = done.stdout.partition("Job stats")[2].partition("\ntotal ")[0]
        return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}
