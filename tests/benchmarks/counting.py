"""Speed of counting at each code length, compared with a plain C loop and with faiss, run by hand.

`python tests/benchmarks/counting.py [--lengths 8 64 ...]`. Absolute figures move with the machine, so everything is
measured in one run, on one core, in turns, and the best turn counts. All take the same codes and single labels; faiss
only ranks. The plain loop gets fewer queries. What can't be compiled or imported is left out.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np
from timing import best, say

from protocol import codes
from protocol.counting import count
from protocol.truth.relevance import LabelRelevance

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
        self.query, self.database = (
            codes.pack(rng.random((n, n_bits), dtype=np.float32) < 0.5) for n in (n_queries, n_database)
        )
        self.query_labels, self.database_labels = (rng.integers(0, N_CLASSES, n) for n in (n_queries, n_database))

    def first(self, n_queries: int) -> "Case":
        """Return the case with fewer queries."""
        fewer = copy.copy(self)
        fewer.query, fewer.query_labels = self.query[:n_queries], self.query_labels[:n_queries]
        return fewer


def ours(case: Case, **options: Any) -> None:
    truth = {"class": LabelRelevance(case.query_labels, case.database_labels)}
    count(case.query, case.database, case.n_bits, truth, buckets=False, **options)


def faiss_search(case: Case, k: int) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(case.n_bits)
    index.add(case.database)
    index.search(case.query, k)


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


def by_length(lengths: Sequence[int], turns: int) -> None:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5, help="turns of which the best counts; default: 5")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS, help="code lengths; default: 8 to 4,096")
    arguments = parser.parse_args()
    by_length(arguments.lengths or LENGTHS, arguments.turns)


if __name__ == "__main__":
    main()
