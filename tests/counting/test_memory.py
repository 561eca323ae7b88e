"""The memory that a ground truth of many classes takes, and that of a large database."""

import subprocess
import sys

import numpy as np
from plainly import peak_memory

from protocol.inputs.labels import label_pair
from protocol.truth.relevance import LabelRelevance, ground_truth_sha256


def test_labels_are_not_copied_several_times(here):
    """With a copy for each check, a Boolean matrix takes 13 times as much; Python lists for each class, 8 times."""
    n_database, n_classes, rng = 20_000, 1000, np.random.default_rng(0)
    for name, n in (("q", 50), ("d", n_database)):
        np.save(f"{name}.npy", rng.random((n, n_classes), dtype=np.float32) < 0.005)
    names = [["owl", f"c{item % n_classes}"] for item in range(n_database)]

    def used():
        label_pair(names[:50], names, 50, n_database)
        label_pair(np.zeros(50, int), np.broadcast_to(0, 500 * n_database), 50, 500 * n_database)
        truth = LabelRelevance(*label_pair("q.npy", "d.npy", 50, n_database)[:2])
        return ground_truth_sha256(truth), truth.level_numbers(0), truth.row(0)

    assert peak_memory(used)[1] < 2 * n_database * n_classes


def test_a_million_codes_are_counted_in_less_than_a_gigabyte():
    """The distances alone of all pairs would take 1 GB as bytes; the peak is that of the whole process."""
    script = """
import resource
import numpy as np
from protocol.counting import LabelRelevance, count

rng = np.random.default_rng(0)
queries, items = (rng.integers(0, 256, (n, 8), dtype=np.uint8) for n in (1000, 1_000_000))
truth = LabelRelevance(rng.integers(0, 10, len(queries)), rng.integers(0, 10, len(items)))
counts = count(queries, items, 64, {"class": truth})["class"]
print(counts.n_queries, counts.n_database, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    # Linux counts the memory of the process that starts another one as part of its peak, so a small one starts it.
    starter = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    command = [sys.executable, "-c", starter, script]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    n_queries, n_database, kibibytes = map(int, printed.split())
    assert (n_queries, n_database) == (1000, 1_000_000)
    assert 1024 * kibibytes < 10**9
