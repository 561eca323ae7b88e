r"""Time, memory, precision and recall of the finder of near-duplicates, run by hand.

`python tests/benchmarks/duplicates.py SHARED` looks for the test images of CIFAR-10 in its training set, and for
distorted copies of training images; SHARED is the folder with `data/cifar10` and `data/near_duplicates`.
`--vectors N` compares N vectors with each other in place of it. Precision and recall are recorded in
`tests/duplicates/measured.toml`.

Two threads on two cores of a Xeon with AVX-512 that other work kept busy, so that the wall times are upper bounds:

======================================  =====  =========  ===========
\                                       CPU s  wall time  peak memory
======================================  =====  =========  ===========
CIFAR-10, 10,000 x 50,000 images        33     100 s      0.8 GB
1,000,000 vectors of 128 features       107    382 s      0.7 GB
======================================  =====  =========  ===========

The data take 0.2 GB and 0.5 GB of the memory. The command, which maps the files, takes 0.6 GB for CIFAR-10.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
from timing import peak_gb, say

from protocol.datasets import load
from protocol.duplicates import find_duplicate_vectors, find_duplicates

sys.path.insert(0, str(Path(__file__).parents[1] / "auditing"))
from distortions import DISTORTIONS, distorted

ARCHIVE = "cifar-10-binary.tar.gz"
AT = (100, 200, 500, 1000)
N_DISTORTED = 1000
COSINES = (0.99, 0.97, 0.95, 0.9)


class Clock:
    """Wall time, CPU time of all threads, and the peak of the memory since the process started."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __str__(self) -> str:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return f"{wall:.0f} s, {cpu:.0f} CPU s, peak memory {peak_gb():.2f} GB"


def cifar10(shared: Path, threads: int) -> None:
    """Print what the first proposals contain of the judged pairs, and which distorted copies are found."""
    data = load("cifar10", {ARCHIVE: shared / "data" / "cifar10" / ARCHIVE}, {})
    train, test = (data.images[data.partitions[part]] for part in ("train", "test"))
    with open(shared / "data" / "near_duplicates" / "cifar10_test_train.csv", newline="") as file:
        judged = {(int(row["TestID"]), int(row["TrainID"])): int(row["Judgment"]) for row in csv.DictReader(file)}
    duplicates = {pair for pair, judgement in judged.items() if judgement < 2}
    clock = Clock()
    found = find_duplicates(test, train, most=AT[-1], threads=threads)
    say(f"{len(test):,} queries, {len(train):,} database items, {threads} threads: {clock}")
    pairs = list(zip(found.pairs.query.tolist(), found.pairs.database.tolist(), strict=True))
    first = [pair for pair, choice in zip(pairs, found.choice, strict=True) if choice == 1]
    queries = {query for query, _ in duplicates}
    for n in AT:
        with_further = {pair for pair, rank in zip(pairs, found.rank, strict=True) if rank <= n}
        counts = (
            len(duplicates & set(first[:n])),
            len(duplicates & with_further),
            sum(q in queries for q, _ in first[:n]),
        )
        say(f"{n} proposals, {len(with_further)} pairs: judged pairs, with further partners, queries: {counts}")
    least = float(found.pairs.score[found.choice == 1][-1])
    say(f"the score of proposal {AT[-1]} is {least:.4f}; distorted copies that score as much, original first:")
    usable = np.setdiff1d(np.arange(len(train)), [item for _, item in judged])
    originals = np.sort(np.random.default_rng(0).choice(usable, N_DISTORTED, replace=False))
    for name in DISTORTIONS:
        copies = distorted(train[originals], name)
        found = find_duplicates(copies, train, most=N_DISTORTED, least=least, threads=threads)
        best = found.choice == 1
        right = found.pairs.database[best] == originals[found.pairs.query[best]]
        say(f"{name:35s} {right.sum() / N_DISTORTED:.3f}")


def vectors(n_items: int, threads: int, d: int = 128, n_planted: int = 1000) -> None:
    """Print time and memory of comparing vectors with each other, and the share of planted pairs that is found."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, d), dtype=np.float32)
    planted = {}
    for cosine, rows in zip(
        COSINES,
        rng.permutation(n_items).reshape(2, -1)[:, : n_planted * len(COSINES)].T.reshape(len(COSINES), n_planted, 2),
        strict=True,
    ):
        unit = X[rows[:, 0]] / np.linalg.norm(X[rows[:, 0]], axis=1, keepdims=True)
        other = rng.standard_normal(unit.shape)
        other -= (other * unit).sum(axis=1, keepdims=True) * unit
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        X[rows[:, 1]] = cosine * unit + np.sqrt(1 - cosine**2) * other
        planted[cosine] = set(map(tuple, np.sort(rows, axis=1).tolist()))
    clock = Clock()
    found = find_duplicate_vectors(X, most=n_items, least=0.85, exact=False, threads=threads)
    say(f"{n_items:,} vectors, {d} features, {threads} threads: {clock}, {X.nbytes / 2**30:.2f} GB of it are vectors")
    pairs = set(zip(found.pairs.query.tolist(), found.pairs.database.tolist(), strict=True))
    for cosine, own in planted.items():
        say(f"cosine {cosine}: {len(own & pairs) / len(own):.4f} of the planted pairs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", nargs="?", type=Path)
    parser.add_argument("--vectors", type=int, metavar="N")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.vectors:
        vectors(given.vectors, given.threads)
    elif given.shared:
        cifar10(given.shared, given.threads)
    else:
        parser.error("name the folder SHARED, or --vectors N")
