"""The tables that claims about data are judged on: makes ``results/reference/claims/``.

Run by hand: `python tests/reference/claims_tables.py MIRROR`. MIRROR holds data sets as a mirror does, each in a folder
of its name; those that are there are loaded and counted. Of `workflow/config/cifar10_s1.yaml` and `cifar10_s2.yaml` the
rows about ties are kept, where those settings have been run.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from protocol import datasets, registry

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "claims"
SETTINGS = ("cifar10_s1", "cifar10_s2")
METRICS = ("mAP", "mAP[best]", "mAP[worst]", "mAP[index]")
COUNTED = ("cifar10", "wiki", "labelme", "nuswide", "sift1m")


def main(mirror: Path) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = [(dataset, *counted) for dataset in COUNTED for counted in _counted(mirror, dataset)]
    rows += [("cifar100", *counted) for counted in _cifar100(mirror)]
    with open(FOLDER / "datasets.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("dataset", "statistic", "value"), *rows])
    for setting in SETTINGS:
        path = ROOT / "results" / setting / "summary.csv"
        if path.exists():
            table = pd.read_csv(path)
            kept = table[table["metric"].isin(METRICS)]
            kept.to_csv(FOLDER / f"{setting}.csv", index=False, float_format="%.6g", lineterminator="\n")


def _loaded(mirror: Path, dataset: str, **options: str) -> datasets.Data | None:
    paths = {file.name: mirror / dataset / file.name for file in registry.entry("dataset", dataset).files}
    return datasets.load(dataset, paths, options) if all(path.exists() for path in paths.values()) else None


def _counted(mirror: Path, dataset: str) -> Iterator[tuple[str, float]]:
    data = _loaded(mirror, dataset)
    if data is None:
        return
    yield "n", len(data.ids) - len(data.partitions.get("learn", ())) - len(data.partitions.get("query", ()))
    for name, vectors in data.vectors.items():
        yield (name if len(data.vectors) > 1 else "dimension"), vectors.shape[1]
    if data.labels is None:
        return
    member = data.labels if data.labels.ndim == 2 else np.eye(data.labels.max() + 1, dtype=bool)[data.labels]
    yield "classes", len(data.class_names)
    yield "labels", member.sum() / len(member)
    yield "per class", _of_each(member)
    for part, rows in data.partitions.items():
        yield f"{part} per class", _of_each(member[rows])


def _of_each(member: np.ndarray) -> float:
    """Return the items of a class, on average where they differ."""
    return round(float(member.sum(axis=0).mean()), 2)


def _cifar100(mirror: Path) -> Iterator[tuple[str, float]]:
    fine, coarse = (_loaded(mirror, "cifar100", labels=labels) for labels in ("fine", "coarse"))
    if fine is None or coarse is None:
        return
    pairs = np.unique(np.stack([coarse.labels, fine.labels]), axis=1)
    yield "fine", len(fine.class_names)
    yield "coarse", len(coarse.class_names)
    yield "fine per coarse", float(np.bincount(pairs[0]).mean())
    yield "per fine", float(np.bincount(fine.labels).mean())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
