"""One run of a shipped experiment in this process: its splits, seeds, preprocessing and scores are the pipeline's.

Import this module before NumPy: it limits the linear algebra to one thread, which gives the same bytes everywhere.
"""

import functools
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from protocol import codes, configuration, datasets, registry
from protocol.configuration import Experiment
from protocol.counting import count
from protocol.features import Preprocessing
from protocol.hashers import Hasher, TrainingSet, supervision
from protocol.metrics import evaluate
from protocol.provenance import storage
from protocol.provenance.seeds import derive
from protocol.truth import Items
from protocol.truth.relevance import Relevance, relevance_from_arrays

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
Scores = dict[str, NDArray[np.float64]]


class Source(NamedTuple):
    """A dataset: its labels, the row numbers of its official splits, and raw descriptors of each modality."""

    labels: NDArray
    official: dict[str, NDArray[np.int64]]
    raw: dict[str, NDArray]


@functools.cache
def experiment(name: str) -> Experiment:
    """Return a shipped experiment."""
    path = configuration.DEFAULT if name == "digits" else ROOT / "workflow" / "config" / f"{name}.yaml"
    return configuration.load(configuration.read(path))


def versions(*libraries: str) -> str:
    """Return the versions of Python and of installed libraries."""
    return f"Python {platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in libraries)}"


def extracted(dataset: str, results: Path = RESULTS) -> Path:
    """Return the folder in which the pipeline stored a dataset; its name has a digest if the archive is a mirror's."""
    (folder,) = (path for path in (results / "datasets").glob("*") if path.name.partition("-")[0] == dataset)
    return folder


@functools.lru_cache(maxsize=2)
def source(of: str, feature: str, files: Path | None = None, results: Path = RESULTS) -> Source:
    """Return the dataset of an experiment: from its files in a folder, or extracted by the pipeline if it has any."""
    config, plan = experiment(of).config, experiment(of).features[feature]
    needed = registry.entry("dataset", config["dataset"]).files
    if needed and files is None:
        folder = extracted(config["dataset"], results)
        items = storage.read(folder / "items.h5")
        official = {name.partition("/")[2]: rows for name, rows in items.items() if name.startswith("partitions/")}
        return Source(items["labels"], official, storage.read(folder / plan.extraction / "features.h5", ["X"]))
    data = datasets.load(config["dataset"], {file.name: files / file.name for file in needed}, {})
    modalities = registry.get("feature", plan.plugin)(**plan.options).modalities
    raw = {
        f"{place}X": np.concatenate([rows for rows, _ in modality.extract(data.arrays[modality.reads])])
        for place, modality in modalities.items()
    }
    return Source(data.labels, dict(data.partitions), raw)


class Run:
    """The partitions of one run of an experiment, prepared, and the hashers that are trained and scored on them."""

    def __init__(
        self, of: str, number: int, *, feature: str = "gist", split: str | None = None, **where: Path | None
    ) -> None:
        self.experiment, self._number, self._feature = experiment(of), number, feature
        config, plan = self.experiment.config, self.experiment.features[feature]
        self.seed = functools.partial(derive, config["seed"], config["dataset"])
        data, protocol = source(of, feature, **where), registry.get("split", split or plan.splits[0])
        rows = protocol.split(
            len(data.labels),
            data.labels,
            seed=self.seed("split", number),
            sizes=config["split_sizes"] if protocol.open else {},
            official=data.official,
        )
        modalities = registry.get("feature", plan.plugin)(**plan.options).modalities
        prepared = {
            place: Preprocessing.fit(modality, data.raw[f"{place}X"][rows["train"]], plan.steps[place], seed=0)
            for place, modality in modalities.items()
        }
        self.items = {}
        for part, of_part in rows.items():
            place = "database/" if part.endswith("database") and "database/" in modalities else ""
            X = data.raw[f"{place}X"][of_part]
            self.items[part] = Items(prepared[place].transform(X), data.labels[of_part]) if len(of_part) else None
        self._train = self.items["train"]
        other = list(modalities)[-1]
        self._pairs = prepared[other].transform(data.raw[f"{other}X"][rows["train"]])

    def _arrays(self, truth: str, query: Items, database: Items) -> dict[str, NDArray]:
        variant = self.experiment.ground_truths[truth]
        seed = self.seed("groundtruth", self._feature, self._number)
        return registry.get("ground_truth", variant.plugin)(query, database, self._train, seed=seed, **variant.options)

    @functools.cache  # noqa: B019 - there are few runs, each with few training sets
    def training(self, kind: str | None) -> TrainingSet:
        """Return the training set with a kind of supervision, computed as the experiment says."""
        if kind == "pairs":
            return TrainingSet(self._train.X, self._pairs)
        truth = self.experiment.supervising().get(kind or "")
        return TrainingSet(self._train.X, truth and supervision(self._arrays(truth, self._train, self._train)))

    def fit(self, name: str, n_bits: int, **options: Any) -> tuple[Hasher, float]:
        """Return a hasher, trained with the experiment's options and others, and the CPU seconds of its training."""
        variant = self.experiment.hashers.get(name)
        plugin, options = (variant.plugin, variant.options | options) if variant else (name, options)
        seed = self.seed(self._feature, name, n_bits, self._number)
        model = registry.get("hasher", plugin)(n_bits=n_bits, seed=seed, **options)
        training = self.training(model.supervision)
        training.components(min(n_bits, training.X.shape[1]))  # once for all hashers, so not part of any one's time
        began = time.process_time()
        return model.fit(training), time.process_time() - began

    @functools.cache  # noqa: B019 - as above
    def relevance(self, truth: str, query: str, database: str) -> Relevance:
        """Return what is relevant to the queries of one partition among the items of another."""
        arrays = self._arrays(truth, self.items[query], self.items[database])
        return relevance_from_arrays(arrays, len(self.items[database].X))

    def scores(
        self,
        model: Hasher,
        metrics: Iterable[str],
        *,
        truth: str = "class_label",
        query: str = "query",
        database: str = "database",
    ) -> Scores:
        """Return the scores of each query by each metric."""
        bits = model.transform(self.items[query].X), model.transform_database(self.items[database].X)
        return self.scores_of(bits, metrics, self.relevance(truth, query, database))

    @staticmethod
    def scores_of(bits: tuple[NDArray, NDArray], metrics: Iterable[str], relevance: Relevance) -> Scores:
        """Return the scores of each query for the codes of queries and database, as bits."""
        counts = count(*map(codes.pack, bits), bits[0].shape[1], {"": relevance}, calls=100)[""]
        return evaluate(counts, list(metrics))


def repeated(
    cells: Sequence[tuple], names: list[str], score: Callable[[tuple, int], float], n_runs: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the score of each combination in each run, and its mean, standard deviation and range over the runs."""
    rows = []
    for done, cell in enumerate(cells, start=1):
        rows += [[*cell, number, score(cell, number)] for number in range(n_runs)]
        sys.stderr.write(f"\rcombination {done} of {len(cells)}" + "\n" * (done == len(cells)))
    scores = pd.DataFrame(rows, columns=[*names, "run", "value"])
    table = scores.groupby(names, sort=False, dropna=False)["value"].agg(["mean", "std", "min", "max", "size"])
    return scores, table.rename(columns={"size": "n_runs"}).reset_index()
