"""Speed of counting compared with what else people use, run by hand: `python tests/benchmarks/counting.py --help`.

Absolute figures move with the machine, so everything is measured in one run, in turns, and the best turn counts.
Each takes the same codes and single labels, and does all it needs for mean average precision, but for faiss, which
only ranks. Those that are slow get fewer queries. What can't be imported is left out.
"""

import argparse
import copy
import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np
from numpy.typing import NDArray
from timing import best, peak_gb, say

from protocol import codes, metrics
from protocol.counting import count, counting
from protocol.counting._plain import Plain
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

N_CLASSES = 10
LENGTHS = (8, 16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 3072, 4096)
SIZES = ((1000, 59_000), (200, 1_000_000))
"""Queries and items of the comparison by code length."""

PLAIN_C = """
#include <stdint.h>
void count(const uint64_t *query, const uint64_t *database, const int64_t *query_label, const int64_t *database_label,
           long n_queries, long n_database, int64_t *retrieved, int64_t *relevant)
{
    for (long q = 0; q < n_queries; q++, query += WORDS, retrieved += 64 * WORDS + 1, relevant += 64 * WORDS + 1)
        for (long item = 0; item < n_database; item++) {
            long distance = 0;
            for (int w = 0; w < WORDS; w++)
                distance += __builtin_popcountll(query[w] ^ database[item * WORDS + w]);
            retrieved[distance]++;
            relevant[distance] += query_label[q] == database_label[item];
        }
}
"""
"""The plain loop, compiled for codes of each number of words: XOR, population count and two histograms."""


class Case:
    """Random codes and labels."""

    def __init__(self, n_queries: int, n_database: int, n_bits: int) -> None:
        rng = np.random.default_rng(0)
        self.n_database, self.n_bits = n_database, n_bits
        self.query_bits = rng.random((n_queries, n_bits), dtype=np.float32) < 0.5
        self.database_bits = rng.random((n_database, n_bits), dtype=np.float32) < 0.5
        self.query, self.database = codes.pack(self.query_bits), codes.pack(self.database_bits)
        self.query_labels = rng.integers(0, N_CLASSES, n_queries)
        self.database_labels = rng.integers(0, N_CLASSES, n_database)

    def first(self, n_queries: int) -> "Case":
        """Return the case with fewer queries."""
        fewer = copy.copy(self)
        for name in ("query_bits", "query", "query_labels"):
            setattr(fewer, name, getattr(self, name)[:n_queries])
        return fewer

    def signs(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the codes of queries and database as +-1."""
        return self.query_bits.astype(np.float32) * 2 - 1, self.database_bits.astype(np.float32) * 2 - 1


def ours(case: Case, **options: Any) -> None:
    truth = {"class": LabelRelevance(case.query_labels, case.database_labels)}
    count(case.query, case.database, case.n_bits, truth, buckets=False, **options)


def ours_plain(case: Case) -> None:
    chosen = counting._choose
    counting._choose = lambda *args: Plain
    try:
        ours(case)
    finally:
        counting._choose = chosen


def argsort_script(case: Case) -> None:
    """Do as the field's scripts do, a query at a time: products of +-1 codes and of one-hot labels, argsort, mean."""
    query, database = case.signs()
    of_query, of_database = (
        np.eye(N_CLASSES, dtype=np.float32)[labels] for labels in (case.query_labels, case.database_labels)
    )
    for row, label in zip(query, of_query, strict=True):
        relevant = (label @ of_database.T > 0).astype(np.float32)
        distances = 0.5 * (case.n_bits - row @ database.T)
        places = np.flatnonzero(relevant[np.argsort(distances)]) + 1.0
        np.mean(np.arange(1, places.size + 1) / places)


def faiss_search(case: Case, k: int) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(case.n_bits)
    index.add(case.database)
    index.search(case.query, k)


def torchmetrics_map(case: Case) -> None:
    import torch
    from torchmetrics.functional.retrieval import retrieval_average_precision

    torch.set_num_threads(1)
    query, database = map(torch.from_numpy, case.signs())
    labels = torch.from_numpy(case.database_labels)
    for row, label in zip(query, case.query_labels.tolist(), strict=True):
        retrieval_average_precision(database @ row, labels == label)


def sklearn_map(case: Case) -> None:
    from sklearn.metrics import average_precision_score

    query, database = case.signs()
    for row, label in zip(query, case.query_labels, strict=True):
        average_precision_score(case.database_labels == label, database @ row)


def compare(case: Case, turns: int) -> None:
    """Print the speed of each contender in wall time; those that are slow get fewer queries."""
    few, some = case.first(40), case.first(1000)
    contenders: dict[str, tuple[Callable[..., None], Case, dict[str, int], str]] = {
        "ours, 1 thread": (ours, case, {"threads": 1}, "numpy"),
        "ours, 2 threads": (ours, case, {"threads": 2}, "numpy"),
        "ours, numpy only": (ours_plain, some, {}, "numpy"),
        "numpy script (matmul, argsort)": (argsort_script, few, {}, "numpy"),
        "faiss IndexBinaryFlat, full ranking": (faiss_search, few, {"k": case.n_database}, "faiss"),
        "torchmetrics, per query": (torchmetrics_map, few, {}, "torchmetrics"),
        "scikit-learn, per query": (sklearn_map, few, {}, "sklearn"),
    }
    running = {name: of for name, of in contenders.items() if importlib.util.find_spec(of[3])}
    runs = {name: functools.partial(run, part, **options) for name, (run, part, options, _) in running.items()}
    seconds = best(runs, turns, time.perf_counter)
    speed = {name: len(running[name][1].query) * case.n_database / taken / 1e9 for name, taken in seconds.items()}
    say(f"\n{case.n_bits} bits, {len(case.query)} queries x {case.n_database} items, {N_CLASSES} classes")
    for name, pairs in speed.items():
        say(f"  {name:38} {pairs:9.4f} G pairs/s   ours is {speed['ours, 1 thread'] / pairs:8.2f} times that")


def plain_c(folder: Path, n_words: int, *options: str) -> Callable[[Case], None]:
    """Compile the plain loop for codes of some words and return it, to be run on a case."""
    source, library = folder / "count.c", folder / f"count{n_words}{len(options)}.so"
    source.write_text(PLAIN_C)
    command = ["cc", "-O3", "-march=native", *options, f"-DWORDS={n_words}", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, source], check=True)
    loop = ctypes.CDLL(library).count

    def run(case: Case) -> None:
        counts = np.zeros((2, len(case.query), 64 * n_words + 1), dtype=np.int64)
        words = [codes.words(case.query), codes.words(case.database)]
        arrays = [*words, case.query_labels, case.database_labels]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        sizes = [ctypes.c_long(size) for size in (len(case.query), case.n_database)]
        loop(*pointers, *sizes, *[ctypes.c_void_p(each.ctypes.data) for each in counts])

    return run


