"""Speed of counting beside what else people use, run by hand: `python tests/benchmarks/counting.py --help`.

Absolute figures move with the machine, so everything is measured in one run, in turns, and the best turn counts.
Each takes the same codes and single labels, and does all it needs for mean average precision, but for faiss, which
only ranks. Those that are slow get fewer queries. What can't be imported is left out.
"""

import argparse
import ctypes
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np

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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass
class Case:
    """Random codes and labels."""

    n_queries: int
    n_database: int
    n_bits: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        self.query_bits = rng.random((self.n_queries, self.n_bits), dtype=np.float32) < 0.5
        self.database_bits = rng.random((self.n_database, self.n_bits), dtype=np.float32) < 0.5
        self.query, self.database = codes.pack(self.query_bits), codes.pack(self.database_bits)
        self.query_labels = rng.integers(0, N_CLASSES, self.n_queries)
        self.database_labels = rng.integers(0, N_CLASSES, self.n_database)

    def first(self, n_queries: int) -> "Case":
        """Return the case with fewer queries."""
        fewer = object.__new__(Case)
        fewer.__dict__ = self.__dict__ | {"n_queries": n_queries}
        fewer.query_bits, fewer.query = self.query_bits[:n_queries], self.query[:n_queries]
        fewer.query_labels = self.query_labels[:n_queries]
        return fewer


def ours(case: Case, threads: int) -> None:
    truth = {"class": LabelRelevance(case.query_labels, case.database_labels)}
    count(case.query, case.database, case.n_bits, truth, largest_bucket=False, threads=threads)


def ours_plain(case: Case) -> None:
    chosen = counting._choose
    counting._choose = lambda *args: Plain
    try:
        ours(case, 1)
    finally:
        counting._choose = chosen


def argsort_script(case: Case) -> None:
    """Do as the field's scripts do, a query at a time: products of +-1 codes and of one-hot labels, argsort, mean."""
    query, database = (bits.astype(np.float32) * 2 - 1 for bits in (case.query_bits, case.database_bits))
    of_query, of_database = (
        np.eye(N_CLASSES, dtype=np.float32)[labels] for labels in (case.query_labels, case.database_labels)
    )
    for row, label in zip(query, of_query, strict=True):
        relevant = (label @ of_database.T > 0).astype(np.float32)
        distances = 0.5 * (case.n_bits - row @ database.T)
        places = np.flatnonzero(relevant[np.argsort(distances)]) + 1.0
        np.mean(np.arange(1, places.size + 1) / places)


def faiss_ranking(case: Case) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(case.n_bits)
    index.add(case.database)
    index.search(case.query, case.n_database)


def torchmetrics_map(case: Case) -> None:
    import torch
    from torchmetrics.functional.retrieval import retrieval_average_precision

    torch.set_num_threads(1)
    query, database = (
        torch.from_numpy(bits.astype(np.float32) * 2 - 1) for bits in (case.query_bits, case.database_bits)
    )
    labels = torch.from_numpy(case.database_labels)
    for row, label in zip(query, case.query_labels.tolist(), strict=True):
        retrieval_average_precision(database @ row, labels == label)


def sklearn_map(case: Case) -> None:
    from sklearn.metrics import average_precision_score

    query, database = (bits.astype(np.float32) * 2 - 1 for bits in (case.query_bits, case.database_bits))
    for row, label in zip(query, case.query_labels, strict=True):
        average_precision_score(case.database_labels == label, database @ row)


def contenders(case: Case) -> dict[str, tuple[Callable[[], None], int]]:
    """Return what to run, with the number of queries it gets."""
    few, some = case.first(40), case.first(1000)
    found = {
        "ours, 1 thread": (lambda: ours(case, 1), case.n_queries),
        "ours, 2 threads": (lambda: ours(case, 2), case.n_queries),
        "ours, numpy only": (lambda: ours_plain(some), some.n_queries),
        "numpy script (matmul, argsort)": (lambda: argsort_script(few), few.n_queries),
        "faiss IndexBinaryFlat, full ranking": (lambda: faiss_ranking(few), few.n_queries),
        "torchmetrics, per query": (lambda: torchmetrics_map(few), few.n_queries),
        "scikit-learn, per query": (lambda: sklearn_map(few), few.n_queries),
    }
    needed = {"faiss IndexBinaryFlat, full ranking": "faiss", "torchmetrics, per query": "torchmetrics"}
    needed["scikit-learn, per query"] = "sklearn"
    return {name: run for name, run in found.items() if name not in needed or importlib.util.find_spec(needed[name])}


