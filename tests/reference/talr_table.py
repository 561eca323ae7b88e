"""TALR beside ITQ and LSH on the metric that each climbs: makes ``results/reference/talr/``.

Run by hand, `python tests/reference/talr_table.py`. The digits need nothing. CIFAR-10 needs the GIST of its 60,000
images, which `snakemake --cores all --configfile workflow/config/cifar10_talr.yaml -- features` leaves. Splits, seeds
and preprocessing are those of the settings digits_talr and cifar10_talr, so a run is one of theirs.
"""

import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # the same bytes everywhere

import altair
import numpy as np
import pandas as pd
import yaml
from digits_table import digits
from numpy.typing import NDArray
from scipy.sparse import csr_array

from protocol import codes, registry, storage
from protocol.features import Preprocessing
from protocol.groundtruth import Items
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.ranking import Relevance, count, relevance_from_arrays
from protocol.seeds import derive

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "talr"
METRICS = {"class_label": "mAP", "graded_distance": "nDCG"}
CLIMBED = {"talr_ap": "mAP", "talr_ndcg": "nDCG"}
ALPHAS = ((1, 1), (2, 1), (5, 1), (10, 1), (40, 1), (1, 10), (1, 40))  # alpha, growth
COLUMNS = ("dataset", "hasher", "n_bits", "metric", "mean", "std", "n_runs", "seconds")


class Run(NamedTuple):
    """One run of a setting: its training set by supervision, its queries and database, and what is relevant."""

    training: dict[str | None, TrainingSet]
    prepared: dict[str, NDArray[np.float32]]
    relevance: dict[str, Relevance]


def setting(dataset: str) -> dict[str, Any]:
    """Return the shipped setting of a dataset."""
    return yaml.safe_load((ROOT / "workflow" / "config" / f"{dataset}_talr.yaml").read_text())


