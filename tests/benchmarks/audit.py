"""Time and memory of `protocol audit` with lists of a million lines; prints a table as Markdown.

Run ``python tests/benchmarks/audit.py [--items 1000000]``. Every audit is the command in a process of its own: 10,000
queries, the database and 100,000 training items, in each format that lists have, clean and with leaks. Peak memory is
that of this process and of the children it starts, and includes Python and NumPy, about 30 MB.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np

N_QUERIES, N_TRAIN, N_CLASSES, N_LEAKS = 10_000, 100_000, 100, 1_000
_MEASURED = """
import resource, sys
from protocol.cli import main
status = main(sys.argv[1:])
print(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), status)
"""


def main() -> None:
    """Write the lists, audit them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    n_items = parser.parse_args().items
    print("| lists | errors | seconds | CPU seconds | peak memory (MB) |\n|---|---:|---:|---:|---:|")  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, files, options in cases(n_items):
            seconds, cpu, memory, status = measured([*(f"--{part}={file}" for part, file in files.items()), *options])
            cells = (name, "yes" if status else "none", f"{seconds:.1f}", f"{cpu:.1f}", f"{memory / 1e3:,.0f}")
            print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201


def measured(arguments: list[str]) -> tuple[float, float, int, int]:
    """Return the seconds that an audit takes, those of the CPU, its peak memory in kB, and its exit status."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", _MEASURED, "audit", *arguments], capture_output=True, check=True)
    memory, status = done.stdout.split()[-2:]
    if int(status) > 1:
        raise RuntimeError(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu, int(memory), int(status)


def cases(n_items: int) -> Iterator[tuple[str, dict[str, str], list[str]]]:
    """Write lists and yield what they are called, the file of each partition, and further options."""
    for leaks in (0, N_LEAKS):
        parts = split(n_items, leaks)
        for name, suffix, flags in (
            ("text, ids", ".txt", False),
            ("text, ids and 100 labels", ".txt", True),
            ("csv, ids", ".csv", False),
            ("csv, ids and 100 labels", ".csv", True),
        ):
            for part, rows in parts.items():
                write_text(f"{part}{suffix}", rows, flags=flags)
            yield name, {part: f"{part}{suffix}" for part in parts}, []
        for part, rows in parts.items():
            np.save(f"{part}.npy", rows)
        np.save("labels.npy", np.arange(n_items) % N_CLASSES)
        np.save("features.npy", np.random.default_rng(0).random((n_items, 64), dtype=np.float32))
        arrays = {part: f"{part}.npy" for part in parts}
        yield "npy, row numbers", arrays, []
        yield "npy, row numbers, labels", arrays, ["--labels=labels.npy"]
        yield "npy, row numbers, 64 features", arrays, ["--features=features.npy"]
    parts["database"] = np.arange(n_items)
    parts["query"] = np.arange(n_items)
    for part, rows in parts.items():
        write_text(f"{part}.txt", rows, flags=False)
    yield "text, every database item a query, JSON", {part: f"{part}.txt" for part in parts}, ["--json=found.json"]


def split(n_items: int, leaks: int) -> dict[str, np.ndarray]:
    """Return row numbers by partition, in no order; so many queries are in the database and in the training set."""
    order = np.random.default_rng(0).permutation(n_items)
    query, database = order[:N_QUERIES], order[N_QUERIES:]
    train = database[:N_TRAIN]
    return {
        "query": query,
        "database": np.concatenate([query[:leaks], database]),
        "train": np.concatenate([query[:leaks], train]),
    }


def write_text(path: str, rows: np.ndarray, *, flags: bool) -> None:
    """Write a list of file names, with a class of each item as 0 and 1 if `flags`."""
    mark = "," if path.endswith(".csv") else " "
    one_hot = [mark.join(["0"] * label + ["1"] + ["0"] * (N_CLASSES - label - 1)) for label in range(N_CLASSES)]
    with open(path, "w") as file:
        for row in rows.tolist():
            name = f"images/{row // 1_000:04d}/{row:07d}.jpg"
            file.write(f"{name}{mark}{one_hot[row % N_CLASSES]}\n" if flags else f"{name}\n")


if __name__ == "__main__":
    main()
