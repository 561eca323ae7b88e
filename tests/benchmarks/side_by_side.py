"""Speed beside other packages and beside bare Snakefiles, run by hand on an idle machine.

`python tests/benchmarks/side_by_side.py [PART ...]` measures `counting`, `evaluate`, `planning` and `experiment`, by
default all of them, which takes some minutes, and writes results/reference/speed/; rows of other parts stay as they
are. Contenders take turns, and the least time of the turns counts: CPU time, but wall time with two threads. Packages
that are not installed or that fail are left out, and named. So is ranx: its first call compiles for 27 CPU seconds, and
its mAP compares every ranked item with every relevant one.
"""

import ctypes
import datetime
import importlib.metadata
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np
import pandas as pd
import yaml
from timing import best, say

from protocol import codes
from protocol.counting import count
from protocol.provenance import storage
from protocol.truth.relevance import LabelRelevance

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "speed"
LENGTHS, THREADS, TURNS = (16, 32, 64, 128, 256, 512, 1024), (1, 2), 4
N_DATABASE, N_CLASSES, BLOCK = 59_000, 10, 50
EVALUATED = 10_000
"""The queries of `protocol evaluate`; other packages get fewer, and their time is multiplied."""
PEERS = ("faiss", "numkong", "torch", "torchmetrics", "pytorch_metric_learning")
COLUMNS = ["part", "bits", "threads", "contender", "seconds", "ratio"]
JOB = "import h5py, numpy\nopen(snakemake.output[0], 'w').close()\n"
BARE = """
rule all:
    input: expand("out/{{i}}", i=range({n}))
rule job:
    output: "out/{{i}}"
    script: "job.py"
"""
left_out: list[str] = ["ranx (its first call compiles for 27 CPU seconds)"]


def is_installed(name: str) -> bool:
    """Return whether a package or a program is there, and note it as left out otherwise."""
    found = importlib.util.find_spec(name) is not None or shutil.which(name) is not None
    if not found and name not in left_out:
        left_out.append(name)
        say(f"{name} is not installed and left out.")
    return found


class Case:
    """Random codes and labels: 1,000 queries, or as many as given."""

    def __init__(self, n_bits: int, n_queries: int = 1000) -> None:
        rng, self.n_bits = np.random.default_rng(0), n_bits
        sides = [rng.random((n, n_bits), dtype=np.float32) < 0.5 for n in (n_queries, N_DATABASE)]
        self.bits, self.packed = sides, [codes.pack(side) for side in sides]
        self.words = [codes.words(side) for side in self.packed]
        self.labels = [rng.integers(0, N_CLASSES, n) for n in (n_queries, N_DATABASE)]


def ours(case: Case, threads: int) -> None:
    count(*case.packed, case.n_bits, {"class": LabelRelevance(*case.labels)}, buckets=False, threads=threads)


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def compiled(folder: str, n_words: int) -> ctypes.CDLL:
    """Compile the loops in C for codes of some words."""
    source, library = Path(__file__).with_name("histograms.c"), Path(folder, f"histograms{n_words}.so")
    options = ["-O3", "-march=native", f"-DWORDS={n_words}", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "-o", library, source], check=True)
    return ctypes.CDLL(library)


def of_blocks(case: Case, threads: int, work: Callable[[slice, np.ndarray], None]) -> None:
    """Call `work` with blocks of queries and an array for their histograms, on some threads."""
    starts = range(0, len(case.words[0]), BLOCK)

    def of_block(start: int) -> None:
        work(slice(start, start + BLOCK), np.zeros((2, BLOCK, 64 * case.words[0].shape[1] + 1), dtype=np.int64))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(of_block, starts))


def in_c(loops: ctypes.CDLL, case: Case, rows: slice, counts: np.ndarray) -> None:
    arrays = [case.words[0][rows], case.words[1], case.labels[0][rows], case.labels[1]]
    loops.count(*map(address, arrays), ctypes.c_long(BLOCK), ctypes.c_long(N_DATABASE), *map(address, counts))


