"""Speed of training and encoding beside the arithmetic they can't do without: `python tests/benchmarks/hashers.py`.

Absolute figures move with the machine, so everything is measured in one run on one core, in turns, and the best turn
counts. What is compared with: the matrix products of the method alone (PCA, ITQ), the plain loop over pairs of centres
(SpH), the whole fit (DSH's k-means), a copy of the features and the bare product with a matrix of n_bits columns
(encoding), a decomposition for every code length instead of one for all (the shared training set), and ITQ (TALR).
"""

import argparse
import functools
import os
import sys
import time
from collections.abc import Callable, Mapping

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.hashers import TrainingSet, dsh, linear_algebra
from protocol.hashers.linear_algebra import project, random_rotation
from protocol.hashers.sph import SpH

N_ROWS, N_FEATURES = 59_000, 512  # CIFAR-10's database as GIST
LENGTHS = (8, 12, 16, 32, 64, 128)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def best(running: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Return the seconds of the best turn of each, after one that only warms up."""
    seconds = dict.fromkeys(running, np.inf)
    for turn in range(turns + 1):
        for name, run in running.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def rows(n: int) -> NDArray[np.float32]:
    """Return rows around 30 centres with falling variances: clusters for k-means, a spectrum for PCA."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, N_FEATURES))
    X = centres[rng.integers(0, 30, n)] + rng.normal(size=(n, N_FEATURES))
    return (X * np.linspace(2, 0.2, N_FEATURES)).astype(np.float32)


def pca(X: NDArray[np.float32], turns: int) -> None:
    seconds = best({"ours": lambda: TrainingSet(X).components(64), "limit": lambda: X.T @ X}, turns)
    _say(f"\nPCA to 64 of {len(X):,} x {N_FEATURES}: {seconds['ours']:.3f} s, X'X {seconds['limit']:.3f} s")
    _say(f"  {seconds['ours'] / seconds['limit']:.2f} times its matmul limit (at most 2)")


def shared_pca(X: NDArray[np.float32], turns: int) -> None:
    _say(f"\nPCA at the {len(LENGTHS)} lengths of a job, d = {N_FEATURES}")
    for n in (2_000, 5_000, 50_000):
        training_sets = {"once": lambda n=n: [TrainingSet(X[:n])] * len(LENGTHS)}
        training_sets["each"] = lambda n=n: [TrainingSet(X[:n]) for _ in LENGTHS]
        running = {
            name: lambda made=made: [t.components(n_bits) for t, n_bits in zip(made(), LENGTHS, strict=True)]
            for name, made in training_sets.items()
        }
        seconds = best(running, turns)
        _say(f"  {n:6,} rows: one {seconds['once']:.3f} s, one a length {seconds['each']:.3f} s")


def itq_updates(X: NDArray[np.float32], n_bits: int, turns: int) -> None:
    components = TrainingSet(X).components(n_bits)
    V = project(X, components.mean, components.directions)
    total = V.sum(axis=0, dtype=np.float64)
    first = random_rotation(n_bits, np.random.default_rng(0))

    def ours() -> None:
        rotation = first
        for _ in range(50):
            rotation = linear_algebra._update(V, total, rotation)

    R, B, product = first.astype(np.float32), np.sign(V), np.empty_like(V)

    def limit() -> None:
        for _ in range(50):
            np.matmul(V, R, out=product)
            B.T @ V

    def plain() -> None:
        rotation = R
        for _ in range(50):
            signs = np.where(V @ rotation >= 0, np.float32(1), np.float32(-1))
            U, _, At = np.linalg.svd(signs.T @ V)
            rotation = (U @ At).T

    seconds = best({"ours": ours, "limit": limit, "plain": plain}, turns)
    _say(f"\nITQ, 50 updates, {n_bits} bits, {len(X):,} rows: {seconds['ours']:.3f} s")
    _say(f"  {seconds['ours'] / seconds['limit']:.2f} times its matmul limit {seconds['limit']:.3f} s (at most 2.5)")
    _say(f"  whole matrices, float32: {seconds['plain']:.3f} s")


def spheres(X: NDArray[np.float32], n_bits: int, turns: int) -> None:
    n_iter = 20

    def plain() -> None:
        rng = np.random.default_rng(0)
        centres = np.stack([X[rng.choice(len(X), 5, replace=False)].mean(axis=0) for _ in range(n_bits)])
        for iteration in range(n_iter + 1):
            distances = [np.linalg.norm(X - c, axis=1) for c in centres]
            inside = [d <= np.partition(d, len(X) // 2 - 1)[len(X) // 2 - 1] for d in distances]
            if iteration == n_iter:
                break
            moves = np.zeros_like(centres)
            for i in range(n_bits):
                for j in range(n_bits):
                    overlap = np.count_nonzero(inside[i] & inside[j])
                    moves[i] += (overlap - len(X) / 4) / (len(X) / 2) * (centres[i] - centres[j])
            centres = centres + moves / n_bits

    hasher = SpH(n_bits, epsilon_mean=1e-9, epsilon_std=1e-9, max_iter=n_iter)
    seconds = best({"ours": lambda: hasher.fit(X)}, turns) | best({"plain": plain}, 1)
    _say(f"\nSpH, {n_iter} updates, {n_bits} bits, {len(X):,} rows: {seconds['ours']:.3f} s")
    _say(f"  {seconds['plain'] / seconds['ours']:.1f} times as fast as the loop over pairs of centres (at least 15)")


def density(X: NDArray[np.float32], n_bits: int, turns: int) -> None:
    training = TrainingSet(X)
    centred = X - training.mean
    start = centred[np.random.default_rng(0).choice(len(X), round(1.5 * n_bits), replace=False)]
    running = {
        "fit": lambda: dsh.DSH(n_bits).fit(training),
        "k-means": lambda: dsh._k_means(centred, start, 3),
        "limit": lambda: [(start @ centred.T, start @ centred.T) for _ in range(3)],
    }
    seconds = best(running, turns)
    _say(f"\nDSH, {n_bits} bits, {len(X):,} rows: {seconds['fit']:.3f} s")
    _say(f"  k-means is {seconds['k-means'] / seconds['fit']:.0%} of it")
    _say(f"  {seconds['k-means'] / seconds['limit']:.2f} times the matmul limit of k-means")


def encode(X: NDArray[np.float32], n_bits: int, turns: int) -> None:
    copied, W = np.empty_like(X), np.ones((N_FEATURES, n_bits), dtype=np.float32)
    training = TrainingSet(X[:3000])
    running: dict[str, Callable[[], object]] = {"copy": lambda: np.copyto(copied, X), "product": lambda: X @ W}
    for name in registry.names("hasher"):
        if registry.get("hasher", name).supervision is not None:
            continue
        model = registry.get("hasher", name)(n_bits=n_bits).fit(training)
        running[name] = functools.partial(model.transform, X)
    seconds = best(running, turns)
    _say(f"\nEncoding {len(X):,} x {N_FEATURES} to {n_bits} bits")
    for name, taken in seconds.items():
        _say(
            f"  {name:8} {len(X) / taken / 1e6:5.2f} M rows/s {X.nbytes / taken / 1e9:5.1f} GB/s   "
            f"{taken / seconds['copy']:5.2f} times the copy, {taken / seconds['product']:5.2f} times the product"
        )


def ranking(X: NDArray[np.float32], n_bits: int, turns: int) -> None:
    """Training of TALR on 5,000 rows of ten classes beside ITQ's, the principal components known to all."""
    training = TrainingSet(X, np.arange(len(X)) % 10)
    training.components(n_bits)
    running = {
        name: functools.partial(registry.get("hasher", name)(n_bits=n_bits).fit, training)
        for name in ("itq", "talr_ap", "talr_ndcg")
    }
    seconds = best(running, turns)
    _say(f"\nTraining on {len(X):,} x {N_FEATURES} to {n_bits} bits: ITQ {seconds['itq']:.2f} s")
    for name in ("talr_ap", "talr_ndcg"):
        _say(f"  {name:9} {seconds[name]:.2f} s, {seconds[name] / seconds['itq']:.1f} times ITQ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5, help="turns of which the best counts; default: 5")
    turns = parser.parse_args().turns
    X = rows(N_ROWS)
    pca(X, turns)
    shared_pca(X, turns)
    for n_bits in (32, 64):
        itq_updates(X, n_bits, turns)
        spheres(X[:10_000], n_bits, turns)
        density(X, n_bits, turns)
        encode(X, n_bits, turns)
        ranking(X[:5000], n_bits, turns)


if __name__ == "__main__":
    main()
