"""Train the networks of mLGAP's table 1 on the images of CIFAR-10 with 12 bits, and score them as they learn.

Run by hand after `snakemake --cores all --configfile workflow/config/cifar10_mlgap_images.yaml -- features`:
`python tests/reference/mlgap_curves.py [--networks NAME ...] [--runs N ...] [--output FOLDER]`. Every network and run
has a table in the folder, NAME-RUN.csv, with a row for each epoch that was scored, and a checkpoint, from
which the next start resumes an interrupted training. Several processes may train different networks at the same time.
`learned_tables.py` stores the tables under `results/reference/learned/`.

`--precisions` compares training in float32 and in bfloat16 instead: few images, few epochs, three runs of each.

The test images are scored while the networks learn so that a reader can see whether an ordering is still moving.
Nothing is selected by these scores: every network is trained for `EPOCHS` epochs, and the last row is its result.
"""

import argparse
import copy
import itertools
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.provenance import storage
from protocol.provenance.seeds import derive
from protocol.scores.tables import DIGITS, write_csv
from protocol.truth.relevance import LabelRelevance

if TYPE_CHECKING:
    from torch.nn import Module

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "results" / "cifar10_mlgap_curves"
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "deep_supervised": ("deep_supervised", {}),
    "buffer_zone": ("buffer_zone", {"margin": 2}),
    "buffer_zone_half": ("buffer_zone", {"margin": 1}),
}
"""The networks: deep supervised hashing, and the buffer zone by both readings of the margin, m = 2k and m = k."""
N_BITS = 12
EPOCHS = 30
EVERY = 5
OPTIONS = {"network": "conv", "epochs": EPOCHS, "batch_size": 200, "precision": "bfloat16"}
METRICS = (
    *("mAP", "mAP[best]", "mAP[worst]", "mLGAP@r0", "mLGAP@r1", "mLGAP@r2", "RAMAP@r2"),
    *("recall@r0", "recall@r1", "recall@r2", "precision@r0", "precision@r2", "empty@r0", "utilisation", "collision"),
)
PRECISION_RUNS, PRECISION_IMAGES = 3, {"train": 5_000, "test": 2_000}
COLUMNS = ("network", "run", "epoch", "seconds", "loss", *METRICS)
EPOCH = COLUMNS.index("epoch")


def followed(hasher: type) -> type:
    """Return a neural hasher that scores its network after the first epoch and after every fifth."""

    class Followed(hasher):
        """A hasher that writes a row of scores for some epochs."""

        def follow(self, network: str, run: int, folder: Path) -> None:
            self._key, self._table = (network, run), folder / f"{network}-{run}.csv"
            self._began = time.process_time()

        def _after_epoch(self, network: "Module", training: TrainingSet, losses: list[float]) -> None:
            epoch, seconds = len(losses), time.process_time() - self._began
            if epoch == 1 or epoch % EVERY == 0:
                row = [*self._key, epoch, f"{seconds:.1f}", f"{losses[-1]:.6g}"]
                scores = score(self._snapshot(network.eval(), training), self._table.with_suffix(".h5"), images())
                write_row(self._table, [*row, *(DIGITS % scores[name] for name in METRICS)])
            self._began = time.process_time()

        def _snapshot(self, network: "Module", training: TrainingSet) -> Any:
            snapshot = copy.copy(self)
            snapshot.network_, snapshot.n_features_in_ = network, training.X.shape[1]
            snapshot.mean_, snapshot.scale_ = training.mean, np.array([training.scale], np.float32)
            return snapshot

    Followed.__name__ = hasher.__name__
    return Followed


def images() -> dict[str, NDArray]:
    """Return the pixels of all images, their classes, and the rows of the official splits."""
    (folder,) = (path.parents[1] for path in (ROOT / "results" / "datasets").glob("cifar10*/pixels/features.h5"))
    return storage.read(folder / "pixels" / "features.h5", ["X"]) | storage.read(folder / "items.h5")


