r"""Time, memory, precision and recall of the finder of near-duplicates, run by hand.

`python tests/benchmarks/duplicates.py SHARED` looks for the test images of CIFAR-10 in its training set, and for
distorted copies of training images; SHARED is the folder with `data/cifar10` and `data/near_duplicates`.
Precision and recall are recorded in
`tests/auditing/measured.toml`.
"""

import csv
import sys
import time
from pathlib import Path

import numpy as np
from timing import peak_gb, say

from protocol.auditing.duplicates import find_duplicates
from protocol.datasets import load

sys.path.insert(0, str(Path(__file__).parents[1] / "auditing"))
from distortions import DISTORTIONS, distorted

ARCHIVE = "cifar-10-binary.tar.gz"
AT = (100, 200, 500, 1000)
N_DISTORTED = 1000


def cifar10(shared: Path, threads: int = 2) -> None:
    """Print what the first proposals contain of the judged pairs, and which distorted copies are found."""
    data = load("cifar10", {ARCHIVE: shared / "data" / "cifar10" / ARCHIVE}, {})
    train, test = (data.images[data.partitions[part]] for part in ("train", "test"))
    with open(shared / "data" / "near_duplicates" / "cifar10_test_train.csv", newline="") as file:
        judged = {(int(row["TestID"]), int(row["TrainID"])): int(row["Judgment"]) for row in csv.DictReader(file)}
    duplicates = {pair for pair, judgement in judged.items() if judgement < 2}
    start = time.process_time()
    found = find_duplicates(test, train, most=AT[-1], threads=threads)
    seconds = time.process_time() - start
    say(f"{len(test):,} queries, {len(train):,} database items, {seconds:.0f} CPU s, {peak_gb():.2f} GB")
    pairs = list(zip(found.pairs["query"].tolist(), found.pairs["database"].tolist(), strict=True))
    first = [pair for pair, choice in zip(pairs, found.pairs["choice"], strict=True) if choice == 1]
    queries = {query for query, _ in duplicates}
    for n in AT:
        with_further = {pair for pair, rank in zip(pairs, found.pairs["rank"], strict=True) if rank <= n}
        counts = (
            len(duplicates & set(first[:n])),
            len(duplicates & with_further),
            sum(q in queries for q, _ in first[:n]),
        )
        say(f"{n} proposals, {len(with_further)} pairs: judged pairs, with further partners, queries: {counts}")
    least = float(found.pairs["score"][found.pairs["choice"] == 1].iloc[-1])
    say(f"the score of proposal {AT[-1]} is {least:.4f}; distorted copies that score as much, original first:")
    usable = np.setdiff1d(np.arange(len(train)), [item for _, item in judged])
    originals = np.sort(np.random.default_rng(0).choice(usable, N_DISTORTED, replace=False))
    for name in DISTORTIONS:
        copies = distorted(train[originals], name)
        found = find_duplicates(copies, train, most=N_DISTORTED, least=least, threads=threads)
        best = found.pairs["choice"] == 1
        right = found.pairs["database"][best] == originals[found.pairs["query"][best]]
        say(f"{name:35s} {right.sum() / N_DISTORTED:.3f}")


if __name__ == "__main__":
    cifar10(Path(sys.argv[1]))
