"""Speed of the exact radius search beside its limit and its peer, run by hand: `python ... --help`.

Absolute figures move with the machine, so everything is measured in one run, in turns, and the best turn counts. The
limit is the bare float32 matrix product of the same items; the peer is scikit-learn's brute-force radius search.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from protocol.truth import Items
from protocol.truth.epsilon_ball import epsilon_ball, neighbours_within

N_NEIGHBOURS = 50


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def clustered(n_items: int, d: int, seed: int) -> NDArray[np.float32]:
    """Return Gaussian clusters of unlike size, the same ones for any seed, not centred at the origin."""
    shape, rng = np.random.default_rng(0), np.random.default_rng(seed)
    means = shape.standard_normal((1000, d), dtype=np.float32) + 3
    sizes = shape.dirichlet(np.full(len(means), 5.0))
    X = np.empty((n_items, d), dtype=np.float32)
    for start in range(0, n_items, 10_000):
        block = X[start : start + 10_000]
        cluster = rng.choice(len(means), len(block), p=sizes)
        rng.standard_normal(out=block, dtype=np.float32)
        block *= 0.5
        block += means[cluster]
    return X


def ball(query: NDArray[np.float32], database: NDArray[np.float32]) -> dict[str, NDArray]:
    """Return the ground truth with the radius that gives 50 neighbours on average, from 100 of 20,000 items."""
    items, train = Items(database, None), Items(database[:20_000], None)
    return epsilon_ball(Items(query, None), items, train, n_neighbours=N_NEIGHBOURS, reading="average_count")


def sgemm(query: NDArray[np.float32], database: NDArray[np.float32]) -> None:
    """Do the product alone, in blocks of the size at which it is about fastest; nothing looks at it."""
    product = np.empty((4096, 4096), dtype=np.float32)
    for i in range(0, len(query), len(product)):
        rows = query[i : i + len(product)]
        for j in range(0, len(database), len(product)):
            columns = database[j : j + len(product)]
            np.matmul(rows, columns.T, out=product[: len(rows), : len(columns)])


def compare(n_queries: int, n_database: int, d: int, turns: int) -> None:
    """Print the best of the turns of each contender, on one thread."""
    query, database = clustered(n_queries, d, seed=1), clustered(n_database, d, seed=2)
    truth = ball(query, database)
    radius = float(truth["radius"][0])
    peer = NearestNeighbors(algorithm="brute", n_jobs=1).fit(database)
    running: dict[str, Callable[[], object]] = {
        "ours": lambda: neighbours_within(query, database, radius),
        "sgemm alone": lambda: sgemm(query, database),
        "scikit-learn radius_neighbors, brute": lambda: peer.radius_neighbors(query, radius, return_distance=False),
    }
    best = dict.fromkeys(running, np.inf)
    with threadpool_limits(1):
        for _ in range(turns):
            for name, run in running.items():
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    speed = {name: 2 * d * n_queries * n_database / best[name] / 1e9 for name in running}
    mean = truth["indices"].size / n_queries
    _say(f"\n{n_queries} queries x {n_database} items x {d}, {mean:.0f} neighbours a query on average, 1 thread")
    for name, flops in speed.items():
        _say(f"  {name:38} {flops:8.1f} GFLOP/s   ours is {speed['ours'] / flops:6.2f} times that")


def sift1m(threads: int) -> None:
    """Print time and peak memory at the scale of SIFT1M."""
    query, database = clustered(10_000, 128, seed=1), clustered(1_000_000, 128, seed=2)
    radius = float(ball(query[:1], database)["radius"][0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = time.perf_counter()
    indptr, indices = neighbours_within(query, database, radius, threads=threads)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    flops = 2 * query.size * len(database) / seconds / 1e9
    counts = np.diff(indptr)
    _say(f"\n{len(query)} queries x {len(database)} items x 128, {threads} threads")
    _say(f"  {indices.size / len(query):.1f} neighbours a query on average, median {np.median(counts):.0f}")
    _say(f"  search {seconds:.1f} s ({flops:.1f} GFLOP/s), peak memory {peak:.2f} GB, {before:.2f} GB before")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=["cifar10", "sift1m"], default="cifar10", help="default: cifar10")
    parser.add_argument("--turns", type=int, default=5, help="turns of which the best counts; default: 5")
    parser.add_argument("--threads", type=int, default=2, help="threads at the scale of SIFT1M; default: 2")
    arguments = parser.parse_args()
    if arguments.scale == "sift1m":
        sift1m(arguments.threads)
    else:
        compare(1_000, 59_000, 512, arguments.turns)
        compare(4_000, 100_000, 128, arguments.turns)


if __name__ == "__main__":
    main()
