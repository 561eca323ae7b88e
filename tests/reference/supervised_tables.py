"""Supervised hashers, the trivial baseline and ITQ compared: makes ``results/reference/supervised/``.

Run by hand: `python tests/reference/supervised_tables.py run cifar10_supervised`, the same with `cifar10_supervised_s2`
and `digits_supervised`, then without arguments, which writes the tables. CIFAR-10 needs the GIST of its 60,000 images,
which `snakemake --cores all --configfile workflow/config/cifar10_supervised.yaml -- features` makes. Splits, seeds,
preprocessing, grids and options are those of these experiments, so a run is one of theirs; it is made here in one
process, since the pipeline starts a job for each of some hundred steps. A run that was interrupted resumes.
"""

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # the same bytes everywhere

import numpy as np
import pandas as pd
import yaml
from digits_table import digits
from numpy.typing import NDArray

from protocol import codes, configuration, registry, storage
from protocol.configuration import Experiment
from protocol.features import Preprocessing
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.ranking import LabelRelevance, count
from protocol.seeds import derive
from protocol.selection import Validation, best, points

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "supervised"
PARTITIONS = ("query", "database", "train", "validation_query", "validation_database")
PLACE = ["dataset", "feature", "ground_truth", "split"]
CELL = [*PLACE, "hasher", "n_bits", "metric"]


def experiment(name: str) -> Experiment:
    """Return a shipped experiment."""
    return configuration.load(yaml.safe_load((ROOT / "workflow" / "config" / f"{name}.yaml").read_text()))


def loaded(dataset: str, results: Path) -> tuple[NDArray[np.float32], NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    """Return the GIST of all images, not yet centred, their classes, and the row numbers of the official parts."""
    if dataset == "digits":
        return *digits(), {}
    # The folder's name also has a digest if the archive came from a mirror.
    (folder,) = (path for path in (results / "datasets").glob("*") if path.name.partition("-")[0] == dataset)
    items = storage.read(folder / "items.h5")
    official = {name.partition("/")[2]: rows for name, rows in items.items() if name.startswith("partitions/")}
    return storage.read(folder / "gist" / "features.h5", ["X"])["X"], items["labels"], official


class Run:
    """The partitions of one run: prepared features, labels, and what is relevant to the queries."""

    def __init__(self, of: Experiment, run: int, results: Path) -> None:
        self._experiment, self._run, self._seed = of, run, of.config["seed"]
        self._dataset = of.config["dataset"]
        raw, y, official = loaded(self._dataset, results)
        (self.split,) = of.config["splits"]
        split = registry.get("split", self.split).split(
            len(raw),
            y,
            seed=derive(self._seed, self._dataset, "split", run),
            sizes=of.config["split_sizes"],
            official=official,
        )
        steps = of.config["features"]["gist"]["preprocessing"]
        fitted = Preprocessing.fit(registry.get("feature", "gist")(), raw[split["train"]], steps, seed=0)
        self.X = {part: fitted.transform(raw[split[part]]) for part in PARTITIONS if len(split[part])}
        self._y = {part: y[split[part]] for part in self.X}
        self.training = TrainingSet(self.X["train"], self._y["train"])

    def rows(self, hasher: str) -> list[dict[str, Any]]:
        """Return the metrics of a hasher at every code length, with the options that were selected for it."""
        use, found = self._experiment.hashers[hasher], []
        metrics = self._experiment.config["metrics"]
        for n_bits in self._experiment.features["gist"].n_bits:
            seed = derive(self._seed, self._dataset, "gist", hasher, n_bits, self._run)
            made, scores, grid, seconds = [], [], points(use.grid), []
            for point in grid:
                model = registry.get("hasher", use.plugin)(n_bits=n_bits, seed=seed, **use.options | point)
                began = time.process_time()
                made.append(model.fit(self.training))
                seconds.append(round(time.process_time() - began, 2))
                scores.append(self._validation.score(model, calls=100) if use.grid else 0.0)
            chosen = best(scores)
            packed = [codes.pack(made[chosen].transform(self.X[part])) for part in ("query", "database")]
            relevance = LabelRelevance(self._y["query"], self._y["database"])
            counts = count(*packed, n_bits, {"": relevance}, calls=100)[""]
            values = {metric: mean(array) for metric, array in evaluate(counts, metrics).items()}
            selected = {"options": grid[chosen], "validation": scores if use.grid else [], "seconds": seconds}
            found.append({"run": self._run, "hasher": hasher, "n_bits": n_bits, **selected, "values": values})
        return found

    @property
    def _validation(self) -> Validation:
        relevance = LabelRelevance(self._y["validation_query"], self._y["validation_database"])
        criterion = self._experiment.config["selection"]
        return Validation(self.X["validation_query"], self.X["validation_database"], relevance, criterion["metric"])


def make(name: str, results: Path, runs: list[int] | None, hashers: list[str] | None) -> None:
    """Write the scores of an experiment's runs below `results`, a file for each run and hasher."""
    of, folder = experiment(name), results / name
    folder.mkdir(parents=True, exist_ok=True)
    for run in range(of.config["runs"]) if runs is None else runs:
        own = None
        for hasher in hashers or of.features["gist"].hashers:
            path = folder / f"{run}_{hasher}.json"
            if not path.exists():
                own = own or Run(of, run, results)
                rows = own.rows(hasher)
                path.with_suffix(".part").write_text(json.dumps(rows))
                path.with_suffix(".part").replace(path)
                sys.stderr.write(f"{name} run {run} {hasher}: {[round(row['values']['mAP'], 4) for row in rows]}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", nargs="?", choices=["run"])
    parser.add_argument("experiment", nargs="?")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--runs", type=int, nargs="*")
    parser.add_argument("--hashers", nargs="*")
    given = parser.parse_args()
    if given.step:
        make(given.experiment, given.results, given.runs, given.hashers)
