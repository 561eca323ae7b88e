"""Results of stages that run in this process, a copy of the project to run Snakemake in, and a small experiment."""

import contextlib
import os
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
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings
from snakemake.workflow import Workflow

ROOT = Path(__file__).parents[2]

PARTS = ("Snakefile", "workflow", "protocol", "envs")
SMALL = {
    "experiment": "small",
    "dataset": "digits",
    "reproduction": True,
    "features": {"gist": {}},
    "ground_truths": ["class_label", "epsilon_ball"],
    "splits": ["standard", "improved"],
    "runs": 2,
    "split_sizes": {"query": 50, "validation_query": 50, "validation_database": 100, "train": 300},
    "hashers": ["lsh", "itq"],
    "n_bits": [8, 16],
    "extensions": ["none", "same", "different"],
    "extension_bits": [1],
    "metrics": ["mAP", "mAP@10[retrieved]", "precision@r2", "recall@r2", "RAMAP@r2", "mLGAP@r2", "AUPRC[area]"],
}
# On a cluster, or with a bucket, every job takes seconds to start: one split and one run are enough there.
ELSEWHERE = SMALL | {"splits": ["improved"], "runs": 1}


@contextlib.contextmanager
def planned(folder: Path, config: dict, *targets: str) -> Iterator[Workflow]:
    """Yield Snakemake's plan of some targets, made in this process, in a folder where the block runs."""
    (folder / "planned.yaml").write_text(yaml.safe_dump(config))
    # Snakemake starts and ends its event loop in another thread, because the browser's may run in this one.
    with (
        contextlib.chdir(folder),
        warnings.catch_warnings(),
        ThreadPoolExecutor(1) as thread,
        contextlib.ExitStack() as end,
    ):
        api = SnakemakeApi(OutputSettings(quiet={Quietness.ALL})).__enter__()
        end.callback(lambda: thread.submit(api.__exit__, None, None, None).result())
        warnings.simplefilter("ignore")  # those of Snakemake
        plan = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[Path("planned.yaml")]),
            snakefile=ROOT / "Snakefile",
            workdir=folder,
        )
        plan.dag(DAGSettings(targets=set(targets)))
        workflow = plan._workflow
        workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=True)
        thread.submit(workflow._build_dag).result()
        yield workflow


class Results:
    """A folder with results; `stages` makes them in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def data(self) -> Path:
        """The folder of the loaded dataset and its features, which all experiments in the folder share."""
        (folder,) = (self.folder / "results" / "datasets").iterdir()
        return folder

    def planned(self, config: dict, *targets: str) -> dict[str, int]:
        """Return how many jobs of each rule Snakemake plans if there are no results."""
        with planned(self.folder, config, *targets) as workflow:
            return dict(Counter(job.rule.name for job in workflow.dag.jobs))

    def stages(self, config: dict, *targets: str) -> None:
        """Run the jobs of some targets in this process: Snakemake plans them, and `main` of each script is called.

        No job starts a process and imports its libraries again, so this takes a fraction of the time of `Project.run`.
        Snakemake does not verify, resume or rerun anything, and there are no logs.
        """
        with planned(self.folder, config, *targets) as workflow:
            warnings.simplefilter("error")
            for level in workflow.dag.toposorted():
                for job in level:
                    if job.rule.script:
                        run_job(job, workflow.config)


def run_job(job, config: dict) -> None:
    """Call `main` of a planned job's script, and write its benchmark file, which the report reads."""
    for path in [*job.output, *job.log, *filter(None, [job.benchmark])]:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    names = ("input", "output", "params", "wildcards", "log", "threads", "resources")
    start = time.perf_counter()
    main = runpy.run_path(str(ROOT / "workflow" / "scripts" / Path(job.rule.script).name))["main"]
    main(SimpleNamespace(rule=job.rule.name, config=config, **{name: getattr(job, name) for name in names}))
    if job.benchmark:
        seconds = time.perf_counter() - start
        Path(job.benchmark).write_text(f"s\tmax_rss\tcpu_time\n{seconds}\t100\t{seconds}\n")


class Project(Results):
    """A copy of the project; `run` runs its Snakemake with its own package."""

    def __init__(self, folder: Path, source: Path) -> None:
        super().__init__(folder)
        for part in PARTS:
            copy = shutil.copytree if (source / part).is_dir() else shutil.copy
            copy(source / part, folder / part)
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

    def run(self, *arguments: str, cores: int = 2, config: str | None = "small.yaml") -> subprocess.CompletedProcess:
        chosen = ["--configfile", config] if config else []
        return subprocess.run(
            self.command(*arguments, "--cores", str(cores), *chosen),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=1500,
        )

    def jobs(self, *arguments: str, config: str = "small.yaml") -> dict[str, int]:
        """Return how often a dry run would run each rule."""
        done = self.run(*arguments, "-n", "--quiet", "rules", config=config)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = done.stdout.splitlines()
        if not any(line.startswith("Job stats") for line in lines):
            return {}
        table = lines[next(i for i, line in enumerate(lines) if line.startswith("Job stats")) + 3 :]
        counts = {}
        for line in table:
            if len(line.split()) != 2:
                break
            rule, count = line.split()
            counts[rule] = int(count)
        counts.pop("total", None)
        return counts