def score(hasher: Any, path: Path, found: dict[str, NDArray]) -> dict[str, float]:
    """Return the mean scores of the test images as queries of the training images; write the codes to a file."""
    packed, classes = {}, {}
    for part in ("test", "train"):
        rows = found[f"partitions/{part}"]
        packed[part] = np.concatenate([codes.pack(hasher.transform(X)) for X in np.array_split(found["X"][rows], 50)])
        classes[part] = found["labels"][rows]
    storage.write(path, packed, storage.provenance("codes", parameters=hasher.get_params(), inputs={}))
    relevance = {"class_label": LabelRelevance(classes["test"], classes["train"])}
    counts = count(packed["test"], packed["train"], N_BITS, relevance)["class_label"]
    return {name: float(mean(values)) for name, values in evaluate(counts, METRICS).items()}


def write_row(path: Path, row: list[Any]) -> None:
    """Add a row to the table of one training in place of one of the same epoch; the file is replaced at once."""
    earlier = [old for old in rows_of(path) if int(old[EPOCH]) < int(row[EPOCH])]
    write_csv(path, COLUMNS, [*earlier, row])


def rows_of(path: Path) -> list[list[str]]:
    """Return the rows of a table without its header, none if it does not exist."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_numpy().tolist() if path.exists() else []


def complete(folder: Path, network: str, run: int) -> bool:
    """Return whether a network was trained for all epochs."""
    rows = rows_of(folder / f"{network}-{run}.csv")
    return bool(rows) and int(rows[-1][EPOCH]) == EPOCHS


def training_set(found: dict[str, NDArray]) -> TrainingSet:
    """Return the training images with their classes."""
    rows = found["partitions/train"]
    return TrainingSet(found["X"][rows].astype(np.float32), found["labels"][rows])


def train(network: str, run: int, folder: Path) -> None:
    """Train one network, or resume its training; do nothing if it is complete."""
    if complete(folder, network, run):
        return
    name, options = NETWORKS[network]
    # The seed is that of the run: in one run, all networks start from the same weights and see the same batches.
    seed = derive(0, "cifar10", "pixels", "mlgap_curves", N_BITS, run)
    hasher = followed(registry.get("hasher", name))(n_bits=N_BITS, seed=seed, **OPTIONS, **options)
    hasher.follow(network, run, folder)
    hasher.fit(training_set(images()), checkpoint=folder / f"{network}-{run}.checkpoint")


def compare_precisions(path: Path) -> None:
    """Write how the networks of both precisions score after ten epochs on a part of the images, and their seconds."""
    found, rows = images(), []
    for part, size in PRECISION_IMAGES.items():
        found[f"partitions/{part}"] = found[f"partitions/{part}"][:size]
    training = training_set(found)
    for run, precision in itertools.product(range(PRECISION_RUNS), ("float32", "bfloat16")):
        options = OPTIONS | {"epochs": 10, "precision": precision}
        seed = derive(0, "cifar10", "pixels", "mlgap_precisions", N_BITS, run)
        hasher, began = registry.get("hasher", "deep_supervised")(N_BITS, seed=seed, **options), time.process_time()
        hasher.fit(training)
        seconds = (time.process_time() - began) / hasher.epochs
        scores = score(hasher, path.with_suffix(".h5"), found)
        values = [hasher.fit_record_["loss"][1], *(scores[name] for name in METRICS)]
        rows.append([precision, run, f"{seconds:.2f}", *(DIGITS % value for value in values)])
    write_csv(path, ("precision", "run", "seconds", "loss", *METRICS), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--runs", nargs="+", type=int, default=[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--precisions", action="store_true")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    if given.precisions:
        compare_precisions(given.output / "precisions.csv")
        return
    for run in given.runs:
        for network in given.networks:
            train(network, run, given.output)


if __name__ == "__main__":
    main()