def features(dataset: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the GIST of all images, not yet centred, and their classes."""
    if dataset == "digits":
        return digits()
    left = ROOT / "results" / setting(dataset)["setting"]
    return storage.read(left / "gist" / "features.h5", ["X"])["X"], storage.read(left / "items.h5")["labels"]


def drawn(dataset: str, run: int) -> Run:
    """Return one run, made as the pipeline makes it."""
    (raw, y), chosen = features(dataset), setting(dataset)
    seed = chosen["seed"]
    split = registry.get("split", chosen["splits"][0]).split(
        len(raw), y, sizes=chosen.get("split_sizes", {}), seed=derive(seed, dataset, "split", run)
    )
    steps = chosen["features"]["gist"]["preprocessing"]
    fitted = Preprocessing.fit(registry.get("feature", "gist")(), raw[split["train"]], steps, seed=0)
    items = {part: Items(fitted.transform(raw[split[part]]), y[split[part]]) for part in ("train", "query", "database")}
    train, truth_seed = items["train"], derive(seed, dataset, "groundtruth", "gist", run)
    graded = registry.get("ground_truth", "graded_distance")(train, train, train, seed=truth_seed)
    levels = csr_array((graded["levels"], graded["indices"], graded["indptr"]), shape=(len(train.X),) * 2)
    training = {kind: TrainingSet(train.X, given) for kind, given in ((None, None), ("labels", train.labels))}
    built = {truth: registry.get("ground_truth", truth)(**items, seed=truth_seed) for truth in METRICS}
    return Run(
        training | {"affinities": TrainingSet(train.X, levels)},
        {part: items[part].X for part in ("query", "database")},
        {METRICS[truth]: relevance_from_arrays(rule, len(items["database"].X)) for truth, rule in built.items()},
    )


def scored(own: Run, dataset: str, hasher: str, n_bits: int, run: int, **options: float) -> dict[str, Any]:
    """Return the metrics of one fit, how long it took in seconds of the processor, and the course of its objective."""
    seed = derive(setting(dataset)["seed"], dataset, "gist", hasher, n_bits, run)
    model = registry.get("hasher", hasher)(n_bits=n_bits, seed=seed, **options)
    training = own.training[model.supervision]
    training.components(n_bits)  # once for all hashers, so in no one's time
    began = time.process_time()
    model.fit(training)
    seconds = time.process_time() - began
    packed = [codes.pack(model.transform(own.prepared[part])) for part in ("query", "database")]
    counted = count(*packed, n_bits, own.relevance, largest_bucket=False)
    values = {metric: mean(evaluate(counted[metric], [metric])[metric]) for metric in own.relevance}
    return values | {"seconds": seconds, "objective": model.fit_record_.get("objective")}


def cells(dataset: str) -> Iterator[dict[str, Any]]:
    """Yield the scores of every run, hasher and length of a dataset's setting."""
    chosen = setting(dataset)
    for run in range(chosen["runs"]):
        own = drawn(dataset, run)
        for hasher in chosen["hashers"]:
            for n_bits in chosen["n_bits"]:
                sys.stderr.write(f"{dataset}, run {run}, {hasher}, {n_bits} bits\n")
                yield {
                    "dataset": dataset,
                    "run": run,
                    "hasher": hasher,
                    "n_bits": n_bits,
                    **scored(own, dataset, hasher, n_bits, run),
                }


def alphas() -> Iterator[dict[str, Any]]:
    """Yield the scores of each alpha and its growth on the digits, all else at the defaults."""
    for run in range(setting("digits")["runs"]):
        own = drawn("digits", run)
        for hasher, metric in CLIMBED.items():
            for alpha, growth in ALPHAS:
                found = scored(own, "digits", hasher, 32, run, alpha=alpha, growth=growth)
                yield {"hasher": hasher, "metric": metric, "alpha": alpha, "growth": growth, "value": found[metric]}


def write(rows: list[dict[str, Any]], of_alpha: list[dict[str, Any]]) -> None:
    """Write the tables and the picture of the training curves."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    long = pd.DataFrame(rows).melt(
        id_vars=["dataset", "run", "hasher", "n_bits", "seconds"], value_vars=list(METRICS.values()), var_name="metric"
    )
    table = long.groupby(["dataset", "metric", "n_bits", "hasher"], as_index=False).agg(
        mean=("value", "mean"), std=("value", "std"), n_runs=("value", "size"), seconds=("seconds", "median")
    )
    table.to_csv(FOLDER / "talr.csv", index=False, float_format="%.4f", lineterminator="\n")
    alpha = pd.DataFrame(of_alpha).groupby(["hasher", "metric", "alpha", "growth"], as_index=False)
    alpha.agg(mean=("value", "mean"), std=("value", "std"), n_runs=("value", "size")).to_csv(
        FOLDER / "alpha.csv", index=False, float_format="%.4f", lineterminator="\n"
    )
    curves = pd.DataFrame(
        {"dataset": row["dataset"], "hasher": row["hasher"], "n_bits": row["n_bits"], "part": part, "objective": value}
        for row in rows
        if row["run"] == 0 and row["objective"]
        for part, value in enumerate(row["objective"], start=1)
    )
    curves.to_csv(FOLDER / "curves.csv", index=False, lineterminator="\n")
    altair.Chart(curves).mark_line().encode(
        x=altair.X("part:Q", title="twentieths of the training"),
        y=altair.Y("objective:Q", title="relaxed objective of minibatches", scale=altair.Scale(zero=False)),
        color=altair.Color("n_bits:N", title="bits"),
        column="dataset:N",
        row="hasher:N",
    ).properties(width=260, height=180).resolve_scale(y="independent").save(FOLDER / "curves.svg")


def main() -> None:
    rows = [row for dataset in ("digits", "cifar10") for row in cells(dataset)]
    write(rows, list(alphas()))
    libraries = ("numpy", "scipy", "hashing-protocol")
    passport = f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in libraries)
    sys.stderr.write(f"made with {passport}\n")


if __name__ == "__main__":
    main()