def by_faiss(case: Case, rows: slice, counts: np.ndarray, loops: ctypes.CDLL | None = None) -> None:
    """Compute the distances with faiss, and count them with the loop in C if it is given."""
    import faiss

    query, database = case.words[0][rows], case.words[1]
    distances = np.empty((BLOCK, N_DATABASE), dtype=np.int32)
    pointers = map(faiss.swig_ptr, (query.view(np.uint8), database.view(np.uint8), distances))
    a, b, written = pointers
    faiss.hammings(a, b, BLOCK, N_DATABASE, 8 * query.shape[1], written)
    if loops is not None:
        labels = case.labels[0][rows], case.labels[1]
        sizes = ctypes.c_long(BLOCK), ctypes.c_long(N_DATABASE)
        loops.histogram(*map(address, (distances, *labels)), *sizes, *map(address, counts))


def by_numkong(case: Case, packed: Any, rows: slice, counts: np.ndarray) -> None:
    import numkong

    numkong.hammings_packed(case.packed[0][rows], packed)


def counting() -> Iterator[tuple[Any, ...]]:
    """Time single calls in a process that has loaded the compiled code, which happens after a few calls."""
    with tempfile.TemporaryDirectory() as folder:
        case = Case(64)
        while "protocol.counting._kernels" not in sys.modules:
            ours(case, 1)
        for n_bits in LENGTHS:
            case = Case(n_bits)
            work: dict[str, Callable[[slice, np.ndarray], None]] = {}
            loops = compiled(folder, case.words[0].shape[1]) if is_installed("cc") else None
            if loops is not None:
                work["plain C"] = partial(in_c, loops, case)
            if is_installed("faiss"):
                import faiss

                faiss.omp_set_num_threads(1)
                work["faiss.hammings, distances only"] = partial(by_faiss, case)
                if loops is not None:
                    work["faiss.hammings and a histogram in C"] = partial(by_faiss, case, loops=loops)
            if is_installed("numkong"):
                import numkong

                packed = numkong.hammings_pack(case.packed[1])
                work["numkong.hammings_packed, distances only"] = partial(by_numkong, case, packed)
            for threads in THREADS:
                contenders = {name: partial(of_blocks, case, threads, one) for name, one in work.items()}
                contenders = {"protocol": partial(ours, case, threads)} | contenders
                clock = time.process_time if threads == 1 else time.perf_counter
                for name, seconds in best(contenders, TURNS, clock).items():
                    yield n_bits, threads, name, seconds


def argsort_script(query: Any, database: Any, of_query: Any, of_database: Any) -> None:
    """Compute mAP as the script of DeepHash and its descendants does: a product and a sort for each query."""
    precisions = []
    for code, label in zip(query, of_query, strict=True):
        relevant = (of_database == label)[np.argsort(0.5 * (database.shape[1] - database @ code))]
        ranks = np.flatnonzero(relevant) + 1
        precisions.append(np.mean(np.arange(1, len(ranks) + 1) / ranks))
    np.mean(precisions)


def by_torchmetrics(query: Any, database: Any, of_query: Any, of_database: Any) -> None:
    import torch
    from torchmetrics.functional.retrieval import retrieval_average_precision

    torch.set_num_threads(1)
    scores = torch.from_numpy(query) @ torch.from_numpy(database).T
    relevant = torch.from_numpy(of_query[:, None] == of_database)
    for of_scores, target in zip(scores, relevant, strict=True):
        retrieval_average_precision(of_scores, target)


def by_metric_learning(query: Any, database: Any, of_query: Any, of_database: Any) -> None:
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    torch.set_num_threads(1)
    tensors = [torch.from_numpy(array) for array in (query, of_query, database, of_database)]
    include = ("mean_average_precision",)
    AccuracyCalculator(include=include, k=len(database), device=torch.device("cpu")).get_accuracy(*tensors)