def by_length(lengths: list[int], turns: int) -> None:
    """Print the speed of counting at each code length, in CPU time, and its ratio to a plain C loop and to faiss."""
    if shutil.which("cc") is None:
        say("The plain C loop is left out: there is no C compiler (cc).")
    if importlib.util.find_spec("faiss") is None:
        say("faiss is left out: it can't be imported.")
    with tempfile.TemporaryDirectory() as folder:
        for n_queries, n_database in SIZES:
            say(f"\n{n_queries} queries x {n_database:,} items, {N_CLASSES} classes, CPU time, best of {turns} turns")
            say("  bits  G pairs/s  ours/C  ours/faiss (top 100)  in database order: G pairs/s, times the counting")
            for n_bits in lengths:
                fewer = max(100, min(n_queries, n_queries * 64 // n_bits))
                case = Case(fewer, n_database, n_bits)
                once = functools.partial(ours, case, buckets=False, calls=1000)
                running = {"ours": once, "index": functools.partial(once, index_order=True)}
                few = case.first(max(4, fewer // 8))
                for name, options in {"C": (), "C, long vectors": ("-mprefer-vector-width=512",)}.items():
                    if shutil.which("cc"):
                        loop = plain_c(Path(folder), -(-n_bits // 64), *options)
                        running[name] = functools.partial(loop, few)
                if importlib.util.find_spec("faiss"):
                    running["faiss"] = functools.partial(faiss_search, case, 100)
                seconds = best(running, turns)
                loops = [taken * fewer / len(few.query) for name, taken in seconds.items() if name.startswith("C")]
                of_c = f"{min(loops) / seconds['ours']:6.2f}" if loops else "     -"
                of_faiss = f"{seconds['faiss'] / seconds['ours']:6.2f}" if "faiss" in seconds else "     -"
                speed, ordered = (fewer * n_database / seconds[name] / 1e9 for name in ("ours", "index"))
                say(
                    f"  {n_bits:4}  {speed:9.3f}  {of_c}  {of_faiss:20}  "
                    f"{ordered:9.3f}  {seconds['index'] / seconds['ours']:6.2f}"
                )


def sift1m(threads: int) -> None:
    """Print time and peak memory of every metric at the scale of SIFT1M, with about 50 relevant items a query."""
    rng = np.random.default_rng(0)
    n_queries, n_database, n_bits = 10_000, 1_000_000, 64
    query = rng.integers(0, 256, (n_queries, n_bits // 8), dtype=np.uint8)
    database = rng.integers(0, 256, (n_database, n_bits // 8), dtype=np.uint8)
    listed = [np.unique(rng.integers(0, n_database, rng.poisson(50))) for _ in range(n_queries)]
    truth = NeighbourRelevance(
        np.append(0, np.cumsum([row.size for row in listed])), np.concatenate(listed), n_database
    )
    start = time.perf_counter()
    counts = count(query, database, n_bits, {"ball": truth}, index_order=True, threads=threads)["ball"]
    counted = time.perf_counter()
    names = metrics.everything(n_bits)
    metrics.evaluate(counts, names)
    done = time.perf_counter()
    pairs = n_queries * n_database / (counted - start) / 1e9
    say(f"\n{n_queries} queries x {n_database} items, {n_bits} bits, {threads} threads, about 50 relevant a query")
    say(
        f"  counting {counted - start:.2f} s ({pairs:.2f} G pairs/s), {len(names)} metrics {done - counted:.2f} s, "
        f"peak memory {peak_gb():.2f} GB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=["cifar10", "sift1m"], default="cifar10", help="default: cifar10")
    parser.add_argument("--n-bits", type=int, nargs="+", default=[32, 64], help="code lengths; default: 32 64")
    parser.add_argument("--turns", type=int, default=5, help="turns of which the best counts; default: 5")
    parser.add_argument("--threads", type=int, default=2, help="threads at the scale of SIFT1M; default: 2")
    parser.add_argument(
        "--lengths",
        type=int,
        nargs="*",
        help="compare with a plain C loop at these code lengths; none given: 8 to 4,096",
    )
    arguments = parser.parse_args()
    if arguments.lengths is not None:
        by_length(arguments.lengths or list(LENGTHS), arguments.turns)
    elif arguments.scale == "sift1m":
        sift1m(arguments.threads)
    else:
        for n_bits in arguments.n_bits:
            compare(Case(10_000, 59_000, n_bits), arguments.turns)


if __name__ == "__main__":
    main()
