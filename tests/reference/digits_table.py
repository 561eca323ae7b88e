"""Write ``results/reference/hashers/``: all unsupervised hashers on scikit-learn's digits, over 50 runs.

Run by hand: `python tests/reference/digits_table.py`, which takes half a minute on one core. Splits, seeds and
preprocessing are those of the default experiment (workflow/config/digits.yaml), whose ten runs are the first ten here.
"""

import csv
import functools
import io
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

if __name__ == "__main__":
    # One thread gives identical bytes on every machine.
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}

import numpy as np
import yaml
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.counting import count
from protocol.features import Preprocessing
from protocol.hashers import TrainingSet
from protocol.metrics import evaluate, mean
from protocol.provenance.seeds import derive
from protocol.provenance.storage import array_digest
from protocol.truth.relevance import LabelRelevance

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "hashers"
EXPERIMENT = yaml.safe_load((ROOT / "workflow" / "config" / "digits.yaml").read_text())
N_RUNS = 50
N_BITS = (16, 32)
STATISTICS = ("mean", "std", "min", "max")
PROVENANCE = """

## Provenance

- made by `python tests/reference/digits_table.py`, one thread
- data: scikit-learn's 1,797 digits, GIST (512), {steps}; SHA-256 of the features `{digest}`
- splits: standard; {sizes}; database: all items that are not queries
- options: every hasher's defaults
- seeds: of splits `{seed}, "split", run)`, of hashers `{seed}, "gist", hasher, n_bits, run)`, runs 0 to {last}
- versions: {versions}
"""
COLUMNS = ("hasher", "n_bits", *STATISTICS, "n_runs")


@functools.cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the GIST of the 1,797 images, before centring, and their classes."""
    data = registry.get("dataset", "digits")({})
    blocks = registry.get("feature", "gist")().extract(data.images)
    return np.concatenate([rows for rows, _ in blocks]), data.labels


@functools.cache
def drawn(run: int) -> tuple[TrainingSet, dict[str, NDArray[np.float32]], LabelRelevance]:
    """Return the training set of one run, its preprocessed queries and database, and their relevance."""
    raw, labels = digits()
    split = registry.get("split", "standard").split(
        len(raw), labels, sizes=EXPERIMENT["split_sizes"], seed=derive(EXPERIMENT["seed"], "digits", "split", run)
    )
    steps = EXPERIMENT["features"]["gist"]["preprocessing"]
    fitted = Preprocessing.fit(registry.get("feature", "gist")(), raw[split["train"]], steps, seed=0)
    prepared = {part: fitted.transform(raw[split[part]]) for part in ("train", "query", "database")}
    relevance = LabelRelevance(labels[split["query"]], labels[split["database"]])
    return TrainingSet(prepared.pop("train")), prepared, relevance


def mean_average_precision(hasher: str, n_bits: int, run: int, **options: float) -> float:
    """Return the tie-aware mAP of one run over the complete database; `options` are those of the hasher."""
    training, prepared, relevance = drawn(run)
    seed = derive(EXPERIMENT["seed"], "digits", "gist", hasher, n_bits, run)
    model = registry.get("hasher", hasher)(n_bits=n_bits, seed=seed, **options).fit(training)
    packed = (codes.pack(model.transform(prepared[part])) for part in ("query", "database"))
    counts = count(*packed, n_bits, {"class_label": relevance}, largest_bucket=False)["class_label"]
    return mean(evaluate(counts, ["mAP"])["mAP"])


def table() -> dict[tuple[str, int], dict[str, float]]:
    """Return the committed table: statistics by (hasher, n_bits)."""
    with open(FOLDER / "digits.csv", newline="") as file:
        return {
            (row["hasher"], int(row["n_bits"])): {name: float(row[name]) for name in STATISTICS}
            for row in csv.DictReader(file)
        }


def _csv(scores: dict[tuple[str, int], NDArray[np.float64]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for (hasher, n_bits), values in scores.items():
        statistics = (values.mean(), values.std(ddof=1), values.min(), values.max())
        writer.writerow([hasher, n_bits, *(f"{value:.6f}" for value in statistics), values.size])
    return text.getvalue()


def _markdown(scores: dict[tuple[str, int], NDArray[np.float64]]) -> str:
    lines = [
        "# All unsupervised hashers on the digits",
        "",
        f"Tie-aware mAP over the complete database with class labels, {N_RUNS} runs. Each run draws its split and the",
        "seeds of the hashers, so the standard deviation (n - 1) covers both. *Above the next* is the share of runs in",
        "which the hasher has a higher mAP than that of the next line, on the same split.",
    ]
    for n_bits in N_BITS:
        ranked = sorted((hasher for hasher, b in scores if b == n_bits), key=lambda h: -scores[h, n_bits].mean())
        lines += ["", f"## {n_bits} bits", "", "| hasher | mean | std | min | max | above the next |"]
        lines += ["|---|---|---|---|---|---|"]
        for hasher, following in zip(ranked, [*ranked[1:], None], strict=True):
            values = scores[hasher, n_bits]
            above = "" if following is None else f"{(values > scores[following, n_bits]).mean():.0%}"
            lines.append(
                f"| `{hasher}` | {values.mean():.4f} | {values.std(ddof=1):.4f} | {values.min():.4f} "
                f"| {values.max():.4f} | {above} |"
            )
    sizes = ", ".join(f"{part} {size}" for part, size in EXPERIMENT["split_sizes"].items())
    steps = ", ".join(EXPERIMENT["features"]["gist"]["preprocessing"])
    seed = f'derive({EXPERIMENT["seed"]}, "digits"'
    libraries = ("numpy", "scikit-learn", "scipy", "hashing-protocol")
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    return "\n".join(lines) + PROVENANCE.format(
        steps=steps,
        digest=array_digest(digits()[0]),
        sizes=sizes,
        seed=seed,
        last=N_RUNS - 1,
        versions=f"Python {platform.python_version()}, {versions}",
    )


def main() -> None:
    names = [name for name in registry.names("hasher") if registry.get("hasher", name).supervision is None]
    made: dict[tuple[str, int], list[float]] = {(hasher, n_bits): [] for hasher in names for n_bits in N_BITS}
    for run in range(N_RUNS):
        for (hasher, n_bits), values in made.items():
            values.append(mean_average_precision(hasher, n_bits, run))
        drawn.cache_clear()
        sys.stderr.write(f"\rrun {run + 1} of {N_RUNS}" + "\n" * (run + 1 == N_RUNS))
    scores = {cell: np.array(values) for cell, values in made.items()}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "digits.csv").write_text(_csv(scores))
    (FOLDER / "digits.md").write_text(_markdown(scores))


if __name__ == "__main__":
    main()
