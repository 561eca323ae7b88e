"""A copy of the project to run Snakemake in, and an experiment small enough to run often."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

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


class Project:
    """A copy of the project; `run` runs its Snakemake with its own package."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
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

    @property
    def data(self) -> Path:
        """The folder of the loaded dataset and its features, which all experiments of the project share."""
        (folder,) = (self.folder / "results" / "datasets").iterdir()
        return folder

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
