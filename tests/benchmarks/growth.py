"""Time and peak memory as the database grows, run by hand: `python tests/benchmarks/growth.py > growth.csv`.

Every stage runs in a fresh process, on one core, on vectors of the dataset `synthetic`. The machine has to be idle:
measures whose wall time is well above their CPU time are refused.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np

from protocol import codes, datasets, metrics, registry
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.truth import Items
from protocol.truth.relevance import LabelRelevance

SIZES = (10_000, 100_000, 1_000_000)
N_QUERIES, N_BITS, DIMENSION = 1000, 64, 128
BUSY = 1.2
"""Wall time over CPU time, on one core, above which another process had a part of the core."""


def vectors(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` vectors and their labels."""
    options = {"n": n, "dimension": DIMENSION, "n_clusters": 1000, "spread": 0.5, "seed": 0}
    data = datasets.load("synthetic", {}, options)
    X = np.empty((n, DIMENSION), dtype=np.float32)
    for start in range(0, n, 65_536):
        X[start : start + 65_536] = data.vectors["features"][start : start + 65_536]
    return X, data.labels


def evaluate(n: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    query, database = (codes.pack(rng.random((m, N_BITS), dtype=np.float32) < 0.5) for m in (N_QUERIES, n))
    truth = LabelRelevance(rng.integers(0, 10, N_QUERIES), rng.integers(0, 10, n))
    names = metrics.everything(N_BITS)
    return lambda: metrics.evaluate(count(query, database, N_BITS, {"class": truth}, index_order=True)["class"], names)


def truth(n: int) -> Callable[[], object]:
    X, y = vectors(n)
    query, train = Items(X[:N_QUERIES], y[:N_QUERIES]), Items(X[: min(n, 50_000)], None)
    return lambda: registry.get("ground_truth", "epsilon_ball")(query, Items(X, y), train, seed=0)


def training(n: int) -> Callable[[], object]:
    X, _ = vectors(n)
    return lambda: registry.get("hasher", "itq")(n_bits=N_BITS, seed=0).fit(TrainingSet(X))


def encoding(n: int) -> Callable[[], object]:
    X, _ = vectors(n)
    model = registry.get("hasher", "itq")(n_bits=N_BITS, seed=0).fit(TrainingSet(X[:10_000]))
    return lambda: [codes.pack(model.transform(X[start : start + 65_536])) for start in range(0, n, 65_536)]


def measure(stage: str, n: int) -> dict[str, float]:
    """Return wall and CPU seconds of a stage, and the peak memory of this process, data and libraries included."""
    run = globals()[stage](n)
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": round(peak)}


def main() -> None:
    """Print a table: a row for each stage and size."""
    if len(sys.argv) == 3:
        sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
        return
    sys.stdout.write("stage,n,wall_s,cpu_s,peak_mb\n")
    for stage in ("evaluate", "truth", "training", "encoding"):
        for n in SIZES:
            command = [sys.executable, __file__, stage, str(n)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if found["wall_s"] > BUSY * found["cpu_s"] + 0.1:
                sys.exit(f"the machine is busy: {stage}, {n}: {found}, load {os.getloadavg()[0]:.1f}.")
            sys.stdout.write(f"{stage},{n},{','.join(map(str, found.values()))}\n")


if __name__ == "__main__":
    main()