def compare(case: Case, turns: int) -> None:
    """Print the best of the turns of each contender."""
    running = contenders(case)
    for run, _ in running.values():
        run()  # loads and compiles
    best = dict.fromkeys(running, np.inf)
    for _ in range(turns):
        for name, (run, _) in running.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    speed = {name: running[name][1] * case.n_database / best[name] / 1e9 for name in running}
    _say(f"\n{case.n_bits} bits, {case.n_queries} queries x {case.n_database} items, {N_CLASSES} classes")
    for name, pairs in speed.items():
        _say(f"  {name:38} {pairs:9.4f} G pairs/s   ours is {speed['ours, 1 thread'] / pairs:8.2f} times that")


def plain_c(folder: Path, n_words: int, *options: str) -> Callable[[Case], None]:
    """Compile the plain loop for codes of some words and return it, to be run on a case."""
    source, library = folder / "count.c", folder / f"count{n_words}{len(options)}.so"
    source.write_text(PLAIN_C)
    command = ["cc", "-O3", "-march=native", *options, f"-DWORDS={n_words}", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, source], check=True)
    loop = ctypes.CDLL(library).count

    def run(case: Case) -> None:
        counts = np.zeros((2, case.n_queries, 64 * n_words + 1), dtype=np.int64)
        words = [codes.words(case.query), codes.words(case.database)]
        arrays = [*words, case.query_labels, case.database_labels]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        sizes = [ctypes.c_long(size) for size in (case.n_queries, case.n_database)]
        loop(*pointers, *sizes, *[ctypes.c_void_p(each.ctypes.data) for each in counts])

    return run


def faiss_search(case: Case) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(case.n_bits)
    index.add(case.database)
    index.search(case.query, 100)


def counted(case: Case) -> None:
    truth = {"class": LabelRelevance(case.query_labels, case.database_labels)}
    count(case.query, case.database, case.n_bits, truth, bucket_sizes=False, largest_bucket=False, calls=1000)


def in_index_order(case: Case) -> None:
    truth = {"class": LabelRelevance(case.query_labels, case.database_labels)}
    count(
        case.query, case.database, case.n_bits, truth,
        bucket_sizes=False, largest_bucket=False, index_order=True, calls=1000,
    )  # fmt: skip


def seconds(running: dict[str, Callable[[], None]], turns: int) -> dict[str, float]:
    """Return the CPU seconds of the best of the turns of each contender."""
    best = dict.fromkeys(running, np.inf)
    for turn in range(turns + 1):
        for name, run in running.items():
            start = time.process_time()
            run()
            if turn:  # the first one loads and compiles
                best[name] = min(best[name], time.process_time() - start)
    return best


def by_length(lengths: list[int], turns: int) -> None:
    """Print the speed of counting at each code length, in CPU time, and its ratio to a plain C loop and to faiss."""
    if shutil.which("cc") is None:
        _say("The plain C loop is left out: there is no C compiler (cc).")
    if importlib.util.find_spec("faiss") is None:
        _say("faiss is left out: it can't be imported.")
    with tempfile.TemporaryDirectory() as folder:
        for n_queries, n_database in SIZES:
            _say(f"\n{n_queries} queries x {n_database:,} items, {N_CLASSES} classes, CPU time, best of {turns} turns")
            _say("  bits  G pairs/s  ours/C  ours/faiss (top 100)  with mAP[index]: G pairs/s, times the counting")
            for n_bits in lengths:
                fewer = max(100, min(n_queries, n_queries * 64 // n_bits))
                case = Case(fewer, n_database, n_bits)
                running = {"ours": lambda case=case: counted(case), "index": lambda case=case: in_index_order(case)}
                if shutil.which("cc"):
                    few = case.first(max(4, fewer // 8))
                    for name, options in {"C": (), "C, long vectors": ("-mprefer-vector-width=512",)}.items():
                        loop = plain_c(Path(folder), -(-n_bits // 64), *options)
                        running[name] = lambda few=few, loop=loop: loop(few)
                if importlib.util.find_spec("faiss"):
                    running["faiss"] = lambda case=case: faiss_search(case)
                best = seconds(running, turns)
                loops = [taken * fewer / few.n_queries for name, taken in best.items() if name.startswith("C")]
                of_c = f"{min(loops) / best['ours']:6.2f}" if loops else "     -"
                of_faiss = f"{best['faiss'] / best['ours']:6.2f}" if "faiss" in best else "     -"
                speed, ordered = (fewer * n_database / best[name] / 1e9 for name in ("ours", "index"))
                _say(
                    f"  {n_bits:4}  {speed:9.3f}  {of_c}  {of_faiss:20}  "
                    f"{ordered:9.3f}  {best['index'] / best['ours']:6.2f}"
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    pairs = n_queries * n_database / (counted - start) / 1e9
    _say(f"\n{n_queries} queries x {n_database} items, {n_bits} bits, {threads} threads, about 50 relevant a query")
    _say(
        f"  counting {counted - start:.2f} s ({pairs:.2f} G pairs/s), {len(names)} metrics {done - counted:.2f} s, "
        f"peak memory {peak:.2f} GB"
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