def cpu_seconds(command: list[str], folder: str | Path) -> tuple[float, str]:
    """Run a command, and return the CPU seconds of it and its children, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder, "numba")), "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each job would compile the package again
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout + done.stderr


def evaluation() -> Iterator[tuple[Any, ...]]:
    """Time the whole command `protocol evaluate`, and mAP alone in other packages, without importing them."""
    case = Case(64, EVALUATED)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "protocol", "evaluate"]
        for side, bits, labels in zip(("query", "database"), case.bits, case.labels, strict=True):
            np.save(Path(folder, f"{side}.npy"), np.where(bits, 1, -1).astype(np.int8))
            np.save(Path(folder, f"{side}_labels.npy"), labels)
            command += [f"--{side}-codes", f"{side}.npy", f"--{side}-labels", f"{side}_labels.npy"]
        yield 64, 1, "protocol", min(cpu_seconds(command, folder)[0] for _ in range(TURNS))
    peers = {
        "argsort script": ("numpy", argsort_script, 50),
        "torchmetrics": ("torchmetrics", by_torchmetrics, 50),
        "pytorch-metric-learning": ("pytorch_metric_learning", by_metric_learning, 50),
    }
    query, database = (np.where(side, np.float32(1), np.float32(-1)) for side in case.bits)
    for name, (package, work, n) in peers.items():
        if is_installed(package):
            run = partial(work, query[:n], database, case.labels[0][:n], case.labels[1])
            try:
                seconds = best({name: run}, 2)[name]
            except Exception as error:  # noqa: BLE001 - the others are still measured
                left_out.append(package)
                say(f"{package} failed and is left out: {error}")
            else:
                yield 64, 1, name, seconds * EVALUATED / n


def bare(folder: Path, n_jobs: int) -> Path:
    """Write a Snakefile with some jobs that only import NumPy and h5py."""
    folder.mkdir()
    (folder / "job.py").write_text(JOB)
    (folder / "Snakefile").write_text(BARE.format(n=n_jobs))
    return folder


def version(name: str) -> str:
    """Return the version of an imported package; the distribution of faiss has another name."""
    return importlib.metadata.version({"faiss": "faiss-cpu"}.get(name, name))


def n_jobs(printed: str) -> int:
    return int(re.findall(r"^total\s+(\d+)", printed, re.M)[-1])


def planning() -> Iterator[tuple[Any, ...]]:
    """Time the plan of ten runs of 30 hashers at six code lengths."""
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    kinds = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh", "median", "sign")
    hashers = [{"name": f"{kind}_{number}", "base": kind} for kind in kinds for number in range(3)]
    config |= {"experiment": "planned", "runs": 10, "n_bits": [8, 12, 16, 24, 32, 64], "hashers": hashers}
    config |= {"features": {"gist": {"preprocessing": ["centre"]}}}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.yaml").write_text(yaml.safe_dump(config))
        plan = [sys.executable, "-m", "snakemake", "-n", "--cores", "2"]
        command = [*plan, "-s", str(ROOT / "Snakefile"), "--configfile", "config.yaml"]
        _, printed = cpu_seconds(command, folder)
        other = bare(Path(folder, "bare"), n_jobs(printed) - 1)
        contenders = {"protocol": (command, folder), "bare Snakefile": (plan, other)}
        for name, where in contenders.items():
            yield 0, 1, name, min(cpu_seconds(*where)[0] for _ in range(TURNS))


def experiment() -> Iterator[tuple[Any, ...]]:
    """Time the default experiment once in a fresh clone, without anything that an earlier run compiled or stored."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        command = [sys.executable, "-m", "snakemake", "--cores", "2"]
        _, printed = cpu_seconds([*command, "-n"], clone)
        yield 0, 2, "protocol", cpu_seconds(command, clone)[0]
        yield 0, 2, "bare Snakefile", cpu_seconds(command, bare(Path(folder, "bare"), n_jobs(printed) - 1))[0]


PARTS = {"counting": counting, "evaluate": evaluation, "planning": planning, "experiment": experiment}


def main(names: list[str]) -> None:
    """Measure some parts, and write the table and the machine."""
    load = os.getloadavg()[0]
    FOLDER.mkdir(exist_ok=True)
    path, rows = FOLDER / "speed.csv", []
    names = names or list(PARTS)
    if path.exists():
        stored = pd.read_csv(path)
        rows = stored[~stored["part"].isin(names)].values.tolist()
    for part in names:
        own = 0.0
        try:
            for n_bits, threads, contender, seconds in PARTS[part]():
                own = seconds if contender == "protocol" else own
                rows.append((part, n_bits, threads, contender, float(f"{seconds:.3g}"), float(f"{seconds / own:.3g}")))
                say(" ".join(map(str, rows[-1])))
        except (RuntimeError, subprocess.CalledProcessError) as error:  # the other parts are still measured
            left_out.append(part)
            say(f"{part} failed, and what was measured before is kept: {error}")
        pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    cpu = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    machine = {"cpu": cpu[0] if cpu else "unknown", "cores": os.cpu_count(), "date": str(datetime.date.today())}
    versions = storage.versions() | {name: version(name) for name in PEERS if is_installed(name)}
    machine |= {"load": round(load, 1), "versions": versions, "left_out": left_out}
    (FOLDER / "machine.json").write_text(json.dumps(machine, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
